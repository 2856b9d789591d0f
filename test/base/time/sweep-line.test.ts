import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sweepLine } from '../../../src/base/time/sweep-line.ts'

test('the sweep line gives each moment to the best item that covers it, and joins neighbours', () => {
  const items = [
    { name: 'low', startMs: 0, endMs: 10, rank: 2 },
    { name: 'high', startMs: 2, endMs: 4, rank: 0 },
    { name: 'mid', startMs: 3, endMs: 6, rank: 1 },
    { name: 'empty', startMs: 5, endMs: 5, rank: 0 },
  ]

  // Frozen: the caller's items keep their order.
  const portions = sweepLine(Object.freeze(items), (a, b) => a.rank - b.rank)

  expect(portions.map(({ startMs, endMs, of }) => `${of.name} ${startMs}-${endMs}`)).toEqual([
    'low 0-2',
    'high 2-4',
    'mid 4-6',
    'low 6-10',
  ])
})

/** No two items of one rank, so that the best is the same in any order. Some items are empty or end before they start. */
const items = fc
  .array(fc.tuple(fc.integer({ min: -30, max: 30 }), fc.integer({ min: -3, max: 20 }), fc.nat({ max: 1000 })), {
    maxLength: 40,
  })
  .map((drawn) => drawn.map(([startMs, length, rank], index) => ({ startMs, endMs: startMs + length, rank, index })))

type Item = { startMs: number; endMs: number; rank: number; index: number }
const better = (a: Item, b: Item) => a.rank - b.rank || a.index - b.index

test('each moment belongs to the best of all items that cover it, and a moment that none covers to none', () => {
  fc.assert(
    fc.property(items, (drawn) => {
      const portions = sweepLine(drawn, better)
      for (let atMs = -31; atMs <= 51; atMs += 1) {
        const [best] = drawn.filter(({ startMs, endMs }) => startMs <= atMs && atMs < endMs).sort(better)
        const portion = portions.filter(({ startMs, endMs }) => startMs <= atMs && atMs < endMs)
        expect(portion.map(({ of }) => of)).toEqual(best ? [best] : [])
      }
    }),
    { seed: 20261124, numRuns: 300 },
  )
})

test('the portions are in order, none is empty, and two that touch belong to different items', () => {
  fc.assert(
    fc.property(items, (drawn) => {
      const portions = sweepLine(drawn, better)
      for (const [index, { startMs, endMs, of }] of portions.entries()) {
        expect(startMs).toBeLessThan(endMs)
        const before = portions[index - 1]
        if (before) expect(before.endMs).toBeLessThanOrEqual(startMs)
        if (before?.endMs === startMs) expect(before.of).not.toBe(of)
      }
    }),
    { seed: 20261124, numRuns: 300 },
  )
})

test('equal pieces of one item on both sides of a better one stay two portions', () => {
  const portions = sweepLine(
    [
      { startMs: 0, endMs: 3, rank: 1, index: 0 },
      { startMs: 1, endMs: 2, rank: 0, index: 1 },
      { startMs: 5, endMs: 6, rank: 0, index: 2 },
    ],
    better,
  )

  expect(portions.map(({ startMs, endMs, of }) => [startMs, endMs, of.index])).toEqual([
    [0, 1, 0],
    [1, 2, 1],
    [2, 3, 0],
    [5, 6, 2],
  ])
})
