import { expect, test } from 'vitest'
import { googleFit } from '../../../src/intake/formats/google-fit.ts'
import { fileOf, importInto, importOne } from '../../support/health-files.ts'

const options = { timeZone: 'Asia/Tokyo', formats: [googleFit] }
const at = Date.parse('2026-07-01T16:00:00Z')
const gms = 'com.google.android.gms'
const point = (value: object, startMs = at, endMs = at + 60_000, more: object = {}) => ({
  fitValue: [{ value }],
  startTimeNanos: Number(`${startMs}000000`),
  endTimeNanos: Number(`${endMs}000000`),
  ...more,
})
const stream = (source: string, ...points: object[]) =>
  fileOf(`${source.slice(0, 40)}.json`, JSON.stringify({ 'Data Source': source, 'Data Points': points }))

test('of all streams of a type the merged one is read: raw and derived ones repeat it', async () => {
  const steps = [point({ intVal: 80 })]
  const files = [
    stream(`raw:com.google.step_count.delta:com.example.watch:`, ...steps),
    stream(`derived:com.google.step_count.delta:${gms}:estimated_steps`, ...steps),
    stream(`derived:com.google.step_count.delta:${gms}:merge_step_deltas`, ...steps),
  ]
  const { logs, reports } = await importInto(new Map(), files, options)

  expect(logs.map(({ dataType, value, startDateTime }) => [dataType, value, startDateTime])).toEqual([
    ['steps', 80, '2026-07-02T01:00:00+09:00'],
  ])
  expect(reports.flatMap(({ leftOut }) => leftOut.map(({ records }) => records))).toEqual([1, 1])
})

test('energy that the app estimated of the body alone is left out', async () => {
  const origin = (name: string) => ({ originDataSourceId: `derived:com.google.calories.expended:${gms}:${name}` })
  const file = stream(
    `derived:com.google.calories.expended:${gms}:merge_calories_expended`,
    point({ fpVal: 5 }, at, at + 60_000, origin('from_activities')),
    point({ fpVal: 1 }, at + 60_000, at + 120_000, origin('default_calories_expended')),
  )
  const { logs, reports } = await importOne(file, options)

  expect(logs.map(({ dataType, value }) => [dataType, value])).toEqual([['total_energy_burned', 5]])
  expect(reports[0]?.leftOut).toEqual([{ reason: 'energy that the app estimated of the body alone', records: 1 }])
})

test('the resting heart rate, whose stream is named after the merged one, is no heart rate', async () => {
  const files = [
    stream(`derived:com.google.heart_rate.bpm:${gms}:merge_heart_rate_bpm`, point({ fpVal: 71 }, at, at)),
    stream(
      `derived:com.google.heart_rate.bpm:${gms}:resting_heart_rate<-merge_heart_rate_bpm`,
      point({ fpVal: 55 }, at, at),
    ),
  ]
  const { logs } = await importInto(new Map(), files, options)

  expect(logs.map(({ dataType, value }) => [dataType, value])).toEqual([
    ['heart_rate', 71],
    ['resting_heart_rate', 55],
  ])
})

test('a session is a session, a night is one by its segments, and the sums of a day are not read', async () => {
  const session = (fitnessActivity: string) =>
    fileOf(
      `${fitnessActivity}.json`,
      JSON.stringify({ fitnessActivity, startTime: '2026-07-01T16:00:00.123Z', endTime: '2026-07-01T16:30:00.123Z' }),
    )
  const files = [
    session('running'),
    session('sleep'),
    stream(`derived:com.google.sleep.segment:${gms}:merged`, point({ intVal: 5 }), point({ intVal: 9 })),
    fileOf(
      'Daily activity metrics/2026-07-01.csv',
      'Start time,End time,Step count\n00:00:00.000+09:00,00:15:00.000+09:00,80\n',
    ),
  ]
  const { logs, rejects, unread } = await importInto(new Map(), files, options)

  expect(logs.map(({ dataType, value }) => [dataType, value])).toEqual([
    ['exercise_session_running', 30],
    ['sleep_stage_deep', 1],
  ])
  expect(rejects.map(({ place, reason }) => [place, reason])).toEqual([
    ['record 2', 'a stage of sleep that is not known'],
  ])
  expect(unread).toMatchObject([{ files: 1, isLeftOut: true }])
})

test('two values of one point are two logs, and a value by hand is marked as typed', async () => {
  const pressure = {
    ...point({ fpVal: 121 }, at, at, { originDataSourceId: `raw:com.google.blood_pressure:${gms}:user_input` }),
    fitValue: [{ value: { fpVal: 121 } }, { value: { fpVal: 79 } }],
  }
  const { logs } = await importOne(stream(`derived:com.google.blood_pressure:${gms}:merged`, pressure), options)

  expect(logs.map(({ dataType, value, recordingMethod }) => [dataType, value, recordingMethod])).toEqual([
    ['blood_pressure_systolic', 121, 'manual_entry'],
    ['blood_pressure_diastolic', 79, 'manual_entry'],
  ])
})
