import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { biomarker, deriveAll, log, phone, wornAllDay } from './made-logs.ts'

const day = '2026-06-03'
const zone = '+02:00'
const at = (minute: number) =>
  `${day}T${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00${zone}`
const stepsOf = (logs: readonly DataLog[], on = day) =>
  Number(biomarker(deriveAll({ logs, asOf: '2027-01-01T00:00:00Z' }), 'steps', on))

/** Logs of equal length from a minute of the day on, each with the same value. */
const row = (from: number, [count, minutes]: readonly [number, number], value: number, extra: Partial<DataLog> = {}) =>
  Array.from({ length: count }, (_, place) => log('steps', at(from + place * minutes), [minutes, value], extra))
const total = (value: number, extra: Partial<DataLog> = {}) => log('steps', at(0), [1440, value], extra)

describe('one source that sends a total and its parts sends one amount', () => {
  test('ten minutes of 100 and a total of 1,000 are 1,000', () => {
    expect(stepsOf([...row(600, [10, 1], 100), total(1000)])).toBe(1000)
  })
  test('ten hours of 500 and their total of 5,000 are 5,000', () => {
    expect(stepsOf([...row(480, [10, 60], 500), total(5000)])).toBe(5000)
  })
  test('sixty minutes, the hours around them and a total are the total', () => {
    // 60 × 10 = 600 of the first hour's 700; three hours of 700, 500 and 400 = 1,600 of 2,000.
    const hours = [log('steps', at(540), [60, 700]), log('steps', at(600), [60, 500]), log('steps', at(660), [60, 400])]
    expect(stepsOf([...row(540, [60, 1], 10), ...hours, total(2000)])).toBe(2000)
  })
  test('parts that are more than their total count', () => {
    expect(stepsOf([...row(600, [10, 1], 150), total(1000)])).toBe(1500)
  })
  test('parts that fill the whole day and lack something are raised to the total', () => {
    expect(stepsOf([...row(0, [24, 60], 100), total(3000)])).toBe(3000)
  })
  test('totals that are marked as hourly and daily are the same', () => {
    const hours = row(540, [3, 60], 400, { periodicity: 'hourly' })
    expect(stepsOf([...row(540, [60, 1], 5), ...hours, total(2000, { periodicity: 'daily' })])).toBe(2000)
    // The day's 12,000 less the 5,000 of four hours are spread over the other twenty.
    expect(stepsOf([log('steps', at(480), [240, 5000]), total(12_000, { periodicity: 'daily' })])).toBe(12_000)
  })
  test('a total of another edition adds what it has more', () => {
    expect(stepsOf([total(4000), total(5000)])).toBe(5000)
  })
})

test.each(['floors_climbed', 'active_energy_burned', 'total_energy_burned'])(
  'a total and its parts are one amount of any measure that is summed: %s',
  (kind) => {
    const parts = [540, 600, 660].map((minute) => log(kind, at(minute), [60, 20]))
    const amountOf = (whole: number) => {
      const logs = [...wornAllDay(day, zone), ...parts, log(kind, at(0), [1440, whole])]
      return Number(biomarker(deriveAll({ logs }), kind, day))
    }
    expect([amountOf(100), amountOf(60), amountOf(50)]).toEqual([100, 60, 60])
  },
)

describe('two sources with totals each', () => {
  const watch = [...row(600, [60, 1], 50), total(5000)]

  test('a total does not fill the moments that another source has counted, and the larger of sum and totals counts', () => {
    // The watch has 3,000 in its hour, the phone 1,500 in another: of the watch's 5,000 only 500 are left.
    expect(stepsOf([...watch, ...row(720, [60, 1], 25, phone), total(4000, phone)])).toBe(5000)
    // The phone's 2,400 make 5,400: more than either total.
    expect(stepsOf([...watch, ...row(720, [60, 1], 40, phone), total(4000, phone)])).toBe(5400)
  })
  test('the better source has the moments that both counted', () => {
    expect(stepsOf([...watch, ...row(600, [60, 1], 90, phone), total(4000, phone)])).toBe(5000)
  })
  test('of two totals alone the better source counts, not the larger total', () => {
    expect(stepsOf([total(4000), total(6000, phone)])).toBe(4000)
  })
  test('a total of one source holds the details of another', () => {
    expect(stepsOf([total(5000), ...row(600, [60, 1], 50, phone)])).toBe(5000)
  })
  test('a day, hours and minutes of three sources: 2,400, 1,000 and 700 are 2,400', () => {
    const hour = log('steps', at(480), [60, 1000], { periodicity: 'hourly', source: 'ring-app', deviceType: 'ring' })
    const day = total(2400, { periodicity: 'daily' })
    expect(stepsOf([day, hour, log('steps', at(540), [60, 700], phone)])).toBe(2400)
  })
})

