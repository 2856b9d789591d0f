import { describe, expect, test } from 'vitest'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { cohortCellOf, cohortNorm } from '../../../src/service/derive/model/cohort.ts'
import { derive } from './derive-at-once.ts'
import {
  biomarker,
  dayBefore,
  daysFrom,
  deriveAll,
  log,
  phone,
  profileId,
  score,
  unknownDemographics,
  walk,
  wornAllDay,
} from './made-logs.ts'

const day = '2026-06-03'
const asOf = '2026-07-01T00:00:00Z'
const at = (time: string) => `${day}T${time}:00Z`
type Logs = readonly DataLog[]
const value = (logs: Logs, type: string, person = {}) => biomarker(deriveAll({ logs, asOf, person }), type, day)
const asleep = log('sleep_stage_sleeping', at('00:00'), [420, 420])

describe('devices', () => {
  const same = (deviceType: string, count: number) =>
    log('steps', at('09:00'), [60, count], { deviceType, source: `${deviceType} app` })

  test('that are named by their model rank by the kind in the name', () => {
    const [watch, iphone, unknown] = [same('Watch6,1', 1000), same('iPhone15,2', 1100), same('Tracker 3', 1200)]

    expect(value([unknown, iphone, watch], 'steps')).toBe('1000')
    expect(value([unknown, iphone], 'steps')).toBe('1100')
  })
  test('rank by the account’s order before the order of devices, by source or by kind, in steps, nights and vitals', () => {
    const watchNight = log('sleep_stage_sleeping', at('00:00'), [400, 1])
    const phoneNight = log('sleep_stage_sleeping', at('00:05'), [400, 1], phone)
    const logs = [
      log('steps', at('09:00'), [60, 1000]),
      log('steps', at('09:00'), [60, 1100], phone),
      log('resting_heart_rate', at('07:00'), [0, 50]),
      log('resting_heart_rate', at('07:00'), [0, 60], phone),
      watchNight,
      phoneNight,
    ]
    const by = (sourcePriority: readonly string[]) => {
      const derived = derive({
        logs,
        asOfMs: Date.parse(asOf),
        demographics: unknownDemographics,
        profileId,
        sourcePriority,
      })
      return ['steps', 'heart_rate_resting', 'sleep_start_time'].map((type) => biomarker(derived, type, day))
    }

    const [watches, phones] = [
      ['1000', '50', `${day}T00:00:00+00:00`],
      ['1100', '60', `${day}T00:05:00+00:00`],
    ]
    expect(by([])).toEqual(watches)
    expect(by(['phone-app'])).toEqual(phones)
    expect(by(['phone'])).toEqual(phones)
    expect(by(['ring', 'watch-app', 'phone-app'])).toEqual(watches)
  })
  test('that are equal but for their names always give the same answer', () => {
    const [a, b] = [
      log('heart_rate', at('01:00'), [0, 50], { deviceId: 'a' }),
      log('heart_rate', at('01:00'), [0, 60], { deviceId: 'b' }),
    ]
    const more = Array.from({ length: 19 }, (_, minute) =>
      log('heart_rate', at(`02:${10 + minute}`), [0, 50], { deviceId: 'a' }),
    )

    expect(value([asleep, a, b, ...more], 'heart_rate_sleep')).toBe('50')
    expect(value([...more, b, a, asleep], 'heart_rate_sleep')).toBe('50')
  })
  test('that weigh at the same moment: the better device counts', () => {
    const [watch, other] = [log('weight', at('07:00'), [0, 80]), log('weight', at('07:00'), [0, 90], phone)]

    expect(value([watch, other], 'weight')).toBe('80')
    expect(value([other, watch], 'weight')).toBe('80')
  })
})

test('two equally late editions of one id give one answer in any order of arrival', () => {
  const [one, other] = [
    log('steps', at('09:00'), [60, 1000]),
    { ...log('steps', at('09:00'), [60, 1000]), value: 1100 },
  ]

  expect(value([one, other], 'steps')).toBe(value([other, one], 'steps'))
  expect(
    value(
      [
        { ...one, modifiedMs: 5 },
        { ...other, modifiedMs: 4 },
      ],
      'steps',
    ),
  ).toBe('1000')
})

describe('stages', () => {
  const stage = (name: string, time: string, minutes: number) =>
    log(`sleep_stage_${name}`, at(time), [minutes, minutes])

  test('awake in or out of bed is awake', () => {
    const logs = [
      stage('light', '00:00', 200),
      stage('awake_in_or_out_of_bed', '03:20', 10),
      stage('light', '03:30', 200),
    ]

    expect(value(logs, 'sleep_interruptions')).toBe('1')
    expect(value(logs, 'sleep_awake_duration')).toBe('10')
    expect(value(logs, 'sleep_duration')).toBe('400')
  })
  test('unknown stages are time in bed', () => {
    // 400 × 0.9.
    expect(value([stage('unknown', '00:00', 400)], 'sleep_duration')).toBe('360')
  })
  test('time awake is no sleep, though nothing else of the time in bed was recorded', () => {
    const night = [stage('in_bed', '00:00', 480), stage('awake', '00:00', 80)]

    // (480 − 80) × 0.9.
    expect(value(night, 'sleep_duration')).toBe('360')
    expect(value([stage('awake', '00:00', 480)], 'sleep_duration')).toBeUndefined()
  })
  test('a sampled temperature is the mean of the night', () => {
    const samples = [34.4, 34.6].map((value, place) =>
      log('sleeping_wrist_temperature', at(`0${1 + place}:00`), [0, value]),
    )

    expect(value([asleep, ...samples], 'skin_temperature_sleep')).toBe('34.5')
  })
})

