import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contains, union } from '../../../src/base/time/spans.ts'
import { HOUR, MINUTE, SECOND } from '../../../src/base/time/units.ts'
import {
  type AwaitingPart,
  nextReadingAtMs,
  partsAfterReading,
  touchParts,
} from '../../../src/pipeline/ledger/awaiting-upstream.ts'

const pushedAtMs = 1_000 * HOUR
const rule = { settleMs: 72 * HOUR, intervalsMs: [30 * SECOND, 5 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR] }
const always = { startMs: Number.NEGATIVE_INFINITY, endMs: Number.POSITIVE_INFINITY }
const touched = touchParts([], [{ startMs: 100, endMs: 200 }], pushedAtMs)
type Evidence = Parameters<typeof partsAfterReading>[1]

const readAt = (sentAtMs: number, more: Partial<Evidence> = {}): Evidence => ({
  window: always,
  sentAtMs,
  knownAtMs: sentAtMs,
  word: undefined,
  changed: false,
  mayCover: true,
  ...more,
})

/** Reads whenever the next reading counts, until the part has settled; gives the times since the push. */
function readingTimes(changedBy: (sinceMs: number) => boolean, settleRule = rule): number[] {
  const times: number[] = []
  for (let parts = touched; parts[0]; ) {
    const sentAtMs = nextReadingAtMs(parts[0], settleRule)
    times.push(sentAtMs - pushedAtMs)
    if (times.length > 50) throw new Error('it never settles')
    parts = partsAfterReading(parts, readAt(sentAtMs, { changed: changedBy(sentAtMs - pushedAtMs) }), settleRule)
  }
  return times
}

test('pushed spans are read again at growing intervals until they are as old as the lateness of their stream', () => {
  const [a, b, c, d, e, f, ...more] = readingTimes(() => false)

  expect([a, b]).toEqual([30 * SECOND, 5 * MINUTE + 30 * SECOND])
  expect([c, d].map((ms = 0) => Math.floor(ms / HOUR))).toEqual([1, 7])
  expect([e, f].map((ms = 0) => Math.floor(ms / HOUR))).toEqual([31, 55])
  expect(more).toEqual([72 * HOUR])
})

test('where the measured lateness is short, two readings are enough', () => {
  expect(readingTimes(() => false, { ...rule, settleMs: 0 })).toEqual([30 * SECOND, 5 * MINUTE + 30 * SECOND])
  expect(readingTimes(() => false, { ...rule, settleMs: 10 * MINUTE })).toEqual([
    30 * SECOND,
    5 * MINUTE + 30 * SECOND,
    10 * MINUTE + 30 * SECOND,
  ])
})

test('a reading that brings a change does not settle, however late it comes, and restarts the intervals', () => {
  const times = readingTimes((sinceMs) => sinceMs === 72 * HOUR)

  expect(times.slice(-2)).toEqual([72 * HOUR, 76.5 * HOUR])
})

test.for([{ changed: true }, { word: 'pending' as const }])(
  'an upstream that never comes to rest (%o) is read again ever more rarely, and at least once a day',
  (never) => {
    let [part] = touched
    const times: number[] = []
    for (let atMs = pushedAtMs; part && atMs < pushedAtMs + 30 * 24 * HOUR; ) {
      atMs = nextReadingAtMs(part, rule)
      times.push(atMs)
      ;[part] = partsAfterReading([part], readAt(atMs, never), rule)
    }

    expect(part).toBeDefined()
    expect(times.length).toBeLessThan(140)
    const spacings = times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0))
    expect(spacings[0]).toBe(5 * MINUTE)
    expect(Math.max(...spacings)).toBe(24 * HOUR)
  },
)

