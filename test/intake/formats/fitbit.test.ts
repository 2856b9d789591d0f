import { describe, expect, test } from 'vitest'
import { dataLogInputSchema } from '../../../src/base/contract/data-log.ts'
import { fitbit } from '../../../src/intake/formats/fitbit/fitbit.ts'
import { fileOf, importInto, importOne, type PushedLog } from '../../support/health-files.ts'

const berlin = { timeZone: 'Europe/Berlin', formats: [fitbit] }
const json = (name: string, list: unknown) => fileOf(`Takeout/Fitbit/Global Export Data/${name}`, JSON.stringify(list))
const told = (logs: readonly PushedLog[]) =>
  logs.map(({ dataType, value, startDateTime, endDateTime }) => [dataType, value, startDateTime, endDateTime])

test('steps and heart rate are in UTC: their local day is that of the zone', async () => {
  const steps = json('steps-2026-03-01.json', [
    { dateTime: '03/01/26 23:30:00', value: '42' },
    { dateTime: '03/01/26 23:31:00', value: '0' },
    { dateTime: '03/01/26 23:32:00', value: '301' },
  ])
  const beats = json('heart_rate-2026-07-01.json', [
    { dateTime: '07/01/26 22:30:05', value: { bpm: 61, confidence: 2 } },
    { dateTime: '07/01/26 22:30:10', value: { bpm: 70, confidence: 0 } },
  ])
  const [{ logs, reports }, second] = [await importOne(steps, berlin), await importOne(beats, berlin)]

  expect(told(logs)).toEqual([['steps', 42, '2026-03-02T00:30:00+01:00', '2026-03-02T00:31:00+01:00']])
  expect(reports[0]).toMatchObject({ read: 3, mapped: 1, firstDay: '2026-03-02' })
  expect(reports[0]?.rejected).toEqual([{ reason: 'steps is more than 300 a minute', records: 1 }])
  expect(told(second.logs)).toEqual([['heart_rate', 61, '2026-07-02T00:30:05+02:00', '2026-07-02T00:30:05+02:00']])
  expect(second.reports[0]?.leftOut).toEqual([{ reason: 'a heart rate of confidence 0', records: 1 }])
})

test('a day in which it was not worn, of 1,440 sedentary minutes and no steps, gives no log', async () => {
  const day = Array.from({ length: 1440 }, (_, minute) => ({
    dateTime: `03/01/26 ${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00`,
    value: '0',
  }))
  const files = [
    json('steps-2026-03-01.json', day),
    json('sedentary_minutes-2026-03-01.json', [{ dateTime: '03/01/26 00:00:00', value: '1440' }]),
  ]
  const { logs, unread } = await importInto(new Map(), files, berlin)

  expect(logs).toEqual([])
  expect(unread).toMatchObject([{ files: 1, isLeftOut: true }])
})

const level = (time: string, name: string, minutes: number, day = '2026-03-02') => ({
  dateTime: `${day}T${time}:00.000`,
  level: name,
  seconds: minutes * 60,
})
const nightOf = (data: unknown[], shortData: unknown[] = [], more: object = {}) =>
  json('sleep-2026-03-01.json', [
    {
      logId: 7,
      dateOfSleep: '2026-03-02',
      startTime: '2026-03-02T00:00:00.000',
      endTime: '2026-03-02T02:00:00.000',
      levels: { data, shortData },
      ...more,
    },
  ])

describe('sleep', () => {
  test('is in local time, and a short wake is cut out of the level around it', async () => {
    const file = nightOf(
      [level('00:00', 'light', 60), level('01:00', 'deep', 60)],
      [level('00:30', 'wake', 2), level('00:59', 'wake', 3)],
    )
    const { logs } = await importOne(file, berlin)

    expect(told(logs).map(([dataType, value, start]) => [dataType, value, String(start).slice(11)])).toEqual([
      ['sleep_stage_in_bed', 120, '00:00:00+01:00'],
      ['sleep_stage_light', 30, '00:00:00+01:00'],
      ['sleep_stage_light', 27, '00:32:00+01:00'],
      ['sleep_stage_deep', 58, '01:02:00+01:00'],
      ['sleep_stage_awake', 2, '00:30:00+01:00'],
      ['sleep_stage_awake', 3, '00:59:00+01:00'],
    ])
    for (const log of logs) dataLogInputSchema.parse(log)
  })

  test.each([
    ['jumps', '03:00'],
    ['goes on', '02:00'],
  ])('over a change of clocks lasts as long as it took, whether the clock of the file %s', async (_how, afterwards) => {
    const day = '2026-03-29'
    const data = [level('00:00', 'light', 120, day), level(afterwards, 'rem', 60, day)]
    const times = { startTime: `${day}T00:00:00.000`, endTime: `${day}T04:00:00.000`, duration: 3 * 3_600_000 }
    const { logs } = await importOne(nightOf(data, [], times), berlin)

    expect(told(logs)).toEqual([
      ['sleep_stage_in_bed', 180, '2026-03-29T00:00:00+01:00', '2026-03-29T04:00:00+02:00'],
      ['sleep_stage_light', 120, '2026-03-29T00:00:00+01:00', '2026-03-29T03:00:00+02:00'],
      ['sleep_stage_rem', 60, '2026-03-29T03:00:00+02:00', '2026-03-29T04:00:00+02:00'],
    ])
  })

  test('of a classic night counts restless minutes as awake', async () => {
    const { logs } = await importOne(nightOf([level('00:00', 'asleep', 60), level('01:00', 'restless', 60)]), berlin)

    expect(told(logs).map(([dataType, value]) => [dataType, value])).toEqual([
      ['sleep_stage_in_bed', 120],
      ['sleep_stage_sleeping', 60],
      ['sleep_stage_awake', 60],
    ])
  })

  test('that the person entered is marked, and a window without levels is none', async () => {
    const { logs } = await importOne(nightOf([level('00:00', 'asleep', 120)], [], { logType: 'manual' }), berlin)
    const empty = await importOne(nightOf([], [], { logType: 'auto_detected' }), berlin)

    expect(logs.map(({ dataType, recordingMethod }) => [dataType, recordingMethod])).toEqual([
      ['sleep_stage_in_bed', 'manual_entry'],
      ['sleep_stage_sleeping', 'manual_entry'],
    ])
    expect([empty.logs, empty.reports[0]?.leftOut]).toEqual([
      [],
      [{ reason: 'a window of sleep in which no sleep was measured', records: 1 }],
    ])
  })

  test('is not guessed at without a zone', async () => {
    const { logs, reports } = await importOne(nightOf([level('00:00', 'light', 60)]), { formats: [fitbit] })

    expect(logs).toEqual([])
    expect(reports[0]?.rejected[0]?.reason).toContain('--time-zone')
  })
})

