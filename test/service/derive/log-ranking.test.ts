import { expect, test } from 'vitest'
import { groupByInstrument, logComparator, minuteSamples } from '../../../src/service/derive/day/log-ranking.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { log } from './made-logs.ts'

test('instruments rank by aggregation, device, and how the log was recorded', () => {
  const stepsLog = log('steps', '2026-03-10T08:00:00Z', [10, 100], { deviceType: 'ring' })
  const ranked: Partial<DataLog>[][] = [
    [{ deviceType: 'watch' }, { deviceType: 'Watch6,1' }],
    [{ recordingMethod: 'automatically_recorded' }, { recordingMethod: 'actively_recorded' }],
    [{ recordingMethod: 'UNKNOWN' }],
    [{ recordingMethod: 'manual_entry' }],
    [{ deviceType: 'phone' }, { deviceType: 'iPhone14,2' }],
    [{ deviceType: 'scale' }],
    [{ deviceType: 'watch', periodicity: 'hourly' }],
    [{ deviceType: 'watch', periodicity: 'daily' }],
  ]
  const better = logComparator()
  for (const [rank, group] of ranked.entries())
    for (const [other, others] of ranked.entries())
      for (const a of group)
        for (const b of others)
          if (rank !== other)
            expect(Math.sign(better({ ...stepsLog, ...a }, { ...stepsLog, ...b }))).toBe(rank < other ? -1 : 1)
  // Equal ranks leave the decision to the finer interval.
  for (const [a = {}, b = {}] of ranked.filter((group) => group.length === 2)) {
    expect(better({ ...stepsLog, ...a }, { ...stepsLog, ...b, endMs: stepsLog.endMs + 1 })).toBeLessThan(0)
    expect(better({ ...stepsLog, ...b }, { ...stepsLog, ...a, endMs: stepsLog.endMs + 1 })).toBeLessThan(0)
  }
})

test('a sample belongs to the minute in which its middle lies', () => {
  const startMs = Date.parse('2026-03-10T10:00:40Z')
  const sample = log('heart_rate', '2026-03-10T10:00:40Z', [1, 60])

  expect(minuteSamples([sample], [])).toEqual([{ atMs: startMs + 20_000, value: 60 }])
})

test.each<[string, Partial<DataLog>, Partial<DataLog>]>([
  ['lasts less', { endMs: Date.parse('2026-03-10T08:09:00Z') }, {}],
  ['has the source that comes first by name', {}, { source: 'x-app' }],
  ['starts first', {}, { startMs: Date.parse('2026-03-10T08:01:00Z'), endMs: Date.parse('2026-03-10T08:11:00Z') }],
  ['has the kind that comes first by name', {}, { dataType: 'x_steps' }],
  ['has the larger value', { value: 101 }, {}],
  ['starts in the smaller offset', {}, { startOffset: 60 }],
  ['ends in the smaller offset', {}, { endOffset: 60 }],
  ['has the unit that comes first by name', {}, { unit: 'x' }],
  ['has the device that comes first by name', { deviceId: '1' }, { deviceId: '2' }],
  ['is the later edition', { modifiedMs: 1 }, {}],
  ['has no parent', {}, { parentId: 'some-log' }],
])('of two logs of one rank the one counts that %s', (_, ofBetter, ofWorse) => {
  const like = log('steps', '2026-03-10T08:00:00Z', [10, 100])
  const [better, worse] = [
    { ...like, ...ofBetter, id: 'last by its id' },
    { ...like, ...ofWorse, id: 'first by its id' },
  ]

  expect(
    [
      [better, worse],
      [worse, better],
    ].map(([a = better, b = worse]) => Math.sign(logComparator()(a, b))),
  ).toEqual([-1, 1])
})

test('logs of one instrument are one group wherever they stand, and a difference in one property makes another', () => {
  const like = log('steps', '2026-03-10T08:00:00Z', [10, 100], { deviceId: 'd' })
  const others: Partial<DataLog>[] = [
    { source: 'x-app' },
    { deviceType: 'ring' },
    { deviceId: null },
    { recordingMethod: 'manual_entry' },
    { periodicity: 'hourly' },
    { periodicity: 'daily' },
  ]
  const made = [like, ...others.map((other) => ({ ...like, ...other }))]

  const groups = groupByInstrument([...made, ...made.flatMap((one) => [one, like])], [])

  expect(groups.map(([first]) => made.indexOf(first ?? like)).toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6])
  for (const group of groups) expect(new Set(group).size).toBe(1)
})

test('minutes come in the order of time, from the raw logs alone if there is one', () => {
  const at = (time: string, extra: Partial<DataLog> = {}) => log('heart_rate', `2026-03-10T${time}:00Z`, [0, 60], extra)
  const minutesOf = (logs: readonly DataLog[]) =>
    minuteSamples(logs, []).map(({ atMs }) => new Date(atMs).toISOString().slice(11, 16))
  const raw = [at('12:00'), at('09:00', { deviceType: 'ring' }), at('11:00')]
  const hourly = [at('10:00', { periodicity: 'hourly' })]

  expect(minutesOf([...raw, ...hourly])).toEqual(['09:00', '11:00', '12:00'])
  expect(minutesOf(hourly)).toEqual(['10:00'])
})
