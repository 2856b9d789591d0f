import { expect, test } from 'vitest'
import { withings } from '../../../src/intake/formats/withings.ts'
import { fileOf, importInto, importOne } from '../../support/health-files.ts'

const options = { timeZone: 'Europe/Paris', formats: [withings] }

test('measurements are in the unit that the column names, by the clock on the wall', async () => {
  const file = fileOf(
    'weight.csv',
    'Date,"Weight (lb)","Fat mass (lb)","Bone mass (lb)","Muscle mass (lb)","Hydration (lb)",Comments\n"2026-07-01 08:15:00",160,30,,,"95.5",\n',
  )
  const { logs, rejects } = await importOne(file, options)

  expect(rejects).toEqual([])
  expect(logs.map(({ dataType, value, startDateTime }) => [dataType, value, startDateTime])).toEqual([
    ['weight', 72.5748, '2026-07-01T08:15:00+02:00'],
    ['body_water_mass', 43.3181, '2026-07-01T08:15:00+02:00'],
  ])
})

test('a pulse without a pressure is no pressure of 0', async () => {
  const file = fileOf('bp.csv', 'Date,"Heart rate",Systolic,Diastolic,Comments\n"2026-07-01 08:15:00",61,,,\n')
  const { logs } = await importOne(file, options)

  expect(logs.map(({ dataType, value }) => [dataType, value])).toEqual([['heart_rate', 61]])
})

test('raw files are read slice by slice; the days’ sums and the sums of a night beside them are not added', async () => {
  const steps = fileOf(
    'raw_tracker_steps.csv',
    'start,duration,value\n2026-07-01T08:00:00+02:00,"[60,120,60]","[90,0,80]"\n',
  )
  const states = fileOf(
    'raw_tracker_sleep-state.csv',
    'start,duration,value\n2026-07-01T00:00:00+02:00,"[600,3000,1800]","[0,1,2]"\n',
  )
  const night = fileOf(
    'sleep.csv',
    'from,to,"light (s)","deep (s)","rem (s)","awake (s)","wake up"\n2026-07-01T00:00:00+02:00,2026-07-01T01:30:00+02:00,3000,1800,0,600,1\n',
  )
  const sums = fileOf('aggregates_steps.csv', 'date,value\n2026-07-01,170\n')
  const { logs, unread, reports } = await importInto(new Map(), [steps, states, night, sums], options)

  expect(logs.map(({ dataType, value, startDateTime }) => [dataType, value, startDateTime.slice(11, 16)])).toEqual([
    ['steps', 90, '08:00'],
    ['steps', 80, '08:03'],
    ['sleep_stage_awake', 10, '00:00'],
    ['sleep_stage_light', 50, '00:10'],
    ['sleep_stage_deep', 30, '01:00'],
    ['sleep_stage_in_bed', 90, '00:00'],
  ])
  expect(unread).toMatchObject([{ files: 1, isLeftOut: true }])
  expect(reports[0]?.leftOut).toEqual([{ reason: 'a slice with nothing in it', records: 1 }])
})

test('an activity that the person entered counts by the times that were entered, and is marked', async () => {
  const file = fileOf(
    'activities.csv',
    `from,to,"from (manual)","to (manual)",Timezone,"Activity type",Data
2026-07-01T08:00:00+02:00,2026-07-01T09:00:00+02:00,,,Europe/Paris,Running,{}
2026-07-02T08:00:00+02:00,2026-07-02T09:00:00+02:00,2026-07-02T08:00:00+02:00,2026-07-02T08:30:00+02:00,Europe/Paris,Running,{}
`,
  )
  const { logs } = await importOne(file, options)

  expect(logs.map(({ value, recordingMethod }) => [value, recordingMethod])).toEqual([
    [60, 'actively_recorded'],
    [30, 'manual_entry'],
  ])
})

test('a row whose lists do not fit one another costs only itself', async () => {
  const file = fileOf(
    'raw_hr_hr.csv',
    'start,duration,value\n2026-07-01T08:00:00+02:00,"[60,60]","[61]"\n2026-07-01T09:00:00+02:00,"[60]","[62]"\n2026-07-01T10:00:00+02:00,"[60]","[300]"\n',
  )
  const { logs, rejects } = await importOne(file, options)

  expect(logs.map(({ value }) => value)).toEqual([62])
  expect(rejects.map(({ place, reason }) => [place, reason])).toEqual([
    ['record 1', 'a row whose start, durations or values do not fit'],
    ['record 3', 'heart_rate lies outside 25 to 250'],
  ])
})
