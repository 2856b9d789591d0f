import { expect, test } from 'vitest'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import { logComparator } from '../../../src/service/derive/day/log-ranking.ts'
import { createLogsByDay } from '../../../src/service/derive/day/logs-by-day.ts'
import { nightFacts } from '../../../src/service/derive/day/night-facts.ts'
import type { DataLog, Lineage } from '../../../src/service/derive/day/parsed-log.ts'
import { sleepClusters } from '../../../src/service/derive/day/sleep-clusters.ts'
import { log, phone, unknownDemographics } from './made-logs.ts'

const day = dayNumberFromText('2026-03-10')

/** A stage that starts at a time of the night to 2026-03-10. */
const stage = (name: string, time: string, minutes: number, extra: Partial<DataLog> = {}) =>
  log(`sleep_stage_${name}`, `2026-03-10T${time}:00Z`, [minutes, minutes], extra)

const clustersOf = (logs: readonly DataLog[], lineage?: Lineage) =>
  sleepClusters({
    logsByDay: createLogsByDay(logs),
    day,
    compareLogs: logComparator(),
    sourcePriority: [],
    demographics: unknownDemographics,
    lineage,
  })

const spanOf = ({ startMs, endMs }: DataLog) => ({ startMs, endMs })

test.each([
  ['rem', true],
  ['deep', true],
  ['light', true],
  ['sleeping', false],
])('a night of %s alone has stages: %s', (name, hasStages) => {
  expect(clustersOf([stage(name, '00:00', 60)])).toMatchObject([{ hasStages, hasAwake: false, estimated: false }])
})

test('sleep that is recorded is no estimate, with time in bed around it or without', () => {
  const asleep = stage('sleeping', '00:30', 300)
  const known = { asleep: [spanOf(asleep)], estimated: false }

  expect(clustersOf([asleep])).toMatchObject([{ ...known, hasInBed: false }])
  expect(clustersOf([asleep, stage('in_bed', '00:00', 360)])).toMatchObject([{ ...known, hasInBed: true }])
})

test('time awake alone shows no sleep, and none is estimated', () => {
  expect(clustersOf([stage('awake', '00:00', 60)])).toMatchObject([{ hasAwake: true, asleep: [], estimated: false }])
})

test('time out of bed is time awake, and no time in bed', () => {
  const [first, second] = [stage('sleeping', '00:00', 180), stage('sleeping', '03:10', 180)]

  expect(clustersOf([first, stage('out_of_bed', '03:00', 10), second])).toMatchObject([
    { hasAwake: true, inBed: [spanOf(first), spanOf(second)] },
  ])
})

test('an instant in bed changes nothing about a night', () => {
  const night = stage('sleeping', '00:00', 360)

  expect(clustersOf([night, stage('in_bed', '01:00', 0)])).toEqual(clustersOf([night]))
})

test.each([
  ['that ends last', ['00:00', 120, 60], ['02:00', 120, 0], 0],
  ['that ends last, not that starts last', ['00:00', 360, 0], ['01:00', 60, 60], 0],
  ['further east of two that end together, not that starts last', ['00:00', 360, 60], ['01:00', 300, 0], 60],
] as const)('the offset of a night is that of its log %s', (_, first, second, offset) => {
  const logs = [first, second].map(([time, minutes, endOffset]) => stage('sleeping', time, minutes, { endOffset }))

  expect(clustersOf(logs)).toMatchObject([{ offset }])
})

const sleeping = (start: string, minutes: number, extra: Partial<DataLog> = {}) =>
  log('sleep_stage_sleeping', start, [minutes, 1], extra)

test('a sleep belongs to a day by the offset in which it ended', () => {
  const [nap] = clustersOf([sleeping('2026-03-10T16:00:00Z', 60, { endOffset: 180 })])

  expect(nap).toMatchObject({ wakeDay: day + 1, offset: 180 })
})

test('of two logs that end together the eastern offset counts, in whichever order they come', () => {
  const logs = [0, 60].map((endOffset) =>
    sleeping(endOffset === 0 ? '2026-03-10T00:00:00Z' : '2026-03-10T02:00:00Z', endOffset === 0 ? 360 : 240, {
      endOffset,
    }),
  )

  for (const order of [logs, logs.toReversed()]) expect(clustersOf(order)[0]?.offset).toBe(60)
})

test('of two sleeps of one length the first is the night', () => {
  const clusters = clustersOf([sleeping('2026-03-09T23:00:00Z', 200), sleeping('2026-03-10T08:00:00Z', 200)])

  expect(nightFacts(clusters, day)?.wakeAt).toBe(Date.parse('2026-03-10T02:20:00Z'))
})

test('time out of bed is time awake, and a bout of five minutes is an interruption', () => {
  const night = nightFacts(
    clustersOf([
      sleeping('2026-03-10T00:00:00Z', 240),
      log('sleep_stage_out_of_bed', '2026-03-10T04:00:00Z', [5, 1]),
      sleeping('2026-03-10T04:05:00Z', 120),
      log('sleep_stage_awake', '2026-03-10T06:05:00Z', [4.9, 1]),
      sleeping('2026-03-10T06:10:00Z', 60),
    ]),
    day,
  )

  expect(night).toMatchObject({ awake: 9.9, interruptions: 1, awakeAfterOnset: 5 })
})

test('each log of the nights of a day is reported once: with its minutes, or why it does not count', () => {
  const [light, deep] = [stage('light', '00:00', 240), stage('deep', '04:00', 60)]
  const other = stage('sleeping', '00:00', 400, phone)
  const before = log('sleep_stage_light', '2026-03-09T00:00:00Z', [300, 300])
  const reports: unknown[] = []
  const lineage: Lineage = {
    used: ({ id }, as, amount) => reports.push([id, as, amount]),
    leftOut: ({ id }, as, reason) => reports.push([id, as, reason]),
  }
  clustersOf([before, light, deep, other], lineage)

  expect(reports).toEqual([
    [light.id, 'sleep', 240],
    [deep.id, 'sleep', 60],
    [other.id, 'sleep', 'another source tells this night better, and stages of two are not mixed'],
  ])
})
