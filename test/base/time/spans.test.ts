import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  clip,
  contains,
  intersect,
  overlaps,
  type Span,
  spansFromPairs,
  subtract,
  totalMs,
  union,
} from '../../../src/base/time/spans.ts'

const span = fc
  .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 12 }))
  .map(([from, length]): Span => ({ startMs: from, endMs: from + length }))
const spans = fc.array(span, { maxLength: 8 })

/** The whole numbers that the half-open spans of a set contain. */
const pointsOf = (set: readonly Span[]): Set<number> =>
  new Set(
    set.flatMap(({ startMs, endMs }) =>
      Array.from({ length: Math.max(0, endMs - startMs) }, (_, index) => startMs + index),
    ),
  )

test('a set of spans holds the same points after it was put in order', () => {
  fc.assert(
    fc.property(spans, (set) => {
      const ordered = union(set)
      expect(pointsOf(ordered)).toEqual(pointsOf(set))
      expect(totalMs(ordered)).toBe(pointsOf(set).size)
      for (const [index, one] of ordered.entries()) {
        expect(one.startMs).toBeLessThan(one.endMs)
        const before = ordered[index - 1]
        if (before) expect(before.endMs).toBeLessThan(one.startMs)
      }
    }),
    { seed: 20261124 },
  )
})

test('a difference holds the instants that are in the first set and not in the second', () => {
  fc.assert(
    fc.property(spans, spans, (a, b) => {
      const theirs = pointsOf(b)
      expect(pointsOf(subtract(union(a), union(b)))).toEqual(
        new Set([...pointsOf(a)].filter((point) => !theirs.has(point))),
      )
    }),
    { seed: 20261124 },
  )
})

test('an intersection holds the instants that are in both sets', () => {
  fc.assert(
    fc.property(spans, spans, (a, b) => {
      const theirs = pointsOf(b)
      expect(pointsOf(intersect(union(a), union(b)))).toEqual(
        new Set([...pointsOf(a)].filter((point) => theirs.has(point))),
      )
    }),
    { seed: 20261124 },
  )
})

test('the difference and the intersection together are the whole set', () => {
  fc.assert(
    fc.property(spans, spans, (a, b) => {
      expect(union([...subtract(union(a), union(b)), ...intersect(union(a), union(b))])).toEqual(union(a))
    }),
    { seed: 20261124 },
  )
})

test('a set contains an instant when one of its spans does', () => {
  fc.assert(
    fc.property(spans, fc.integer({ min: -1, max: 80 }), (set, atMs) => {
      expect(contains(union(set), atMs)).toBe(pointsOf(set).has(atMs))
    }),
    { seed: 20261124 },
  )
})

test('spans without ends are read as endless, not as empty', () => {
  const everything = spansFromPairs([[null, null]])

  expect(subtract([{ startMs: 0, endMs: 10 }], everything)).toEqual([])
  expect(spansFromPairs([[5, null]])).toEqual([{ startMs: 5, endMs: Number.POSITIVE_INFINITY }])
  expect(spansFromPairs(null)).toEqual([])
})

test('a span that starts at the end of time is left as it is, past the last hole', () => {
  const endless = { startMs: Number.POSITIVE_INFINITY, endMs: Number.POSITIVE_INFINITY }

  expect(subtract([endless], [{ startMs: 0, endMs: Number.POSITIVE_INFINITY }])).toEqual([])
})

/** Spans whose ends may be open, in any order and some reversed. Points are whole numbers, and one on either side of all. */
const anyEnd = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 30 }) },
  { weight: 1, arbitrary: fc.constantFrom(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY) },
)
const anySpan = fc.tuple(anyEnd, anyEnd).map(([startMs, endMs]): Span => ({ startMs, endMs }))
const anySpans = fc.array(anySpan, { maxLength: 8 })
const points = Array.from({ length: 33 }, (_, index) => index - 1)
const holds = (set: readonly Span[], point: number) =>
  set.some(({ startMs, endMs }) => startMs <= point && point < endMs)

test('open ends are ends like others: of a union, a difference and an intersection', () => {
  fc.assert(
    fc.property(anySpans, anySpans, (a, b) => {
      const [left, right] = [union(a), union(b)]
      for (const point of points) {
        const [inLeft, inRight] = [holds(a, point), holds(b, point)]
        expect(holds(left, point)).toBe(inLeft)
        expect(contains(left, point)).toBe(inLeft)
        expect(holds(subtract(left, right), point)).toBe(inLeft && !inRight)
        expect(holds(intersect(left, right), point)).toBe(inLeft && inRight)
      }
      expect(union(subtract(left, right))).toEqual(subtract(left, right))
      expect(union(intersect(left, right))).toEqual(intersect(left, right))
    }),
    { seed: 20261124, numRuns: 500 },
  )
})

test('spans are joined over a gap of at most its size', () => {
  fc.assert(
    fc.property(spans, fc.integer({ min: 0, max: 5 }), (set, gapMs) => {
      const [joined, exact] = [union(set, gapMs), union(set)]
      for (const [index, one] of joined.entries()) {
        const before = joined[index - 1]
        if (before) expect(one.startMs - before.endMs).toBeGreaterThan(gapMs)
      }
      const filled = subtract(joined, exact)
      expect(intersect(joined, exact)).toEqual(exact)
      for (const { startMs, endMs } of filled) expect(endMs - startMs).toBeLessThanOrEqual(gapMs)
    }),
    { seed: 20261124 },
  )
  const two = [
    { startMs: 0, endMs: 2 },
    { startMs: 5, endMs: 7 },
  ]
  expect(union(two, 3)).toEqual([{ startMs: 0, endMs: 7 }])
  expect(union(two, 2)).toEqual(two)
})

test('two spans overlap when they share a moment: one that begins where the other ends does not', () => {
  fc.assert(
    fc.property(span, span, (a, b) => {
      const clipped = clip(a, b)
      if (a.startMs === a.endMs || b.startMs === b.endMs) return
      expect(overlaps(a, b)).toBe([...pointsOf([a])].some((point) => pointsOf([b]).has(point)))
      expect(overlaps(a, b)).toBe(overlaps(b, a))
      expect(union([clipped])).toEqual(intersect([a], [b]))
    }),
    { seed: 20261124 },
  )
  const hour = { startMs: 0, endMs: 60 }
  expect(overlaps(hour, { startMs: 60, endMs: 90 })).toBe(false)
  expect(overlaps({ startMs: -30, endMs: 0 }, hour)).toBe(false)
  expect(overlaps(hour, { startMs: 30, endMs: 30 })).toBe(true)
  expect(clip(hour, { startMs: 30, endMs: 90 })).toEqual({ startMs: 30, endMs: 60 })
  expect(clip(hour, { startMs: 70, endMs: 90 })).toEqual({ startMs: 70, endMs: 60 })
})

test('the given spans are left as they are, and the set has spans of its own', () => {
  const given = Object.freeze([Object.freeze({ startMs: 5, endMs: 7 }), Object.freeze({ startMs: 1, endMs: 6 })])

  expect(union(given)).toEqual([{ startMs: 1, endMs: 7 }])
  expect(given).toEqual([
    { startMs: 5, endMs: 7 },
    { startMs: 1, endMs: 6 },
  ])
})

test('an open start of a pair is the beginning of time', () => {
  expect(spansFromPairs([[null, 5]])).toEqual([{ startMs: Number.NEGATIVE_INFINITY, endMs: 5 }])
  expect(spansFromPairs([[0, 0]])).toEqual([{ startMs: 0, endMs: 0 }])
})