test('minutes of a session without a heart rate count as its mean heart rate', () => {
  // Age 40, maximum 180. Five minutes at 150 (83 %, high), five at 100 (56 %, low); mean 125 (69 %, medium) for the other 20.
  const run = log('exercise_session_running', at('09:00'), [30, 30])
  const pulse = Array.from({ length: 10 }, (_, minute) =>
    log('heart_rate', at(`09:0${minute}`), [0, minute < 5 ? 150 : 100]),
  )
  const stroll = walk(at('12:00'), [10, 300])
  const minutes = ['low', 'medium', 'high'].map((intensity) =>
    value([run, ...stroll, ...pulse], `activity_${intensity}_intensity_duration`, { age: 40 }),
  )

  expect(minutes).toEqual(['5', '20', '5'])
})

test('an impossible age is unknown', () => {
  const steps = log('steps', at('09:00'), [60, 1000])

  expect(value([steps], 'age', { birthDate: '1890-01-01' })).toBeUndefined()
  expect(value([steps], 'age', { birthDate: '2026-06-04' })).toBeUndefined()
  expect(value([steps], 'age', { birthDate: '2026-06-03' })).toBe('0')
})

test('readiness names sleep and vitals among its sources, and no gender: it compares nobody with a population', () => {
  const days = daysFrom('2026-05-19', 16)
  const logs = days.flatMap((on) => [
    log('sleep_stage_deep', `${dayBefore(on)}T23:00:00Z`, [90, 1]),
    log('sleep_stage_rem', `${on}T00:30:00Z`, [330, 1]),
    log('resting_heart_rate', `${on}T07:00:00Z`, [0, 60]),
  ])
  const record = (from: readonly DataLog[]) =>
    score(deriveAll({ logs: from, asOf, person: { gender: 'Female' } }), 'readiness', day)?.record

  expect(record(logs)?.['dataSources']).toEqual(['sleep', 'vitals'])
  // Before fourteen nights there is nothing of one's own to judge by.
  expect(record(logs.filter(({ startMs }) => startMs > Date.parse('2026-05-21T12:00:00Z')))).toBeUndefined()
})

test('a baseline of zero gives no percentage', () => {
  const days = daysFrom('2026-05-20', 15)
  const logs = days.flatMap((on, place) => [
    log('steps', `${on}T09:00:00Z`, [60, place === 14 ? 1000 : 0]),
    ...wornAllDay(on),
  ])
  const row = deriveAll({ logs, asOf }).comparisons.find(
    (comparison) => comparison['name'] === 'steps' && String(comparison['startDateTime']).startsWith(day),
  )

  expect(row?.['data']).toContainEqual(
    expect.objectContaining({ type: 'baseline', value: 0, difference: 1000, percentageDifference: null }),
  )
})

test('a cohort is not used without sex or age, and gives no share below its lowest value', () => {
  expect(cohortCellOf(unknownDemographics, 20_000)).toBeNull()
  expect(cohortCellOf({ ...unknownDemographics, gender: 'Female' }, 20_000)).toBeNull()
  expect(cohortCellOf({ ...unknownDemographics, gender: 'Female', age: 47 }, 20_000)).toBe('Female 40')
  const norm = cohortNorm({ n: 50, values: [10, 20, 30] }, { normId: 'x', nMin: 50 })

  expect([norm?.middle, norm?.shareBelow(9), norm?.shareBelow(25), norm?.shareBelow(31)]).toEqual([20, 0, 0.75, 1])
})

test('a bedtime changes its archetype when two weeks in a row are past the threshold by nine tenths of a deviation', () => {
  // The threshold between early and late is 23:00.
  const week = (first: string, onset: string) =>
    daysFrom(first, 7).map((on) => log('sleep_stage_sleeping', `${dayBefore(on)}T${onset}:00Z`, [420, 1]))
  const named = (logs: Logs, first: string) =>
    deriveAll({ logs, asOf }).archetypes.find(
      (archetype) =>
        archetype['name'] === 'bed_schedule' &&
        archetype['periodicity'] === 'weekly' &&
        String(archetype['startDateTime']).startsWith(first),
    )?.['value']
  const [one, two, three] = ['2026-06-01', '2026-06-08', '2026-06-15']
  const early = week(one, '22:50')

  // 685 - 650 and 0, and two usual differences of deviation 30: √((18.35² + 30²) / 2) × 0.9 = 22.4 minutes past 23:00.
  expect(named([...early, ...week(two, '23:25')], two)).toBe('early_sleeper')
  expect(named([...early, ...week(two, '23:25'), ...week(three, '23:25')], three)).toBe('late_sleeper')
  expect(named([...early, ...week(two, '23:10'), ...week(three, '23:10')], three)).toBe('early_sleeper')
})
