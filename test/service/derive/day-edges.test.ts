import { expect, test } from 'vitest'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import { HOUR, MINUTE } from '../../../src/base/time/units.ts'
import { dayBoundsOf, partOnDay } from '../../../src/service/derive/day/day-bounds.ts'
import { factsOfDays } from '../../../src/service/derive/day/facts-of-days.ts'
import { logComparator, minuteSamples } from '../../../src/service/derive/day/log-ranking.ts'
import { createLogsByDay } from '../../../src/service/derive/day/logs-by-day.ts'
import { nightFacts } from '../../../src/service/derive/day/night-facts.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { sleepClusters } from '../../../src/service/derive/day/sleep-clusters.ts'
import { log, phone, unknownDemographics } from './made-logs.ts'

const march10 = dayNumberFromText('2026-03-10')

const factsOf = (logs: readonly DataLog[], days?: readonly number[]) =>
  factsOfDays({ logs, demographics: unknownDemographics, asOfMs: Date.parse('2027-01-01T00:00:00Z') }, days)

const clustersOf = (logs: readonly DataLog[], day = march10) =>
  sleepClusters({
    logsByDay: createLogsByDay(logs),
    day,
    compareLogs: logComparator(),
    sourcePriority: [],
    demographics: unknownDemographics,
  })

const utcDay = {
  day: march10,
  offset: 0,
  span: { startMs: Date.parse('2026-03-10T00:00:00Z'), endMs: Date.parse('2026-03-11T00:00:00Z') },
}

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
    const eastern = Array.from({ length: others }, (_, index) =>
      log('heart_rate', `2026-03-10T08:${String(index + 10)}:00+02:00`, [0, 60]),
    )
    const scale = log('weight', '2026-03-10T20:00:00Z', [0, 70])

    expect(dayBoundsOf(createLogsByDay([...eastern, scale]), march10)?.offset).toBe(offset)
  },
)

test('of two last logs at one instant the one with the larger offset is the last', () => {
  const others = Array.from({ length: 20 }, (_, index) => log('heart_rate', `2026-03-10T08:${index + 10}:00Z`, [0, 60]))
  const last = [
    log('heart_rate', '2026-03-10T21:00:00+01:00', [0, 60]),
    log('weight', '2026-03-10T22:00:00+02:00', [0, 70]),
  ]
  const next = log('heart_rate', '2026-03-11T08:00:00+02:00', [0, 60])

  for (const ends of [last, last.toReversed()])
    expect(dayBoundsOf(createLogsByDay([...others, ...ends, next]), march10)?.offset).toBe(120)
})

