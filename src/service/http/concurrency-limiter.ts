import { setImmediate as nextTurn } from 'node:timers/promises'
import { SECOND } from '../../base/time/units.ts'

type Guest = {
  /** Guests of one group wait for one another; groups take turns. */
  group: string
  /** A guest that is soon done: beside other groups it counts as if its group were alone, and waits for no heavy one of its group. */
  isLight?: boolean
  /** Whether nobody waits for the answer any more: such a guest is skipped. */
  isGone?: () => boolean
}

export type ConcurrencyLimiter = {
  /** Waits for a permit. Resolves with what gives it back, or with undefined when the guest is gone. */
  enter(guest: Guest): Promise<(() => void) | undefined>
  run<T>(group: string, work: () => Promise<T>): Promise<T>
}

type Waiting = Guest & { admit(leave: (() => void) | undefined): void }

type LimiterOptions = {
  readonly concurrentMax: number
  /** How many permits one group has at most: a group of long guests leaves the rest for others. */
  readonly groupMax?: number
  /** How many it has at most while another group has guests, or had one a moment ago. */
  readonly groupMaxBesideOthers?: number
  /** Milliseconds of a clock that only goes forward. */
  now?(): number
}

/** A group counts as present for so long after its last guest came. */
const PRESENT_MS = 2 * SECOND

/**
 * A semaphore, fair between groups (round robin) and first in, first out within a group, but that a light guest may pass heavy
 * ones of its group. Each guest begins in its own turn of the event loop: a thousand uploads that arrive at once are started one by one, and a read that arrives among them
 * waits for one start at most, and finds a free connection to the database.
 */
export function createConcurrencyLimiter(options: LimiterOptions): ConcurrencyLimiter {
  const permits = createPermits(options)
  const groups = new Map<string, Waiting[]>()

  const permit = (group: string) => {
    permits.change(group, 1)
    let given = true
    return () => {
      if (!given) return
      given = false
      permits.change(group, -1)
      passOn()
    }
  }

  /** A guest that leaves passes its permit to the next one, so no group that comes later can overtake. */
  const passOn = () => {
    for (let next = takeNext(); next; next = takeNext()) {
      if (!next.isGone?.()) return next.admit(permit(next.group))
      next.admit(undefined)
    }
  }

  const takeNext = (): Waiting | undefined => {
    for (const [group, own] of groups) {
      const place = own.findIndex(permits.mayGive)
      if (place < 0) continue
      groups.delete(group)
      const [next] = own.splice(place, 1)
      if (own.length > 0) groups.set(group, own) // at the end: the other groups come first
      if (next) return next
    }
    return undefined
  }

  const enter = async (guest: Guest) => {
    let leave: (() => void) | undefined
    permits.came(guest.group)
    if (permits.mayGive(guest)) {
      leave = permit(guest.group)
    } else {
      leave = await new Promise<(() => void) | undefined>((admit) => {
        const own = groups.get(guest.group) ?? []
        own.push({ ...guest, admit })
        groups.set(guest.group, own)
      })
    }
    await nextTurn()
    return leave
  }

  return {
    enter,
    run: async (group, work) => {
      const leave = await enter({ group })
      try {
        return await work()
      } finally {
        leave?.()
      }
    },
  }
}

/** Counts the permits that are given, in all and by group. */
function createPermits(options: LimiterOptions) {
  const { concurrentMax, groupMax = concurrentMax, groupMaxBesideOthers = groupMax } = options
  const { came, isAlone } = createPresence(options.now ?? (() => performance.now()))
  const givenTo = new Map<string, number>()
  let given = 0
  return {
    came,
    mayGive({ group, isLight }: Guest): boolean {
      const most = isLight || isAlone(group) ? groupMax : groupMaxBesideOthers
      return given < concurrentMax && (givenTo.get(group) ?? 0) < most
    },
    change(group: string, by: 1 | -1): void {
      given += by
      const own = (givenTo.get(group) ?? 0) + by
      if (own > 0) givenTo.set(group, own)
      else givenTo.delete(group)
    },
  }
}

/** Which groups had a guest of late. Only the two newest matter: a group asks whether there is any other. */
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
