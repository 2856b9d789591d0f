import { setImmediate as nextTurn } from 'node:timers/promises'

type Guest = {
  /** Guests of one group wait for one another; groups take turns. */
  group: string
  /** Whether nobody waits for the answer any more: such a guest is skipped. */
  isGone?: () => boolean
}

export type ConcurrencyLimiter = {
  /** Waits for a permit. Resolves with what gives it back, or with undefined when the guest is gone. */
  enter(guest: Guest): Promise<(() => void) | undefined>
  run<T>(group: string, work: () => Promise<T>): Promise<T>
}

type Waiting = Guest & { admit(leave: (() => void) | undefined): void }

/**
 * A semaphore, fair between groups (round robin) and first in, first out within a group. Each guest begins in its own turn
 * of the event loop: a thousand uploads that arrive at once are started one by one, and a read that arrives among them
 * waits for one start at most, and finds a free connection to the database. One group has at most `groupMax` of the permits, so
 * that a group of long guests leaves one for the others.
 */
export function createConcurrencyLimiter(concurrentMax: number, groupMax = concurrentMax): ConcurrencyLimiter {
  let running = 0
  const groups = new Map<string, Waiting[]>()
  const runningOf = new Map<string, number>()
  const change = (group: string, by: 1 | -1) => {
    running += by
    const own = (runningOf.get(group) ?? 0) + by
    if (own > 0) runningOf.set(group, own)
    else runningOf.delete(group)
  }
  const mayRun = (group: string) => running < concurrentMax && (runningOf.get(group) ?? 0) < groupMax

  const permit = (group: string) => {
    change(group, 1)
    let given = true
    return () => {
      if (!given) return
      given = false
      change(group, -1)
      passOn()
    }
  }

  /** A guest that leaves passes its permit to the next one, so nobody who comes later can overtake. */
  const passOn = () => {
    for (let next = takeNext(); next; next = takeNext()) {
      if (!next.isGone?.()) return next.admit(permit(next.group))
      next.admit(undefined)
    }
  }

  const takeNext = (): Waiting | undefined => {
    for (const [group, own] of groups) {
      if (!mayRun(group)) continue
      groups.delete(group)
      const next = own.shift()
      if (own.length > 0) groups.set(group, own) // at the end: the other groups come first
      if (next) return next
    }
    return undefined
  }

  const enter = async (guest: Guest) => {
    let leave: (() => void) | undefined
    if (mayRun(guest.group)) {
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
