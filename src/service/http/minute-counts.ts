import { LRUCache } from 'lru-cache'
import { MINUTE } from '../../base/time/units.ts'

export type MinuteCounts = {
  /** How often the key was counted in its minute, which began with its first count. */
  read(key: string): number
  /** Counts the key once more, and returns its count. */
  add(key: string): number
  /** How long until the key's minute ends. */
  leftMs(key: string): number
}

/** The keys that were counted the longest ago are forgotten first. */
const keysMax = 50_000

export function createMinuteCounts(clock: () => number): MinuteCounts {
  const minutes = new LRUCache<string, { count: number; untilMs: number }>({ max: keysMax })
  const current = (key: string) => {
    const minute = minutes.get(key)
    const leftMs = (minute?.untilMs ?? 0) - clock()
    return leftMs > 0 && leftMs <= MINUTE ? minute : undefined // a clock may be set back
  }
  return {
    read: (key) => current(key)?.count ?? 0,
    add: (key) => {
      const minute = current(key) ?? { count: 0, untilMs: clock() + MINUTE }
      minute.count += 1
      minutes.set(key, minute)
      return minute.count
    },
    leftMs: (key) => Math.max(0, (current(key)?.untilMs ?? 0) - clock()),
  }
}
