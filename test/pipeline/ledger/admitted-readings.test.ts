import { expect, test } from 'vitest'
import type { Span } from '../../../src/base/time/spans.ts'
import {
  isHeldByNewer,
  isInside,
  judgeReading,
  type LedgerState,
  mustHaveHeld,
  READING_AGE_MAX_MS,
  type RecentWindow,
  reachesInto,
  settleReading,
} from '../../../src/pipeline/ledger/judge.ts'

type Arrived = Parameters<typeof judgeReading>[0] & Parameters<typeof settleReading>[0]

const nowMs = 1_000_000_000
const sentAtMs = nowMs - 50
const window = { startMs: 100, endMs: 200 }
const arrived: Arrived = {
  window,
  stream: { kind: 'windowed' },
  crossingHashes: [5],
  reachesBack: true,
  sentAtMs,
  serverAtMs: sentAtMs,
  word: undefined,
  generation: 3,
}
const snapshot: Arrived = { ...arrived, stream: { kind: 'snapshot' } }
const thisReading: RecentWindow = { ...window, sentAtMs, crossingHashes: [5], reachesBack: true }
const recent = (startMs: number, endMs: number, laterMs: number): RecentWindow => ({
  startMs,
  endMs,
  sentAtMs: sentAtMs + laterMs,
  crossingHashes: [],
  reachesBack: false,
})
const judged = (ledger: Partial<LedgerState>, reading = arrived) =>
  judgeReading(reading, { generation: 3, awaiting: [], recent: [], ...ledger }, nowMs)

test('a reading of an erased profile may do nothing, however old it is', () => {
  expect(judgeReading(arrived, undefined, nowMs)).toEqual({ kind: 'erased' })
  expect(judgeReading({ ...arrived, sentAtMs: 0 }, undefined, nowMs)).toEqual({ kind: 'erased' })
})

test('a reading alone may do all, and is remembered with its edges', () => {
  expect(judged({})).toEqual({ kind: 'admitted', newer: [], complete: true, mayCover: true, recent: [thisReading] })
})

const position = (record: Span) => ({
  inside: isInside(record, window),
  into: reachesInto(record, window),
  telling: mustHaveHeld({ ...window, reachesBack: true }, record),
  silent: mustHaveHeld({ ...window, reachesBack: false }, record),
})

test.for<readonly [number, number, string]>([
  [100, 100, 'inside'],
  [100, 200, 'inside'],
  [199, 199, 'inside'],
  [199, 200, 'inside'],
  [150, 201, 'ends after it'],
  [199, 201, 'ends after it'],
  [200, 200, 'begins with its end'],
  [200, 250, 'begins with its end'],
  [99, 99, 'ends before it'],
  [50, 100, 'ends with its start'],
  [99, 101, 'reaches into it'],
  [0, 200, 'reaches into it'],
  [99, 201, 'holds all of it'],
])('of a window from 100 to 200, a record from %i to %i %s', ([startMs, endMs, where]) => {
  expect(position({ startMs, endMs })).toEqual({
    inside: where === 'inside',
    into: where === 'reaches into it' || where === 'holds all of it',
    telling: where === 'inside' || where === 'reaches into it',
    silent: where === 'inside',
  })
})

const apart = { complete: true, mayCover: true }

test.for<readonly [string, RecentWindow, { complete: boolean; mayCover: boolean }]>([
  ['newer, of our window', recent(100, 200, 1), { complete: false, mayCover: false }],
  ['newer, of its first instant', recent(50, 101, 1), { complete: false, mayCover: false }],
  ['newer, of its last instant', recent(199, 250, 1), { complete: false, mayCover: false }],
  ['newer, of the window before', recent(50, 100, 1), apart],
  ['newer, of the window after', recent(200, 250, 1), apart],
  ['sent at the same instant, of our window', recent(100, 200, 0), { complete: true, mayCover: false }],
  ['sent at the same instant, of the window after', recent(200, 250, 0), apart],
  ['older, of our window', recent(100, 200, -1), apart],
])('beside a reading that is %s', ([, other, allowed]) => {
  expect(judged({ recent: [other] })).toMatchObject({ ...allowed, newer: other.sentAtMs > sentAtMs ? [other] : [] })
})

test('of a snapshot every other reading speaks, whatever its window', () => {
  expect(judged({ recent: [recent(900, 901, 1)] }, snapshot)).toMatchObject({ complete: false, mayCover: false })
  expect(judged({ recent: [recent(900, 901, 0)] }, snapshot)).toMatchObject({ complete: true, mayCover: false })
  expect(judged({ recent: [recent(900, 901, -1)] }, snapshot)).toMatchObject({
    complete: true,
    mayCover: true,
    recent: [thisReading],
  })
  expect(judged({ recent: [recent(900, 901, 1)] }, snapshot)).toMatchObject({
    recent: [recent(900, 901, 1), thisReading],
  })
})

