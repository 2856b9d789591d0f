import { SECOND } from '../../base/time/units.ts'
import { markOlderModelsDue } from '../store/waiting-profiles.ts'
import { startThread, type ThreadOptions } from './start-thread.ts'

type RecomputeOptions = Omit<ThreadOptions, 'profilesPerRound' | 'lane'> & {
  /** Threads that derive at once, each another profile. */
  threads?: number
  /** How often due profiles are looked for. Set by tests only, like `profilesPerRound`. */
  everyMs?: number
  profilesPerRound?: number
  /** The profiles that the next round may derive; null for all. By it the sandbox delays derivation. */
  mayDerive?(): Promise<readonly string[] | null>
}

export type Recompute = {
  /** Looks for due days now instead of at the next tick. */
  wake(): void
  /** Resolves when everything that was due at the time of the call has been derived. */
  idle(): Promise<void>
  close(): Promise<void>
}

const recomputeDefaults = { threads: 1, everyMs: SECOND / 2, profilesPerRound: 2 } as const

/**
 * Derives in the background the days that uploads made due. The queue is in the database: any number of these may run,
 * in any number of processes and with any number of threads, and each may be killed at any time. A lock for each profile
 * keeps two of them from deriving it at once. The threads do the work; this side only asks them.
 */
export async function startRecompute(options: RecomputeOptions): Promise<Recompute> {
  const settings = { ...recomputeDefaults, ...options }
  await markOlderModelsDue(settings.pool)
  const lanes = Array.from({ length: settings.threads }, (_, index) =>
    openLane({ ...settings, lane: { index, count: settings.threads } }),
  )
  const ticks = setInterval(() => {
    for (const lane of lanes) void lane.run()
  }, settings.everyMs)
  ticks.unref()
  return {
    wake: () => {
      for (const lane of lanes) lane.wake()
    },
    // A profile that one lane leaves because another lane derives it is derived when that other lane is idle.
    idle: async () => {
      await Promise.all(lanes.map((lane) => lane.idle()))
    },
    close: async () => {
      clearInterval(ticks)
      await Promise.all(lanes.map((lane) => lane.close()))
    },
  }
}

/** One thread's rounds, one after another while there is more to do. */
function openLane(settings: RoundOptions) {
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
