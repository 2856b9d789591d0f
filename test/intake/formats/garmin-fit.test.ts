import { expect, test } from 'vitest'
import { dayText } from '../../../src/base/time/local-time.ts'
import { garminConnect } from '../../../src/intake/formats/garmin-connect.ts'
import { garminFit } from '../../../src/intake/formats/garmin-fit/garmin-fit.ts'
import { fitFile, fitSeconds, fitTypes } from '../../../src/service/sandbox/exports/garmin-fit-files.ts'
import { factsOfLogs } from '../../support/facts-of-logs.ts'
import { fileOf, importInto, importOne } from '../../support/health-files.ts'

const options = { formats: [garminFit] }
const { uint8, uint16, uint32 } = fitTypes
const midnight = Date.parse('2026-07-02T00:00:00+02:00')
const at = (minutes: number) => fitSeconds(midnight + minutes * 60_000)
const forms = {
  fileId: {
    number: 0,
    fields: [
      [0, fitTypes.enum, 1],
      [1, uint16, 2],
    ],
  },
  info: {
    number: 103,
    fields: [
      [253, uint32, 4],
      [0, uint32, 4],
    ],
  },
  packed: {
    number: 55,
    fields: [
      [26, uint16, 2],
      [3, uint32, 4],
      [24, uint8, 1],
    ],
  },
  beats: {
    number: 55,
    fields: [
      [26, uint16, 2],
      [27, uint8, 1],
    ],
  },
  resting: {
    number: 211,
    fields: [
      [253, uint32, 4],
      [1, uint8, 1],
      [0, uint8, 1],
    ],
  },
  record: {
    number: 20,
    fields: [
      [253, uint32, 4],
      [3, uint8, 1],
    ],
  },
  session: {
    number: 18,
    fields: [
      [253, uint32, 4],
      [2, uint32, 4],
      [7, uint32, 4],
      [5, fitTypes.enum, 1],
      [10, uint32, 4],
    ],
  },
  activity: {
    number: 34,
    fields: [
      [253, uint32, 4],
      [5, uint32, 4],
    ],
  },
} as const
const WALKING = 6
const RUNNING = 1
const CYCLING = 2
const intensity = (type: number, level: number) => type | (level << 5)

const dayOf = (beginMinutes: number, ...rows: Parameters<typeof fitFile>[0]) =>
  fileOf(
    'day.fit',
    fitFile([
      { form: forms.fileId, values: [32, 1] },
      { form: forms.info, values: [at(beginMinutes), at(beginMinutes) + 7200] },
      ...rows,
    ]),
  )
const count = (minutes: number, type: number, steps: number, level = 2) => ({
  form: forms.packed,
  values: [at(minutes) & 0xffff, steps, intensity(type, level)],
})
const brief = (logs: Awaited<ReturnType<typeof importOne>>['logs']) =>
  logs.map(({ dataType, value, startDateTime, endDateTime }) => [
    dataType,
    value,
    startDateTime.slice(5, 16),
    endDateTime.slice(5, 16),
  ])

test('counts go on for each kind of activity: a log is what came since the message before, half cycles are steps', async () => {
  const file = dayOf(
    0,
    count(60, WALKING, 100),
    count(70, WALKING, 350),
    count(80, RUNNING, 900),
    count(90, CYCLING, 700),
    count(100, WALKING, 400),
  )
  const { logs, rejects } = await importOne(file, options)

  expect(rejects).toEqual([])
  expect(brief(logs)).toEqual([
    ['steps', 100, '07-02T00:00', '07-02T01:00'],
    ['steps', 250, '07-02T01:00', '07-02T01:10'],
    ['steps', 900, '07-02T01:10', '07-02T01:20'],
    ['steps', 50, '07-02T01:30', '07-02T01:40'],
    ['steps', 1300, '07-02T00:00', '07-02T01:40'],
  ])
})

test('times of sixteen bits wrap within a day and are unwrapped', async () => {
  const hours = [3, 9, 15, 21, 23.9]
  const rows = hours.map((hour, index) => ({ form: forms.beats, values: [at(hour * 60) & 0xffff, 60 + index] }))
  const { logs } = await importOne(dayOf(0, ...rows), options)

  expect(logs.map(({ value, startDateTime }) => [value, startDateTime])).toEqual([
    [60, '2026-07-02T03:00:00+02:00'],
    [61, '2026-07-02T09:00:00+02:00'],
    [62, '2026-07-02T15:00:00+02:00'],
    [63, '2026-07-02T21:00:00+02:00'],
    [64, '2026-07-02T23:54:00+02:00'],
  ])
})

