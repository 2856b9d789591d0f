import fc from 'fast-check'
import { expect, test } from 'vitest'
import { instantMicrosOf } from '../../src/time/instant-micros.ts'

test('an instant is the same as the runtime reads it, on every day of two centuries', () => {
  const written = fc
    .tuple(
      fc.date({ min: new Date('1899-06-01'), max: new Date('2101-06-01'), noInvalidDate: true }),
      fc.constantFrom('Z', '+00:00', '-09:30', '+14:00', '-12:00'),
    )
    .map(([date, offset]) => date.toISOString().replace(/\.\d+Z$/, offset))
  fc.assert(
    fc.property(written, (text) => instantMicrosOf(text) === Date.parse(text) * 1000),
    { numRuns: 2000 },
  )
  for (const day of ['2026-02-29', '2100-02-29', '2026-04-31', '2026-13-01', '2026-00-10', '2026-01-00']) {
    expect(instantMicrosOf(`${day}T00:00:00Z`), day).toBeUndefined()
  }
  expect(instantMicrosOf('2024-02-29T23:59:59Z')).toBe(Date.UTC(2024, 1, 29, 23, 59, 59) * 1000)
})
