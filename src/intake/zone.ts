import { formatOffset } from '../contract/instant.ts'
import { offsetIn } from '../time-zone.ts'
import { DAY, MINUTE } from '../window.ts'

const SLOT_MS = 15 * MINUTE
const SLOTS_KEPT_MAX = 20_000
const withoutOffset = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?$/

/** Gives date-times without an offset the one that clocks showed in the zone; leaves every other text as it is. */
export function createZoning(timeZone: string): (text: string) => string {
  const zoneOffset = offsetIn(timeZone)
  const known = new Map<number, number>()
  const offsetAt = (epochMs: number): number => {
    const slot = Math.floor(epochMs / SLOT_MS)
    const before = known.get(slot)
    if (before !== undefined) return before
    if (known.size >= SLOTS_KEPT_MAX) known.clear()
    const offset = zoneOffset(slot * SLOT_MS)
    known.set(slot, offset)
    return offset
  }
  return (text) => {
    const match = withoutOffset.exec(text)
    if (!match) return text
    const local = `${match[1]}T${match[2] ?? '00:00:00'}`
    const wallMs = Date.parse(`${local}Z`)
    return Number.isNaN(wallMs) ? text : `${local}${formatOffset(offsetOf(wallMs, offsetAt) / MINUTE)}`
  }
}

/** When clocks go back an hour happens twice: the first one is meant. One that never was counts from before the change. */
function offsetOf(wallMs: number, offsetAt: (epochMs: number) => number): number {
  const [before, after] = [offsetAt(wallMs - DAY), offsetAt(wallMs + DAY)]
  return [before, after].find((offset) => offsetAt(wallMs - offset) === offset) ?? before
}
