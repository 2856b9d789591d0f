import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lowerBound } from '../../../src/base/time/lower-bound.ts'

test('the first index that is not before is found, with as many questions as a halving needs', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 40 }), { maxLength: 200 }),
      fc.integer({ min: -1, max: 41 }),
      (numbers, wanted) => {
        const sorted = numbers.toSorted((a, b) => a - b)
        let questions = 0
        const found = lowerBound(sorted.length, (index) => {
          questions += 1
          expect(index >= 0 && index < sorted.length).toBe(true)
          return (sorted[index] ?? 0) < wanted
        })
        const first = sorted.findIndex((number) => number >= wanted)
        expect(found).toBe(first === -1 ? sorted.length : first)
        expect(questions).toBeLessThanOrEqual(Math.ceil(Math.log2(sorted.length + 1)))
      },
    ),
    { seed: 20261124, numRuns: 300 },
  )
})
