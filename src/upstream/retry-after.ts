import { HOUR, SECOND } from '../time/units.ts'

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
  const atMs = Date.parse(text)
  return Number.isNaN(atMs) ? undefined : clamped(atMs - (serverDateMs ?? nowMs))
}

function clamped(ms: number): number {
  return Math.max(0, Math.min(ms, RETRY_AFTER_MAX_MS))
}

let lastDate = { header: '', ms: Number.NaN }

/** Milliseconds of an HTTP date, or undefined. All answers of one second have the same date, so the last one is cached. */
export function httpDateMsOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  if (header !== lastDate.header) lastDate = { header, ms: Date.parse(header) }
  return Number.isNaN(lastDate.ms) ? undefined : lastDate.ms
}
