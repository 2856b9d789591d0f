import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { factsOfDays } from '../../../src/service/derive/day/facts-of-days.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { biomarker, deriveAll, log, phone, unknownDemographics, wornAllDay } from './made-logs.ts'

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
  test('an hour and ten of its minutes are the hour', () => {
    expect(stepsOf([...row(540, [10, 1], 10), log('steps', at(540), [60, 700])])).toBe(700)
  })
  test('parts that are more than their total count', () => {
    expect(stepsOf([...row(600, [10, 1], 150), total(1000)])).toBe(1500)
  })
  test('parts that fill the whole day and lack something are raised to the total', () => {
    expect(stepsOf([...row(0, [24, 60], 100), total(3000)])).toBe(3000)
    expect(stepsOf([...row(0, [1440, 1], 2), total(3000)])).toBe(3000)
  })
  test('totals that overlap are raised one after the other', () => {
    // 1,440 minutes of 2 are 2,880. The first total raises 2,040 of 1,020 minutes to 2,550, the second 2,390 to 3,000.
    const [first, second] = [log('steps', at(0), [1020, 2550]), log('steps', at(400), [1040, 3000])]
    expect(stepsOf([...row(0, [1440, 1], 2), first])).toBe(3390)
    expect(stepsOf([...row(0, [1440, 1], 2), first, second])).toBe(4000)
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

describe('an hour of one source and minutes of another', () => {
  /** Twenty minutes of a walk from nine o'clock on, and none of the minutes without steps: 2,000. */
  const minutes = row(540, [20, 1], 100)
  const hour = (value: number, from = 540, extra: Partial<DataLog> = phone) =>
    log('steps', at(from), [60, value], extra)

  test('the phone has the walk of the watch as one hour: the larger of the two counts', () => {
    expect(stepsOf([...minutes, hour(2000)])).toBe(2000)
    expect(stepsOf([...minutes, hour(1800)])).toBe(2000)
    expect(stepsOf([...minutes, hour(2300)])).toBe(2300)
  })
  test('minutes without steps change nothing', () => {
    expect(stepsOf([...minutes, ...row(560, [40, 1], 0), hour(2000)])).toBe(2000)
  })
  test('the phone goes on while the watch is charging', () => {
    // The watch has 2,000 of the phone's 5,000; the next hour is the phone's alone.
    expect(stepsOf([...minutes, hour(5000), hour(4000, 600)])).toBe(9000)
  })
  test('minutes of the phone add nothing to an hour of the watch', () => {
    expect(stepsOf([...row(540, [20, 1], 100, phone), hour(1800, 540, {})])).toBe(1800)
  })
  test('an hour of the watch that ends within the hour of the phone leaves it the rest of its time', () => {
    // Half an hour of the phone's 600 counts: 300.
    expect(stepsOf([hour(1000, 510, {}), hour(600)])).toBe(1300)
  })
  test('minutes, a quarter of an hour and an hour of three sources', () => {
    // The quarter has 500 more than the watch's five minutes, the hour 600 more than the quarter.
    const ring = { deviceType: 'ring', source: 'ring-app' }
    const quarter = log('steps', at(540), [15, 900], ring)
    expect(stepsOf([...row(540, [5, 1], 80), quarter, hour(1500)])).toBe(1500)
    expect(stepsOf([...row(540, [5, 1], 80), quarter, hour(800)])).toBe(900)
  })
  test('minutes and an hour within four hours of a better source', () => {
    const scale = { deviceType: 'scale', source: 'scale-app' }
    const fourHours = log('steps', at(480), [240, 1000])
    expect(stepsOf([log('steps', at(550), [1, 500], phone), hour(2000, 540, scale), fourHours])).toBe(2000)
  })
})

test('a day of two devices that count each second is the count of the better', () => {
  const second = log('steps', at(0), [0, 1])
  const count = (extra: Partial<DataLog>) =>
    Array.from({ length: 86_400 }, (_, place): DataLog => {
      const startMs = second.startMs + place * 1000
      return { ...second, ...extra, id: `${extra.source} ${place}`, startMs, endMs: startMs + 1000 }
    })
  const logs = [...count({ source: 'watch-app' }), ...count(phone)]
  const facts = factsOfDays({ logs, demographics: unknownDemographics, asOfMs: second.startMs + 86_400_000 })
  expect(facts.map(({ movement }) => movement?.steps)).toEqual([86_400])
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

/** A span of time: what its own log says, whether that was sent, and the finer spans that it is cut into. */
type Cut = { readonly amount: number; readonly isSent: boolean; readonly parts: readonly Cut[] }
const cut: fc.Arbitrary<Cut> = fc.letrec<{ cut: Cut }>((tie) => ({
  cut: fc.record({
    amount: fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 5000 })),
    isSent: fc.boolean(),
    parts: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constant([]),
      fc.array(tie('cut'), { minLength: 2, maxLength: 6 }),
    ),
  }),
})).cut

