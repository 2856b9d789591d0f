import { setImmediate as nextTurn } from 'node:timers/promises'
import { createSemaphore } from '../../base/semaphore.ts'
import { SECOND } from '../../base/time/units.ts'

type Guest = {
  /** Requests of one group wait for one another; groups take turns. */
  group: string
  /** A short request. It may use the full group limit, and may overtake long requests of its own group. */
  isLight?: boolean
  /** Aborted when nobody waits for the answer any more. */
  signal?: AbortSignal
}

export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>

/** How long a group still counts as active after its last request. */
const PRESENT_MS = 2 * SECOND

/**
 * A fair semaphore whose groups are accounts. Each request starts in its own turn of the event loop: a thousand uploads that arrive at
 * once are started one by one, and a read that arrives among them waits for one start at most, and finds a free connection to the
 * database.
 */
export function createConcurrencyLimiter(options: {
  readonly concurrentMax: number
  /** How many permits one group has at most: a group of long requests leaves the rest for others. */
  readonly groupMax?: number
  /** How many it has at most while another group is active, or was a moment ago. */
  readonly groupMaxBesideOthers?: number
  /** Milliseconds of a clock that only goes forward. */
  now?(): number
}) {
  const { concurrentMax, groupMax = concurrentMax, groupMaxBesideOthers = groupMax } = options
  const { came, isAlone } = createPresence(options.now ?? (() => performance.now()))
  const semaphore = createSemaphore<string, Guest>({
    permits: concurrentMax,
    groupMax: ({ group, isLight }) => (isLight || isAlone(group) ? groupMax : groupMaxBesideOthers),
  })
  const enter = async (guest: Guest) => {
    came(guest.group)
    const leave = await semaphore.acquire(guest)
    await nextTurn()
    return leave
  }
  return {
    /** Waits for a permit. Resolves with the function that gives it back, or with undefined when the request was aborted while it waited. */
    enter,
    run: async <T>(group: string, work: () => Promise<T>) => {
      const leave = await enter({ group })
      try {
        return await work()
      } finally {
        leave?.()
      }
    },
  }
}

/** Tracks the two most recently active groups, which is enough to say whether any other group is active. */
function createPresence(now: () => number) {
  type Arrival = { readonly group: string; readonly atMs: number }
  let newest: Arrival | undefined
  let newestOfOthers: Arrival | undefined
  return {
    came(group: string): void {
      if (newest?.group !== group) newestOfOthers = newest
      newest = { group, atMs: now() }
    },
    isAlone(group: string): boolean {
      const other = newest?.group === group ? newestOfOthers : newest
      return other === undefined || now() - other.atMs > PRESENT_MS
    },
  }
}
