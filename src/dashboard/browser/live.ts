import type { Json } from '../../web/browser/ask.ts'
import { createLiveState } from '../../web/browser/live-state.ts'
import type { Now } from '../read-now.ts'

export type LiveNow = Json<Now>

/** The state of the pipeline as it was last told; `undefined`: not yet. */
export const { live, useLive } = createLiveState<Now>('now')
