import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkpointOf, intersect, lengthOf, normalize, type Span, spansOf, subtract } from '../../src/coverage.ts'

const span = fc
  .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 12 }))
  .map(([from, length]): Span => ({ from, to: from + length }))
const spans = fc.array(span, { maxLength: 8 })

/** The same set, said point by point: half-open spans of whole numbers hold the numbers in them. */
const pointsOf = (set: readonly Span[]): Set<number> =>
  new Set(set.flatMap(({ from, to }) => Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)))

test('a set of spans holds the same points after it was put in order', () => {
  fc.assert(
    fc.property(spans, (set) => {
      const ordered = normalize(set)
      expect(pointsOf(ordered)).toEqual(pointsOf(set))
      expect(lengthOf(ordered)).toBe(pointsOf(set).size)
      for (const [index, one] of ordered.entries()) {
        expect(one.from).toBeLessThan(one.to)
        const before = ordered[index - 1]
        if (before) expect(before.to).toBeLessThan(one.from)
      }
    }),
  )
})

test('a difference holds what is in the one and not in the other', () => {
  fc.assert(
    fc.property(spans, spans, (a, b) => {
      const theirs = pointsOf(b)
      expect(pointsOf(subtract(a, b))).toEqual(new Set([...pointsOf(a)].filter((point) => !theirs.has(point))))
    }),
  )
})

test('an intersection holds what is in both', () => {
  fc.assert(
    fc.property(spans, spans, (a, b) => {
      const theirs = pointsOf(b)
      expect(pointsOf(intersect(a, b))).toEqual(new Set([...pointsOf(a)].filter((point) => theirs.has(point))))
    }),
  )
})

test('what was taken away and put back is all there, and nothing else', () => {
  fc.assert(
    fc.property(spans, spans, (a, b) => {
      expect(normalize([...subtract(a, b), ...intersect(a, b)])).toEqual(normalize(a))
    }),
  )
})

test('a checkpoint never passes a hole', () => {
  fc.assert(
    fc.property(spans, fc.integer({ min: 0, max: 60 }), (covered, start) => {
      const points = pointsOf(covered)
      let reached = start
      while (points.has(reached)) reached += 1
      expect(checkpointOf(covered, start)).toBe(reached)
    }),
  )
})

test('spans without ends are read as endless, not as empty', () => {
  const everything = spansOf([[null, null]])

  expect(subtract([{ from: 0, to: 10 }], everything)).toEqual([])
  expect(spansOf([[5, null]])).toEqual([{ from: 5, to: Number.POSITIVE_INFINITY }])
  expect(spansOf(null)).toEqual([])
})
