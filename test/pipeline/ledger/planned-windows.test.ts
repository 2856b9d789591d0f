import fc from 'fast-check'
import { expect, test } from 'vitest'
import { overlaps, type Span, subtract, totalMs, union } from '../../../src/base/time/spans.ts'
import { DAY, HOUR, MINUTE } from '../../../src/base/time/units.ts'
import { dueWindows } from '../../../src/pipeline/ledger/planner.ts'

type Plan = Parameters<typeof dueWindows>[0]

const hours = (from: number, to: number): Span => ({ startMs: from * HOUR, endMs: to * HOUR })
const span = fc
  .tuple(fc.nat(60 * 24), fc.integer({ min: 1, max: 20 * 24 }))
  .map(([from, long]) => hours(from, from + long))
const days = fc
  .tuple(fc.nat(60), fc.integer({ min: 1, max: 20 }))
  .map(([from, long]) => hours(24 * from, 24 * (from + long)))
const several = fc.array(span, { maxLength: 3 })

const tagged = fc.record({
  windows: fc.array(fc.oneof(span, days), { maxLength: 5 }),
  aheadMs: fc.constantFrom(0, 4 * DAY),
})
const asked: fc.Arbitrary<Plan & { tagged: { windows: Span[]; aheadMs: number } }> = fc.record({
  wanted: fc.oneof(span, days),
  covered: several,
  blocked: several,
  sizeMs: fc.integer({ min: 6, max: 100 }).map((size) => size * HOUR),
  tagged,
  windowsMax: fc.constant(1_000),
})

const same = (a: Span, b: Span) => a.startMs === b.startMs && a.endMs === b.endMs
const isWithin = (inner: Span, outer: Span) => inner.startMs >= outer.startMs && inner.endMs <= outer.endMs
const dueOf = ({ wanted, covered, blocked }: Plan) => subtract(subtract([wanted], union(covered)), union(blocked))

test('with tags, too, all that is due is asked for, newest first, nothing twice, and nothing that is blocked', () => {
  fc.assert(
    fc.property(asked, (plan) => {
      const windows = dueWindows(plan)

      expect(subtract(dueOf(plan), union(windows))).toEqual([])
      expect(windows).toEqual(windows.toSorted((a, b) => b.endMs - a.endMs))
      const isAskedTwice = (window: Span, index: number) =>
        [...windows.slice(index + 1), ...plan.blocked].some((other) => overlaps(window, other))
      expect(windows.filter(isAskedTwice)).toEqual([])
      expect(windows.filter(({ startMs, endMs }) => endMs <= startMs)).toEqual([])
    }),
    { numRuns: 150 },
  )
})

test('a window is new and no longer than one request takes, or it is asked for as it was', () => {
  fc.assert(
    fc.property(asked, (plan) => {
      for (const window of dueWindows(plan)) {
        const isAsBefore = plan.tagged.windows.some((before) => same(before, window))
        if (!isAsBefore) expect(totalMs([window])).toBeLessThanOrEqual(plan.sizeMs)
      }
    }),
    { numRuns: 150 },
  )
})

test('a window with a tag is asked for as it was when it serves, unless a newer window took some of its time', () => {
  fc.assert(
    fc.property(asked, (plan) => {
      const windows = dueWindows(plan)
      const due = dueOf(plan)
      const serves = (window: Span) =>
        due.some(
          (part) =>
            isWithin(window, part) || (isWithin(part, window) && totalMs([window]) - totalMs([part]) <= 8 * DAY),
        )
      for (const window of plan.tagged.windows) {
        const isAsked = windows.some((other) => same(other, window))
        const isTaken = [
          ...plan.blocked,
          ...plan.tagged.windows.filter((other) => windows.some((window) => same(window, other))),
        ]
          .filter((other) => !same(other, window))
          .some((other) => overlaps(other, window))
        if (serves(window) && !isTaken) expect(isAsked).toBe(true)
      }
    }),
    { numRuns: 150 },
  )
})

test('beyond the due spans, a plan asks only for windows with a tag, and for the newest window', () => {
  fc.assert(
    fc.property(asked, (plan) => {
      const due = dueOf(plan)
      const [newest] = due.slice(-1)
      for (const window of dueWindows(plan)) {
        if (plan.tagged.windows.some((before) => same(before, window))) continue
        const beyond = subtract([window], due)
        const midnightMs = newest ? Math.floor(newest.startMs / DAY) * DAY : 0
        const endMs = newest ? Math.ceil(newest.endMs / DAY) * DAY + plan.tagged.aheadMs : 0
        const isKept = plan.tagged.aheadMs > 0 && newest?.endMs === plan.wanted.endMs
        if (!isKept) expect(beyond).toEqual([])
        else for (const part of beyond) expect(isWithin(part, { startMs: midnightMs, endMs })).toBe(true)
      }
    }),
    { numRuns: 150 },
  )
})

