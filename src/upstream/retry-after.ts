import { HOUR } from '../window.ts'

/** No upstream may silence us for longer than this, whatever it says. */
const WAIT_LONGEST_MS = HOUR

/**
 * How long a `Retry-After` header asks us to wait: seconds, or an HTTP date seen from upstream's own clock where it sent
 * one. A date in the past means now. What cannot be read is undefined; what is absurd is cut to an hour.
 */
export function retryAfterMs(header: string | undefined, serverDateMs: number | undefined, nowMs: number) {
  if (header === undefined) return undefined
  const text = header.trim()
  if (/^\d+(\.\d+)?$/.test(text)) return bounded(Number(text) * 1000)
  if (/^[+-]?[\d.]+$/.test(text)) return text.startsWith('-') ? 0 : undefined
  const atMs = Date.parse(text)
  return Number.isNaN(atMs) ? undefined : bounded(atMs - (serverDateMs ?? nowMs))
}

function bounded(ms: number): number {
  return Math.max(0, Math.min(ms, WAIT_LONGEST_MS))
}

let lastDate = { header: '', ms: Number.NaN }

/** Milliseconds of an HTTP date, undefined where it is none. Answers of one second bear one date: it is read once. */
export function httpDateMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  if (header !== lastDate.header) lastDate = { header, ms: Date.parse(header) }
  return Number.isNaN(lastDate.ms) ? undefined : lastDate.ms
}
