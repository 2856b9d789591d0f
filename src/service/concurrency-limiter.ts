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
 * waits for one start at most, and finds a free connection to the database.
 */
export function createConcurrencyLimiter(concurrentMax: number): ConcurrencyLimiter {
  let running = 0
  const groups = new Map<string, Waiting[]>()

  const permit = () => {
    let given = true
    return () => {
      if (!given) return
      given = false
      passOn()
    }
  }

  /** A guest that leaves passes its permit to the next one, so nobody who comes later can overtake. */
  const passOn = () => {
    for (let next = takeNext(); next; next = takeNext()) {
      if (!next.isGone?.()) return next.admit(permit())
      next.admit(undefined)
    }
    running -= 1
  }

  const takeNext = (): Waiting | undefined => {
    for (const [group, own] of groups) {
      groups.delete(group)
      const next = own.shift()
      if (own.length > 0) groups.set(group, own) // at the end: the other groups come first
      if (next) return next
    }
    return undefined
  }

  const enter = async (guest: Guest) => {
    let leave: (() => void) | undefined
    if (running < concurrentMax) {
      running += 1
      leave = permit()
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
