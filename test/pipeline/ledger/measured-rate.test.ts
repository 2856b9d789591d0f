import fc from 'fast-check'
import { expect, test } from 'vitest'
import { measuredRateOf } from '../../../src/pipeline/ledger/measured-rate.ts'

/** From the literature on the Wilson interval: hits, size, and the interval at 95 %. */
const published: ReadonlyArray<readonly [number, number, number, number]> = [
  [0, 10, 0, 0.2775],
  [1, 10, 0.0179, 0.4042],
  [5, 10, 0.2366, 0.7634],
  [10, 10, 0.7225, 1],
  [15, 148, 0.0624, 0.1605],
  [0, 1000, 0, 0.0038],
]

test.for(published)('%i of %i lies between %f and %f', ([hits, size, rateFrom, rateUpTo]) => {
  const rate = measuredRateOf(hits, size)

  expect(rate.rate).toBe(hits / size)
  expect(rate.rateFrom).toBeCloseTo(rateFrom, 4)
  expect(rate.rateUpTo).toBeCloseTo(rateUpTo, 4)
})

const ROUNDING = 1e-12

/** A sample and how many of it were hit. */
const sample = fc
  .integer({ min: 1, max: 100_000 })
  .chain((size) => fc.tuple(fc.integer({ min: 0, max: size }), fc.constant(size)))

test('the interval holds the rate, lies within 0 and 1, and is the mirror image of the interval of the misses', () => {
  fc.assert(
    fc.property(sample, ([hits, size]) => {
      const { rate, rateFrom, rateUpTo } = measuredRateOf(hits, size)
      const misses = measuredRateOf(size - hits, size)

      expect(rateFrom).toBeGreaterThanOrEqual(0)
      expect(rateFrom).toBeLessThanOrEqual(rate + ROUNDING)
      expect(rateUpTo).toBeGreaterThanOrEqual(rate - ROUNDING)
      expect(rateUpTo).toBeLessThanOrEqual(1)
      expect(misses.rateFrom).toBeCloseTo(1 - rateUpTo, 9)
    }),
  )
})

test('ten times the sample with the same rate says more', () => {
  fc.assert(
    fc.property(sample, ([hits, size]) => {
      const [small, large] = [measuredRateOf(hits, size), measuredRateOf(10 * hits, 10 * size)]

      expect(large.rateUpTo - large.rateFrom).toBeLessThan(small.rateUpTo - small.rateFrom)
    }),
  )
})