test('a reading soon after the one before it proves nothing', () => {
  const settleRule = { ...rule, settleMs: 0 }
  const once = partsAfterReading(touched, readAt(pushedAtMs + MINUTE), settleRule)

  expect(partsAfterReading(once, readAt(pushedAtMs + 3 * MINUTE), settleRule)).toEqual(once)
  expect(partsAfterReading(once, readAt(pushedAtMs + 4 * MINUTE), settleRule)).toEqual([])
})

test('a reading sent before the push, or right after it, proves nothing', () => {
  expect(partsAfterReading(touched, readAt(pushedAtMs - 1), rule)).toEqual(touched)
  expect(partsAfterReading(touched, readAt(pushedAtMs + 30 * SECOND - 1), rule)).toEqual(touched)
})

test('a reading that may not cover settles nothing, but a change that it brings is one', () => {
  const twice = [pushedAtMs + MINUTE, pushedAtMs + HOUR].reduce<AwaitingPart[]>(
    (parts, sentAtMs) => partsAfterReading(parts, readAt(sentAtMs), rule),
    touched,
  )
  const late = pushedAtMs + 80 * HOUR

  expect(partsAfterReading(twice, readAt(late, { mayCover: false }), rule)).toEqual(twice)
  expect(partsAfterReading(twice, readAt(late, { mayCover: false, word: 'finished' }), rule)).toEqual(twice)
  expect(partsAfterReading(twice, readAt(late, { mayCover: false, changed: true }), rule)).toMatchObject([
    { readAtMs: late, readings: 1 },
  ])
})

test('upstream’s own word settles at once, and its word that it has not derived never agrees', () => {
  expect(partsAfterReading(touched, readAt(pushedAtMs + 1, { word: 'finished' }), rule)).toEqual([])
  expect(readPending(5)).toMatchObject([{ readings: 1 }])
})

function readPending(times: number): AwaitingPart[] {
  let parts = touched
  for (let turn = 1; turn <= times; turn += 1) {
    parts = partsAfterReading(parts, readAt(pushedAtMs + turn * 100 * HOUR, { word: 'pending' }), rule)
  }
  return parts
}

test('a push does not touch the time after it', () => {
  expect(touchParts([], [always], pushedAtMs)).toEqual([
    { startMs: Number.NEGATIVE_INFINITY, endMs: pushedAtMs, touchedAtMs: pushedAtMs, readAtMs: null, readings: 0 },
  ])
})

test('only the part that a reading asked for has been read, and a second push restarts the agreement', () => {
  const half = partsAfterReading(touched, readAt(pushedAtMs + HOUR, { window: { startMs: 0, endMs: 150 } }), rule)
  expect(half).toMatchObject([
    { startMs: 100, endMs: 150, readings: 1 },
    { startMs: 150, endMs: 200, readings: 0 },
  ])

  expect(touchParts(half, [{ startMs: 0, endMs: 300 }], pushedAtMs + 1)).toMatchObject([
    { startMs: 0, endMs: 300, touchedAtMs: pushedAtMs + 1, readAtMs: null },
  ])
})

const instant = fc.integer({ min: 0, max: 1_000_000 })
const pushes = fc.array(fc.record({ startMs: instant, atMs: instant, readMs: instant }), { maxLength: 300 })

test('however many pushes and readings there were, the parts are few and disjoint, and none is forgotten', () => {
  fc.assert(
    fc.property(pushes, (events) => {
      let parts: AwaitingPart[] = []
      for (const { startMs, atMs, readMs } of events) {
        parts = touchParts(parts, [{ startMs, endMs: startMs + 1 }], pushedAtMs + atMs)
        const window = { startMs: readMs, endMs: readMs + 5000 }
        parts = partsAfterReading(parts, readAt(pushedAtMs + HOUR, { window }), rule)
      }
      expect(parts.length).toBeLessThanOrEqual(64)
      expect(union(parts).reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0)).toBe(
        parts.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0),
      )
      for (const { startMs } of events) expect(contains(union(parts), startMs)).toBe(true)
    }),
    { numRuns: 50 },
  )
})
