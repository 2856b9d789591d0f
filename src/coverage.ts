/**
 * Arithmetic on spans of time. A span is half-open, [from, to), in milliseconds since 1970.
 * Sets of spans are kept sorted, disjoint and without touching neighbours.
 */
export type Span = { readonly from: number; readonly to: number }

export function normalize(spans: readonly Span[]): Span[] {
  const sorted = spans.filter((span) => span.from < span.to).sort((a, b) => a.from - b.from)
  const merged: Span[] = []
  for (const span of sorted) {
    const last = merged.at(-1)
    if (last && span.from <= last.to) merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, span.to) }
    else merged.push(span)
  }
  return merged
}

export function subtract(from: readonly Span[], what: readonly Span[]): Span[] {
  let left = normalize(from)
  for (const hole of normalize(what)) {
    left = left.flatMap((span) => {
      if (hole.to <= span.from || span.to <= hole.from) return [span]
      return [
        { from: span.from, to: hole.from },
        { from: hole.to, to: span.to },
      ].filter((rest) => rest.from < rest.to)
    })
  }
  return left
}

export function intersect(a: readonly Span[], b: readonly Span[]): Span[] {
  const left = normalize(a)
  return subtract(left, subtract(left, b))
}

/** Spans as the ledger's JSON has them: pairs of milliseconds, null for an end that is open. */
export const spansOf = (pairs: ReadonlyArray<readonly [number | null, number | null]> | null): Span[] =>
  (pairs ?? []).map(([from, to]) => ({ from: from ?? Number.NEGATIVE_INFINITY, to: to ?? Number.POSITIVE_INFINITY }))

export function lengthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, span) => sum + (span.to - span.from), 0)
}

/** The instant up to which `covered` reaches from `start` without a hole; `start` itself when nothing is covered there. */
export function checkpointOf(covered: readonly Span[], start: number): number {
  const first = normalize(covered).find((span) => span.from <= start && start < span.to)
  return first ? first.to : start
}