test('the offset at the end of a day does not depend on the order of its logs', () => {
  const logs = [
    log('heart_rate', '2026-03-10T20:00:00+02:00', [0, 60]),
    log('weight', '2026-03-10T18:00:00Z', [0, 70]),
    log('weight', '2026-03-11T07:00:00Z', [0, 70]),
  ]
  const early = Array.from({ length: 15 }, (_, index) =>
    log('heart_rate', `2026-03-10T08:${index + 10}:00+02:00`, [0, 60]),
  )
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

const sleeping = (start: string, minutes: number, extra: Partial<DataLog> = {}) =>
  log('sleep_stage_sleeping', start, [minutes, 1], extra)

test('a sleep belongs to a day by the offset in which it ended', () => {
  const [nap] = clustersOf([sleeping('2026-03-10T16:00:00Z', 60, { endOffset: 180 })])

  expect(nap).toMatchObject({ wakeDay: march10 + 1, offset: 180 })
})

test('of two logs that end together the eastern offset counts, in whichever order they come', () => {
  const logs = [0, 60].map((endOffset) =>
    sleeping(endOffset === 0 ? '2026-03-10T00:00:00Z' : '2026-03-10T02:00:00Z', endOffset === 0 ? 360 : 240, {
      endOffset,
    }),
  )

  for (const order of [logs, logs.toReversed()]) expect(clustersOf(order)[0]?.offset).toBe(60)
})

test('of two sleeps of one length the first is the night', () => {
  const clusters = clustersOf([sleeping('2026-03-09T23:00:00Z', 200), sleeping('2026-03-10T08:00:00Z', 200)])

  expect(nightFacts(clusters, march10)?.wakeAt).toBe(Date.parse('2026-03-10T02:20:00Z'))
})

test('time out of bed is time awake, and a bout of five minutes is an interruption', () => {
  const night = nightFacts(
    clustersOf([
      sleeping('2026-03-10T00:00:00Z', 240),
      log('sleep_stage_out_of_bed', '2026-03-10T04:00:00Z', [5, 1]),
      sleeping('2026-03-10T04:05:00Z', 120),
      log('sleep_stage_awake', '2026-03-10T06:05:00Z', [4.9, 1]),
      sleeping('2026-03-10T06:10:00Z', 60),
    ]),
    march10,
  )

  expect(night).toMatchObject({ awake: 9.9, interruptions: 1, awakeAfterOnset: 5 })
})

test('a log that begins at the instant of the derivation is known, a later one is not', () => {
  const weight = log('weight', '2026-03-10T08:00:00Z', [0, 70])
  const at = (asOfMs: number) => factsOfDays({ logs: [weight], demographics: unknownDemographics, asOfMs })

  expect(at(weight.startMs - 1)).toEqual([])
  expect(at(weight.startMs)).toMatchObject([{ day: march10 }])
})

test('logs that differ in kind, start, end, value or source are no copies of one another', () => {
  const stepsLog = log('steps', '2026-03-10T08:00:00Z', [10, 100])
  const others = [
    { dataType: 'floors_climbed' },
    { startMs: stepsLog.startMs + 1 },
    { endMs: stepsLog.endMs + 1 },
    { value: 101 },
    { source: 'other-app' },
  ]
  const kept = (other: Partial<DataLog>) =>
    createLogsByDay([stepsLog, { ...stepsLog, ...other, id: 'other' }]).allOn(march10).length

  for (const other of others) expect(kept(other), JSON.stringify(other)).toBe(2)
  expect(kept({ deviceType: 'ring', unit: 'step' })).toBe(1)
})

test('a parent whose children have all of its value covers no time of another device', () => {
  const whole = log('steps', '2026-03-10T10:00:00Z', [60, 100])
  const child = log('steps', '2026-03-10T10:00:00Z', [30, 100], { parentId: whole.id })
  const pocket = log('steps', '2026-03-10T10:30:00Z', [20, 30], phone)

  expect(factsOf([whole, child, pocket])[0]?.movement?.steps).toBe(130)
})

test('a sample belongs to the minute in which its middle lies', () => {
  const startMs = Date.parse('2026-03-10T10:00:40Z')
  const sample = log('heart_rate', '2026-03-10T10:00:40Z', [1, 60])

  expect(minuteSamples([sample], [])).toEqual([{ atMs: startMs + 20_000, value: 60 }])
})

test('two workouts that touch are two', () => {
  const long = log('exercise_session_running', '2026-03-10T09:30:00Z', [60, 1])
  const short = log('exercise_session_walking', '2026-03-10T10:30:00Z', [30, 1])

  expect(factsOf([long, short])[0]?.exercise.map(({ exercise }) => exercise)).toEqual(['running', 'walking'])
})

test('the calmest half hour is half an hour, not a minute more', () => {
  const startMs = Date.parse('2026-03-10T10:00:00Z')
  const rates = Array.from({ length: 31 }, (_, minute) =>
    log('heart_rate', '2026-03-10T10:00:00Z', [0, minute === 0 ? 112 : 50], {
      startMs: startMs + minute * MINUTE,
      endMs: startMs + minute * MINUTE,
    }),
  )

  expect(factsOf(rates)[0]?.measures['heart_rate_resting']).toEqual({ value: 50, estimated: true })
})

test('an oxygen saturation of one is all of it', () => {
  const values = [1, 1, 1].map((value, hour) => log('oxygen_saturation', `2026-03-10T1${hour}:00:00Z`, [0, value]))

  expect(factsOf(values)[0]?.measures['oxygen_saturation']?.value).toBe(100)
})

test('a nightly figure counts when half of its time lies in the night', () => {
  const night = sleeping('2026-03-10T00:00:00Z', 360)
  const figureOf = (start: string) => {
    const figure = log('sleeping_wrist_temperature', start, [360, 36.5])
    return factsOf([night, figure]).find(({ day }) => day === march10)?.measures['skin_temperature_sleep']?.value
  }

  expect(figureOf('2026-03-10T03:00:00Z')).toBe(36.5)
  expect(figureOf('2026-03-10T03:01:00Z')).toBeUndefined()
})

test('instruments rank by aggregation, device, and how the log was recorded', () => {
  const stepsLog = log('steps', '2026-03-10T08:00:00Z', [10, 100], { deviceType: 'ring' })
  const ranked: Partial<DataLog>[][] = [
    [{ deviceType: 'watch' }, { deviceType: 'Watch6,1' }],
    [{ recordingMethod: 'automatically_recorded' }, { recordingMethod: 'actively_recorded' }],
    [{ recordingMethod: 'UNKNOWN' }],
    [{ recordingMethod: 'manual_entry' }],
    [{ deviceType: 'phone' }, { deviceType: 'iPhone14,2' }],
    [{ deviceType: 'scale' }],
    [{ deviceType: 'watch', periodicity: 'hourly' }],
    [{ deviceType: 'watch', periodicity: 'daily' }],
  ]
  const better = logComparator()
  for (const [rank, group] of ranked.entries())
    for (const [other, others] of ranked.entries())
      for (const a of group)
        for (const b of others)
          if (rank !== other)
            expect(Math.sign(better({ ...stepsLog, ...a }, { ...stepsLog, ...b }))).toBe(rank < other ? -1 : 1)
  // Equal ranks leave the decision to the finer interval.
  for (const [a = {}, b = {}] of ranked.filter((group) => group.length === 2)) {
    expect(better({ ...stepsLog, ...a }, { ...stepsLog, ...b, endMs: stepsLog.endMs + 1 })).toBeLessThan(0)
    expect(better({ ...stepsLog, ...b }, { ...stepsLog, ...a, endMs: stepsLog.endMs + 1 })).toBeLessThan(0)
  }
})
