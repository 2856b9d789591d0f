import { expect, test } from 'vitest'
import { sweepLine } from '../../src/time/sweep-line.ts'

test('the sweep line gives each moment to the best item that covers it, and joins neighbours', () => {
  const items = [
    { name: 'low', startMs: 0, endMs: 10, rank: 2 },
    { name: 'high', startMs: 2, endMs: 4, rank: 0 },
    { name: 'mid', startMs: 3, endMs: 6, rank: 1 },
    { name: 'empty', startMs: 5, endMs: 5, rank: 0 },
  ]

  const portions = sweepLine(items, (a, b) => a.rank - b.rank)

  expect(portions.map(({ startMs, endMs, of }) => `${of.name} ${startMs}-${endMs}`)).toEqual([
    'low 0-2',
    'high 2-4',
    'mid 4-6',
    'low 6-10',
  ])
})
