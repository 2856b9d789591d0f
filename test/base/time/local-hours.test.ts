import fc from 'fast-check'
import { expect, test } from 'vitest'
import { splitAtLocalHours } from '../../../src/base/time/local-time.ts'
import { HOUR, MINUTE } from '../../../src/base/time/units.ts'

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

test('the parts of a span follow one another, and each lies in the hour that a local clock shows', () => {
  const span = fc
    .tuple(fc.integer({ min: -100 * HOUR, max: 100 * HOUR }), fc.integer({ min: 0, max: 30 * HOUR }))
    .map(([startMs, length]) => ({ startMs, endMs: startMs + length }))
  fc.assert(
    fc.property(span, fc.integer({ min: -14 * 60, max: 14 * 60 }), ({ startMs, endMs }, offset) => {
      const parts = splitAtLocalHours({ startMs, endMs }, offset)
      const shownAt = (ms: number) => new Date(ms + offset * MINUTE).toISOString()
      let nextMs = startMs
      for (const [index, part] of parts.entries()) {
        expect(part.startMs).toBe(nextMs)
        expect(part.hour).toBe(Number(shownAt(part.startMs).slice(11, 13)))
        expect(shownAt(part.endMs - 1).slice(0, 13)).toBe(shownAt(part.startMs).slice(0, 13))
        if (index > 0) expect(shownAt(part.startMs).slice(14)).toBe('00:00.000Z')
        nextMs = part.endMs
      }
      expect(nextMs).toBe(endMs)
    }),
    { seed: 20261124 },
  )
})
