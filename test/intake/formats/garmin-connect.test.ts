import { expect, test } from 'vitest'
import { garminConnect } from '../../../src/intake/formats/garmin-connect.ts'
import { fileOf, importInto, importOne } from '../../support/health-files.ts'

const options = { timeZone: 'America/Denver', formats: [garminConnect] }
const json = (name: string, value: unknown) => fileOf(`DI_CONNECT/${name}.json`, JSON.stringify(value))
const brief = (logs: Awaited<ReturnType<typeof importOne>>['logs']) =>
  logs.map(({ dataType, value, startDateTime, endDateTime }) => [dataType, value, startDateTime, endDateTime.slice(11)])

test('times named GMT have no offset and are UTC; stages, which have no times, are laid end to end', async () => {
  const night = {
    sleepStartTimestampGMT: '2026-07-02T05:00:00.0',
    sleepEndTimestampGMT: '2026-07-02T06:30:00.0',
    calendarDate: '2026-07-02',
    deepSleepSeconds: 1800,
    lightSleepSeconds: 3000,
    remSleepSeconds: 0,
    awakeSleepSeconds: 600,
    averageRespiration: 14,
  }
  const { logs, reports } = await importOne(
    json('sleepData', [night, { calendarDate: '2026-07-03', sleepStartTimestampGMT: null }]),
    options,
  )

  expect(brief(logs)).toEqual([
    ['sleep_stage_in_bed', 90, '2026-07-01T23:00:00-06:00', '00:30:00-06:00'],
    ['sleep_stage_awake', 10, '2026-07-01T23:00:00-06:00', '23:10:00-06:00'],
    ['sleep_stage_light', 50, '2026-07-01T23:10:00-06:00', '00:00:00-06:00'],
    ['sleep_stage_deep', 30, '2026-07-02T00:00:00-06:00', '00:30:00-06:00'],
    ['respiratory_rate', 14, '2026-07-01T23:00:00-06:00', '00:30:00-06:00'],
  ])
  expect(reports[0]?.leftOut).toEqual([{ reason: 'a day without a night', records: 1 }])
})

test('a window of sleep that no device measured is no sleep; a night that the person entered counts and is marked', async () => {
  const nightOf = (day: number, sleepWindowConfirmationType: string | null, seconds: object = {}) => ({
    sleepStartTimestampGMT: `2026-07-0${day}T05:00:00.0`,
    sleepEndTimestampGMT: `2026-07-0${day}T12:12:00.0`,
    calendarDate: `2026-07-0${day}`,
    sleepWindowConfirmationType,
    ...seconds,
  })
  const none = { deepSleepSeconds: 0, lightSleepSeconds: 0, remSleepSeconds: 0, awakeSleepSeconds: 0 }
  const nights = [
    nightOf(1, 'UNCONFIRMED'),
    nightOf(2, 'OFF_WRIST', none),
    nightOf(3, 'ENHANCED_CONFIRMED_FINAL', none),
    nightOf(4, null),
    nightOf(5, 'MANUALLY_CONFIRMED'),
    nightOf(6, 'AUTO_CONFIRMED_FINAL'),
    nightOf(7, 'ENHANCED_CONFIRMED_FINAL', { ...none, lightSleepSeconds: 20_000 }),
  ]
  const { logs, reports, rejects } = await importOne(json('sleepData', nights), options)

  expect(
    logs.map(({ dataType, startDateTime, recordingMethod }) => [dataType, startDateTime.slice(0, 10), recordingMethod]),
  ).toEqual([
    ['sleep_stage_in_bed', '2026-07-04', 'manual_entry'],
    ['sleep_stage_in_bed', '2026-07-05', 'automatically_recorded'],
    ['sleep_stage_in_bed', '2026-07-06', 'automatically_recorded'],
    ['sleep_stage_light', '2026-07-06', 'automatically_recorded'],
  ])
  expect(reports[0]?.leftOut.toSorted((a, b) => b.records - a.records)).toEqual([
    { reason: 'a window of sleep in which no sleep was measured', records: 2 },
    { reason: 'a default window of sleep that nothing confirmed (UNCONFIRMED)', records: 1 },
    { reason: 'a night in which the watch was not worn (OFF_WRIST)', records: 1 },
  ])
  expect(rejects).toEqual([])
})

