import { expect, test } from 'vitest'
import { samsungHealth } from '../../../src/intake/formats/samsung-health.ts'
import { fileOf, importInto, importOne } from '../../support/health-files.ts'

const options = { formats: [samsungHealth] }
const table = (name: string, ...lines: string[]) =>
  fileOf(`com.samsung.${name}.20260701.csv`, `\ufeffcom.samsung.${name},6000003,8\n${lines.join('\n')}\n`)

test('the line before the columns is none of them, and times are UTC in the offset beside them', async () => {
  const file = table(
    'shealth.tracker.pedometer_step_count',
    'com.samsung.health.step_count.count,com.samsung.health.step_count.start_time,com.samsung.health.step_count.end_time,com.samsung.health.step_count.time_offset,com.samsung.health.step_count.datauuid',
    '80,2026-07-01 22:30:00.000,2026-07-01 22:31:00.000,UTC+0200,a,',
    '70,1782945120000,1782945180000,UTC-0330,b,',
    '60,2026-07-01 22:33:00.000,2026-07-01 22:34:00.000,,c,',
  )
  const { logs, rejects } = await importOne(file, options)

  expect(logs.map(({ value, startDateTime }) => [value, startDateTime])).toEqual([
    [80, '2026-07-02T00:30:00+02:00'],
    [70, '2026-07-01T19:02:00-03:30'],
  ])
  expect(rejects.map(({ place, reason }) => [place, reason])).toEqual([
    ['record 3', 'a row whose start_time, end_time or time_offset is none'],
  ])
})

test('a heart rate of an hour becomes an hourly mean; that of a moment is a sample', async () => {
  const file = table(
    'shealth.tracker.heart_rate',
    'source,com.samsung.health.heart_rate.heart_rate,com.samsung.health.heart_rate.start_time,com.samsung.health.heart_rate.end_time,com.samsung.health.heart_rate.time_offset,com.samsung.health.heart_rate.min',
    ',66,2026-07-01 10:00:00.000,2026-07-01 10:59:00.000,UTC+0000,50,',
    ',71,2026-07-01 11:00:00.000,2026-07-01 11:00:59.000,UTC+0000,71,',
  )
  const { logs } = await importOne(file, options)

  expect(logs.map(({ value, periodicity, aggregation }) => [value, periodicity, aggregation])).toEqual([
    [66, 'hourly', 'avg'],
    [71, undefined, undefined],
  ])
})

test('a night is one log and its stages are theirs; the days’ sums of steps are not read', async () => {
  const files = [
    table(
      'shealth.sleep',
      'start_time,com.samsung.health.sleep.start_time,com.samsung.health.sleep.end_time,com.samsung.health.sleep.time_offset,com.samsung.health.sleep.datauuid',
      '2020-01-01 00:00:00.000,2026-07-01 22:00:00.000,2026-07-01 23:30:00.000,UTC+0200,night,',
    ),
    table(
      'health.sleep_stage',
      'start_time,sleep_id,stage,time_offset,end_time,datauuid',
      '2026-07-01 22:00:00.000,night,40002,UTC+0200,2026-07-01 23:00:00.000,s1,',
      '2026-07-01 23:00:00.000,night,40004,UTC+0200,2026-07-01 23:30:00.000,s2,',
      '2026-07-01 23:30:00.000,night,7,UTC+0200,2026-07-01 23:30:00.000,s3,',
    ),
    table('shealth.step_daily_trend', 'count,day_time', '9000,1782864000000'),
  ]
  const { logs, rejects, unread } = await importInto(new Map(), files, options)

  expect(logs.map(({ dataType, value, startDateTime }) => [dataType, value, startDateTime])).toEqual([
    ['sleep_stage_in_bed', 90, '2026-07-02T00:00:00+02:00'],
    ['sleep_stage_light', 60, '2026-07-02T00:00:00+02:00'],
    ['sleep_stage_rem', 30, '2026-07-02T01:00:00+02:00'],
  ])
  expect(rejects.map(({ reason }) => reason)).toEqual(['stage: is not known'])
  expect(unread).toMatchObject([{ files: 1, isLeftOut: true }])
})

test('a night without stages is a time in bed, the bedtime that was set is none, and a night of no sleep is left out', async () => {
  const file = table(
    'shealth.sleep',
    'com.samsung.health.sleep.start_time,com.samsung.health.sleep.end_time,com.samsung.health.sleep.time_offset,goal_bed_time,goal_wake_up_time,sleep_duration,com.samsung.health.sleep.datauuid',
    '2026-07-01 22:00:00.000,2026-07-02 05:12:00.000,UTC+0200,2026-07-01 21:00:00.000,2026-07-02 04:00:00.000,,night,',
    '2026-07-02 22:00:00.000,2026-07-03 05:12:00.000,UTC+0200,2026-07-02 21:00:00.000,2026-07-03 04:00:00.000,0,window,',
  )
  const { logs, reports } = await importOne(file, options)

  expect(logs.map(({ dataType, value, startDateTime }) => [dataType, value, startDateTime])).toEqual([
    ['sleep_stage_in_bed', 432, '2026-07-02T00:00:00+02:00'],
  ])
  expect(reports[0]?.leftOut).toEqual([{ reason: 'a window of sleep in which no sleep was measured', records: 1 }])
})

test('of a weight it is not known whether a scale or a person wrote it', async () => {
  const file = table(
    'health.weight',
    'start_time,time_offset,weight,body_fat,datauuid',
    '2026-07-01 06:00:00.000,UTC+0200,72.5,20,a,',
  )
  const { logs } = await importOne(file, options)

  expect(logs.map(({ value, recordingMethod }) => [value, recordingMethod])).toEqual([
    [72.5, 'unknown'],
    [20, 'unknown'],
  ])
})
