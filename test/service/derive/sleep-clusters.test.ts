import { expect, test } from 'vitest'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import { logComparator } from '../../../src/service/derive/day/log-ranking.ts'
import { createLogsByDay } from '../../../src/service/derive/day/logs-by-day.ts'
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
