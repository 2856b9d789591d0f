import { randomUUID } from 'node:crypto'
import type { Log } from '../../base/log.ts'
import type { LaneTroubles } from '../../pipeline/fleet/lane-troubles.ts'
import { findUnservedParts } from '../../pipeline/queue/served-parts.ts'
import { endSilentSessions } from '../../pipeline/warehouse/postgres/silent-sessions.ts'
import { WORKER_HEARTBEAT_MS } from '../../pipeline/warehouse/runs/live-workers.ts'
import type { Pipeline } from '../pipeline.ts'
import { repeatUntilClosed } from './repeat.ts'

/**
 * Writes the heartbeat of this process's worker into the database. A frozen process writes none, though its connections stay
 * open. After a heartbeat that failed the next heartbeat is written as usual; the first of several failures is logged. Each heartbeat
 * holds the reason that keeps the worker from its work. As often it looks for sessions of frozen processes that hold locks.
 */
export function startWorkerHeartbeat(
  { engine, liveWorkers, pool }: Pipeline,
  { troubles, log }: { troubles: LaneTroubles; log: Log },
): { close(): Promise<void> } {
  const workerId = randomUUID()
  const writeHeartbeat = async () => liveWorkers.heartbeat(workerId, await engine.queueId(), troubles.list())
  const endSilent = async () => {
    const ended = await endSilentSessions(pool).catch(() => 0) // of a server that is away nobody holds a lock
    if (ended > 0) log.warn({ sessions: ended }, 'ended sessions that held locks and were silent in mid-statement')
  }
  let isWritten = true
  const writing = repeatUntilClosed(WORKER_HEARTBEAT_MS, () =>
    writeHeartbeat().then(
      () => {
        isWritten = true
      },
      (error: Error) => {
        if (isWritten) log.warn({ err: error.message }, CANNOT_WRITE)
        isWritten = false
      },
    ),
  )
  // On its own, so that it holds up no heartbeat.
  const ending = repeatUntilClosed(WORKER_HEARTBEAT_MS, endSilent)
  return {
    async close() {
      await Promise.all([writing.close(), ending.close()])
      await liveWorkers.remove(workerId).catch(() => undefined) // a row that stays expires soon
    },
  }
}

const CANNOT_WRITE = 'the heartbeat cannot be written: until it can, other processes do not count this worker'

/** The number of workers of this pipeline's queue whose heartbeat is recent. */
export const countLiveWorkers = async ({ engine, liveWorkers }: Pick<Pipeline, 'engine' | 'liveWorkers'>) =>
  liveWorkers.count(await engine.queueId())

/** The same, and none where some part of the queue has no worker: a run has jobs in all parts. */
export async function countWorkersOfAllParts(pipeline: Pick<Pipeline, 'engine' | 'liveWorkers'>): Promise<number> {
  const workers = await countLiveWorkers(pipeline)
  return workers > 0 && (await findUnservedParts(pipeline.engine)).length === 0 ? workers : 0
}