test('a file that begins within a day has the counts of the file before it: its first is no walk of its own', async () => {
  const { logs, reports } = await importOne(dayOf(600, count(610, WALKING, 5000), count(620, WALKING, 5600)), options)

  expect(brief(logs)).toEqual([
    ['steps', 600, '07-02T10:10', '07-02T10:20'],
    ['steps', 5600, '07-02T00:00', '07-02T10:20'],
  ])
  expect(reports[0]?.leftOut).toEqual([{ reason: 'the first count of a file that begins within a day', records: 1 }])
})

test('the greatest count of each kind, added, is the day, whatever the order of its files and of their imports', async () => {
  const morning = dayOf(0, count(0, WALKING, 0), count(60, WALKING, 5000), count(70, WALKING, 4900))
  const evening = dayOf(
    600,
    count(610, WALKING, 5200),
    count(620, WALKING, 9000),
    count(630, RUNNING, 300),
    count(640, RUNNING, 1000),
    count(1440, WALKING, 9050),
    count(1450, WALKING, 40),
    count(1460, RUNNING, 7),
  )
  const orders = [[[morning, evening]], [[evening, morning]], [[morning], [evening]], [[evening], [morning]]]
  for (const imports of orders) {
    const outbox = new Map<string, string>()
    for (const files of imports) await importInto(outbox, files, options)
    const { logs } = await importInto(outbox, [], options)

    expect(logs.filter(({ periodicity }) => periodicity === 'daily').map(({ value }) => value)).toEqual([10_050, 47])
    const days = factsOfLogs(logs).map(({ day, movement }) => [dayText(day), movement?.steps])
    expect(days).toEqual([
      ['2026-07-02', 10_050],
      ['2026-07-03', 47],
    ])
  }
})

test('a day has one resting heart rate: its own, the latest, before the mean of seven days of the account', async () => {
  const rates = (...rows: ReadonlyArray<readonly [minutes: number, rate: number]>) =>
    fileOf(
      'day.fit',
      fitFile([
        { form: forms.fileId, values: [32, 1] },
        { form: forms.info, values: [at(0), at(0) + 7200] },
        ...rows.map(([minutes, rate]) => ({ form: forms.resting, values: [at(minutes), rate, 61] })),
      ]),
    )
  const account = (rate: object) =>
    fileOf(
      'UDSFile_2026.json',
      JSON.stringify([
        {
          calendarDate: '2026-07-02',
          wellnessStartTimeGmt: '2026-07-01T22:00:00.0',
          wellnessStartTimeLocal: '2026-07-02T00:00:00.0',
          durationInMilliseconds: 86_400_000,
          ...rate,
        },
      ]),
    )
  const fit = rates([60, 58], [600, 55], [1200, 54])
  const both = account({ restingHeartRate: 61, currentDayRestingHeartRate: 54 })
  const old = account({ restingHeartRate: 61 })
  for (const [files, rate] of [
    [[fit, old], 54],
    [[old, fit], 54],
    [[both], 54],
    [[both, fit], 54],
    [[old], 61],
  ] as const) {
    const { logs } = await importInto(new Map(), files, { formats: [garminFit, garminConnect] })

    expect(logs.map(({ dataType, value }) => [dataType, value])).toEqual([['resting_heart_rate', rate]])
  }
})

test('an activity has its heart rate and its session, in the offset that follows from its local time; its sums are left out', async () => {
  const start = at(7 * 60)
  const rows = [
    { form: forms.fileId, values: [4, 1] },
    { form: forms.record, values: [start, 120] },
    { form: forms.record, values: [start + 1, 255] },
    { form: forms.record, values: [start + 2, 0] },
    { form: forms.session, values: [start + 1800, start, 1_800_000, RUNNING, 2400] },
    { form: forms.activity, values: [start + 1800, start + 1800 + 7200] },
  ]
  const { logs, rejects } = await importOne(fileOf('run.fit', fitFile(rows)), options)

  expect(rejects).toEqual([])
  expect(logs.map(({ dataType, value, startDateTime }) => [dataType, value, startDateTime])).toEqual([
    ['heart_rate', 120, '2026-07-02T07:00:00+02:00'],
    ['exercise_session_running', 30, '2026-07-02T07:00:00+02:00'],
  ])
})

