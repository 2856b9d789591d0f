import { describe, expect, test } from 'vitest'
import { dataLogInputSchema } from '../../../src/base/contract/data-log.ts'
import { fitbit } from '../../../src/intake/formats/fitbit/fitbit.ts'
import { fileOf, importInto, importOne, type PushedLog } from '../../support/health-files.ts'

const berlin = { timeZone: 'Europe/Berlin', formats: [fitbit] }
const json = (name: string, list: unknown) => fileOf(`Takeout/Fitbit/Global Export Data/${name}`, JSON.stringify(list))
const rowsOf = (logs: readonly PushedLog[]) =>
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

  expect(rowsOf(logs)).toEqual([['steps', 42, '2026-03-02T00:30:00+01:00', '2026-03-02T00:31:00+01:00']])
  expect(reports[0]).toMatchObject({ read: 3, mapped: 1, firstDay: '2026-03-02' })
  expect(reports[0]?.rejected).toEqual([{ reason: 'steps is more than 300 a minute', records: 1 }])
  expect(rowsOf(second.logs)).toEqual([['heart_rate', 61, '2026-07-02T00:30:05+02:00', '2026-07-02T00:30:05+02:00']])
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

    expect(rowsOf(logs).map(([dataType, value, start]) => [dataType, value, String(start).slice(11)])).toEqual([
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

    expect(rowsOf(logs)).toEqual([
      ['sleep_stage_in_bed', 180, '2026-03-29T00:00:00+01:00', '2026-03-29T04:00:00+02:00'],
      ['sleep_stage_light', 120, '2026-03-29T00:00:00+01:00', '2026-03-29T03:00:00+02:00'],
      ['sleep_stage_rem', 60, '2026-03-29T03:00:00+02:00', '2026-03-29T04:00:00+02:00'],
    ])
  })

  test('a level that the device did not measure is no sleep, and costs only itself', async () => {
    const levels = [level('00:00', 'light', 60), level('01:00', 'unknown', 60)]
    const { logs, rejects } = await importOne(nightOf(levels, [level('00:57', 'wake', 3)]), berlin)

    expect(rejects).toEqual([])
    expect(logs.map(({ dataType, value }) => [dataType, value])).toEqual([
      ['sleep_stage_in_bed', 120],
      ['sleep_stage_light', 57],
      ['sleep_stage_awake', 3],
    ])
  })

  test('of a classic night counts restless minutes as awake', async () => {
    const { logs } = await importOne(nightOf([level('00:00', 'asleep', 60), level('01:00', 'restless', 60)]), berlin)

    expect(rowsOf(logs).map(([dataType, value]) => [dataType, value])).toEqual([
      ['sleep_stage_in_bed', 120],
      ['sleep_stage_sleeping', 60],
      ['sleep_stage_awake', 60],
    ])
  })

  test.each([[[]], [[level('00:00', 'unknown', 120)]], [[level('00:00', 'awake', 120)]]])(
    'of a window without a level of sleep is none: %j',
    async (levels) => {
      const { logs, reports } = await importOne(nightOf(levels, [], { logType: 'auto_detected' }), berlin)

      expect(logs).toEqual([])
      expect(reports[0]?.leftOut).toEqual([{ reason: 'a window of sleep in which no sleep was measured', records: 1 }])
    },
  )

  test('that the person entered is marked, with levels and without', async () => {
    const { logs } = await importOne(nightOf([level('00:00', 'asleep', 120)], [], { logType: 'manual' }), berlin)
    const bare = await importOne(nightOf([], [], { logType: 'manual' }), berlin)

    expect(logs.map(({ dataType, recordingMethod }) => [dataType, recordingMethod])).toEqual([
      ['sleep_stage_in_bed', 'manual_entry'],
      ['sleep_stage_sleeping', 'manual_entry'],
    ])
    expect(bare.logs.map(({ dataType, recordingMethod }) => [dataType, recordingMethod])).toEqual([
      ['sleep_stage_in_bed', 'manual_entry'],
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

  expect(rowsOf(first.logs).map((row) => row.slice(0, 3))).toEqual([
    ['heart_rate_variability_rmssd', 31.5, '2026-03-02T01:00:00+01:00'],
  ])
  expect(rowsOf(second.logs).map((row) => row.slice(0, 3))).toEqual([
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

  expect(rowsOf(logs)).toEqual([['resting_heart_rate', 57.5, '2026-03-01T00:00:00+01:00', '2026-03-01T23:59:59+01:00']])
  expect(rowsOf(second.logs).map((row) => row.slice(2))).toEqual([
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

describe('the tables since 2025', () => {
  const folder = 'Takeout/Google Health'
  const table = (name: string, ...lines: string[]) => fileOf(`${folder}/${name}.csv`, `${lines.join('\n')}\n`)
  const physical = (name: string, ...lines: string[]) => table(`Physical Activity_GoogleData/${name}`, ...lines)
  const fitness = (name: string, ...lines: string[]) => table(`Health Fitness Data_GoogleData/${name}`, ...lines)
  const at = '2026-07-01T08:00:00Z'

  test('the pace of a workout by the second is no count of minutes', async () => {
    const pace = physical(
      'live_pace_2026-07-01',
      'timestamp,steps,distance millimeters,altitude gain millimeters,data source',
      `${at},2,1500,0,Charge 6`,
    )
    const steps = physical('Steps/steps_2026-07-01', 'timestamp,steps,data source', `${at},90,Charge 6`)
    const { logs, unread } = await importInto(new Map(), [pace, steps], berlin)

    expect(logs.map(({ dataType, value }) => [dataType, value])).toEqual([['steps', 90]])
    expect(unread).toMatchObject([
      { isLeftOut: true, file: `${folder}/Physical Activity_GoogleData/live_pace_2026-07-01.csv` },
    ])
  })

  test.each([
    ['weight', 'timestamp,weight grams,data source', `${at},72500,Aria`, 'weight 72.5 kg 10:00 actively_recorded'],
    ['weight', 'timestamp,weight grams', `${at},72500`, 'weight 72.5 kg 10:00 actively_recorded'],
    [
      'weight',
      'timestamp,weight grams,data source',
      `${at},72500,Google Health App`,
      'weight 72.5 kg 10:00 manual_entry',
    ],
    [
      'body_fat_2026-07-01',
      'timestamp,body fat percentage,data source',
      `${at},21.5,Aria`,
      'body_fat 21.5 percent 10:00 actively_recorded',
    ],
    ['height', 'timestamp,height millimeters,data source', `${at},1810,Fitbit App`, 'height 1.81 m 10:00 manual_entry'],
    [
      'oxygen_saturation_2026-07-01',
      'timestamp,oxygen saturation percentage,data source',
      `${at},96.5,Sense\n${at},50.0,Sense`,
      'oxygen_saturation 96.5 percent 10:00 automatically_recorded',
    ],
    [
      'heart_rate_variability_2026-07-01',
      'timestamp,root mean square of successive differences milliseconds,standard deviation milliseconds,data source',
      `${at},31.5,40,Sense`,
      'heart_rate_variability_rmssd 31.5 ms 10:00 automatically_recorded',
    ],
    [
      'daily_respiratory_rate',
      'timestamp,breaths per minute,data source',
      '2026-07-01T00:00:00Z,14.2,Sense',
      'respiratory_rate 14.2 breath/min 00:00 automatically_recorded',
    ],
    [
      'run_vo2_max',
      'timestamp,run VO2 max,data source',
      `${at},48.5,Sense`,
      'vo2_max 48.5 mL/kg/min 10:00 automatically_recorded',
    ],
    [
      'demographic_vo2max',
      'timestamp,demographic vo2max,data source',
      '2026-07-01T00:00:00Z,45.1,Sense',
      'vo2_max 45.1 mL/kg/min 00:00 automatically_recorded',
    ],
    [
      'daily_resting_heart_rate',
      'timestamp,beats per minute,data source',
      '2026-07-01T00:00:00Z,57,Sense',
      'resting_heart_rate 57 bpm 00:00 automatically_recorded',
    ],
    [
      'heart_rate_2026-07-01',
      'timestamp,beats per minute,data source',
      `${at},61,Sense`,
      'heart_rate 61 bpm 10:00 automatically_recorded',
    ],
    [
      'floors_2026-07-01',
      'timestamp,floors,data source',
      `${at},2,Sense`,
      'floors_climbed 2 count 10:00 automatically_recorded',
    ],
    [
      'active_minutes_2026-07-01',
      'timestamp,light,moderate,very,data source',
      `${at},0,1,0,Sense\n2026-07-01T08:01:00Z,1,0,0,Sense`,
      'active_minutes 1 minute 10:00 automatically_recorded',
    ],
    [
      'active_zone_minutes_2026-07-01',
      'timestamp,heart rate zone,total minutes,data source',
      `${at},PEAK,2,Sense`,
      'active_zone_minutes 2 minute 10:00 automatically_recorded',
    ],
  ])('%s with %s', async (name, columns, rows, read) => {
    const { logs, rejects, unread } = await importOne(physical(name, columns, rows), berlin)

    expect([rejects, unread]).toEqual([[], []])
    expect(
      logs.map((log) =>
        [log.dataType, log.value, log.unit, log.startDateTime.slice(11, 16), log.recordingMethod].join(' '),
      ),
    ).toEqual([read])
  })

  test('a phone is a source of its own beside the device on the wrist', async () => {
    const file = physical(
      'steps_2026-07-01',
      'timestamp,steps,data source',
      `${at},90,Google Fitbit Air`,
      `${at},85,Fit Health Connect`,
      '2026-07-01T08:00:30.552356Z,40,MobileTrack',
    )
    const { logs } = await importOne(file, berlin)

    expect(logs.map(({ value, source, deviceType }) => [value, source, deviceType])).toEqual([
      [90, 'Fitbit', 'fitness_band'],
      [85, 'Fit Health Connect', 'phone'],
      [40, 'MobileTrack', 'phone'],
    ])
  })

  test('nights, stages and exercises have their own offset; entries by hand are marked, windows without sleep left out', async () => {
    const sleeps = fitness(
      'UserSleeps_2026-07-01',
      'sleep_id,sleep_type,minutes_asleep,start_utc_offset,sleep_start,end_utc_offset,sleep_end,data_source',
      '1,STAGES,420,-04:00,2026-07-01T03:00:00Z,-04:00,2026-07-01T11:00:00Z,DERIVED',
      '2,CLASSIC,300,-04:00,2026-07-02 03:00:00+0000,-04:00,2026-07-02 08:00:00+0000,MANUAL',
      '3,CLASSIC,0,-04:00,2026-07-03T03:00:00Z,-04:00,2026-07-03T08:00:00Z,DERIVED',
    )
    const stages = fitness(
      'UserSleepStages_2026-07-01',
      'sleep_id,sleep_stage_id,sleep_stage_type,start_utc_offset,sleep_stage_start,end_utc_offset,sleep_stage_end',
      '1,1,LIGHT,-04:00,2026-07-01T03:00:00Z,-04:00,2026-07-01T10:00:00Z',
      '1,2,NAPPING,-04:00,2026-07-01T10:00:00Z,-04:00,2026-07-01T10:30:00Z',
    )
    const exercises = fitness(
      'UserExercises_2026-07-01',
      'exercise_id,exercise_start,exercise_end,utc_offset,activity_name,log_type,deletion_reason',
      '5,2026-07-01T12:00:00Z,2026-07-01T12:30:00Z,-04:00,Outdoor Run,AUTO_DETECTED,',
      '6,2026-07-01T13:00:00Z,2026-07-01T13:30:00Z,-04:00,Pilates,MANUAL,UNSPECIFIED',
      '7,2026-07-01T14:00:00Z,2026-07-01T14:30:00Z,-04:00,Outdoor Walk,AUTO_DETECTED,USER_DELETED',
    )
    const { logs, rejects, reports } = await importInto(new Map(), [sleeps, stages, exercises], { formats: [fitbit] })

    expect(
      logs.map(({ dataType, value, startDateTime, recordingMethod }) => [
        dataType,
        value,
        startDateTime,
        recordingMethod,
      ]),
    ).toEqual([
      ['sleep_stage_in_bed', 480, '2026-06-30T23:00:00-04:00', 'automatically_recorded'],
      ['sleep_stage_in_bed', 300, '2026-07-01T23:00:00-04:00', 'manual_entry'],
      ['sleep_stage_light', 420, '2026-06-30T23:00:00-04:00', 'automatically_recorded'],
      ['exercise_session_running', 30, '2026-07-01T08:00:00-04:00', 'actively_recorded'],
      ['exercise_session_pilates', 30, '2026-07-01T09:00:00-04:00', 'manual_entry'],
    ])
    expect(rejects.map(({ reason }) => reason)).toEqual(['sleep_stage_type: is not known'])
    expect(reports.flatMap(({ leftOut }) => leftOut.map(({ reason }) => reason))).toEqual([
      'a window of sleep in which no sleep was measured',
      'an exercise that was deleted',
    ])
  })

  test('the same night in JSON and in the tables is one', async () => {
    const night = nightOf([level('00:00', 'light', 60), level('01:00', 'deep', 60)], [level('00:30', 'wake', 2)])
    const sleeps = fitness(
      'UserSleeps_2026-03-01',
      'sleep_id,minutes_asleep,start_utc_offset,sleep_start,end_utc_offset,sleep_end,data_source',
      '1,118,+01:00,2026-03-01T23:00:00Z,+01:00,2026-03-02T01:00:00Z,DERIVED',
    )
    const rows = ['LIGHT 23:00 23:30', 'AWAKE 23:30 23:32', 'LIGHT 23:32 00:00', 'DEEP 00:00 01:00'].map((text) => {
      const [type, start = '', end = ''] = text.split(' ')
      const dayOf = (time: string) => (time.startsWith('23') ? '2026-03-01' : '2026-03-02')
      return `1,1,${type},+01:00,${dayOf(start)}T${start}:00Z,+01:00,${dayOf(end)}T${end}:00Z`
    })
    const columns =
      'sleep_id,sleep_stage_id,sleep_stage_type,start_utc_offset,sleep_stage_start,end_utc_offset,sleep_stage_end'
    const { logs } = await importInto(
      new Map(),
      [night, sleeps, fitness('UserSleepStages_2026-03-01', columns, ...rows)],
      berlin,
    )

    expect(logs).toHaveLength(5)
  })
})

test('short wakes that overlap, and levels beyond the end of the night, count no minute twice or outside', async () => {
  const file = nightOf(
    [level('00:00', 'light', 60), level('01:00', 'deep', 63)],
    [level('00:30', 'wake', 3), level('00:32', 'wake', 3), level('01:59', 'wake', 3)],
  )
  const { logs } = await importOne(file, berlin)
  const minutes = (dataType: string) =>
    logs.filter((log) => log.dataType === dataType).reduce((sum, { value }) => sum + value, 0)

  expect(minutes('sleep_stage_in_bed')).toBe(120)
  expect([minutes('sleep_stage_light'), minutes('sleep_stage_deep'), minutes('sleep_stage_awake')]).toEqual([55, 59, 6])
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