const plan = (more: Partial<Plan>): Span[] =>
  dueWindows({ wanted: hours(0, 240), covered: [], blocked: [], sizeMs: 35 * DAY, windowsMax: 500, ...more })
const ahead = (...windows: Span[]) => ({ windows, aheadMs: 4 * DAY })

test.for<readonly [string, Partial<Plan>, Span]>([
  ['from its midnight to midnight and four days ahead', { covered: [hours(0, 230)], tagged: ahead() }, hours(216, 336)],
  [
    'as it is, where nothing is asked ahead',
    { covered: [hours(0, 230)], tagged: { windows: [], aheadMs: 0 } },
    hours(230, 240),
  ],
  [
    'four days from the next midnight',
    { wanted: hours(0, 241), covered: [hours(0, 230)], tagged: ahead() },
    hours(216, 360),
  ],
  [
    'from midnight where the range begins there',
    { wanted: hours(216, 240), covered: [hours(216, 230)], tagged: ahead() },
    hours(216, 336),
  ],
  [
    'from where it is due, where the range begins after midnight',
    { wanted: hours(217, 240), covered: [hours(217, 230)], tagged: ahead() },
    hours(230, 336),
  ],
  [
    'from midnight where what is blocked ends there',
    { blocked: [hours(200, 216)], covered: [hours(0, 230)], tagged: ahead() },
    hours(216, 336),
  ],
  [
    'from where it is due, where an hour since midnight is blocked',
    { blocked: [hours(200, 217)], covered: [hours(0, 230)], tagged: ahead() },
    hours(230, 336),
  ],
  [
    'from where it is due, where a window with a tag holds the time before',
    { covered: [hours(0, 200)], tagged: ahead(hours(200, 230)) },
    hours(230, 336),
  ],
  [
    'no further than it is due, where the time after is blocked',
    { covered: [hours(0, 230)], blocked: [hours(300, 301)], tagged: ahead() },
    hours(216, 240),
  ],
])('the newest window goes %s', ([, more, newest]) => {
  expect(plan(more)[0]).toEqual(newest)
})

test('the newest window begins where it is due when an older one is due since midnight: no hour is asked for twice', () => {
  expect(plan({ covered: [hours(222, 230)], tagged: ahead() })).toEqual([hours(230, 336), hours(0, 222)])
})

test('older windows are asked for as they are due, however far the newest reaches', () => {
  expect(plan({ covered: [hours(50, 230)], tagged: ahead() })).toEqual([hours(216, 336), hours(0, 50)])
})

test('of windows with tags the newest is chosen, and of two with one end the longer', () => {
  const chosen = (...windows: Span[]) =>
    plan({ tagged: { windows, aheadMs: 0 } }).filter((window) => windows.some((tagged) => same(tagged, window)))

  expect(chosen(hours(100, 200), hours(150, 220))).toEqual([hours(150, 220)])
  expect(chosen(hours(150, 220), hours(100, 200))).toEqual([hours(150, 220)])
  expect(chosen(hours(150, 220), hours(100, 220))).toEqual([hours(100, 220)])
  expect(chosen(hours(100, 220), hours(150, 220))).toEqual([hours(100, 220)])
  expect(chosen(hours(150, 220), hours(100, 150))).toEqual([hours(150, 220), hours(100, 150)])
})

test.for<readonly [string, Span, boolean]>([
  ['exactly what is due', hours(100, 200), true],
  ['a part of it', hours(120, 180), true],
  ['all of it and eight days more', hours(100, 200 + 8 * 24), true],
  ['all of it and more on both sides', hours(50, 250), true],
  ['all of it and more than eight days', hours(100, 201 + 8 * 24), false],
  ['its beginning and time before', hours(99, 150), false],
  ['its end and time after', hours(150, 201), false],
  ['nothing of it', hours(200, 250), false],
])('a window with a tag that holds %s serves: %o', ([, window, serves]) => {
  const windows = plan({
    wanted: hours(0, 1_000),
    covered: [hours(0, 100), hours(200, 1_000)],
    tagged: { windows: [window], aheadMs: 0 },
  })

  expect(windows.some((tagged) => same(tagged, window))).toBe(serves)
})

test('a window of less than a day is cut back from its end, and a whole day from a midnight', () => {
  const cut = (from: number, to: number, sizeMs: number) =>
    plan({ wanted: hours(from, to), sizeMs }).map(({ startMs, endMs }) => [startMs / HOUR, endMs / HOUR])

  expect(cut(20, 48, 12 * HOUR)).toEqual([
    [36, 48],
    [24, 36],
    [20, 24],
  ])
  expect(cut(0, 48, DAY)).toEqual([
    [24, 48],
    [0, 24],
  ])
  expect(cut(0, 30, 25 * HOUR)).toEqual([
    [24, 30],
    [0, 24],
  ])
  expect(cut(0, 1, MINUTE)).toHaveLength(60)
})
