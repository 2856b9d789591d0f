import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Span } from '../../../src/base/time/spans.ts'
import { DAY, HOUR } from '../../../src/base/time/units.ts'
import {
  type AwaitingPart,
  nextReadingAtMs,
  partsAfterReading,
  pendingParts,
  suspectParts,
  touchParts,
} from '../../../src/pipeline/ledger/awaiting-upstream.ts'

const rule = { settleMs: 150, intervalsMs: [10, 20, 40] }
const untouched = { touchedAtMs: 0, readAtMs: null, readings: 0 }
const read = (readAtMs: number, readings: number, touchedAtMs = 0) => ({ touchedAtMs, readAtMs, readings })
const part = (state: Omit<AwaitingPart, 'startMs' | 'endMs'>): AwaitingPart => ({ startMs: -50, endMs: 0, ...state })
const suspect = { isSuspect: true } as const

test.for([
  ['the first interval after the push', untouched, 10],
  ['the second interval after the first reading', read(10, 1), 30],
  ['the third interval after the second reading', read(30, 2), 70],
  ['the last interval after every further reading', read(70, 3), 110],
  ['no later than the lateness of the stream', read(120, 4), 150],
  ['the second interval at least, also beyond the lateness', read(140, 4), 160],
  ['a sixteenth of the push’s age, once that is longer', read(480, 1), 510],
  ['the last interval at most', read(6_400, 1), 6_440],
  ['two readings of a suspect part, whatever the lateness', { ...read(10, 3), ...suspect }, 30],
] as const)('the next reading comes after %s', ([, state, atMs]) => {
  expect(nextReadingAtMs(part(state), rule)).toBe(atMs)
  const shifted = { ...state, touchedAtMs: 1_000, readAtMs: state.readAtMs === null ? null : 1_000 + state.readAtMs }
  expect(nextReadingAtMs(part(shifted), rule)).toBe(1_000 + atMs)
})

test('without intervals the next reading is due at once', () => {
  expect(nextReadingAtMs(part(untouched), { settleMs: 0, intervalsMs: [] })).toBe(0)
})

type Evidence = Parameters<typeof partsAfterReading>[1]
type Answer = Partial<Evidence> & { sentAtMs: number }
const settled = undefined

test.for<readonly [string, Omit<AwaitingPart, 'startMs' | 'endMs'>, Answer, object | undefined]>([
  ['too soon after the push: nothing', untouched, { sentAtMs: 9 }, untouched],
  ['too soon after the push, with a change: nothing', untouched, { sentAtMs: 9, changed: true }, untouched],
  ['when it is due: the first', untouched, { sentAtMs: 10 }, read(10, 1)],
  ['the first, however late: not enough', untouched, { sentAtMs: 500 }, read(500, 1)],
  ['before half of the interval: nothing', read(10, 1), { sentAtMs: 19 }, read(10, 1)],
  ['after half of the interval: it agrees', read(10, 1), { sentAtMs: 20 }, read(20, 2)],
  ['before the last reading: nothing', read(30, 2), { sentAtMs: 29, changed: true }, read(30, 2)],
  ['with the last reading, with a change: the first again', read(30, 2), { sentAtMs: 30, changed: true }, read(30, 1)],
  ['with a change: the first again', read(30, 2), { sentAtMs: 31, changed: true }, read(31, 1)],
  ['called pending: the first again', read(30, 2), { sentAtMs: 31, word: 'pending' }, read(31, 1)],
  ['called pending before the first is due: nothing', untouched, { sentAtMs: 9, word: 'pending' }, untouched],
  ['that may not cover: nothing', read(30, 2), { sentAtMs: 300, mayCover: false }, read(30, 2)],
  ['that may not cover, first: nothing', untouched, { sentAtMs: 300, mayCover: false }, untouched],
  ['at the lateness, by both clocks: settled', read(110, 4), { sentAtMs: 150 }, settled],
  ['at the lateness, by one clock', read(110, 4), { sentAtMs: 150, knownAtMs: 149 }, read(150, 5)],
  ['of a suspect part, second', { ...read(10, 1), ...suspect }, { sentAtMs: 20, knownAtMs: 0 }, settled],
  [
    'of a suspect part, sent before it',
    { ...read(10, 1), ...suspect },
    { sentAtMs: 20, knownAtMs: -1 },
    { ...read(20, 2), ...suspect },
  ],
  ['called finished: settled at once', untouched, { sentAtMs: 1, word: 'finished' }, settled],
  ['called finished, with a change: settled', read(10, 1), { sentAtMs: 11, word: 'finished', changed: true }, settled],
  [
    'called finished, planned before the push: nothing',
    untouched,
    { sentAtMs: 9, word: 'finished', mayCover: false },
    untouched,
  ],
])('a reading %s', ([, state, answer, after]) => {
  const reading: Evidence = {
    window: { startMs: -50, endMs: 0 },
    knownAtMs: answer.sentAtMs,
    word: undefined,
    changed: false,
    mayCover: true,
    ...answer,
  }

  expect(partsAfterReading([part(state)], reading, rule)).toEqual(
    after === undefined ? [] : [part({ ...state, ...after })],
  )
})