test.for<readonly [Partial<Arrived>, number, { complete: boolean; mayCover: boolean }]>([
  [{}, 4, { complete: true, mayCover: false }],
  [{}, 2, { complete: true, mayCover: false }],
  [{ word: 'pending' }, 3, { complete: false, mayCover: true }],
  [{ word: 'finished' }, 3, { complete: true, mayCover: true }],
  [{ isPartial: true }, 3, { complete: false, mayCover: false }],
])('a reading %o in generation %i may %o', ([more, generation, allowed]) => {
  expect(judged({ generation }, { ...arrived, ...more })).toMatchObject(allowed)
})

test.for<readonly [string, readonly RecentWindow[], readonly number[]]>([
  ['an older reading of the same window is forgotten', [recent(100, 200, -1)], []],
  ['one sent at the same instant is forgotten', [recent(100, 200, 0)], []],
  ['a newer one is not', [recent(120, 130, 1)], [0]],
  ['one that says more before is not', [recent(99, 200, -1)], [0]],
  ['one that says more after is not', [recent(100, 201, -1)], [0]],
  ['nor while a newer reading overlaps ours', [recent(120, 130, -1), recent(50, 150, 1)], [0, 1]],
  ['nor while a newer reading touches ours before', [recent(120, 130, -1), recent(50, 100, 1)], [0, 1]],
  ['nor while a newer reading touches ours after', [recent(120, 130, -1), recent(200, 250, 1)], [0, 1]],
  ['but it is when the newer one is away, before', [recent(120, 130, -1), recent(50, 99, 1)], [1]],
  ['but it is when the newer one is away, after', [recent(120, 130, -1), recent(201, 250, 1)], [1]],
])('of the readings that are remembered, %s', ([, before, kept]) => {
  expect(judged({ recent: before })).toMatchObject({ recent: [...kept.map((index) => before[index]), thisReading] })
})

test('a reading is remembered while an older one may still arrive', () => {
  const asOld = recent(300, 400, 50 - READING_AGE_MAX_MS)
  const older = recent(300, 400, 49 - READING_AGE_MAX_MS)

  expect(judged({ recent: [asOld, older] })).toMatchObject({ recent: [asOld, thisReading] })
})

const rule = { settleMs: 50, intervalsMs: [10, 20] }
const touched = { startMs: 120, endMs: 140, touchedAtMs: 0, readAtMs: 150, readings: 1 }
const settle = (more: Partial<Arrived>, mayCover = true, firstChangeMs?: number) =>
  settleReading(
    { ...arrived, sentAtMs: 220, serverAtMs: 220, ...more },
    { awaiting: [touched] },
    { mayCover, firstChangeMs, rule },
  )

test('a reading that may not cover still says that what a push touched has changed', () => {
  const again = { ...touched, readAtMs: 220 }

  expect(settle({}, false)).toEqual({ covers: [], uncovers: [], awaiting: [touched] })
  expect(settle({}, false, 170)).toEqual({ covers: [], uncovers: [], awaiting: [again] })
  expect(settle({}, false, 171)).toEqual({ covers: [], uncovers: [], awaiting: [touched] })
  expect(settle({ word: 'pending' }, false)).toEqual({ covers: [], uncovers: [], awaiting: [again] })
})

test('a pending reading uncovers what had settled, and no more of its window', () => {
  expect(settle({ word: 'pending', serverAtMs: 210 })).toEqual({
    covers: [],
    uncovers: [{ startMs: 100, endMs: 160 }],
    awaiting: [
      { startMs: 100, endMs: 120, touchedAtMs: 220, readAtMs: 220, readings: 1 },
      { ...touched, readAtMs: 220 },
      { startMs: 140, endMs: 160, touchedAtMs: 220, readAtMs: 220, readings: 1 },
    ],
  })
})

test('a reading covers what had settled by both clocks, with what it settles itself', () => {
  const covers = (endMs: number) => ({ covers: [{ startMs: 100, endMs }], uncovers: [], awaiting: [] })

  expect(settle({})).toEqual(covers(170))
  expect(settle({ serverAtMs: 215 })).toEqual(covers(165))
  expect(settle({ serverAtMs: 225 })).toEqual(covers(170))
  expect(settle({ serverAtMs: undefined })).toEqual(covers(170))
})

test('one newer reading that spoke of a record is enough, whatever the others are about', () => {
  const record = { startMs: 110, endMs: 120, keyHash: 7 }
  const away = recent(500, 600, 1)

  expect(isHeldByNewer(record, [])).toBe(false)
  expect(isHeldByNewer(record, [away])).toBe(false)
  expect(isHeldByNewer(record, [away, recent(100, 200, 1)])).toBe(true)
  expect(isHeldByNewer(record, [away, { ...away, crossingHashes: [6, 7] }])).toBe(true)
})
