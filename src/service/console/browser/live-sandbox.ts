import type { Json } from '../../../web/browser/ask.ts'
import { createLiveState } from '../../../web/browser/live-state.ts'
import type { SandboxState } from '../routes/sandbox-routes.ts'

export type LiveSandbox = Json<SandboxState>

/** The sandbox as it was last told; `undefined`: not yet, or there is none. */
const state = createLiveState<SandboxState>('sandbox')
export const liveSandbox = state.live
export const useLiveSandbox = state.useLive

/** The clock of the service in milliseconds: a sandbox's may be moved. */
export const serviceNowMs = (): number => Date.now() + (liveSandbox.value?.aheadMs ?? 0)