/** By hand: the larger of the total, where it was sent, and the sum of the parts. */
const amountOf = ({ amount, isSent, parts }: Cut): number =>
  Math.max(
    isSent ? amount : 0,
    parts.reduce((sum, part) => sum + amountOf(part), 0),
  )

/** The same cut with the totals that its parts add up to. The finest level is always sent. */
function withoutContradiction({ amount, isSent, parts }: Cut): Cut {
  if (parts.length === 0) return { amount, isSent: true, parts }
  const whole = parts.map(withoutContradiction)
  return { amount: whole.reduce((sum, part) => sum + part.amount, 0), isSent, parts: whole }
}

/** A day by the clock of Berlin, and the logs of a cut of it. A span without an amount has no log. */
const berlinDays = [
  { day: '2026-03-29', startMs: Date.parse('2026-03-28T23:00:00Z'), hours: 23, offsets: [60, 120] },
  { day: '2026-06-03', startMs: Date.parse('2026-06-02T22:00:00Z'), hours: 24, offsets: [120, 120] },
  { day: '2026-10-25', startMs: Date.parse('2026-10-24T22:00:00Z'), hours: 25, offsets: [120, 60] },
] as const
type BerlinDay = (typeof berlinDays)[number]

function logsOf(made: Cut, on: BerlinDay, [from, minutes]: readonly [number, number]): DataLog[] {
  const startMs = on.startMs + from * 60_000
  const offsetAt = (ms: number) => on.offsets[ms < Date.parse(`${on.day}T01:00:00Z`) ? 0 : 1]
  const offsets = { startOffset: offsetAt(startMs), endOffset: offsetAt(startMs + minutes * 60_000) }
  const length = Math.floor(minutes / made.parts.length)
  return [
    ...(made.isSent && made.amount > 0
      ? [log('steps', new Date(startMs).toISOString(), [minutes, made.amount], offsets)]
      : []),
    ...made.parts.flatMap((part, place) => logsOf(part, on, [from + length * place, length])),
  ]
}

const cutDays = fc.record({ made: cut, on: fc.constantFrom(...berlinDays) })
const inAnyOrder = (logs: DataLog[]) => fc.shuffledSubarray(logs, { minLength: logs.length })
/** A day that is worn counts however few its steps are. */
const wornOn = ({ startMs, hours, offsets: [, offset] }: BerlinDay) =>
  Array.from({ length: hours * 12 }, (_, place) =>
    log('heart_rate', new Date(startMs + place * 300_000).toISOString(), [0, 60], {
      startOffset: offset,
      endOffset: offset,
    }),
  )

test('any split of a day of 23, 24 or 25 hours, with or without totals at any level, in any order, gives the same day', () => {
  const split = cutDays
    .map(({ made, on }) => ({ on, whole: withoutContradiction(made) }))
    .chain(({ on, whole }) =>
      inAnyOrder(logsOf(whole, on, [0, on.hours * 60])).map((logs) => ({ on, logs, amount: whole.amount })),
    )
  fc.assert(
    fc.property(split, ({ on, logs, amount }) => {
      fc.pre(amount > 0)
      expect(stepsOf([...wornOn(on), ...logs], on.day)).toBe(amount)
    }),
    { numRuns: 150 },
  )
})

