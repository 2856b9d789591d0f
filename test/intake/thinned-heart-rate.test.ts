import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../src/base/time/units.ts'
import type { LogDraft, Origin } from '../../src/intake/formats/export-format.ts'
import { createThinnedHeartRate } from '../../src/intake/thinned-heart-rate.ts'

const startMs = Date.parse('2026-03-02T08:00:00Z')
const beat = (seconds: number, value: number, changed: Partial<Origin> = {}): LogDraft => ({
  dataType: 'heart_rate',
  value,
  start: { atMs: startMs + seconds * SECOND, offsetMinutes: 60 },
  end: { atMs: startMs + seconds * SECOND, offsetMinutes: 60 },
  origin: {
    source: 'watch',
    deviceType: 'watch',
    deviceId: 'a',
    recordingMethod: 'automatically_recorded',
    ...changed,
  },
})
const thinnedTo = (detail: '1m' | '5m', drafts: readonly LogDraft[]) => {
  const { put, end } = createThinnedHeartRate(detail)
  return [...drafts.flatMap((draft) => put(draft) || []), ...end()]
}

test('the beats of a minute become one log of their mean, from its beginning to its end', () => {
  const [first, second] = thinnedTo('1m', [beat(0, 60, { ownId: 'x' }), beat(59.9, 80), beat(60, 100)])

  expect(first).toMatchObject({ value: 70, start: { atMs: startMs, offsetMinutes: 60 } })
  expect(first).toMatchObject({ end: { atMs: startMs + MINUTE, offsetMinutes: 60 } })
  expect(first?.origin).toMatchObject({ aggregation: 'avg', ownId: undefined })
  expect(second).toMatchObject({ value: 100, start: { atMs: startMs + MINUTE, offsetMinutes: 60 } })
})

test.for([
  ['source', { source: 'phone' }],
  ['device type', { deviceType: 'strap' }],
  ['device', { deviceId: 'b' }],
  ['recording method', { recordingMethod: 'manual_entry' }],
] as const)('beats of another %s are averaged separately', ([, changed]) => {
  expect(thinnedTo('1m', [beat(0, 60), beat(1, 100, changed)]).map(({ value }) => value)).toEqual([60, 100])
})

test('a mean counts as changed when the newest of its beats was', () => {
  const drafts = [
    beat(0, 60, { modifiedMs: 5 }),
    beat(1, 60, { modifiedMs: 9 }),
    beat(2, 60, { modifiedMs: 7 }),
    beat(3, 60),
  ]

  expect(thinnedTo('5m', drafts)).toMatchObject([{ origin: { modifiedMs: 9 } }])
  expect(thinnedTo('5m', [beat(0, 60)])).toMatchObject([{ origin: { modifiedMs: undefined } }])
})

test('raw beats, and all other measurements, pass at once', () => {
  const steps: LogDraft = { ...beat(0, 10), dataType: 'steps' }
  const raw = createThinnedHeartRate('raw')

  expect([raw.put(beat(0, 60)), raw.end()]).toEqual([[beat(0, 60)], []])
  expect(createThinnedHeartRate('1m').put(steps)).toEqual([steps])
})

test('a sample that comes after its minute was handed on is refused, and the oldest minute is handed on first', () => {
  const { put, end } = createThinnedHeartRate('1m')
  for (let minute = 0; minute < 20_000; minute += 1) expect(put(beat(minute * 60, 60))).toEqual([])

  expect(put(beat(20_000 * 60, 60))).toMatchObject([{ start: { atMs: startMs } }])
  expect(put(beat(30, 90))).toBe(false)
  expect(end()).toHaveLength(20_000)
})

test('in any order the means are those of the beats of each span', () => {
  const beats = fc.array(fc.tuple(fc.integer({ min: -600, max: 600 }), fc.integer({ min: 40, max: 180 })), {
    maxLength: 40,
  })
  fc.assert(
    fc.property(beats, (drawn) => {
      const spans = Map.groupBy(drawn, ([seconds]) => Math.floor(seconds / 300))
      const expected = [...spans].map(([span, each]) => [
        startMs + span * 5 * MINUTE,
        each.reduce((sum, [, value]) => sum + value, 0) / each.length,
      ])
      const found = thinnedTo(
        '5m',
        drawn.map(([seconds, value]) => beat(seconds, value)),
      )
      expect(found.map(({ start, value }) => [start.atMs, value])).toEqual(expected)
    }),
    { seed: 20261124 },
  )
})
