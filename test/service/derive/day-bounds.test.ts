import { expect, test } from 'vitest'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import { HOUR } from '../../../src/base/time/units.ts'
import { dayBoundsOf, partOnDay } from '../../../src/service/derive/day/day-bounds.ts'
import { createLogsByDay } from '../../../src/service/derive/day/logs-by-day.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { log } from './made-logs.ts'

const march10 = dayNumberFromText('2026-03-10')

const utcDay = {
  day: march10,
  offset: 0,
  span: { startMs: Date.parse('2026-03-10T00:00:00Z'), endMs: Date.parse('2026-03-11T00:00:00Z') },
}

const rates = (offset: string, count: number) =>
  Array.from({ length: count }, (_, index) => log('heart_rate', `2026-03-10T08:${index + 10}:00${offset}`, [0, 60]))

const offsetOf = (logs: readonly DataLog[]) => dayBoundsOf(createLogsByDay(logs), march10)?.offset

test.each([
  ['just after midnight, east of the person', '2026-03-10T00:10:00+02:00', 10, march10],
  ['up to midnight, east of the person', '2026-03-10T23:00:00+02:00', 60, march10],
  ['just before midnight, west of the person', '2026-03-10T23:30:00-05:00', 20, march10],
  ['up to midnight, west of the person', '2026-03-10T23:00:00-05:00', 60, march10],
])('a log of one local date counts as a whole on it and nowhere else: %s', (_, start, minutes, day) => {
  const stepsLog = log('steps', start, [minutes, 100])
  const onDay = (by: number) => {
    const [startMs, endMs] = [utcDay.span.startMs + by * 24 * HOUR, utcDay.span.endMs + by * 24 * HOUR]
    return partOnDay(stepsLog, stepsLog, { day: day + by, offset: 0, span: { startMs, endMs } })
  }

  expect([-1, 0, 1].map(onDay)).toEqual([null, { startMs: stepsLog.startMs, endMs: stepsLog.endMs }, null])
})

test('a log across midnight is cut where the days of the person meet', () => {
  const stepsLog = log('steps', '2026-03-10T23:00:00Z', [120, 100])
  const next = {
    day: march10 + 1,
    offset: 0,
    span: { startMs: utcDay.span.endMs, endMs: utcDay.span.endMs + 24 * HOUR },
  }

  expect(partOnDay(stepsLog, stepsLog, utcDay)).toEqual({ startMs: stepsLog.startMs, endMs: utcDay.span.endMs })
  expect(partOnDay(stepsLog, stepsLog, next)).toEqual({ startMs: utcDay.span.endMs, endMs: stepsLog.endMs })
})

test('a log across zones ends on the local date of its own end', () => {
  // It ends at 22:00 UTC, where it is one o'clock of the next day.
  const flight = { ...log('steps', '2026-03-10T20:00:00Z', [120, 100]), endOffset: 180 }
  const meetMs = Date.parse('2026-03-10T21:00:00Z')
  const first = { ...utcDay, span: { ...utcDay.span, endMs: meetMs } }
  const next = { day: march10 + 1, offset: 180, span: { startMs: meetMs, endMs: meetMs + 24 * HOUR } }

  expect(partOnDay(flight, flight, first)).toEqual({ startMs: flight.startMs, endMs: meetMs })
  expect(partOnDay(flight, flight, next)).toEqual({ startMs: meetMs, endMs: flight.endMs })
})

test.each([
  [9, 0],
  [10, 120],
])(
  'beside %d others, the offset of the last log decides the end of the day if it is at least a tenth',
  (others, offset) => {
    const scale = log('weight', '2026-03-10T20:00:00Z', [0, 70])

    expect(offsetOf([...rates('+02:00', others), scale])).toBe(offset)
  },
)

test('of two last logs at one instant the one with the larger offset is the last', () => {
  const last = [
    log('heart_rate', '2026-03-10T21:00:00+01:00', [0, 60]),
    log('weight', '2026-03-10T22:00:00+02:00', [0, 70]),
  ]
  const next = log('heart_rate', '2026-03-11T08:00:00+02:00', [0, 60])

  for (const ends of [last, last.toReversed()]) expect(offsetOf([...rates('Z', 20), ...ends, next])).toBe(120)
})