test('variability is RMSSD in local time, saturation is UTC, and a minute that was not measured is left out', async () => {
  const details = fileOf(
    'Heart Rate Variability Details - 2026-03-02.csv',
    'timestamp,rmssd,coverage,low_frequency,high_frequency\n2026-03-02T01:00:00,31.5,0.98,300,200\n',
  )
  const minutes = fileOf(
    'Minute SpO2 - 2026-03-01.csv',
    'timestamp,value\n2026-03-01T23:15:00Z,95.5\n2026-03-01T23:16:00Z,50.0\n',
  )
  const [first, second] = [await importOne(details, berlin), await importOne(minutes, berlin)]

  expect(told(first.logs).map((one) => one.slice(0, 3))).toEqual([
    ['heart_rate_variability_rmssd', 31.5, '2026-03-02T01:00:00+01:00'],
  ])
  expect(told(second.logs).map((one) => one.slice(0, 3))).toEqual([
    ['oxygen_saturation', 95.5, '2026-03-02T00:15:00+01:00'],
  ])
  expect(second.reports[0]).toMatchObject({ read: 2, mapped: 1 })
})

test('a resting heart rate belongs to its local day, and 0 means no value', async () => {
  const day = (dateTime: string, value: number) => ({
    dateTime,
    value: { date: dateTime.slice(0, 8), value, error: 6 },
  })
  const file = json('resting_heart_rate-2026-03-01.json', [day('03/01/26 00:00:00', 57.5), day('03/02/26 00:00:00', 0)])
  const longest = json('resting_heart_rate-2026-10-25.json', [day('10/25/26 00:00:00', 57.5)])
  const [{ logs }, second] = [await importOne(file, berlin), await importOne(longest, berlin)]

  expect(told(logs)).toEqual([['resting_heart_rate', 57.5, '2026-03-01T00:00:00+01:00', '2026-03-01T23:59:59+01:00']])
  expect(told(second.logs).map((one) => one.slice(2))).toEqual([
    ['2026-10-25T00:00:00+02:00', '2026-10-25T22:59:59+01:00'],
  ])
})

test('the same minute in the older and in the newer file is one log', async () => {
  const outbox = new Map<string, string>()
  const older = json('steps-2026-03-01.json', [{ dateTime: '03/01/26 10:00:00', value: '42' }])
  const newer = fileOf(
    'Physical Activity_GoogleData/steps_2026-03-01.csv',
    'timestamp,steps,data source\n2026-03-01T10:00:00Z,42,Charge 5\n',
  )
  const { progress } = await importInto(outbox, [older, newer], berlin)

  expect(progress).toMatchObject({ accepted: 1, duplicate: 1 })
})

test('calories, which have the very shape of steps, are not taken for them', async () => {
  const { logs, unread } = await importOne(
    json('calories-2026-03-01.json', [{ dateTime: '03/01/26 10:00:00', value: '1.2' }]),
    berlin,
  )

  expect([logs, unread.map(({ isLeftOut }) => isLeftOut)]).toEqual([[], [true]])
})

test('mutations of a night crash nothing, and each gives a report', async () => {
  const whole = JSON.stringify([
    {
      logId: 7,
      dateOfSleep: '2026-03-02',
      startTime: '2026-03-02T00:00:00.000',
      endTime: '2026-03-02T02:00:00.000',
      levels: { data: [level('00:00', 'light', 60)], shortData: [level('00:30', 'wake', 2)] },
    },
  ])
  let random = 7
  const next = (below: number) => {
    random = (random * 1_103_515_245 + 12_345) % 2_147_483_648
    return random % below
  }
  for (let round = 0; round < Number(process.env['FUZZ_ROUNDS'] ?? 500); round += 1) {
    const bytes = Buffer.from(whole)
    for (let change = 0; change <= next(4); change += 1) bytes[next(bytes.length)] = 32 + next(95)
    const { reports, unread, logs } = await importOne(fileOf('sleep-2026-03-01.json', bytes), berlin)

    expect(reports.length + unread.length).toBe(1)
    for (const log of logs) dataLogInputSchema.parse(log)
  }
})
