import { minutesSinceMidnight } from './local-days.ts'
import type { Span } from './spans.ts'
import { HOUR, MINUTE } from './units.ts'

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