test('the offset at the end of a day does not depend on the order of its logs', () => {
  const logs = [
    log('heart_rate', '2026-03-10T20:00:00+02:00', [0, 60]),
    log('weight', '2026-03-10T18:00:00Z', [0, 70]),
    log('weight', '2026-03-11T07:00:00Z', [0, 70]),
  ]
  const early = rates('+02:00', 15)
  const bounds = (all: readonly DataLog[]) => dayBoundsOf(createLogsByDay(all), march10)

  expect(bounds([...logs.toReversed(), ...early])).toEqual(bounds([...logs, ...early]))
})

test('the first day of all begins by the offset in which its first logs are, and a log from the evening before shows its end', () => {
  const [morning, evening] = ['2026-03-10T08:00:00+02:00', '2026-03-10T20:00:00+01:00'].map((start) =>
    log('heart_rate', start, [0, 60]),
  )
  const night = log('sleep_stage_sleeping', '2026-03-09T23:00:00-03:00', [8 * 60, 1], { endOffset: -120 })
  const bounds = (...all: Array<DataLog | undefined>) =>
    dayBoundsOf(createLogsByDay(all.filter((one) => one !== undefined)), march10)

  expect(bounds(morning, evening)?.span).toEqual({
    startMs: Date.parse('2026-03-10T00:00:00+02:00'),
    endMs: Date.parse('2026-03-11T00:00:00+01:00'),
  })
  expect(bounds(night)?.offset).toBe(-120)
})

test('a day that a person crosses eastward over the date line is empty at the least', () => {
  const logs = ['2026-03-09T12:00:00-12:00', '2026-03-10T23:00:00+14:00'].map((start) =>
    log('heart_rate', start, [0, 60]),
  )
  const endMs = Date.parse('2026-03-11T00:00:00+14:00')

  expect(dayBoundsOf(createLogsByDay(logs), march10)?.span).toEqual({ startMs: endMs, endMs })
})

test.each([
  ['a day of no length', { startMs: utcDay.span.endMs, endMs: utcDay.span.endMs }],
  ['a day that begins after the log', { startMs: utcDay.span.endMs + 48 * HOUR, endMs: utcDay.span.endMs + 72 * HOUR }],
])('a log across three dates has no part on the middle one if that is %s', (_, span) => {
  const crossing = log('steps', '2026-03-09T12:00:00Z', [48 * 60, 100])

  expect(partOnDay(crossing, crossing, { ...utcDay, span })).toBeNull()
})

test.each([
  ['in the one whose last log is the latest', ['08:00:00Z', '12:00:00+02:00', '20:00:00Z'], 0],
  ['in the larger one if their last logs are at one instant', ['20:00:00+02:00', '18:00:00Z'], 120],
])('a day of several offsets ends %s, in whichever order the logs come', (_, times, offset) => {
  const logs = times.map((time, index) => log('heart_rate', `2026-03-10T${time}`, [0, 60 + index]))

  for (const order of [logs, logs.toReversed()]) expect(offsetOf(order)).toBe(offset)
})

test('a change of clocks in the last hour counts by the last log of the day, in whichever order the logs come', () => {
  const logs = [
    ...rates('+02:00', 20),
    log('heart_rate', '2026-03-10T22:30:00+01:00', [0, 60]),
    log('heart_rate', '2026-03-11T08:00:00+01:00', [0, 60]),
  ]

  for (const order of [logs, logs.toReversed()]) expect(offsetOf(order)).toBe(60)
})

test('an instant shows its offset once, and a log of some length twice', () => {
  const walks = Array.from({ length: 5 }, (_, index) => log('steps', `2026-03-10T0${index}:00:00+02:00`, [10, 100]))

  expect(offsetOf([...walks, log('weight', '2026-03-10T20:00:00Z', [0, 70])])).toBe(120)
  expect(offsetOf([...walks, log('steps', '2026-03-10T20:00:00Z', [10, 100])])).toBe(0)
})

test('a log that ends at midnight shows the offset of the day that it ends', () => {
  const flight = log('steps', '2026-03-10T20:00:00Z', [120, 100], { endOffset: 120 })

  expect(offsetOf([flight])).toBe(120)
})
