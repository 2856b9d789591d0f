import { describe, expect, test } from 'vitest'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import { createLogsByDay } from '../../../src/service/derive/day/logs-by-day.ts'
import { biomarker, deriveAll, log, phone } from './made-logs.ts'

const day = '2026-06-03'
const at = (time: string) => `${day}T${time}:00+02:00`
const steps = (logs: Parameters<typeof deriveAll>[0]['logs'], person = {}) =>
  biomarker(deriveAll({ logs, person, asOf: '2026-07-01T00:00:00Z' }), 'steps', day)

describe('a phone and a watch that count the same steps', () => {
  test('are merged moment by moment, neither summed nor one dropped for the day', () => {
    // Watch 08:00-12:00: 4,157. Phone 07:00-08:00: 2,000, 10:00-11:00: 900 (the watch's), 12:00-20:00: 7,922.
    // 4,157 + 2,000 + 7,922 = 14,079.
    const logs = [
      log('steps', at('08:00'), [240, 4157]),
      log('steps', at('07:00'), [60, 2000], phone),
      log('steps', at('10:00'), [60, 900], phone),
      log('steps', at('12:00'), [480, 7922], phone),
    ]

    expect(steps(logs)).toBe('14079')
  })

  test('share a log that only partly overlaps by time', () => {
    // The phone's 600 over 09:30-10:30 count for the half after the watch ended: 300.
    const logs = [log('steps', at('09:00'), [60, 1000]), log('steps', at('09:30'), [60, 600], phone)]

    expect(steps(logs)).toBe('1300')
  })

  test('zeros of a watch do not undo the steps of the phone', () => {
    expect(steps([log('steps', at('09:00'), [60, 0]), log('steps', at('09:00'), [30, 600], phone)])).toBe('600')
  })
})

describe('the order of devices and methods prefers', () => {
  const two = (better: Parameters<typeof log>[3], worse: Parameters<typeof log>[3]) =>
    steps([log('steps', at('09:00'), [60, 1000], better), log('steps', at('09:00'), [60, 3000], worse)])

  test.each(['fitness_band', 'ring', 'chest_strap', 'phone', 'unknown'])('a watch before a %s', (deviceType) => {
    expect(two({ deviceType: 'Watch6,1' }, { deviceType, source: 'a' })).toBe('1000')
  })
  test('a fitness band before a ring before a chest strap before a phone', () => {
    const order = ['fitness_band', 'ring', 'chest_strap', 'phone', 'scale']
    for (const [place, deviceType] of order.slice(1).entries()) {
      expect(two({ deviceType: order[place] ?? '' }, { deviceType, source: 'a' })).toBe('1000')
    }
  })
  test('a recorded log before an unknown and a typed log', () => {
    expect(two({}, { recordingMethod: 'manual_entry', source: 'a' })).toBe('1000')
    expect(two({}, { recordingMethod: 'manual_entry' })).toBe('1000')
    expect(two({}, { recordingMethod: 'unknown', source: 'a' })).toBe('1000')
    expect(two({ recordingMethod: 'unknown' }, { recordingMethod: 'manual_entry', source: 'a' })).toBe('1000')
  })
  test('the log with the shorter interval where two logs overlap', () => {
    // The hour has less than the 30 minutes, or it has 2,000 more in its other half.
    const hour = (value: number) => log('steps', at('09:00'), [60, value], { source: 'a' })
    expect(steps([log('steps', at('09:00'), [30, 1000]), hour(800)])).toBe('1000')
    expect(steps([log('steps', at('09:00'), [30, 1000]), hour(3000)])).toBe('3000')
  })
  test('the source whose name sorts first, where nothing else differs', () => {
    expect(two({ source: 'a' }, { source: 'b' })).toBe('1000')
    expect(two({ source: 'b' }, { source: 'a' })).toBe('3000')
  })
})

describe('parents and children', () => {
  const parent = log('steps', at('09:00'), [60, 1000])

  test('a parent counts for the rest that its children leave', () => {
    // The child has 700 of the 1,000 in the first half: the other half gets 300.
    expect(steps([parent, log('steps', at('09:00'), [30, 700], { parentId: parent.id })])).toBe('1000')
  })
  test('a parent whose children leave no time free counts for what they lack', () => {
    const children = [log('steps', at('09:00'), [30, 300]), log('steps', at('09:30'), [30, 400])]
    expect(steps([parent, ...children.map((childLog) => ({ ...childLog, parentId: parent.id }))])).toBe('1000')
  })
  test('a parent counts nothing when its children have more, even where they leave time free', () => {
    expect(steps([parent, log('steps', at('09:00'), [30, 1200], { parentId: parent.id })])).toBe('1200')
  })
  test('a child outside of the time of its parent is taken off the parent too', () => {
    expect(steps([parent, log('steps', at('11:00'), [30, 700], { parentId: parent.id })])).toBe('1000')
  })
  test('children of an unknown parent count on their own', () => {
    expect(steps([log('steps', at('09:00'), [30, 700], { parentId: '00000000-0000-4000-8000-000000000000' })])).toBe(
      '700',
    )
  })
})

