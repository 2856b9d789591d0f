import { formatOffset } from '../base/time/instant.ts'
import { createOffsetCache } from '../base/time/local-time.ts'
import { DAY, MINUTE } from '../base/time/units.ts'

const withoutOffset = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?$/

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
