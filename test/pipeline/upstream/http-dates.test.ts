import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { HOUR, SECOND } from '../../../src/base/time/units.ts'
import { httpDateMsOf, retryAfterMsOf } from '../../../src/pipeline/upstream/retry-after.ts'

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const two = (number: number) => String(number).padStart(2, '0')

/** The three forms that RFC 9110 has a client read. */
const forms: Record<string, (date: Date) => string> = {
  'IMF-fixdate': (date) => date.toUTCString(),
  'RFC 850': (date) =>
    `${days[date.getUTCDay()]}, ${two(date.getUTCDate())}-${months[date.getUTCMonth()]}-${two(date.getUTCFullYear() % 100)} ${timeOf(date)} GMT`,
  asctime: (date) =>
    `${days[date.getUTCDay()]?.slice(0, 3)} ${months[date.getUTCMonth()]} ${String(date.getUTCDate()).padStart(2)} ${timeOf(date)} ${date.getUTCFullYear()}`,
}
const timeOf = (date: Date) => date.toISOString().slice(11, 19)

/** In two digits a year is one of the fifty before or after 2000. */
const anySecond = fc
  .integer({ min: Date.UTC(1970, 0, 1) / SECOND, max: Date.UTC(2049, 11, 31) / SECOND })
  .map((seconds) => new Date(seconds * SECOND))

for (const [name, written] of Object.entries(forms))
  test(`a date of HTTP in the form ${name} is read in GMT`, () => {
    fc.assert(
      fc.property(anySecond, (date) => {
        expect(httpDateMsOf(written(date)), written(date)).toBe(date.getTime())
      }),
      { seed: 20261124, numRuns: 500 },
    )
  })

test('a date is compared with the server’s own clock, and a pause is never negative nor longer than an hour', () => {
  fc.assert(
    fc.property(anySecond, fc.integer({ min: -2 * 3600, max: 2 * 3600 }), fc.boolean(), (date, seconds, hasDate) => {
      const now = date.getTime() - seconds * SECOND
      const pauseMs = retryAfterMsOf(date.toUTCString(), hasDate ? now : undefined, hasDate ? 0 : now)
      expect(pauseMs).toBe(Math.min(HOUR, Math.max(0, seconds * SECOND)))
    }),
    { seed: 20261124 },
  )
})

test('any text is a pause within bounds, or none', () => {
  const likely = fc.constantFrom('5', '-5', '0', '1.5', '+1', 'soon', '2026-11-24T08:00:00', '99999999999', '', ' 3 ')
  fc.assert(
    fc.property(fc.oneof(likely, fc.string({ unit: 'grapheme' })), (text) => {
      const pauseMs = retryAfterMsOf(text, undefined, Date.UTC(2026, 10, 24))
      if (pauseMs !== undefined) expect(pauseMs >= 0 && pauseMs <= HOUR, text).toBe(true)
    }),
    { seed: 20261124, numRuns: 1000 },
  )
  expect(retryAfterMsOf('2026-11-24T00:00:10', undefined, Date.UTC(2026, 10, 24))).toBe(10 * SECOND)
})

test.for([
  'Sun Nov  6 08:49:37 1994',
  'Sun, 06 Nov 1994 10:49:37 +0200',
  '1994-11-06T08:49:37',
  '1994-11-06T10:49:37+02:00',
])('%s is the same instant in every zone of this process', (written) => {
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const zone of ['UTC', 'America/New_York', 'Asia/Kolkata']) {
    vi.stubEnv('TZ', zone)
    expect(retryAfterMsOf(written, Date.UTC(1994, 10, 6, 8, 49, 30), 0), zone).toBe(7 * SECOND)
  }
})

test.for<[string, number | undefined]>([
  ['5', 5 * SECOND],
  [' 1.5 ', 1.5 * SECOND],
  ['-5', 0],
  ['+5', undefined],
  ['+55', undefined],
  ['1.2.3', undefined],
])('the number %s asks for a pause of %s ms', ([written, pauseMs]) => {
  expect(retryAfterMsOf(written, undefined, 0)).toBe(pauseMs)
})
