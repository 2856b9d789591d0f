import { describe, expect, test } from 'vitest'
import { bandOf, settledBand } from '../../../src/service/derive/days/hysteresis.ts'

describe('an archetype changes slowly', () => {
  const edges = [10, 20, 30]
  const settle = (...values: (number | null)[]) => settledBand(edges, values, () => 1)
  /** Differences of 2: a deviation of 2 / 0.9539 = 2.097. */
  const person = [16, 18, 16, 18]

  test('a value on a threshold belongs above it', () => {
    expect([9.9, 10, 20, 29.9, 30].map((value) => bandOf(edges, value))).toEqual([0, 1, 2, 2, 3])
  })
  test('one period changes the band when it is past a threshold by two and a half of the person’s own deviations', () => {
    // 20 + 2.5 × 2.097 = 25.24.
    expect(settle(...person, 25.2)).toBe(1)
    expect(settle(...person, 25.3)).toBe(2)
    // Below 10 by 5.24 is 4.76.
    expect(settle(...person, 4.8)).toBe(1)
    expect(settle(...person, 4.7)).toBe(0)
  })
  test('two known periods in a row change it when both are past a threshold by nine tenths of one', () => {
    // 20 + 0.9 × 2.097 = 21.887.
    expect(settle(...person, 21.8, 21.8)).toBe(1)
    expect(settle(...person, 21.9, 21.9)).toBe(2)
    expect(settle(...person, 21.9, null, 21.9)).toBe(2)
    expect(settle(...person, 24, 20.5)).toBe(1)
    expect(settle(...person, 6, 9.5)).toBe(1)
    expect(settle(...person, 21.9, 18, 21.9)).toBe(1)
  })
  test('four in a row change it when they are past a threshold at all', () => {
    expect(settle(...person, 20.1, 20.2, 20.1)).toBe(1)
    expect(settle(...person, 20.1, 20.2, 20.1, 20.2)).toBe(2)
    expect(settle(...person, 20.1, 20.2, 19.9, 20.2)).toBe(1)
  })
  test('a period on a threshold is past it from below, and not from above', () => {
    expect(settle(...person, 20, 20, 20)).toBe(1)
    expect(settle(...person, 20, 20, 20, 20)).toBe(2)
    expect(settle(...person, 10, 10, 10, 10)).toBe(1)
    // A deviation of a quarter: 2.5 of them are 0.625.
    expect(settle(19, 19, 19, 19, 19, 20.625)).toBe(2)
    expect(settle(11, 11, 11, 11, 11, 9.375)).toBe(1)
  })
  test('while few periods are known, the usual deviation counts for the others', () => {
    // Differences 1.8 and 0, and two usual ones of deviation 1: √((0.9435² + 1) / 2) × 0.9 = 0.875.
    expect(settle(19, 20.8, 20.8)).toBe(1)
    // Differences 2 and 0: √((1.0483² + 1) / 2) × 0.9 = 0.922.
    expect(settle(19, 21, 21)).toBe(2)
  })
  test('nobody’s deviation is less than a quarter of the usual one', () => {
    const even = [19, 19, 19, 19, 19]
    expect(settle(...even, 20.6)).toBe(1)
    expect(settle(...even, 20.7)).toBe(2)
    expect(settle(...even, 20.2, 20.2)).toBe(1)
    expect(settle(...even, 20.3, 20.3)).toBe(2)
  })
  test('a period without a figure has no band', () => {
    expect(settle(19, null)).toBeNull()
    expect(settle(null, 25)).toBe(2)
  })
  test('a band may change by two at once', () => {
    expect(settle(5, 6, 5, 6, 25)).toBe(2)
  })
  test('a replay over many periods begins with the middle of its first half, that of a new person with the first', () => {
    expect(settle(21, 19, 19, 21, 19, 19)).toBe(1)
    expect(settle(null, 21, 19.2, 19.2)).toBe(2)
    expect(settle(null, 20.5, 19, 20.2, 19.2, 19.4)).toBe(2)
    expect(settle(null, null, 10.5)).toBe(1)
    // The middle of all five would be 20.5.
    expect(settle(19.5, 17.5, 20.5, 20.5, 20.5)).toBe(1)
  })
  test('the first periods of a replay change the band as later ones do', () => {
    // Both begin at 1. One period is past 20 by 2.5 deviations of 2.097; two are past it by 0.9 deviations of 1.048.
    expect(settle(26, 19, 19, 21, 19)).toBe(2)
    expect(settle(22, 22, 19.5, 19.5, 19.5, 20.5, 19.5, 20.5, 19.5)).toBe(2)
  })
})
