import { describe, expect, test } from 'vitest'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import { MINUTE, SECOND } from '../../../src/base/time/units.ts'
import { dayBoundsOf } from '../../../src/service/derive/day/day-bounds.ts'
import { logComparator } from '../../../src/service/derive/day/log-ranking.ts'
import { createLogsByDay } from '../../../src/service/derive/day/logs-by-day.ts'
import { amountsOn } from '../../../src/service/derive/day/merged-amounts.ts'
import type { DataLog, Lineage } from '../../../src/service/derive/day/parsed-log.ts'
import { sum } from '../../../src/service/derive/model/statistics.ts'
import { log, phone, unknownDemographics } from './made-logs.ts'

const day = dayNumberFromText('2026-03-10')
const ring = { deviceType: 'ring', source: 'ring-app' }

/** Steps between two times of the day, such as `09:00-10:30`, of a watch unless `extra` says otherwise. */
function steps(times: string, value: number, extra: Partial<DataLog> = {}): DataLog {
  const [start = 0, end = 0] = times.split('-').map((time) => Date.parse(`2026-03-10T${time}Z`))
  return log('steps', new Date(start).toISOString(), [(end - start) / MINUTE, value], extra)
}

/** The same log, that many minutes later. */
const later = (made: DataLog, minutes: number): DataLog => ({
  ...made,
  id: `${made.id} ${minutes}`,
  startMs: made.startMs + minutes * MINUTE,
  endMs: made.endMs + minutes * MINUTE,
})

function amountsOf(logs: readonly DataLog[], lineage?: Lineage) {
  const logsByDay = createLogsByDay(logs)
  const bounds = dayBoundsOf(logsByDay, day)
  if (!bounds) throw new RangeError('merge test logs: none is near the day')
  const inputs = { logsByDay, day, bounds, compareLogs: logComparator(), sourcePriority: [], lineage }
  return amountsOn({ ...inputs, demographics: unknownDemographics }, 'steps')
}

const timeOf = (ms: number) => new Date(ms).toISOString().slice(11, 16)

/** The amounts as `09:00-10:30 watch 600`, in order of time. */
const linesOf = (logs: readonly DataLog[]) =>
  amountsOf(logs)
    .map(
      ({ startMs, endMs, value, log: { deviceType } }) =>
        `${timeOf(startMs)}-${timeOf(endMs)} ${deviceType} ${Number(value.toFixed(3))}`,
    )
    .toSorted()

const totalOf = (logs: readonly DataLog[]) => Number(sum(amountsOf(logs).map(({ value }) => value)).toFixed(3))

describe('a total', () => {
  test('lasts longer than an hour, and gives way to any finer log', () => {
    expect(linesOf([steps('09:00-11:00', 1000), steps('09:00-09:30', 400, phone)])).toEqual([
      '09:00-09:30 phone 400',
      '09:30-11:00 watch 600',
    ])
  })
  test('of one hour is marked as such, and counts what the part of a log in its hour lacks', () => {
    const hour = steps('09:00-10:00', 600, { periodicity: 'hourly' })

    expect(linesOf([hour, steps('09:30-10:30', 1000, phone)])).toEqual([
      '09:00-09:30 watch 100',
      '09:30-10:00 phone 500',
      '10:00-10:30 phone 500',
    ])
  })
  test('counts less the share of the logs that reach into its time at either end', () => {
    const ends = [steps('08:40-09:40', 600), steps('12:40-13:40', 600)]

    expect(linesOf([...ends, steps('09:00-13:00', 1000, phone)])).toEqual([
      '08:40-09:00 watch 200',
      '09:00-09:40 watch 400',
      '09:40-12:40 phone 400',
      '12:40-13:00 watch 200',
      '13:00-13:40 watch 400',
    ])
  })
  test('counts less a log that ends with it', () => {
    expect(linesOf([steps('12:40-13:00', 600), steps('09:00-13:00', 1000, phone)])).toEqual([
      '09:00-12:40 phone 400',
      '12:40-13:00 watch 600',
    ])
  })
  test('counts nothing where other sources and its own leave no time free', () => {
    const hours = [steps('09:00-10:00', 100), steps('10:00-11:00', 100), steps('11:00-12:00', 100, phone)]

    expect(totalOf([...hours, steps('09:00-12:00', 1000, phone)])).toBe(300)
  })
  test('spreads over the time that finer logs and finer totals leave on both sides', () => {
    const finer = [steps('10:00-10:10', 100), steps('09:30-10:30', 600, phone)]

    expect(linesOf([...finer, steps('09:00-12:00', 1000, ring)])).toEqual([
      '09:00-09:30 ring 100',
      '09:30-10:00 phone 300',
      '10:00-10:10 watch 100',
      '10:10-10:30 phone 200',
      '10:30-12:00 ring 300',
    ])
  })
  test.each([
    [1e-6, 1],
    [0.9e-6, 0],
  ])('counts from a millionth on: of %d there are %d amounts', (value, count) => {
    expect(amountsOf([steps('09:00-12:00', value)])).toHaveLength(count)
  })
  test('raises each of more than a thousand logs once, and changes none beside them', () => {
    const piece = steps('09:00-10:00', 1)
    const pieces = Array.from({ length: 1200 }, (_, place) => {
      const startMs = piece.startMs + place * 3 * SECOND
      return { ...piece, id: `${place}`, startMs, endMs: startMs + 3 * SECOND }
    })
    const around = [steps('08:00-08:10', 5, phone), steps('10:00-10:10', 10, phone)]
    const [hour, nextHours] = [steps('09:00-10:00', 2400), steps('09:30-11:30', 1500)]
    const amounts = amountsOf([...pieces, ...around, hour, nextHours])
    const amountOf = (source: string) =>
      sum(amounts.filter(({ log }) => log.source === source).map(({ value }) => value))

    // The next hours have 1,200 of the raised pieces and 10 of the phone: 290 are left of their 1,500.
    expect([amountOf('watch-app'), amountOf('phone-app')]).toEqual([2690, 15])
  })
})