test('totals and parts that contradict one another are the larger of the two at each level', () => {
  const sent = cutDays.chain(({ made, on }) =>
    inAnyOrder(logsOf(made, on, [0, on.hours * 60])).map((logs) => ({ on, logs, amount: amountOf(made) })),
  )
  fc.assert(
    fc.property(sent, ({ on, logs, amount }) => {
      fc.pre(amount > 0)
      expect(stepsOf([...wornOn(on), ...logs], on.day)).toBe(amount)
    }),
    { numRuns: 150 },
  )
})

test('a day that three sources send, each any parts and totals of it, is one amount', () => {
  const sources = [{}, { deviceType: 'ring', source: 'ring-app' }, phone]
  const sent = cutDays
    .map(({ made, on }) => ({ on, whole: withoutContradiction(made) }))
    .chain(({ on, whole }) => {
      const logs = logsOf(whole, on, [0, on.hours * 60])
      const senders = fc.array(fc.subarray(sources, { minLength: 1 }), {
        minLength: logs.length,
        maxLength: logs.length,
      })
      return senders
        .map((chosen) => logs.flatMap((made, place) => (chosen[place] ?? []).map((by) => sentBy(by, made))))
        .chain(inAnyOrder)
        .map((all) => ({ on, logs: all, amount: whole.amount }))
    })
  fc.assert(
    fc.property(sent, ({ on, logs, amount }) => {
      fc.pre(amount > 0)
      expect(stepsOf([...wornOn(on), ...logs], on.day)).toBe(amount)
    }),
    { numRuns: 100 },
  )
})

const sentBy = (by: Partial<DataLog>, { id: _, ...made }: DataLog) =>
  log('steps', new Date(made.startMs).toISOString(), [0, made.value], { ...made, ...by })

describe('minutes of one source within the longer logs of another', () => {
  type Sums = { coarse: number; fine: number; isFull: boolean }
  /** Logs of one length from midnight on, and the minutes within each: few, as of a device that sends no zeros. */
  const rows = fc
    .record({ on: fc.constantFrom(...berlinDays), minutes: fc.constantFrom(5, 10, 15, 30, 60) })
    .chain(({ on, minutes }) => {
      const value = fc.integer({ min: 1, max: 120 })
      const inside = fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: minutes - 1 }), value), {
        selector: ([minute]) => minute,
        maxLength: 8,
      })
      const slot = fc.record({ amount: fc.integer({ min: 0, max: 500 }), inside })
      return fc.array(slot, { minLength: 1, maxLength: 24 }).map((slots) => ({ on, minutes, slots }))
    })
  const leaf = (amount: number) => ({ amount, isSent: true, parts: [] })
  const daysOf = (fine: Partial<DataLog>, coarse: Partial<DataLog>) =>
    rows.chain(({ on, minutes, slots }) => {
      const logs = slots.flatMap(({ amount, inside }, place) => [
        ...logsOf(leaf(amount), on, [place * minutes, minutes]).map((made) => sentBy(coarse, made)),
        ...inside.flatMap(([minute, value]) =>
          logsOf(leaf(value), on, [place * minutes + minute, 1]).map((made) => sentBy(fine, made)),
        ),
      ])
      const sums = slots.map(
        ({ amount, inside }): Sums => ({
          coarse: amount,
          fine: inside.reduce((sum, [, value]) => sum + value, 0),
          isFull: inside.length === minutes,
        }),
      )
      return inAnyOrder(logs).map((all) => ({ on, logs: all, slots: sums }))
    })
  test.each<[string, Record<'fine' | 'coarse', Partial<DataLog>>, (sums: Sums) => number]>([
    [
      'the minutes of the better source, and what the log has more for the time that they leave free',
      { fine: {}, coarse: phone },
      ({ coarse, fine, isFull }) => (isFull ? fine : Math.max(coarse, fine)),
    ],
    ['the log of the better source alone', { fine: phone, coarse: {} }, ({ coarse, fine }) => coarse || fine],
  ])('count as %s', (_, { fine, coarse }, amountIn) => {
    fc.assert(
      fc.property(daysOf(fine, coarse), ({ on, logs, slots }) => {
        const amount = slots.reduce((sum, slot) => sum + amountIn(slot), 0)
        fc.pre(amount > 0)
        expect(stepsOf([...wornOn(on), ...logs], on.day)).toBe(amount)
      }),
      { numRuns: 60 },
    )
  })
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