test.each([
  ['23', '2026-03-29', '+01:00', '+02:00'],
  ['25', '2026-10-25', '+02:00', '+01:00'],
])('a day of %s hours has its total once', (hours, on, before, after) => {
  const startMs = Date.parse(`${on}T00:00:00${before}`)
  const minutes = Number(hours) * 60
  const closing = { startOffset: Number(before.slice(1, 3)) * 60, endOffset: Number(after.slice(1, 3)) * 60 }
  const whole = log('steps', `${on}T00:00:00${before}`, [minutes, 6000], closing)
  const morning = Array.from({ length: 30 }, (_, minute) =>
    log('steps', `${on}T12:00:00${after}`, [1, 100], {
      startMs: startMs + (minutes - 720 + minute) * 60_000,
      endMs: startMs + (minutes - 719 + minute) * 60_000,
    }),
  )
  expect(stepsOf([whole, ...morning], on)).toBe(6000)
})

/** A span of minutes with its amount, cut into finer ones again and again; each level may be sent or not. */
type Cut = { readonly isSent: boolean; readonly parts: readonly Cut[] }
const cut: fc.Arbitrary<Cut> = fc.letrec<{ cut: Cut }>((tie) => ({
  cut: fc.record({
    isSent: fc.boolean(),
    parts: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constant([]),
      fc.array(tie('cut'), { minLength: 2, maxLength: 4 }),
    ),
  }),
})).cut

/** The logs of a cut. Amounts are whole shares of the time, and the finest level is always sent. */
function logsOf({ isSent, parts }: Cut, [from, minutes]: readonly [number, number], value: number): DataLog[] {
  const sentTotal = isSent || parts.length === 0 ? [log('steps', at(from), [minutes, value])] : []
  const length = Math.floor(minutes / parts.length)
  if (parts.length === 0 || length < 1)
    return sentTotal.length > 0 ? sentTotal : [log('steps', at(from), [minutes, value])]
  const inner = parts.flatMap((part, place) => {
    const isLast = place === parts.length - 1
    const share = isLast ? minutes - length * place : length
    return logsOf(part, [from + length * place, share], (value * share) / minutes)
  })
  return [...sentTotal, ...inner]
}

const shuffled = cut.chain((made) => {
  const logs = logsOf(made, [0, 1440], 1440 * 5)
  return fc.shuffledSubarray(logs, { minLength: logs.length, maxLength: logs.length })
})

test('any split of a day into finer logs, with or without totals at any level, in any order, gives the same day', () => {
  fc.assert(
    fc.property(shuffled, (logs) => {
      expect(stepsOf(logs)).toBeCloseTo(7200, 2)
    }),
    { numRuns: 150 },
  )
})

const loose = fc
  .array(
    fc.record({
      from: fc.integer({ min: 0, max: 1400 }),
      minutes: fc.constantFrom(1, 5, 15, 60, 180, 720),
      value: fc.integer({ min: 1, max: 3000 }),
      isPhone: fc.boolean(),
    }),
    { minLength: 1, maxLength: 25 },
  )
  .map((made) =>
    made.map(({ from, minutes, value, isPhone }) =>
      log('steps', at(from), [Math.min(minutes, 1440 - from), value], isPhone ? phone : {}),
    ),
  )

/** A day that is worn counts however few its steps are. */
const worn = wornAllDay(day, zone)

test('a total of the day never adds more than it has more than the parts, and never takes from them', () => {
  fc.assert(
    fc.property(loose, fc.integer({ min: 1, max: 20_000 }), (parts, value) => {
      const without = stepsOf([...worn, ...parts])
      const withTotal = stepsOf([...worn, ...parts, total(value)])
      expect(withTotal).toBeCloseTo(Math.max(without, value), 2)
    }),
    { numRuns: 150 },
  )
})
