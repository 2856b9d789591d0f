import { expect, test } from 'vitest'
import { polar } from '../../../src/intake/formats/polar.ts'
import { fileOf, importInto, importOne } from '../../support/health-files.ts'

const options = { timeZone: 'Europe/Helsinki', formats: [polar] }
const json = (name: string, value: unknown) => fileOf(`${name}.json`, JSON.stringify(value))
const brief = (logs: Awaited<ReturnType<typeof importOne>>['logs']) =>
  logs.map(({ dataType, value, startDateTime }) => [dataType, value, startDateTime])

test('steps and heart rates are by the clock on the wall; the sums of the day beside them are not added', async () => {
  const day = {
    exportVersion: '1.3',
    date: '2026-07-01',
    summary: { stepCount: 9000, startTime: 'x' },
    samples: {
      mets: [{ localTime: '00:00:00', value: 0.9 }],
      steps: [
        { localTime: '23:30:00', value: 80 },
        { localTime: '23:31:00', value: 0 },
        { localTime: '23:32', value: 301 },
      ],
    },
  }
  const beats = {
    deviceDays: [{ date: '2026-07-01', samples: [{ heartRate: 61, secondsFromDayStart: 3600 }, { heartRate: 62 }] }],
  }
  const { logs, rejects } = await importInto(new Map(), [json('activity', day), json('247ohr', beats)], options)

  expect(brief(logs)).toEqual([
    ['steps', 80, '2026-07-01T23:30:00+03:00'],
    ['heart_rate', 61, '2026-07-01T01:00:00+03:00'],
  ])
  expect(rejects.map(({ place, reason }) => [place, reason])).toEqual([
    ['record 3', 'steps is more than 300 a minute'],
    ['record 2', 'a heart rate without time or number'],
  ])
})

type StateChange = [offsetFromStart: string, state: string]
const night = (...sleepStateChanges: StateChange[]) => nightOf('PT1H50M', sleepStateChanges)
const nightOf = (asleepDuration: string, sleepStateChanges: readonly StateChange[]) =>
  json('sleep_result', [
    {
      night: '2026-07-02',
      evaluation: { asleepDuration },
      sleepResult: {
        hypnogram: {
          sleepStart: '2026-07-01T23:00:00.000+03:00',
          sleepEnd: '2026-07-02T01:00:00.000+03:00',
          sleepStateChanges: sleepStateChanges.map(([offsetFromStart, state]) => ({ offsetFromStart, state })),
        },
      },
    },
  ])

test('a state of sleep lasts until the next, and one beyond the night only marks its end', async () => {
  const { logs } = await importOne(
    night(
      ['PT0S', 'WAKE'],
      ['PT10M', 'NONREM1'],
      ['PT30M', 'NONREM2'],
      ['PT1H', 'NONREM3'],
      ['PT1H30M30S', 'REM'],
      ['PT2H5M', 'WAKE'],
    ),
    options,
  )

  expect(logs.map(({ dataType, value }) => [dataType, value])).toEqual([
    ['sleep_stage_in_bed', 120],
    ['sleep_stage_awake', 10],
    ['sleep_stage_light', 20],
    ['sleep_stage_light', 30],
    ['sleep_stage_deep', 30.5],
    ['sleep_stage_rem', 29.5],
  ])
})

test('a night with a state that is not known has its time in bed, and says so', async () => {
  const { logs, rejects } = await importOne(night(['PT0S', 'DREAM']), options)

  expect(logs.map(({ dataType }) => dataType)).toEqual(['sleep_stage_in_bed'])
  expect(rejects.map(({ reason }) => reason)).toEqual(['a state of sleep that is not known, or its time'])
})

test('variability of a night is RMSSD of its day, where there is one', async () => {
  const nights = [
    { night: '2026-07-01', meanNightlyRecoveryRri: 1000, meanNightlyRecoveryRmssd: 42 },
    { night: '2026-07-02', meanNightlyRecoveryRri: 1000 },
  ]
  const { logs, reports } = await importOne(json('nightly_recovery', nights), options)

  expect(brief(logs)).toEqual([['heart_rate_variability_rmssd', 42, '2026-07-01T00:00:00+03:00']])
  expect(logs[0]).toMatchObject({ periodicity: 'daily', aggregation: 'avg' })
  expect(reports[0]?.leftOut).toEqual([{ reason: 'a night without variability', records: 1 }])
})

test('a session is placed by its own offset, else by the zone, and is one by its own id', async () => {
  const session = (more: object) => ({
    startTime: '2026-07-01T18:00:00.000',
    stopTime: '2026-07-01T18:30:00.000',
    ...more,
  })
  const files = [
    json('1', session({ identifier: { id: 'a' }, timezoneOffsetMinutes: 60, exercises: [{ sport: 'TRAIL_RUNNING' }] })),
    json('2', session({ identifier: { id: 'b' }, sport: { id: '1' } })),
    json('3', session({ identifier: { id: 'b' }, stopTime: '2026-07-01T18:45:00.000' })),
    json('4', session({ timezoneOffsetMinutes: 9999 })),
  ]
  const { logs, rejects } = await importInto(new Map(), files, options)

  expect(brief(logs)).toEqual([
    ['exercise_session_trail_running', 30, '2026-07-01T20:00:00+03:00'],
    ['exercise_session_other', 45, '2026-07-01T18:00:00+03:00'],
  ])
  expect(rejects.map(({ reason }) => reason)).toEqual(['a session whose offset is none'])
})

test('a night without any time asleep is left out', async () => {
  const windows = await Promise.all(
    [nightOf('PT0S', []), nightOf('', [['PT0S', 'UNKNOWN']]), nightOf('PT0S', [['PT0S', 'WAKE']])].map((file) =>
      importOne(file, options),
    ),
  )

  expect(windows.flatMap(({ logs, rejects }) => [...logs, ...rejects])).toEqual([])
  expect(windows.flatMap(({ reports }) => reports[0]?.leftOut ?? [])).toEqual(
    windows.map(() => ({ reason: 'a window of sleep in which no sleep was measured', records: 1 })),
  )
  expect((await importOne(nightOf('', [['PT0S', 'NONREM2']]), options)).logs).toHaveLength(2)
})

test('a night without states is a time in bed, and a state that is unknown stays unknown', async () => {
  const without = await importOne(night(), options)
  const unknown = await importOne(night(['PT0S', 'UNKNOWN']), options)
  const stagesOf = ({ logs }: typeof without) => logs.map(({ dataType, value }) => [dataType, value])

  expect(stagesOf(without)).toEqual([['sleep_stage_in_bed', 120]])
  expect(stagesOf(unknown)).toEqual([
    ['sleep_stage_in_bed', 120],
    ['sleep_stage_unknown', 120],
  ])
})
