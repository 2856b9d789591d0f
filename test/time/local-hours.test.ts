import { expect, test } from 'vitest'
import { splitAtLocalHours } from '../../src/time/local-hours.ts'
import { HOUR, MINUTE } from '../../src/time/units.ts'

test('a span is cut at the full hours of the local clock, also where its offset is no full hour', () => {
  const parts = splitAtLocalHours({ startMs: 20 * MINUTE, endMs: 2 * HOUR }, 330)

  expect(parts.map(({ startMs, endMs, hour }) => [startMs / MINUTE, endMs / MINUTE, hour])).toEqual([
    [20, 30, 5],
    [30, 90, 6],
    [90, 120, 7],
  ])
})

test('an empty span has no parts', () => {
  expect(splitAtLocalHours({ startMs: 5, endMs: 5 }, 0)).toEqual([])
})
