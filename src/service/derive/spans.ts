/** A half-open stretch of time in epoch milliseconds. */
export type Span = { readonly startAt: number; readonly endAt: number }

const byStart = (a: Span, b: Span) => a.startAt - b.startAt || a.endAt - b.endAt

/** Sorted, disjoint; stretches closer than `gapMs` become one. */
export function union(spans: readonly Span[], gapMs = 0): Span[] {
  const joined: { startAt: number; endAt: number }[] = []
  for (const span of [...spans].sort(byStart)) {
    const last = joined.at(-1)
    if (span.endAt <= span.startAt) continue
    if (last && span.startAt <= last.endAt + gapMs) last.endAt = Math.max(last.endAt, span.endAt)
    else joined.push({ startAt: span.startAt, endAt: span.endAt })
  }
  return joined
}

/** What of `from` lies in none of `without`; both sorted and disjoint, as `union` makes them. */
export function subtract(from: readonly Span[], without: readonly Span[]): Span[] {
  const rest: Span[] = []
  let next = 0
  for (const span of from) {
    let startAt = span.startAt
    while ((without[next]?.endAt ?? Number.POSITIVE_INFINITY) <= startAt) next += 1
    for (let index = next; index < without.length; index += 1) {
      const hole = without[index]
      if (!hole || hole.startAt >= span.endAt) break
      if (hole.startAt > startAt) rest.push({ startAt, endAt: hole.startAt })
      startAt = Math.max(startAt, hole.endAt)
    }
    if (startAt < span.endAt) rest.push({ startAt, endAt: span.endAt })
  }
  return rest
}

/** What lies in both; both sorted and disjoint. */
export function intersect(a: readonly Span[], b: readonly Span[]): Span[] {
  const shared: Span[] = []
  let [i, j] = [0, 0]
  while (i < a.length && j < b.length) {
    const [left, right] = [a[i], b[j]]
    if (!left || !right) break
    const startAt = Math.max(left.startAt, right.startAt)
    const endAt = Math.min(left.endAt, right.endAt)
    if (startAt < endAt) shared.push({ startAt, endAt })
    if (left.endAt < right.endAt) i += 1
    else j += 1
  }
  return shared
}

export function clip(span: Span, within: Span): Span {
  return { startAt: Math.max(span.startAt, within.startAt), endAt: Math.min(span.endAt, within.endAt) }
}

export function totalMs(spans: readonly Span[]): number {
  return spans.reduce((sum, span) => sum + (span.endAt - span.startAt), 0)
}

export function touches(a: Span, b: Span): boolean {
  return a.startAt < b.endAt && b.startAt < a.endAt
}

/** Whether an instant lies in one of the sorted, disjoint spans. */
export function holds(spans: readonly Span[], at: number): boolean {
  let [low, high] = [0, spans.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((spans[middle]?.endAt ?? 0) <= at) low = middle + 1
    else high = middle
  }
  const span = spans[low]
  return span !== undefined && span.startAt <= at
}