test('a saturation that was taken off the wrist is none', async () => {
  const form = {
    number: 269,
    fields: [
      [253, uint32, 4],
      [0, uint8, 1],
      [2, fitTypes.enum, 1],
    ],
  } as const
  const rows = [
    { form: forms.fileId, values: [32, 1] },
    { form, values: [at(60), 97, 3] },
    { form, values: [at(61), 84, 0] },
  ]
  const { logs, reports } = await importOne(fileOf('day.fit', fitFile(rows)), options)

  expect(logs.map(({ dataType, value }) => [dataType, value])).toEqual([['oxygen_saturation', 97]])
  expect(reports[0]?.leftOut).toEqual([{ reason: 'a saturation that was taken off the wrist', records: 1 }])
})

test('a header may hold the time in five bits, and a message may be big-endian with fields that an app added', async () => {
  const start = at(60)
  const data = Buffer.concat([
    // A definition of record, big-endian, with one added field of three bytes.
    Buffer.from([0x60, 0, 1, 0, 20, 2, 253, 4, 0x86, 3, 1, 0x02, 1, 0, 3, 0]),
    Buffer.from([0x00, (start >>> 24) & 255, (start >>> 16) & 255, (start >>> 8) & 255, start & 255, 61, 9, 9, 9]),
    // A definition of record without a time, and two messages with the time in their header: 2 and 35 seconds later.
    Buffer.from([0x41, 0, 0, 20, 0, 1, 3, 1, 0x02]),
    Buffer.from([0x80 | (1 << 5) | ((start + 2) & 31), 62]),
    Buffer.from([0x80 | (1 << 5) | ((start + 33) & 31), 63]),
    Buffer.from([0x80 | (1 << 5) | ((start + 35) & 31), 64]),
  ])
  const empty = fitFile([])
  const bytes = Buffer.concat([empty.subarray(0, 14), data, Buffer.alloc(2)])
  bytes.writeUInt32LE(data.length, 4)
  const { logs, rejects } = await importOne(fileOf('odd.fit', bytes), options)

  expect(logs.map(({ value, startDateTime }) => [value, Date.parse(startDateTime) - (midnight + 3_600_000)])).toEqual([
    [61, 0],
    [62, 2000],
    [63, 33_000],
    [64, 35_000],
  ])
  expect(rejects.map(({ reason }) => reason)).toEqual(['its checksum does not fit'])
})

test('a file that ends in the middle gives what it has, and a time without a clock is rejected', async () => {
  const whole = fitFile([
    { form: forms.record, values: [12_345, 60] },
    { form: forms.record, values: [at(1), 61] },
    { form: forms.record, values: [at(2), 62] },
  ])
  const { logs, rejects } = await importOne(fileOf('cut.fit', whole.subarray(0, whole.length - 4)), options)

  expect(logs.map(({ value }) => value)).toEqual([61])
  expect(rejects.map(({ reason }) => reason)).toEqual([
    'its time counts from when the device was switched on',
    'a message reaches beyond the end of the file',
  ])
})

test('of files that follow one another in one, each has its own clock and device', async () => {
  const watchAhead = (hours: number, serial: number, minutes: number) =>
    fitFile([
      { form: forms.fileId, values: [4, serial] },
      { form: forms.record, values: [at(minutes), 60 + serial] },
      { form: forms.activity, values: [at(minutes), at(minutes) + hours * 3600] },
    ])
  const { logs } = await importOne(
    fileOf('all.fit', Buffer.concat([watchAhead(2, 1, 0), watchAhead(1, 2, 180)])),
    options,
  )

  expect(logs.map(({ value, startDateTime, source }) => [value, startDateTime, source])).toEqual([
    [61, '2026-07-02T00:00:00+02:00', 'Garmin'],
    [62, '2026-07-02T02:00:00+01:00', 'FIT'],
  ])
})
