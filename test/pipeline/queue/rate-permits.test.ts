import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ratePermitsFrom } from '../../../src/pipeline/queue/rate-permits.ts'

/** The count of one second, as a rate limiter of the library keeps it; the other members of the library are not used. */
function openSecond() {
  const second = { consumed: 0 }
  const change = async (by: number) => {
    second.consumed += by
    return { consumedPoints: second.consumed, msBeforeNext: 400, remainingPoints: 0, isFirstInDuration: false }
  }
  const rate = {
    penalty: (_: string | number, points = 1) => change(points),
    reward: (_: string | number, points = 1) => change(-points),
  } as unknown as Parameters<typeof ratePermitsFrom>[0]
  return { second, acquire: ratePermitsFrom(rate) }
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
          const before = granted
          granted += (await acquire(wanted, limit)).granted
          expect(granted).toBe(Math.min(before + wanted, Math.floor(limit)))
          expect(second.consumed).toBe(granted)
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