describe('the same thing sent twice', () => {
  const stepsLog = log('steps', at('09:00'), [60, 1000])

  test('the newer edition of an id wins, in whatever order they come', () => {
    const newer = { ...stepsLog, value: 1500, modifiedMs: 2000 }
    const older = { ...stepsLog, value: 1200, modifiedMs: 1000 }
    expect(steps([stepsLog, newer, older])).toBe('1500')
    expect(steps([older, newer, stepsLog])).toBe('1500')
  })
  test.each([
    ['two offsets', { startOffset: 0, endOffset: 0 }],
    ['two units', { unit: 'steps' }],
    ['two devices of one kind', { deviceType: 'Watch6,1' }],
    ['two devices of one type', { deviceId: 'left wrist' }],
    ['two ways of recording', { recordingMethod: 'actively_recorded' }],
    ['two times of editing', { modifiedMs: 2000 }],
    ['a parent and none', { parentId: '33333333-3333-4333-8333-333333333333' }],
  ])('a log sent with %s counts as the same log under any ids', (_, change) => {
    const kept = (firstId: string, secondId: string) =>
      createLogsByDay([
        { ...stepsLog, id: firstId },
        { ...stepsLog, id: secondId, ...change },
      ])
        .allOn(dayNumberFromText(day))
        .map(({ id: _, ...content }) => content)
    const [low, high] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']

    expect(kept(low, high)).toHaveLength(1)
    expect(kept(low, high)).toEqual(kept(high, low))
  })
  test('an exact copy under another id counts once', () => {
    expect(steps([stepsLog, { ...stepsLog, id: '11111111-1111-4111-8111-111111111111' }])).toBe('1000')
  })
})

test('a log longer than a day is left out', () => {
  expect(steps([log('steps', at('00:00'), [26 * 60, 50000]), log('steps', at('09:00'), [60, 1000])])).toBe('1000')
  expect(steps([log('steps', at('00:00'), [24 * 60, 5000])])).toBe('5000')
})

describe('two records of one night', () => {
  const night = (
    source: { deviceType: string; source: string },
    stages: readonly (readonly [string, string, number])[],
  ) => stages.map(([stage, start, minutes]) => log(`sleep_stage_${stage}`, start, [minutes, minutes], source))
  const watch = { deviceType: 'watch', source: 'watch-app' }
  const slept = (logs: Parameters<typeof deriveAll>[0]['logs'], type: string) =>
    biomarker(deriveAll({ logs, asOf: '2026-07-01T00:00:00Z' }), type, '2026-06-04')

  test('stages come from one source, whatever the other records for the same hours', () => {
    const logs = [
      ...night(watch, [
        ['light', '2026-06-03T23:00:00+02:00', 240],
        ['deep', '2026-06-04T03:00:00+02:00', 60],
        ['rem', '2026-06-04T04:00:00+02:00', 60],
      ]),
      ...night(phone, [
        ['in_bed', '2026-06-03T22:00:00+02:00', 540],
        ['sleeping', '2026-06-03T22:30:00+02:00', 480],
      ]),
    ]

    expect(slept(logs, 'sleep_duration')).toBe('360')
    expect(slept(logs, 'sleep_deep_duration')).toBe('60')
    // The phone's time in bed is not the watch's: nothing is mixed, so there is no efficiency.
    expect(slept(logs, 'sleep_efficiency')).toBeUndefined()
  })
  test('a phone with stages is better than a watch without', () => {
    const logs = [
      ...night(watch, [['sleeping', '2026-06-03T23:00:00+02:00', 400]]),
      ...night(phone, [
        ['light', '2026-06-03T23:00:00+02:00', 200],
        ['rem', '2026-06-04T02:20:00+02:00', 100],
      ]),
    ]

    expect(slept(logs, 'sleep_duration')).toBe('300')
  })
  test('between two alike, the source with more sleep counts, then the better device', () => {
    const longer = [
      ...night(watch, [['sleeping', '2026-06-03T23:00:00+02:00', 300]]),
      ...night(phone, [['sleeping', '2026-06-03T23:00:00+02:00', 400]]),
    ]
    const alike = [
      ...night(watch, [['sleeping', '2026-06-03T23:00:00+02:00', 300]]),
      ...night(phone, [['sleeping', '2026-06-03T23:30:00+02:00', 300]]),
    ]

    expect(slept(longer, 'sleep_duration')).toBe('400')
    expect(slept(alike, 'sleep_start_time')).toBe('2026-06-03T23:00:00+02:00')
  })
  test('within a source awake comes before rem, rem before deep, deep before light, light before sleeping', () => {
    const start = '2026-06-03T23:00:00+02:00'
    const logs = night(watch, [
      ['in_bed', start, 500],
      ['sleeping', start, 480],
      ['light', start, 400],
      ['deep', start, 300],
      ['rem', start, 200],
      ['awake', start, 100],
    ])

    const values = ['awake', 'rem', 'deep', 'light'].map((stage) => slept(logs, `sleep_${stage}_duration`))
    expect(values).toEqual(['100', '100', '100', '100'])
    expect(slept(logs, 'sleep_duration')).toBe('380')
  })
  test('a session around stages is the time in bed, not sleep', () => {
    const session = log('sleep_stage_sleeping', '2026-06-03T22:30:00+02:00', [540, 540])
    const stages = night(watch, [
      ['light', '2026-06-03T23:00:00+02:00', 300],
      ['rem', '2026-06-04T04:00:00+02:00', 100],
    ])
    const logs = [session, ...stages.map((stage) => ({ ...stage, parentId: session.id }))]

    expect(slept(logs, 'sleep_duration')).toBe('400')
    expect(slept(logs, 'sleep_in_bed_duration')).toBe('540')
    expect(slept(logs, 'sleep_latency')).toBe('30')
  })
})
