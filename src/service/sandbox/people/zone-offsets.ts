import { DAY, MINUTE } from '../../../base/time/units.ts'

const slotMs = 30 * MINUTE

/** The clock changes of every zone fall on half hours of UTC, so an offset is computed once per half hour and cached. */
const offsetsByZone = new Map<string, { format: Intl.DateTimeFormat; offsets: Map<number, number> }>()

function cachedOffsetsOf(zone: string) {
  const found = offsetsByZone.get(zone)
  if (found) return found
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset', year: 'numeric' })
  const created = { format, offsets: new Map<number, number>() }
  offsetsByZone.set(zone, created)
  return created
}

/** The UTC offset of a zone at an instant, in minutes. */
export function offsetMinutesAt(zone: string, atMs: number): number {
  const { format, offsets } = cachedOffsetsOf(zone)
  const slot = Math.floor(atMs / slotMs)
  const cached = offsets.get(slot)
  if (cached !== undefined) return cached
  const name = format.formatToParts(slot * slotMs).find((part) => part.type === 'timeZoneName')?.value ?? 'GMT'
  const [, sign = '+', hours = '0', minutes = '0'] = /GMT([+-])(\d{2}):(\d{2})/.exec(name) ?? []
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
  offsets.set(slot, offset)
  return offset
}

/** The local date of a zone at an instant, as days since 1970-01-01. */
export function localDayNumber(zone: string, atMs: number): number {
  return Math.floor((atMs + offsetMinutesAt(zone, atMs) * MINUTE) / DAY)
}

/**
 * The instant at which the clocks of a zone show `minutes` after midnight of a day. Minutes below 0 or above 1440 fall on
 * the neighbouring days. A local time that a clock change skips becomes an instant within the hour after the change.
 */
export function instantMsAt(zone: string, day: number, minutes: number): number {
  const localMs = day * DAY + minutes * MINUTE
  const guessMs = localMs - offsetMinutesAt(zone, localMs) * MINUTE
  return localMs - offsetMinutesAt(zone, guessMs) * MINUTE
}
