import { onAbort } from './on-abort.ts'

/** Seekers of one group wait for one another; groups take turns. */
type Seeker<Group> = { readonly group: Group; readonly signal?: AbortSignal | undefined }

export type Release = () => void

export type Semaphore<S> = {
  /**
   * Resolves with the function that gives the permit back, or with undefined where there will be no permit: the signal aborted while
   * the seeker waited, or the semaphore is closed.
   */
  acquire(seeker: S): Promise<Release | undefined>
  /** Gives no further permit. Those that are given stay. */
  close(): void
}

type SemaphoreOptions<S> = {
  readonly permits: number
  /** How many permits the seeker's group may have for the seeker to get one. All of them where it is left out. */
  groupMax?(seeker: S): number
}

/** A semaphore: round robin between groups, first in, first out within a group among those that may have a permit. */
export function createSemaphore<Group, S extends Seeker<Group>>(options: SemaphoreOptions<S>): Semaphore<S> {
  const { permits: count, groupMax = () => count } = options
  type Waiter = { readonly seeker: S; resolve(release: Release | undefined): void }
  const permits = createPermits<Group>(count)
  const lines = new Map<Group, Set<Waiter>>()
  let isClosed = false

  const mayTake = (seeker: S) => permits.isFree() && permits.givenTo(seeker.group) < groupMax(seeker)
  const take = ({ group }: S): Release => {
    const giveBack = permits.take(group)
    return () => {
      giveBack()
      // At once, so that nobody who comes later can overtake.
      for (let next = leaveLine(); next; next = leaveLine()) next.resolve(take(next.seeker))
    }
  }
  const leaveLine = (): Waiter | undefined => {
    for (const [group, line] of lines) {
      const next = line.values().find(({ seeker }) => mayTake(seeker))
      if (!next) continue
      lines.delete(group)
      line.delete(next)
      if (line.size > 0) lines.set(group, line) // at the end: the other groups come first
      return next
    }
    return undefined
  }
  const wait = async (seeker: S): Promise<Release | undefined> => {
    const { group, signal } = seeker
    if (signal?.aborted) return undefined
    const { promise, resolve } = Promise.withResolvers<Release | undefined>()
    const waiter = { seeker, resolve }
    const line = lines.get(group) ?? new Set()
    lines.set(group, line.add(waiter))
    const giveUp = () => {
      // At once: a permit that comes back now goes to the next, and a group without seekers keeps no place before others.
      if (line.delete(waiter) && line.size === 0) lines.delete(group)
      resolve(undefined)
    }
    return signal === undefined ? promise : promise.finally(onAbort(signal, giveUp))
  }
  return {
    async acquire(seeker) {
      if (isClosed) return undefined
      return mayTake(seeker) ? take(seeker) : wait(seeker)
    },
    close() {
      isClosed = true
      for (const line of lines.values()) for (const { resolve } of line) resolve(undefined)
      lines.clear()
    },
  }
}

/** Counts the permits that are given, in all and by group. `take` does not ask whether a permit is free: the caller does. */
function createPermits<Group>(count: number) {
  const byGroup = new Map<Group, number>()
  let given = 0
  const givenTo = (group: Group) => byGroup.get(group) ?? 0
  return {
    givenTo,
    isFree: () => given < count,
    /** Returns what gives the permit back. A second call of it does nothing. */
    take(group: Group): () => void {
      given += 1
      byGroup.set(group, givenTo(group) + 1)
      let isGiven = true
      return () => {
        if (!isGiven) return
        isGiven = false
        given -= 1
        if (givenTo(group) > 1) byGroup.set(group, givenTo(group) - 1)
        else byGroup.delete(group)
      }
    },
  }
}
