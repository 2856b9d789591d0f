import { type Job as BullJob, WaitingError } from 'bullmq'
import type { Log } from '../../base/log.ts'
import { endsWithin } from '../../base/sleep.ts'
import { SECOND } from '../../base/time/units.ts'
import { type Lane, lanes } from '../fleet/budget.ts'
import type { JobCounts } from '../transfer/order.ts'
import type { JobData, LanePart, LaneWorker, QueueEngine } from './engine.ts'
import { followFormerParts, type PartWorker } from './former-parts.ts'
import { ABORT_TIMEOUT_MS } from './job-timeout.ts'
import { createLaneSlots, type LaneSlots } from './lane-slots.ts'
import { retryDelayMs, whileLeased } from './retries.ts'

/** A job that this process holds. */
export type ClaimedJob = {
  readonly bull: BullJob<JobData>
  readonly of: LanePart
  readonly token: string | undefined
  readonly signal: AbortSignal | undefined
}

type PartWorkersOptions = {
  readonly engine: QueueEngine
  readonly parts: readonly number[]
  readonly concurrency: Readonly<Record<Lane, number>>
  readonly leaseMs: number
  readonly log: Log
  work(claimed: ClaimedJob): Promise<JobCounts>
}

export type PartWorkers = ReturnType<typeof startPartWorkers>

/** Starts a worker for each lane in each part, and in former parts as long as they hold jobs. */
export function startPartWorkers(options: PartWorkersOptions) {
  const { parts, concurrency } = options
  const slots = new Map(lanes.map((lane) => [lane, createLaneSlots(concurrency[lane])]))
  const startPart = (part: number) =>
    [...slots].map(([lane, laneSlots]) => startPartWorker({ lane, part }, laneSlots, options))
  const started = parts.flatMap(startPart)
  const former = followFormerParts({ ...options, startPart })
  const all = () => [...started, ...former.workers()]
  return {
    /** The queues on which this process works. */
    served: () => all().map(({ of }) => of),
    /** Takes no new job, lets running jobs finish for at most `graceMs`, then aborts them. */
    async close(graceMs: number, onAbort: () => void) {
      former.close()
      for (const laneSlots of slots.values()) laneSlots.close()
      const workers = all()
      const closing = Promise.all(workers.map((worker) => worker.close()))
      if (await endsWithin(closing, graceMs)) return
      onAbort()
      for (const { worker } of workers) worker.cancelAllJobs('shutting down')
      // A job that ignores the abort is left to the end of its lease, and so is a queue that does not answer.
      await endsWithin(closing, ABORT_TIMEOUT_MS)
    },
  }
}

function startPartWorker(of: LanePart, slots: LaneSlots, options: PartWorkersOptions): PartWorker {
  const { engine, log, leaseMs } = options
  const limited: { jobs: number; worker?: LaneWorker } = { jobs: 1 }
  const share = slots.add((jobs, isHeldUp) => {
    limited.jobs = jobs
    if (limited.worker) setConcurrency(limited.worker, jobs, isHeldUp)
  })
  const work = async (bull: BullJob<JobData>, token?: string, signal?: AbortSignal) => {
    const freeSlot = await share.take(signal)
    try {
      if (freeSlot) return await options.work({ bull, of, token, signal })
      await whileLeased(leaseMs, () => bull.moveToWait(token))
      throw new WaitingError()
    } finally {
      freeSlot?.()
      share.left(bull.id ?? '')
    }
  }
  const worker = engine.worker(of, work, { ...workerOptionsOf(leaseMs), concurrency: limited.jobs })
  limited.worker = worker
  worker.on('active', ({ id = '' }) => share.claimed(id))
  worker.on('failed', (bull) => share.left(bull?.id ?? '')) // BullMQ gives up some jobs without a start
  worker.on('drained', share.drained)
  worker.on('error', (error) => {
    share.drained() // the slots of a part that does not answer go to the others
    log.debug({ ...of, err: error.message }, 'queue trouble')
  })
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) worker.cancelJob(id, 'another worker may have this job by now')
  })
  return {
    of,
    worker,
    async close() {
      await worker.close()
      share.remove()
    },
  }
}

const workerOptionsOf = (leaseMs: number) => ({
  lockDuration: leaseMs,
  stalledInterval: leaseMs / 2,
  // A job whose worker died is started again without end: only the job's own failures use up attempts.
  maxStalledCount: 1000,
  drainDelay: 5,
  runRetryDelay: 2 * SECOND,
  settings: {
    backoffStrategy: (attemptsMade: number, _type?: string, error?: Error) =>
      retryDelayMs(attemptsMade, error, Math.random),
  },
  // A worker checks a paused lane this often, so a worker that closes waits no longer than this.
  maximumRateLimitDelay: SECOND,
})

/**
 * A worker that runs as many jobs as it may looks at its limit when one of them ends, which can take minutes: it is paused and
 * resumed, and that makes it look at once.
 */
function setConcurrency(worker: LaneWorker, jobs: number, isHeldUp: boolean): void {
  worker.concurrency = jobs
  if (!isHeldUp || worker.closing) return
  void worker.pause(true)
  void worker.resume()
}
