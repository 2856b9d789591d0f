import { expect, test } from 'vitest'
import { oura } from '../../../src/intake/formats/oura.ts'
import { fileOf, importInto, importOne } from '../../support/health-files.ts'

const options = { timeZone: 'Europe/Berlin', formats: [oura] }
const json = (value: unknown) => fileOf('answer.json', JSON.stringify(value))
const night = {
  id: 'night-1',
  average_breath: 14.25,
  average_hrv: 55,
  bedtime_end: '2026-03-29T06:30:00+02:00',
  bedtime_start: '2026-03-29T01:00:00+01:00',
  day: '2026-03-29',
  hrv: { interval: 300, items: [null, 48, 52, 0], timestamp: '2026-03-29T01:00:00+01:00' },
  heart_rate: { interval: 300, items: [null, 60], timestamp: '2026-03-29T01:00:00+01:00' },
  lowest_heart_rate: 51,
  sleep_phase_5_min: `4${'2'.repeat(20)}${'1'.repeat(20)}${'3'.repeat(14)}`,
  time_in_bed: 16_200,
  type: 'long_sleep',
}

test('a night has its phases, RMSSD and breath once, and neither means nor the heart rate of another list', async () => {
  const { logs, rejects } = await importOne(json({ data: [night], next_token: null }), options)

  expect(rejects).toEqual([])
  expect(logs.map(({ dataType, value, startDateTime }) => [dataType, value, startDateTime.slice(11)])).toEqual([
    ['sleep_stage_in_bed', 270, '01:00:00+01:00'],
    ['sleep_stage_awake', 5, '01:00:00+01:00'],
    ['sleep_stage_light', 100, '01:05:00+01:00'],
    ['sleep_stage_deep', 100, '03:45:00+02:00'],
    ['sleep_stage_rem', 65, '05:25:00+02:00'],
    ['heart_rate_variability_rmssd', 48, '01:05:00+01:00'],
    ['heart_rate_variability_rmssd', 52, '01:10:00+01:00'],
    ['respiratory_rate', 14.25, '01:00:00+01:00'],
    ['resting_heart_rate', 51, '06:30:00+02:00'],
  ])
})

test('a day in which the ring was not worn has no energy and no steps', async () => {
  const day = {
    timestamp: '2026-03-28T04:00:00+01:00',
    steps: 4000,
    equivalent_walking_distance: 3000,
    total_calories: 1700,
  }
  const days = [
    { ...day, non_wear_time: 3600 },
    { ...day, timestamp: '2026-03-29T04:00:00+02:00', steps: 0, non_wear_time: 86_400 },
  ]
  const { logs, reports } = await importOne(json({ data: days }), options)

  expect(logs.map(({ dataType, value }) => [dataType, value])).toEqual([
    ['steps', 4000],
    ['total_energy_burned', 1700],
  ])
  expect(reports[0]?.leftOut).toEqual([{ reason: 'a day in which the ring was not worn', records: 1 }])
})

test('the same night from the interface and from the table of the account is one', async () => {
  const columns = Object.keys(night)
  const cells = Object.values(night).map((value) => (typeof value === 'object' ? JSON.stringify(value) : String(value)))
  const quoted = cells.map((cell) => (cell.includes('"') ? `"${cell.replaceAll('"', '""')}"` : cell))
  const table = fileOf('App Data/sleepmodel.csv', `${columns.join(';')}\n${quoted.join(';')}\n`)
  const { progress } = await importInto(new Map(), [json({ data: [night] }), table], options)

  expect(progress).toMatchObject({ accepted: 9, duplicate: 9 })
})

test('of two hypnograms the finer one counts', async () => {
  const finer = { ...night, sleep_phase_30_sec: `${'4'.repeat(3)}${'2'.repeat(537)}` }
  const { logs } = await importOne(json({ sleep: [finer] }), options)

  expect(logs.filter(({ dataType }) => /awake|light|deep|rem$/.test(dataType)).map(({ value }) => value)).toEqual([
    1.5, 268.5,
  ])
})

test('a day of activity runs from four to four; a nap has no resting heart rate; saturation 0 means no value', async () => {
  const { logs, reports } = await importOne(
    json({
      daily_activity: [
        {
          id: 'a',
          day: '2026-03-02',
          timestamp: '2026-03-02T04:00:00+01:00',
          steps: 9000,
          equivalent_walking_distance: 1,
        },
      ],
      sleep: [
        {
          ...night,
          type: 'late_nap',
          hrv: null,
          sleep_phase_5_min: null,
          total_sleep_duration: 15_000,
          average_breath: null,
        },
        { ...night, id: 'f', type: 'deleted' },
        { ...night, id: 'g', type: 'rest' },
      ],
      daily_spo2: [
        { id: 'b', day: '2026-03-02', spo2_percentage: { average: 97.5 } },
        { id: 'c', day: '2026-03-03', spo2_percentage: { average: 0 } },
      ],
      daily_readiness: [{ id: 'd', day: '2026-03-02', score: 80 }],
    }),
    options,
  )

  expect(
    logs.map(({ dataType, value, startDateTime, endDateTime }) => [dataType, value, startDateTime, endDateTime]),
  ).toEqual([
    ['steps', 9000, '2026-03-02T04:00:00+01:00', '2026-03-03T04:00:00+01:00'],
    ['sleep_stage_in_bed', 270, '2026-03-29T01:00:00+01:00', '2026-03-29T06:30:00+02:00'],
    ['oxygen_saturation', 97.5, '2026-03-02T00:00:00+01:00', '2026-03-02T23:59:59+01:00'],
  ])
  expect(logs[0]).toMatchObject({ periodicity: 'daily', aggregation: 'sum' })
  expect(reports[0]?.leftOut).toEqual([
    { reason: 'a night that was deleted', records: 1 },
    { reason: 'a sleep that the person said was none', records: 1 },
    { reason: 'a day without saturation', records: 1 },
    { reason: 'a document with nothing for us', records: 1 },
  ])
})

test('a window in which the ring found no sleep is no night', async () => {
  const windows = [
    { ...night, sleep_phase_5_min: '4'.repeat(54), total_sleep_duration: 0 },
    { ...night, sleep_phase_5_min: null },
  ]
  const { logs, rejects, reports } = await importOne(json({ data: windows }), options)

  expect([...logs, ...rejects]).toEqual([])
  expect(reports[0]?.leftOut).toEqual([{ reason: 'a window of sleep in which no sleep was measured', records: 2 }])
})

test('a night with an unknown phase is reported, and its other records are read', async () => {
  const { logs, rejects } = await importOne(json({ data: [{ ...night, sleep_phase_5_min: '1259' }] }), options)

  expect(rejects.map(({ place, reason }) => [place, reason])).toEqual([
    ['record 1', 'sleep_phase_5_min: has an unknown phase'],
  ])
  expect(logs).toHaveLength(5)
})
