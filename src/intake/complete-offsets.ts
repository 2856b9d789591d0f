import { formatOffset } from '../base/time/instant.ts'
import { zoneOffsetMs } from '../base/time/local-time.ts'
import { DAY, HOUR, MINUTE } from '../base/time/units.ts'

const CACHE_HOURS_MAX = 20_000
const withoutOffset = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?$/

/** How far a zone's wall clock is ahead of UTC at an instant, in milliseconds; offsets that were asked for are remembered. */
export function createOffsetCache(timeZone: string): (epochMs: number) => number {
  const zoneOffset = zoneOffsetMs(timeZone)
  // The dates of a file lie close together, so a map that is cleared when it is full serves as well as an LRU cache.
  const cache = new Map<number, number>()
  return (epochMs) => {
    const hour = Math.floor(epochMs / HOUR)
    const cached = cache.get(hour)
    if (cached !== undefined) return cached
    const offset = zoneOffset(hour * HOUR)
    // Clocks change at most once an hour, but also one minute after midnight: in such an hour each instant is looked up.
    if (zoneOffset((hour + 1) * HOUR - 1) !== offset) return zoneOffset(epochMs)
    if (cache.size >= CACHE_HOURS_MAX) cache.clear()
    cache.set(hour, offset)
    return offset
  }
}

/** The offset in milliseconds at which a clock of the zone shows this time, which is given as if it were UTC. */
export function createWallClock(timeZone: string): (wallMs: number) => number {
  const offsetAt = createOffsetCache(timeZone)
  return (wallMs) => offsetAtWallMs(wallMs, offsetAt)
}

/** Adds the zone's offset to date-times that carry none; returns every other text as it is. */
export function createOffsetCompleter(timeZone: string): (text: string) => string {
  const offsetAt = createOffsetCache(timeZone)
  return (text) => {
    const match = withoutOffset.exec(text)
    if (!match) return text
    const local = `${match[1]}T${match[2] ?? '00:00:00'}`
    const wallMs = Date.parse(`${local}Z`)
    return Number.isNaN(wallMs) ? text : `${local}${formatOffset(offsetAtWallMs(wallMs, offsetAt) / MINUTE)}`
  }
}

/**
 * When clocks are set back an hour happens twice: the first of the two is taken. In the hour that is skipped when clocks are
 * set forward, the offset from before the change counts.
 */
function offsetAtWallMs(wallMs: number, offsetAt: (epochMs: number) => number): number {
  const [before, after] = [offsetAt(wallMs - DAY), offsetAt(wallMs + DAY)]
  return [before, after].find((offset) => offsetAt(wallMs - offset) === offset) ?? before
}
