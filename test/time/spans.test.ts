import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contains, intersect, type Span, spansFromPairs, subtract, totalMs, union } from '../../src/time/spans.ts'

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
  )
})

test('a difference holds what is in the one and not in the other', () => {
  fc.assert(
    fc.property(spans, spans, (a, b) => {
      const theirs = pointsOf(b)
      expect(pointsOf(subtract(union(a), union(b)))).toEqual(
        new Set([...pointsOf(a)].filter((point) => !theirs.has(point))),
      )
    }),
  )
})

test('an intersection holds what is in both', () => {
  fc.assert(
    fc.property(spans, spans, (a, b) => {
      const theirs = pointsOf(b)
      expect(pointsOf(intersect(union(a), union(b)))).toEqual(
        new Set([...pointsOf(a)].filter((point) => theirs.has(point))),
      )
    }),
  )
})

test('the difference and the intersection together are the whole set', () => {
  fc.assert(
    fc.property(spans, spans, (a, b) => {
      expect(union([...subtract(union(a), union(b)), ...intersect(union(a), union(b))])).toEqual(union(a))
    }),
  )
})

test('a set contains an instant when one of its spans does', () => {
  fc.assert(
    fc.property(spans, fc.integer({ min: -1, max: 80 }), (set, atMs) => {
      expect(contains(union(set), atMs)).toBe(pointsOf(set).has(atMs))
    }),
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