const INSTANTS = 60
const instant = fc.integer({ min: 0, max: INSTANTS })
const span = fc.tuple(instant, instant).map(([a, b]): Span => ({ startMs: Math.min(a, b), endMs: Math.max(a, b) }))
const spans = fc.array(span, { maxLength: 3 })
// Few instants, so that pushes and readings meet at one.
const sent = fc.integer({ min: 1, max: 20 }).map((tens) => 20 * tens)
const event = fc.oneof(
  fc.record({ kind: fc.constantFrom('touch', 'suspect', 'pending'), spans, atMs: sent }),
  fc.record({
    kind: fc.constant('read' as const),
    reading: fc.record({
      window: span,
      sentAtMs: sent,
      knownAtMs: sent,
      word: fc.constantFrom('finished' as const, 'pending' as const, undefined),
      changed: fc.boolean(),
      mayCover: fc.boolean(),
    }),
  }),
)

/** Each instant alone: the parts that hold only this instant. */
type ByInstant = ReadonlyArray<readonly AwaitingPart[]>

const at = (ms: number): Span => ({ startMs: ms, endMs: ms + 1 })
const holds = (all: readonly Span[], ms: number) => all.some(({ startMs, endMs }) => startMs <= ms && ms < endMs)

/** A push touches an instant, a difference makes it suspect, and an answer calls it pending, by what it was. */
function instantAfter(parts: readonly AwaitingPart[], ms: number, kind: string, atMs: number): readonly AwaitingPart[] {
  const [was] = parts
  if (kind === 'touch') return ms < atMs ? [{ ...at(ms), touchedAtMs: atMs, readAtMs: null, readings: 0 }] : parts
  if (kind === 'pending') return was ? parts : [{ ...at(ms), touchedAtMs: atMs, readAtMs: atMs, readings: 1 }]
  if (ms >= atMs || (was && !was.isSuspect)) return parts
  return [{ ...at(ms), touchedAtMs: atMs, readAtMs: null, readings: 0, ...suspect }]
}

const byInstant = (parts: readonly AwaitingPart[]): ByInstant =>
  Array.from({ length: INSTANTS }, (_, ms) =>
    parts.filter((part) => holds([part], ms)).map((part) => ({ ...part, ...at(ms) })),
  )

test('each instant goes its own way: parts only join neighbours of the same state', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 12 }), (events) => {
      let parts: readonly AwaitingPart[] = []
      let instants: ByInstant = byInstant([])
      const change = { touch: touchParts, suspect: suspectParts, pending: pendingParts }
      for (const event of events) {
        if ('reading' in event) {
          parts = partsAfterReading(parts, event.reading, rule)
          instants = instants.map((ofInstant) => partsAfterReading(ofInstant, event.reading, rule))
        } else {
          const [kind, disjoint] = [
            event.kind as keyof typeof change,
            event.spans.slice(0, event.kind === 'pending' ? 1 : 3),
          ]
          parts = change[kind](parts, disjoint, event.atMs)
          instants = instants.map((ofInstant, ms) =>
            holds(disjoint, ms) ? instantAfter(ofInstant, ms, kind, event.atMs) : ofInstant,
          )
        }
        expect(byInstant(parts)).toEqual(instants)
        expect(parts).toEqual(parts.toSorted((a, b) => a.startMs - b.startMs))
        for (const [index, next] of parts.slice(1).entries()) {
          const { startMs: _, endMs, ...state } = parts[index] ?? next
          if (endMs === next.startMs) expect(next).not.toMatchObject({ ...state, isSuspect: state.isSuspect })
        }
      }
    }),
    { numRuns: 200 },
  )
})

