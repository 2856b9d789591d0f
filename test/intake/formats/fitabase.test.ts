import { expect, test } from 'vitest'
import { fitabase } from '../../../src/intake/formats/fitbit/fitabase.ts'
import { fitbit } from '../../../src/intake/formats/fitbit/fitbit.ts'
import { fileOf, importInto, importOne } from '../../support/health-files.ts'

const options = { timeZone: 'America/Chicago', formats: [fitbit, fitabase] }
const table = (columns: string, ...rows: string[]) => fileOf('any.csv', `${columns}\n${rows.join('\n')}\n`)

test('times are of the clock on the wall, and twelve is the first hour of its half of the day', async () => {
  const { logs, reports } = await importOne(
    table(
      'Id,ActivityMinute,Steps',
      '15,7/1/2026 12:05:00 AM,10',
      '15,7/1/2026 1:05:00 AM,0',
      '15,7/1/2026 12:05:00 PM,20',
      '15,7/1/2026 11:05:00 PM,30',
    ),
    options,
  )

  expect(logs.map(({ value, startDateTime }) => [value, startDateTime])).toEqual([
    [10, '2026-07-01T00:05:00-05:00'],
    [20, '2026-07-01T12:05:00-05:00'],
    [30, '2026-07-01T23:05:00-05:00'],
  ])
  expect(reports[0]).toMatchObject({ read: 4, mapped: 3 })
})

test('a file of a study is of many people: only the rows of the first are taken', async () => {
  const { logs, rejects } = await importOne(
    table('Id,Time,Value', '15,7/1/2026 8:00:00 AM,60', '16,7/1/2026 8:00:00 AM,90', '15,7/1/2026 8:00:05 AM,61'),
    options,
  )

  expect(logs.map(({ value }) => value)).toEqual([60, 61])
  expect(rejects.map(({ place, reason }) => [place, reason])).toEqual([
    ['record 2', 'another person than that of the first row'],
  ])
})

test('hours rank below their minutes, and restless minutes are awake', async () => {
  const files = [
    table('Id,ActivityHour,StepTotal', '15,7/1/2026 8:00:00 AM,500'),
    table(
      'Id,date,value,logId',
      '15,7/1/2026 2:00:30 AM,1,7',
      '15,7/1/2026 2:01:30 AM,2,7',
      '15,7/1/2026 2:02:30 AM,9,7',
    ),
  ]
  const { logs, rejects } = await importInto(new Map(), files, options)

  expect(logs.map(({ dataType, value, periodicity }) => [dataType, value, periodicity])).toEqual([
    ['steps', 500, 'hourly'],
    ['sleep_stage_sleeping', 1, undefined],
    ['sleep_stage_awake', 1, undefined],
  ])
  expect(rejects.map(({ reason }) => reason)).toEqual(['value: is no state of sleep'])
})

test('a count that is missing or no number is rejected as that, and a missing measurement is none', async () => {
  const minutes = table('Id,ActivityMinute,Steps', '15,7/1/2026 8:00:00 AM,', '15,7/1/2026 8:01:00 AM,x')
  const weights = table('Id,Date,WeightKg,Fat,BMI,IsManualReport', '15,7/1/2026 8:00:00 AM,70,,22,True')
  const { logs, rejects } = await importInto(new Map(), [minutes, weights], options)

  expect(rejects.map(({ place, reason }) => [place, reason])).toEqual([
    ['record 1', 'Steps: is no number'],
    ['record 2', 'Steps: is no number'],
  ])
  expect(logs.map(({ dataType, recordingMethod }) => [dataType, recordingMethod])).toEqual([
    ['weight', 'manual_entry'],
    ['body_mass_index', 'manual_entry'],
  ])
})

test('a minute of Fitabase and of Takeout is one log', async () => {
  const takeout = fileOf('steps-2026-07-01.json', JSON.stringify([{ dateTime: '07/01/26 13:00:00', value: '42' }]))
  const minute = table('Id,ActivityMinute,Steps', '15,7/1/2026 8:00:00 AM,42')
  const { progress } = await importInto(new Map(), [takeout, minute], options)

  expect(progress).toMatchObject({ accepted: 1, duplicate: 1 })
})
