import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Log } from '../../base/log.ts'
import { endsWithin } from '../../base/sleep.ts'
import { SECOND } from '../../base/time/units.ts'
import type { ServicePool } from '../store/service-pool.ts'
import { recordDerivationFailure } from '../store/waiting-profiles.ts'
import type { ThreadData, ThreadReply, ThreadRequest } from './recompute-thread.ts'

export type ThreadOptions = {
  pool: ServicePool
  databaseUrl: string
  clock: () => number
  log: Log
  profilesPerRound: number
  /** Which of how many threads of the process this is. */
  lane: ThreadData['lane']
}

type DerivationThread = {
  /** Sends one request and waits for its answer; one request at a time. When the thread ends, the answer is `fail`. */
  ask(request: ThreadRequest): Promise<ThreadReply>
  hasEnded(): boolean
  /** Ends the thread, at the latest after `closeGraceMs`, also while a round is under way. */
  close(): Promise<void>
}

/** How long a portion that is under way may take to end; a thread that is ended costs repeated work, nothing else. */
const closeGraceMs = 2 * SECOND
/** The memory limit of a thread. A thread that exceeds it ends; the process continues. */
const threadMemoryMb = 1536

export function startThread(options: ThreadOptions): DerivationThread {
  const worker = createWorker(options)
  let waiting: ((answer: ThreadReply) => void) | null = null
  let profileUnderWay: string | null = null
  let [ended, closing] = [false, false]
  const answer = (reply: ThreadReply) => {
    const resolve = waiting
    waiting = null
    profileUnderWay = null
    resolve?.(reply)
  }
  worker.on('message', (reply: ThreadReply) => {
    if (reply.did === 'begin') profileUnderWay = reply.profileId
    else answer(reply)
  })
  worker.on('error', (error) => options.log.error({ err: error }, 'derivation thread failed'))
  worker.on('exit', async () => {
    ended = true
    const backsOff = !closing && profileUnderWay !== null && (await backOff(options, profileUnderWay))
    answer({ did: 'fail', reason: 'the derivation thread ended', backsOff })
  })
  const ask = (request: ThreadRequest) =>
    new Promise<ThreadReply>((resolve) => {
      if (ended) return resolve({ did: 'fail', reason: 'the derivation thread has ended' })
      waiting = resolve
      worker.postMessage(request)
    })
  const close = async () => {
    closing = true
    if (ended) return
    const exited = once(worker, 'exit')
    worker.postMessage({ ask: 'close' } satisfies ThreadRequest)
    await endsWithin(exited, closeGraceMs)
    await worker.terminate()
  }
  return { ask, hasEnded: () => ended, close }
}

function createWorker({ databaseUrl, log, profilesPerRound, lane }: ThreadOptions): Worker {
  const workerData: ThreadData = { databaseUrl, logLevel: log.level, profilesPerRound, lane }
  const resourceLimits = { maxOldGenerationSizeMb: threadMemoryMb }
  // Sources in a checkout, compiled in the published package: the thread's file is of the same kind as this file.
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  return new Worker(new URL(`./recompute-thread.${ending}`, import.meta.url), { workerData, resourceLimits })
}

/** Schedules the retry of a profile on which a thread ended; otherwise the next thread would begin with it and end too. */
async function backOff({ pool, clock, log }: ThreadOptions, profileId: string): Promise<boolean> {
  try {
    await recordDerivationFailure(pool, { profileId, nowAt: new Date(clock()) })
    return true
  } catch (error) {
    log.error({ profileId, err: error }, 'could not schedule the retry of a profile whose derivation ended its thread')
    return false
  }
}
