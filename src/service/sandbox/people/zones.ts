import { DAY, MINUTE } from '../../../window.ts'

const SLOT = 30 * MINUTE

/** One zone's clock changes fall on half hours of UTC, so an offset is asked for once per half hour and kept. */
const known = new Map<string, { format: Intl.DateTimeFormat; offsets: Map<number, number> }>()

function zoneOf(zone: string) {
  const found = known.get(zone)
  if (found) return found
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset', year: 'numeric' })
  const fresh = { format, offsets: new Map<number, number>() }
  known.set(zone, fresh)
  return fresh
}

/** Minutes that the clocks of a zone are ahead of UTC at an instant. */
export function offsetAt(zone: string, atMs: number): number {
  const { format, offsets } = zoneOf(zone)
  const slot = Math.floor(atMs / SLOT)
  const before = offsets.get(slot)
  if (before !== undefined) return before
  const name = format.formatToParts(slot * SLOT).find((part) => part.type === 'timeZoneName')?.value ?? 'GMT'
  const [, sign = '+', hours = '0', minutes = '0'] = /GMT([+-])(\d{2}):(\d{2})/.exec(name) ?? []
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
  offsets.set(slot, offset)
  return offset
}

/** The days since 1970-01-01 on a zone's calendar. */
export function localDayOf(zone: string, atMs: number): number {
  return Math.floor((atMs + offsetAt(zone, atMs) * MINUTE) / DAY)
}

/**
 * The instant at which the clocks of a zone show so many minutes after midnight of a day. Minutes below 0 or above 1440
 * fall on the neighbouring days. A time that a clock change skips comes out within the hour after the change.
 */
export function instantOf(zone: string, day: number, minutes: number): number {
  const shown = day * DAY + minutes * MINUTE
  const guess = shown - offsetAt(zone, shown) * MINUTE
  return shown - offsetAt(zone, guess) * MINUTE
}
