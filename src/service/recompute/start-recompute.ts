import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Log } from '../../base/log.ts'
import { endsWithin } from '../../base/sleep.ts'
import { SECOND } from '../../base/time/units.ts'
import type { ServicePool } from '../store/service-pool.ts'
import { markOlderModelsDue, recordDerivationFailure } from '../store/waiting-profiles.ts'
import type { ThreadData, ThreadReply, ThreadRequest } from './recompute-thread.ts'

type RecomputeOptions = Omit<ThreadOptions, 'profilesPerRound' | 'place'> & {
  /** Threads that derive at once, each another profile. */
  threads?: number
  /** How often due profiles are looked for. Set by tests only, like `profilesPerRound`. */
  everyMs?: number
  profilesPerRound?: number
  /** The profiles that the next round may derive; null for all. By it the sandbox delays derivation. */
  mayDerive?(): Promise<readonly string[] | null>
}

export type Recompute = Awaited<ReturnType<typeof startRecompute>>

const recomputeDefaults = { threads: 1, everyMs: SECOND / 2, profilesPerRound: 2 } as const

/**
 * Derives in the background the days that uploads made due. The queue is in the database: any number of these may run,
 * in any number of processes and with any number of threads, and each may be killed at any time. A lock for each profile
 * keeps two of them from deriving it at once. The threads do the work; this side only asks them.
 */
export async function startRecompute(options: RecomputeOptions) {
  const settings = { ...recomputeDefaults, ...options }
  await markOlderModelsDue(settings.pool)
  const threads = Array.from({ length: settings.threads }, (_, index) =>
    openThread({ ...settings, place: { index, count: settings.threads } }),
  )
  const ticks = setInterval(() => {
    for (const thread of threads) void thread.run()
  }, settings.everyMs)
  ticks.unref()
  return {
    /** Looks for due days now instead of at the next tick. */
    wake: () => {
      for (const thread of threads) thread.wake()
    },
    // A profile that one thread leaves because another thread derives it is derived when that other thread is idle.
    /** Resolves when everything that was due at the time of the call has been derived. */
    idle: async () => {
      await Promise.all(threads.map((thread) => thread.idle()))
    },
    close: async () => {
      clearInterval(ticks)
      await Promise.all(threads.map((thread) => thread.close()))
    },
  }
}

/** One thread's rounds, one after another while there is more to do. */
function openThread(settings: RoundOptions) {
  const rounds = openRounds(settings)
  let running: Promise<void> | null = null
  let again = false
  let closed = false
  const drain = async () => {
    do {
      again = false
      if ((await rounds.run()) === 'more') again = true
    } while (again && !closed)
  }
  const run = () => {
    running ??= drain().finally(() => {
      running = null
    })
    return running
  }
  return {
    run,
    wake: () => {
      if (running) again = true
      else void run()
    },
    idle: async () => {
      await running
      await run()
    },
    close: async () => {
      closed = true
      await rounds.close()
      await running
    },
  }
}

type RoundOptions = ThreadOptions & Pick<RecomputeOptions, 'mayDerive'>

/** Threads that may end in a row before they begin with any profile. */
const endsInARowMax = 3

/** Rounds of one thread after another: a thread that ends is followed by a new thread, which continues with the rest. */
function openRounds(settings: RoundOptions) {
  let thread = startThread(settings)
  let endsInARow = 0
  let closing = false
  const run = async (): Promise<'more' | 'done'> => {
    if (closing) return 'done'
    if (thread.hasEnded()) thread = startThread(settings)
    const among = (await settings.mayDerive?.()) ?? null
    const answer = await thread.ask({ ask: 'round', nowMs: settings.clock(), among })
    if (closing) return 'done'
    if (answer.did === 'fail') settings.log.error({ reason: answer.reason }, 'derivation round failed')
    if (!thread.hasEnded()) {
      endsInARow = 0
      return answer.did === 'round' && answer.more ? 'more' : 'done'
    }
    // The profile on which the thread ended backs off, and the rest of the round is still due. But threads that always
    // end before they begin with a profile are tried again at the next tick, not at once for ever.
    endsInARow = answer.did === 'fail' && answer.backsOff === true ? 0 : endsInARow + 1
    return endsInARow < endsInARowMax ? 'more' : 'done'
  }
  const close = () => {
    closing = true
    return thread.close()
  }
  return { run, close }
}

type ThreadOptions = {
  pool: ServicePool
  databaseUrl: string
  clock: () => number
  log: Log
  profilesPerRound: number
  /** Which of how many threads of the process this is. */
  place: ThreadData['place']
}

/** How long a portion that is under way may take to end; a thread that is ended costs repeated work, nothing else. */
const closeGraceMs = 2 * SECOND
/** The memory limit of a thread. A thread that exceeds it ends; the process continues. */
const threadMemoryMb = 1536

function startThread(options: ThreadOptions) {
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
  return {
    /** Sends one request and waits for its answer; one request at a time. When the thread ends, the answer is `fail`. */
    ask,
    hasEnded: () => ended,
    /** Ends the thread within `closeGraceMs`, even while a round is running. */
    close,
  }
}

function createWorker({ databaseUrl, log, profilesPerRound, place }: ThreadOptions): Worker {
  const workerData: ThreadData = { databaseUrl, logLevel: log.level, profilesPerRound, place }
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
