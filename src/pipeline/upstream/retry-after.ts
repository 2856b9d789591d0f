import { HOUR, SECOND } from '../../base/time/units.ts'

/** A longer pause that upstream asks for is cut to this. */
const RETRY_AFTER_MAX_MS = HOUR

/**
 * The pause that a `Retry-After` header asks for: seconds, or an HTTP date, compared with upstream's own clock when the
 * answer has a Date header. A date in the past means no pause. Undefined when the header is missing or unreadable.
 */
export function retryAfterMsOf(
  header: string | undefined,
  serverDateMs: number | undefined,
  nowMs: number,
): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (/^\d+(\.\d+)?$/.test(text)) return clamped(Number(text) * SECOND)
  if (/^[+-]?[\d.]+$/.test(text)) return text.startsWith('-') ? 0 : undefined
  const atMs = parseHttpDate(text)
  return Number.isNaN(atMs) ? undefined : clamped(atMs - (serverDateMs ?? nowMs))
}

function clamped(ms: number): number {
  return Math.max(0, Math.min(ms, RETRY_AFTER_MAX_MS))
}

let lastDate = { header: '', ms: Number.NaN }

/** Milliseconds of an HTTP date, or undefined. All answers of one second have the same date, so the last one is cached. */
export function httpDateMsOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  if (header !== lastDate.header) lastDate = { header, ms: parseHttpDate(header) }
  return Number.isNaN(lastDate.ms) ? undefined : lastDate.ms
}

const namesZone = /(?:GMT|UTC?|Z|:\d\d(?:\.\d+)?\s?[+-]\d\d:?\d\d)$/i

/** HTTP has three forms of a date, all in GMT. The oldest, `Sun Nov  6 08:49:37 1994`, names no zone: `Date.parse` would take this machine's. */
function parseHttpDate(text: string): number {
  return Date.parse(namesZone.test(text) ? text : `${text}Z`)
}
