import { SECOND } from '../../time/units.ts'
import { markOlderModelsDue } from '../store/waiting-profiles.ts'
import { startThread, type ThreadOptions } from './start-thread.ts'

type RecomputeOptions = Omit<ThreadOptions, 'profilesPerRound'> & {
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

const recomputeDefaults = { everyMs: SECOND / 2, profilesPerRound: 2 } as const

/**
 * Derives in the background the days that uploads made due. The queue is in the database: any number of these may run,
 * in any number of processes, and each may be killed at any time. A thread does the work; this side only asks it.
 */
export async function startRecompute(options: RecomputeOptions): Promise<Recompute> {
  const settings = { ...recomputeDefaults, ...options }
  await markOlderModelsDue(settings.pool)
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
  const ticks = setInterval(() => void run(), settings.everyMs)
  ticks.unref()
  return {
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
      clearInterval(ticks)
      await rounds.close()
      await running
    },
  }
}

/** Threads that may end in a row before they begin with any profile. */
const endsInARowMax = 3

/** Rounds of one thread after another: a thread that ends is followed by a new thread, which goes on with the rest. */
function openRounds(settings: ThreadOptions & Pick<RecomputeOptions, 'mayDerive'>) {
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
