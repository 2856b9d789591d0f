/** A half-open span of time, [startAt, endAt), both ISO 8601 in UTC as `Date.toISOString` writes them. */
export type Window = { readonly startAt: string; readonly endAt: string }

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

export function windowOf(startMs: number, endMs: number): Window {
  if (!(startMs < endMs)) throw new RangeError(`make window: it would end (${endMs}) before it starts (${startMs})`)
  return { startAt: new Date(startMs).toISOString(), endAt: new Date(endMs).toISOString() }
}
