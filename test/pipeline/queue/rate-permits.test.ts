import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ratePermitsFrom } from '../../../src/pipeline/queue/rate-permits.ts'

function openSecond(endsInMs = 400) {
  const second = { consumed: 0, changes: 0 }
  const acquire = ratePermitsFrom(async (requests) => {
    second.consumed += requests
    second.changes += 1
    return { counted: second.consumed, endsInMs }
  })
  return { second, acquire }
}

test('the permits of a second are granted up to its limit, and the excess is given back', () =>
  fc.assert(
    fc.asyncProperty(
      fc.float({ min: 0, max: 40, noNaN: true }),
      fc.array(fc.integer({ min: 1, max: 15 }), { maxLength: 12 }),
      async (limit, asks) => {
        const { second, acquire } = openSecond()
        let granted = 0
        for (const wanted of asks) {
          const [before, changes] = [granted, second.changes]
          granted += (await acquire(wanted, limit)).granted
          expect(granted).toBe(Math.min(before + wanted, Math.floor(limit)))
          expect(second.consumed).toBe(granted)
          // Each change is a round trip: where nothing is given back there is one.
          expect(second.changes - changes).toBe(granted === before + wanted ? 1 : 2)
        }
      },
    ),
    { numRuns: 200, seed: 40 },
  ))

test('a limit that fell below what was granted before grants nothing', async () => {
  const { second, acquire } = openSecond()
  await acquire(10, 10)

  expect(await acquire(2, 5)).toEqual({ granted: 0, endsInMs: 400 })
  expect(second.consumed).toBe(10)
})
