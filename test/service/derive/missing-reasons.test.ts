import { describe, expect, test } from 'vitest'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import { factsOfDays } from '../../../src/service/derive/day/facts-of-days.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { missingReason } from '../../../src/service/derive/days/missing-reasons.ts'
import { explainScore } from '../../../src/service/derive/records/explanation.ts'
import { dayBefore, daysFrom, log, phone, unknownDemographics, unknownMovement, walk, wornAllDay } from './made-logs.ts'

const week = daysFrom('2026-03-02', 7)
const last = '2026-03-08'
type ScoreType = Parameters<typeof explainScore>[0]['type']

function ask(type: ScoreType, logs: readonly DataLog[], until = '2026-03-20T00:00:00Z') {
  const asOf = Date.parse(until)
  const facts = factsOfDays({ logs, demographics: unknownDemographics, asOfMs: asOf })
  return explainScore({
    logs,
    facts,
    demographics: unknownDemographics,
    asOfMs: asOf,
    day: dayNumberFromText(last),
    type,
  })
}

const why = (type: ScoreType, name: string, logs: readonly DataLog[], until?: string) =>
  ask(type, logs, until).missing.find((factor) => factor.name === name)?.reason

const steps = (day = last, count = 900) => log('steps', `${day}T09:00:00Z`, [60, count])
const asleep = (day = last, kind = 'sleeping') => log(`sleep_stage_${kind}`, `${dayBefore(day)}T23:00:00Z`, [450, 1])
const nights = (count: number) => week.slice(-count).map((day) => asleep(day))

describe('a factor of movement is missing because', () => {
  test('no log is known of the day', () => {
    expect(why('activity', 'steps', [])).toBe('no log tells of this day')
  })
  test('only sleep was recorded on that day', () => {
    expect(why('activity', 'steps', [asleep()])).toBe('no movement was recorded')
    expect(ask('activity', [asleep()]).reason).toBe('no movement was recorded')
  })
  test('the day is not over, though its night is', () => {
    const logs = [...nights(5), steps(last, 9000)]
    expect(why('activity', 'steps', logs, '2026-03-08T12:00:00Z')).toBe('the day is not over yet')
    expect(ask('activity', logs, '2026-03-08T12:00:00Z').reason).toBe('the day is not over yet')
    expect(ask('sleep', logs, '2026-03-08T12:00:00Z').reason).toBeNull()
  })
  test('the day has too few steps to be valid', () => {
    expect(why('activity', 'floors_climbed', [steps(last, 199)])).toMatch(/^the day is not valid/)
  })
  test('no log of that factor was recorded', () => {
    const run = log('exercise_session_running', `${last}T09:00:00Z`, [30, 30])
    expect(why('activity', 'steps', [run, ...wornAllDay(last)])).toBe('no steps were recorded')
    expect(why('activity', 'floors_climbed', [steps()])).toBe('no floors were recorded')
    expect(why('activity', 'active_calories', [steps()])).toBe('no active energy was recorded')
    expect(why('activity', 'active_hours', [steps()])).toBe('less than ten hours of the day are recorded')
    expect(why('activity', 'extended_inactivity', [steps()])).toBe('less than ten hours of the day are recorded')
  })
  test('there are too few days to compare with', () => {
    const two = week.slice(-2).flatMap((day) => walk(`${day}T09:00:00Z`, [60, 900]))
    expect(why('activity', 'intense_activity_duration', two)).toMatch(/fewer than 3 days in 7/)
    expect(
      why('activity', 'intense_activity_duration', [...two, ...walk(`${week[4]}T09:00:00Z`, [60, 900])]),
    ).toBeUndefined()
    const six = week.slice(-6).map((day) => steps(day))
    expect(why('mental_wellbeing', 'activity_regularity', six)).toMatch(/fewer than 7 valid days in 14/)
    expect(why('mental_wellbeing', 'activity_regularity', [...six, steps(week[0])])).toBeUndefined()
  })
})

test('which input lacked is said in minutes, by the rule that missed it', () => {
  const worn = wornAllDay(last).slice(0, 10)
  expect(ask('activity', []).lacks).toEqual([{ input: 'wear', minutes: 0, needed: 600 }])
  expect(ask('sleep', []).lacks).toEqual([{ input: 'main sleep', minutes: 0, needed: 180 }])
  expect(ask('sleep', [log('sleep_stage_sleeping', `${last}T03:00:00Z`, [150, 1])])).toMatchObject({
    reason: 'no main sleep of at least three hours is known',
    lacks: [{ input: 'main sleep', minutes: 150, needed: 180 }],
  })
  const pieces = ['00:00', '08:00'].map((time) => log('sleep_stage_sleeping', `${last}T${time}:00Z`, [150, 1]))
  expect(ask('sleep', pieces)).toMatchObject({
    reason: 'no main sleep of at least three hours is known',
    lacks: [],
  })
  const threeHours = ['00:00', '08:00'].map((time) => log('sleep_stage_sleeping', `${last}T${time}:00Z`, [90, 1]))
  expect(ask('sleep', threeHours).lacks).toEqual([])
  expect(ask('activity', [steps(last, 150), ...worn])).toMatchObject({
    reason: expect.stringMatching(/^the day is not valid/),
    lacks: [{ input: 'wear', minutes: expect.any(Number), needed: 600 }],
  })
  expect(ask('activity', [steps(last, 150), ...worn]).lacks[0]?.minutes).toBeGreaterThanOrEqual(60)
  expect(ask('wellbeing', []).lacks).toHaveLength(2)
  expect(ask('activity', [...nights(5), steps(last, 9000)]).lacks).toEqual([])
})

