import { lowerBound } from './lower-bound.ts'

/**
 * Arithmetic on spans of time. A span is half-open, [startMs, endMs), in milliseconds since 1970; an end may be infinite.
 * A set of spans is sorted, disjoint and without touching neighbours. `union` makes a set of any spans; the other
 * functions expect sets, or one span alone.
 */
export type Span = { readonly startMs: number; readonly endMs: number }

const byStart = (a: Span, b: Span) => a.startMs - b.startMs || a.endMs - b.endMs

/** The set that the spans cover, in any order. Empty and reversed spans are dropped; spans at most `gapMs` apart are joined. */
export function union(spans: readonly Span[], gapMs = 0): Span[] {
  const joined: { startMs: number; endMs: number }[] = []
  for (const span of [...spans].sort(byStart)) {
    const last = joined.at(-1)
    if (span.endMs <= span.startMs) continue
    if (last && span.startMs <= last.endMs + gapMs) last.endMs = Math.max(last.endMs, span.endMs)
    else joined.push({ startMs: span.startMs, endMs: span.endMs })
  }
  return joined
}

/** The parts of the set `from` that lie in no span of the set `without`. */
export function subtract(from: readonly Span[], without: readonly Span[]): Span[] {
  const rest: Span[] = []
  let next = 0
  for (const span of from) {
    let startMs = span.startMs
    while (next < without.length && (without[next]?.endMs ?? 0) <= startMs) next += 1
    for (let index = next; index < without.length; index += 1) {
      const hole = without[index]
      if (!hole || hole.startMs >= span.endMs) break
      if (hole.startMs > startMs) rest.push({ startMs, endMs: hole.startMs })
      startMs = Math.max(startMs, hole.endMs)
    }
    if (startMs < span.endMs) rest.push({ startMs, endMs: span.endMs })
  }
  return rest
}

/** The parts that lie in both sets. Linear, because both are sorted. */
export function intersect(a: readonly Span[], b: readonly Span[]): Span[] {
  const shared: Span[] = []
  let [i, j] = [0, 0]
  while (i < a.length && j < b.length) {
    const [left, right] = [a[i], b[j]]
    if (!left || !right) break
    const startMs = Math.max(left.startMs, right.startMs)
    const endMs = Math.min(left.endMs, right.endMs)
    if (startMs < endMs) shared.push({ startMs, endMs })
    if (left.endMs < right.endMs) i += 1
    else j += 1
  }
  return shared
}

/** The part of a span within another. It may be empty, with its end before its start: drop it, or give it to `union`. */
export function clip(span: Span, within: Span): Span {
  return { startMs: Math.max(span.startMs, within.startMs), endMs: Math.min(span.endMs, within.endMs) }
}

/** The sum of the lengths. Overlaps count twice, unless the spans are a set. */
export function totalMs(spans: readonly Span[]): number {
  return spans.reduce((sum, span) => sum + (span.endMs - span.startMs), 0)
}

/** Whether two spans share time. Spans that only touch do not; an instant within the other span does. */
export function overlaps(a: Span, b: Span): boolean {
  return a.startMs < b.endMs && b.startMs < a.endMs
}

/** Whether an instant lies in one of the spans of a set. */
export function contains(spans: readonly Span[], ms: number): boolean {
  const span = spans[lowerBound(spans.length, (index) => (spans[index]?.endMs ?? 0) <= ms)]
  return span !== undefined && span.startMs <= ms
}

/** Spans as the ledger writes them in JSON: pairs of milliseconds since 1970. Null stands for an open end. */
export type SpanPairs = ReadonlyArray<readonly [number | null, number | null]> | null

export const spansFromPairs = (pairs: SpanPairs): Span[] =>
  (pairs ?? []).map(([startMs, endMs]) => ({
    startMs: startMs ?? Number.NEGATIVE_INFINITY,
    endMs: endMs ?? Number.POSITIVE_INFINITY,
  }))
