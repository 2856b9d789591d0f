import { expect, test } from 'vitest'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import { MINUTE } from '../../../src/base/time/units.ts'
import { factsOfDays } from '../../../src/service/derive/day/facts-of-days.ts'
import { logComparator } from '../../../src/service/derive/day/log-ranking.ts'
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

test('a parent whose children have all of its value covers no time of another device', () => {
  const whole = log('steps', '2026-03-10T10:00:00Z', [60, 100])
  const child = log('steps', '2026-03-10T10:00:00Z', [30, 100], { parentId: whole.id })
  const pocket = log('steps', '2026-03-10T10:30:00Z', [20, 30], phone)

  expect(factsOf([whole, child, pocket])[0]?.movement?.steps).toBe(130)
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