test('hours of the day are missing below ten recorded ones, else it is their steps', () => {
  const day = { day: 20_000, offset: 0, night: null, naps: null, asleep: [], exercise: [], measures: {} }
  const missing = (covered: number) =>
    missingReason('active_hours', { facts: { ...day, movement: { ...unknownMovement, covered } }, isOver: true })

  expect(missing(600)).toEqual({ reason: 'no steps by the hour were recorded', lacks: [] })
  expect(missing(599.9)).toEqual({
    reason: 'less than ten hours of the day are recorded',
    lacks: [{ input: 'recorded', minutes: 599, needed: 600 }],
  })
})

describe('a factor of the night is missing because', () => {
  test('no main sleep of at least three hours is known', () => {
    expect(why('sleep', 'sleep_debt', [steps()])).toBe('no main sleep of at least three hours is known')
    expect(why('readiness', 'walking_strain_capacity', [steps()])).toBe(
      'no main sleep of at least three hours is known',
    )
  })
  test('the source of the night does not record it', () => {
    expect(why('sleep', 'physical_recovery', [asleep()])).toBe(
      'the source of the night does not record that stage of sleep',
    )
    expect(why('sleep', 'sleep_continuity', [asleep()])).toBe('the source of the night does not record being awake')
    expect(why('sleep', 'physical_recovery', [asleep(last, 'deep')])).toBeUndefined()
    expect(why('sleep', 'mental_recovery', [asleep(last, 'deep')])).toMatch(/does not record that stage/)
  })
  test('fewer nights are known than the factor needs', () => {
    expect(why('sleep', 'sleep_debt', nights(2))).toMatch(/fewer than 3 nights in 7/)
    expect(why('sleep', 'sleep_regularity', nights(4))).toMatch(/fewer than 5 nights in 7/)
    expect(why('sleep', 'circadian_alignment', nights(6))).toMatch(/fewer than 7 nights in 28/)
    expect(ask('sleep', nights(7)).missing.map(({ name }) => name)).not.toContain('circadian_alignment')
  })
  test('there are too few days before for strain', () => {
    const logs = [...nights(7), ...week.map((day) => steps(day))]
    expect(why('readiness', 'walking_strain_capacity', logs)).toMatch(/fewer than 14 valid days in the 60 before/)
    expect(why('readiness', 'exercise_strain_capacity', logs)).toMatch(/no exercise session in the 60 days before/)
  })
})

describe('a vital factor is missing because', () => {
  test('it was not measured, or there is nothing to compare it with', () => {
    const rmssd = [30, 40, 50].map((value, place) =>
      log('heart_rate_variability_rmssd', `${last}T0${place}:00:00Z`, [0, value]),
    )
    expect(why('readiness', 'resting_heart_rate', [asleep()])).toBe('no resting heart rate is known of that day')
    expect(why('readiness', 'heart_rate_variability', [asleep()])).toBe('it was not measured that day')
    expect(why('readiness', 'heart_rate_variability', [asleep(), ...rmssd])).toMatch(/fewer than 14 days in the 60/)
    const sdnn = rmssd.map((one) => ({ ...one, dataType: 'heart_rate_variability_sdnn' }))
    expect(why('readiness', 'heart_rate_variability', [asleep(), ...sdnn])).toMatch(/fewer than 14 days in the 60/)
  })
  test('no log is known of the day, and then no input lacked by minutes', () => {
    const nothing = { facts: undefined, isOver: true }
    expect(missingReason('resting_heart_rate', nothing)).toEqual({ reason: 'no log tells of this day', lacks: [] })
  })
})

test('wellbeing says which half is absent, and why', () => {
  expect(ask('wellbeing', [asleep()]).reason).toBe(
    'there is no activity score (no movement was recorded), and there is no sleep score (less than half of the weight of its factors is there)',
  )
  expect(
    ask('wellbeing', [...nights(7), ...week.flatMap((day) => walk(`${day}T09:00:00Z`, [60, 900]))]).reason,
  ).toBeNull()
})

test('readiness does not list steps of the day, because strain depends on the days before only', () => {
  expect(ask('readiness', [...nights(7), steps()]).used.map(({ as }) => as)).not.toContain('steps')
})

test('a workout that two devices recorded is listed once as used and once as left out', () => {
  const run = log('exercise_session_running', `${last}T09:00:00Z`, [30, 30])
  const same = log('exercise_session_running', `${last}T09:02:00Z`, [30, 30], phone)
  const explanation = ask('activity', [run, same, steps(), ...wornAllDay(last)])

  expect(explanation.used.filter(({ as }) => as === 'exercise')).toMatchObject([{ id: run.id, amount: 30 }])
  expect(explanation.leftOut.filter(({ as }) => as === 'exercise')).toMatchObject([
    { id: same.id, reason: 'the same workout is known from a better ranked log' },
  ])
})

test('a log longer than a day, an older edition and a copy are listed with the reason', () => {
  const long = log('steps', '2026-03-07T20:00:00Z', [26 * 60, 100])
  const old = { ...steps(), value: 5, modifiedMs: 1 }
  const copy = { ...asleep(), id: 'ffffffff-ffff-4fff-8fff-ffffffffffff' }
  const logs = [long, old, { ...steps(), modifiedMs: 2 }, asleep(), copy]
  const reasons = [...ask('activity', logs).leftOut, ...ask('sleep', logs).leftOut].map(({ reason }) => reason)

  expect(new Set(reasons)).toEqual(
    new Set(['lasts longer than a day', 'a newer edition of the same id is there', 'an exact copy of another log']),
  )
})
