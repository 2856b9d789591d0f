import { formatInstant } from './instant.ts'
import type { Span } from './spans.ts'
import { DAY, HOUR, MINUTE, SECOND } from './units.ts'

/**
 * A local day is a whole number, days since 1970-01-01, so that calendar arithmetic never touches the machine's own time
 * zone. Only an offset, in minutes east of UTC, turns a day into instants.
 */
export function dayNumberAt(ms: number, offset: number): number {
  return Math.floor((ms + offset * MINUTE) / DAY)
}

/** Minutes since local midnight, with fractions. */
export function minutesSinceMidnight(ms: number, offset: number): number {
  return (ms + offset * MINUTE - dayNumberAt(ms, offset) * DAY) / MINUTE
}

export function midnightMs(day: number, offset: number): number {
  return day * DAY - offset * MINUTE
}

export function dayText(day: number): string {
  return new Date(day * DAY).toISOString().slice(0, 10)
}

export function dayNumberFromText(text: string): number {
  return Math.round(Date.parse(`${text.slice(0, 10)}T00:00:00Z`) / DAY)
}

/** ISO 8601 in whole seconds, with the offset. */
export function isoText(ms: number, offset: number): string {
  return formatInstant({ epochMs: Math.floor(ms / SECOND) * SECOND, offsetMinutes: offset })
}

/** 0 for Monday to 6 for Sunday. Day 0, 1970-01-01, was a Thursday. */
export function weekday(day: number): number {
  return (((day + 3) % 7) + 7) % 7
}

export function mondayOf(day: number): number {
  return day - weekday(day)
}

/** The first and the last day of the calendar month `months` after the one that holds `day`. */
export function monthOf(day: number, months = 0): { first: number; last: number } {
  const date = new Date(day * DAY)
  const first = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1) / DAY
  const next = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months + 1, 1) / DAY
  return { first, last: next - 1 }
}

/** Cuts a span at the full hours of a local clock; `hour` is 0 to 23. */
export function splitAtLocalHours(span: Span, offset: number): (Span & { hour: number })[] {
  const parts: (Span & { hour: number })[] = []
  for (let startMs = span.startMs; startMs < span.endMs; ) {
    const hour = Math.floor(minutesSinceMidnight(startMs, offset) / 60)
    const endMs = Math.min(span.endMs, (Math.floor((startMs + offset * MINUTE) / HOUR) + 1) * HOUR - offset * MINUTE)
    parts.push({ startMs, endMs, hour })
    startMs = endMs
  }
  return parts
}

/** How far a zone's wall clock is ahead of UTC at an instant, in milliseconds. */
export function zoneOffsetMs(timeZone: string): (atMs: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return (atMs) => {
    const parts = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]))
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(atMs / 1000) * 1000
  }
}

const CACHE_HOURS_MAX = 20_000

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