describe('of two totals the first counts, and the other what it has more:', () => {
  test.each([
    ['12:00', '12:01', 6000],
    ['12:01', '12:02', 4000],
    ['01:01', '12:00', 4000],
  ])(
    'the phone’s until %s and the watch’s until %s are %d, for up to twelve hours are finer',
    (phoneEnd, watchEnd, amount) => {
      expect(totalOf([steps(`00:00-${phoneEnd}`, 6000, phone), steps(`00:00-${watchEnd}`, 4000)])).toBe(amount)
    },
  )
  test('any of the source that has the best log, before those of other sources', () => {
    const app = [steps('08:00-10:00', 100), steps('12:00-15:00', 500, { deviceType: 'phone' })]

    expect(totalOf([...app, steps('12:00-15:00', 300, ring)])).toBe(600)
  })
  test.each(['watch', 'phone'])('of one source the shorter, on a %s', (deviceType) => {
    const other = deviceType === 'watch' ? 'phone' : 'watch'
    const [short, long] = [
      steps('08:00-11:00', 3000, { deviceType }),
      steps('08:00-12:00', 2000, { deviceType: other }),
    ]

    expect(totalOf([short, long])).toBe(3000)
  })
})

describe('a log of an hour or less', () => {
  test('that a better log only overlaps counts by time', () => {
    expect(linesOf([steps('09:30-10:30', 1000), steps('09:00-10:00', 600, phone)])).toEqual([
      '09:00-09:30 phone 300',
      '09:30-10:30 watch 1000',
    ])
  })
  test('is a total where a better log ends with it', () => {
    expect(linesOf([steps('09:40-10:00', 500), steps('09:00-10:00', 600, phone)])).toEqual([
      '09:00-09:40 phone 100',
      '09:40-10:00 watch 500',
    ])
  })
  test('is a total of its source where a better log of half of it is there, whatever else is', () => {
    const [hour, half] = ['09:00-10:00', '09:30-10:00']
    const app = [steps(hour, 600), steps(half, 200, { deviceType: 'ring' }), steps(hour, 800, { deviceType: 'phone' })]

    expect(totalOf(app)).toBe(800)
  })
  test.each([
    [5, 6, 7],
    [5, 7, 6],
    [6, 5, 7],
    [6, 7, 5],
    [7, 5, 6],
    [7, 6, 5],
  ])('is a total beside better logs of %d, %d and %d minutes in one hour each', (...lengths) => {
    const hours = lengths.flatMap((minutes, hour) => [
      later(steps('09:00-09:30', 1000, phone), hour * 60),
      later(steps(`09:10-09:${10 + minutes}`, 300), hour * 60),
    ])

    expect(totalOf(hours)).toBe(3000)
  })
})

test('a log that shares no time with a log of the day changes nothing on it', () => {
  const yesterday = (times: string, value: number, extra = {}) => later(steps(times, value, extra), -24 * 60)
  const acrossMidnight = yesterday('23:00-23:30', 200, phone)
  const logs = [
    { ...acrossMidnight, endMs: acrossMidnight.endMs + 90 * MINUTE },
    yesterday('20:00-23:30', 700),
    steps('08:00-09:00', 100),
  ]

  expect(linesOf([...logs, yesterday('20:00-21:00', 630)])).toEqual(linesOf(logs))
})

test('each log of the day with an amount is reported once: with what it counts, or why it does not', () => {
  const total = steps('09:00-11:00', 1000, phone)
  const [walk, copy] = [steps('09:20-09:40', 100), steps('09:20-09:40', 150, ring)]
  const others = [later(walk, -24 * 60), later(walk, 24 * 60), steps('10:00-10:10', 0)]
  const reports: unknown[] = []
  const lineage: Lineage = {
    used: ({ id }, as, amount) => reports.push([id, as, Math.round(amount)]),
    leftOut: ({ id }, as, reason) => reports.push([id, as, reason]),
  }
  amountsOf([total, walk, copy, ...others], lineage)

  expect(reports).toHaveLength(3)
  expect(reports).toEqual(
    expect.arrayContaining([
      [total.id, 'steps', 900],
      [walk.id, 'steps', 100],
      [copy.id, 'steps', 'better ranked or finer logs count for the same time'],
    ]),
  )
})