/** `count` parts of an hour each, two days apart, each in a state of its own. */
const manyParts = (
  count: number,
  stateOf: (index: number) => Omit<AwaitingPart, 'startMs' | 'endMs'>,
): AwaitingPart[] =>
  Array.from({ length: count }, (_, index) => {
    const startMs = index * 2 * DAY
    return { startMs, endMs: startMs + HOUR, ...stateOf(index) }
  })

/** The parts as a push of nothing leaves them: joined, and not too many. */
const afterNothing = (parts: readonly AwaitingPart[]) => touchParts(parts, [], 0)

test.for([
  [read(10, 1, 5), true],
  [read(10, 1, 6), false],
  [read(11, 1, 5), false],
  [read(10, 2, 5), false],
  [{ ...read(10, 1, 5), ...suspect }, false],
] as const)(
  'a part that was touched at 5 and read once at 10, and a neighbour %o, are joined: %o',
  ([state, joined]) => {
    const parts = [part(read(10, 1, 5)), { ...part(state), startMs: 0, endMs: 50 }]

    expect(afterNothing(parts)).toEqual(joined ? [{ ...part(state), endMs: 50 }] : parts)
  },
)

test('up to 64 parts keep their own states', () => {
  const parts = manyParts(64, (index) => read(1_000 + index, index))

  expect(afterNothing(parts)).toEqual(parts)
})

test('parts that touch count as one: only their state is joined, and no gap is closed', () => {
  const [first, ...others] = manyParts(64, (index) => read(1_000 + index, 1))
  const before: AwaitingPart = { startMs: -HOUR, endMs: 0, ...read(1_100, 1) }

  expect(
    afterNothing([before, ...(first ? [first] : []), ...others]).map(({ startMs, endMs }) => [startMs, endMs]),
  ).toEqual([[-HOUR, HOUR], ...others.map(({ startMs, endMs }) => [startMs, endMs])])
})

test('more parts take the least settled state of all: the newest push, the fewest readings, and are joined over small gaps', () => {
  const parts = manyParts(65, (index) => ({ ...read(1_000 + index, 3 + (index % 7)), touchedAtMs: 500 - index }))

  expect(afterNothing(parts)).toEqual([
    { startMs: 0, endMs: 64 * 2 * DAY + HOUR, touchedAtMs: 500, readAtMs: 1_064, readings: 3 },
  ])
})

test('among too many parts one that was not read makes all of them unread, and one that is not suspect makes none suspect', () => {
  const withOne = (part: Omit<AwaitingPart, 'startMs' | 'endMs'>) =>
    afterNothing(manyParts(65, (index) => (index === 30 ? part : { ...read(1_000, 3), ...suspect })))

  expect(withOne({ ...read(900, 3), ...suspect })).toMatchObject([{ readAtMs: 1_000, isSuspect: true }])
  expect(withOne({ ...untouched, ...suspect })).toMatchObject([{ readAtMs: null, readings: 0, isSuspect: true }])
  expect(withOne(read(900, 3))[0]).not.toHaveProperty('isSuspect')
})

test('gaps are closed only as far as 64 parts need: distant parts stay apart', () => {
  const near = manyParts(65, (index) => read(1_000 + index, 1))
  const far = { startMs: 1_000 * DAY, endMs: 1_001 * DAY, ...read(1, 1) }
  const close = near.map((part, index) => ({
    ...part,
    startMs: index * (DAY + HOUR),
    endMs: index * (DAY + HOUR) + HOUR,
  }))

  expect(afterNothing([...near, far]).map(({ startMs, endMs }) => [startMs, endMs])).toEqual([
    [0, 64 * 2 * DAY + HOUR],
    [far.startMs, far.endMs],
  ])
  // Gaps of a day are closed first: the two that follow each other at once are joined only with each other.
  const twice = close.flatMap((part) => [
    part,
    { ...part, startMs: part.startMs + 100 * 365 * DAY, endMs: part.endMs + 100 * 365 * DAY },
  ])
  expect(afterNothing(twice)).toHaveLength(2)
})