test('a day is a local day, by its start in both clocks and its length, of 23 or 25 hours too; its sums are daily', async () => {
  const dayOf = (date: string, gmtHour: string, hours: number) => ({
    calendarDate: date,
    wellnessStartTimeGmt: `${date}T${gmtHour}:00:00.0`,
    wellnessStartTimeLocal: `${date}T00:00:00.0`,
    durationInMilliseconds: hours * 3_600_000,
    totalSteps: 9000,
    restingHeartRate: 55,
  })
  const days = [dayOf('2026-03-08', '07', 23), dayOf('2026-11-01', '06', 25)]
  const { logs, rejects } = await importOne(json('UDSFile', days), options)

  expect(rejects).toEqual([])
  expect(brief(logs)).toEqual([
    ['steps', 9000, '2026-03-08T00:00:00-07:00', '23:59:59-06:00'],
    ['resting_heart_rate', 55, '2026-03-08T00:00:00-07:00', '23:59:59-06:00'],
    ['steps', 9000, '2026-11-01T00:00:00-06:00', '22:59:59-07:00'],
    ['resting_heart_rate', 55, '2026-11-01T00:00:00-06:00', '22:59:59-07:00'],
  ])
  expect(logs.slice(0, 2).map(({ periodicity, aggregation }) => [periodicity, aggregation])).toEqual([
    ['daily', 'sum'],
    ['daily', undefined],
  ])
})

test('a day in which the watch was not worn has no energy, which would be an estimate', async () => {
  const dayOf = (date: string, changed: object) => ({
    calendarDate: date,
    wellnessStartTimeGmt: `${date}T06:00:00.0`,
    wellnessStartTimeLocal: `${date}T00:00:00.0`,
    durationInMilliseconds: 86_400_000,
    totalKilocalories: 1700,
    ...changed,
  })
  const days = [
    dayOf('2026-07-01', { includesWellnessData: true }),
    dayOf('2026-07-02', { includesWellnessData: false }),
  ]
  const { logs, reports } = await importOne(json('UDSFile', days), options)

  expect(brief(logs)).toEqual([['total_energy_burned', 1700, '2026-07-01T00:00:00-06:00', '23:59:59-06:00']])
  expect(reports[0]?.leftOut).toEqual([{ reason: 'a day in which the watch was not worn', records: 1 }])
})

test('an activity is one by its own id, and its sums are no logs; a weight is in grams', async () => {
  const activity = {
    activityId: 7,
    activityType: 'trail_running',
    beginTimestamp: Date.parse('2026-07-01T12:00:00Z'),
    startTimeLocal: Date.parse('2026-07-01T06:00:00Z'),
    duration: 1_800_000,
    elapsedDuration: 2_400_000,
    calories: 4000,
    steps: 5000,
  }
  const outbox = new Map<string, string>()
  const file = (name: string, changed: object) =>
    json(name, [{ summarizedActivitiesExport: [{ ...activity, ...changed }] }])
  await importInto(outbox, [file('1', {})], options)
  const weights = json('userBioMetrics', [
    { metaData: {}, weight: { weight: 72_500, sourceType: 'INDEX_SCALE', timestampGMT: '2026-07-01T13:00:00.0' } },
  ])
  const { logs } = await importInto(outbox, [file('2', { elapsedDuration: 2_700_000 }), weights], options)

  expect(brief(logs)).toEqual([
    ['exercise_session_trail_running', 45, '2026-07-01T06:00:00-06:00', '06:45:00-06:00'],
    ['weight', 72.5, '2026-07-01T07:00:00-06:00', '07:00:00-06:00'],
  ])
})
