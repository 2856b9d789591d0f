import { expect, test } from 'vitest'
import { whoop } from '../../../src/intake/formats/whoop.ts'
import { fileOf, importOne } from '../../support/health-files.ts'

const options = { formats: [whoop] }
const cycles = (...rows: string[]) =>
  fileOf(
    'physiological_cycles.csv',
    [
      'Cycle start time,Cycle end time,Cycle timezone,Recovery score %,Resting heart rate (bpm),Heart rate variability (ms),Skin temp (celsius),Blood oxygen %,Day Strain,Energy burned (cal),Max HR (bpm),Average HR (bpm),Sleep onset,Wake onset,Sleep performance %,Respiratory rate (rpm),Asleep duration (min),In bed duration (min),Light sleep duration (min),Deep (SWS) duration (min),REM duration (min),Awake duration (min)',
      ...rows,
    ].join('\n'),
  )
const sleeps = (...rows: string[]) =>
  fileOf(
    'sleeps.csv',
    [
      'Cycle start time,Cycle end time,Cycle timezone,Sleep onset,Wake onset,Sleep performance %,Respiratory rate (rpm),Asleep duration (min),In bed duration (min),Light sleep duration (min),Deep (SWS) duration (min),REM duration (min),Awake duration (min),Nap',
      ...rows,
    ].join('\n'),
  )

test('a cycle runs from sleep to sleep: its measures belong to the day of waking up, and its energy to no day', async () => {
  const { logs, rejects, reports } = await importOne(
    cycles(
      '2026-03-01 23:10:00,2026-03-02 22:55:00,UTC-04:00,71,52,58,33.1,97,11.2,2100,165,72,2026-03-01 23:10:00,2026-03-02 07:00:00,90,14,430,470,230,92,110,38',
      '2026-03-02 22:55:00,,UTC-04:00,,,,,,1,300,165,72,,,,,,,,,,',
    ),
    options,
  )

  expect(rejects).toEqual([])
  expect(logs.map(({ dataType, value, startDateTime }) => [dataType, value, startDateTime])).toEqual([
    ['resting_heart_rate', 52, '2026-03-02T07:00:00-04:00'],
    ['heart_rate_variability_rmssd', 58, '2026-03-02T07:00:00-04:00'],
    ['sleeping_wrist_temperature', 33.1, '2026-03-02T07:00:00-04:00'],
    ['oxygen_saturation', 97, '2026-03-02T07:00:00-04:00'],
  ])
  expect(reports[0]?.leftOut).toEqual([{ reason: 'a cycle without sleep', records: 1 }])
})

test('a sleep has the minutes of its stages, laid end to end and said to be', async () => {
  const { logs } = await importOne(
    sleeps('2026-03-01 23:10:00,,UTCZ,2026-03-01 23:10:00,2026-03-02 07:00:00,90,14.5,432,470,230,92,110,38,false'),
    options,
  )

  expect(
    logs.map(({ dataType, value, startDateTime, endDateTime }) => [
      dataType,
      value,
      startDateTime.slice(11, 16),
      endDateTime.slice(11, 16),
    ]),
  ).toEqual([
    ['sleep_stage_in_bed', 470, '23:10', '07:00'],
    ['sleep_stage_awake', 38, '23:10', '23:48'],
    ['sleep_stage_light', 230, '23:48', '03:38'],
    ['sleep_stage_deep', 92, '03:38', '05:10'],
    ['sleep_stage_rem', 110, '05:10', '07:00'],
    ['respiratory_rate', 14.5, '23:10', '07:00'],
  ])
  expect(logs[1]).toMatchObject({ additionalProperties: { position: 'laid end to end' } })
})

test('every way of writing the zone is read, and a row without one is rejected', async () => {
  const row = (zone: string) => `2026-03-01 23:10:00,,${zone},2026-03-01 23:10:00,2026-03-02 07:00:00,,,432,,,,,,false`
  const { logs, rejects } = await importOne(
    sleeps(row('UTC+05:30'), row('-05:00'), row('UTCZ'), row(''), row('Brisbane')),
    options,
  )

  expect(logs.map(({ startDateTime }) => startDateTime.slice(19))).toEqual(['+05:30', '-05:00', '+00:00'])
  expect(rejects.map(({ place, reason }) => [place, reason])).toEqual([
    ['record 4', 'Sleep onset, Wake onset or Cycle timezone: is none'],
    ['record 5', 'Sleep onset, Wake onset or Cycle timezone: is none'],
  ])
})

test('a sleep that could not be measured has no minutes asleep, and is none', async () => {
  const row = (minutes: string) =>
    `2026-03-01 23:10:00,,UTCZ,2026-03-01 23:10:00,2026-03-02 07:00:00,,,${minutes},false`
  const { logs, rejects, reports } = await importOne(sleeps(row(',,,,,'), row('0,470,0,0,0,470')), options)

  expect([...logs, ...rejects]).toEqual([])
  expect(reports[0]?.leftOut).toEqual([{ reason: 'a window of sleep in which no sleep was measured', records: 2 }])
})
