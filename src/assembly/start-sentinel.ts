import type { Config } from '../../config/env.ts'
import { pulledStreams } from '../../config/streams.ts'
import { MINUTE } from '../time/units.ts'
import type { Run } from '../warehouse/runs/stored-runs.ts'
import { drawCoveredWindows } from '../warehouse/verification/covered-windows.ts'
import { uncoverUnmended } from '../warehouse/verification/stored-differences.ts'
import type { Pipeline } from './pipeline.ts'

/** A small warehouse draws more than its share, or it would learn nothing for years. */
const WINDOWS_MIN = 3

type SentinelContext = { readonly pipeline: Pick<Pipeline, 'pool' | 'runs'>; readonly config: Config }

/**
 * Draws the covered windows that the sentinel of a nightly reads again, and creates its run. Undefined: it is turned off,
 * nothing is covered, or another process created the run.
 */
export async function createSentinelRun(
  { pipeline, config }: SentinelContext,
  nightly: Pick<Run, 'id' | 'startedAt' | 'params'>,
): Promise<Run | undefined> {
  const { pool, runs } = pipeline
  await uncoverUnmended(pool) // of a killed `verify --mend`, too
  if (config.sentinelShare === 0) return undefined
  const enqueued = (await runs.get(nightly.id))?.enqueued ?? 0
  const requestsPerProfile = (await runs.requestsPerProfile('nightly')) ?? pulledStreams.length
  const count = Math.max(WINDOWS_MIN, Math.ceil(config.sentinelShare * enqueued * requestsPerProfile))
  const slotAt = slotOf(nightly)
  const seed = String(Math.floor(slotAt.getTime() / MINUTE))
  const draw = await drawCoveredWindows({ pool, streams: pulledStreams }, { count, seed })
  return draw && runs.claimSlot('sentinel', slotAt, draw)
}

/** The sentinel has the slot of its nightly: however many processes try, a slot is claimed once. */
function slotOf({ params, startedAt }: Pick<Run, 'params' | 'startedAt'>): Date {
  const { slotAt } = params
  return typeof slotAt === 'string' ? new Date(slotAt) : startedAt
}
