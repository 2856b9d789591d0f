import type { DerivationState } from '../../base/contract/derivation-state.ts'
import { clip, overlaps, type Span, subtract, union } from '../../base/time/spans.ts'
import { DAY } from '../../base/time/units.ts'

/**
 * A part of a stream's time that a push touched, with what the readings since have shown. Without a `derivation-state`, nobody
 * knows when upstream has derived from the push: the part settles when two readings, sent after the push and some time apart,
 * agree, and not before the push is as old as the lateness measured for the stream.
 */
export type AwaitingPart = Span & {
  /** When the newest push that touched the part was marked as sent. */
  readonly touchedAtMs: number
  /** When the last reading that counts was sent; null before the first such reading. */
  readonly readAtMs: number | null
  /** How many readings that count have agreed, from the first reading or from the last reading that brought a change. */
  readonly readings: number
  /** No push touched the part: a silent difference was found nearby. Two readings that agree are enough. */
  readonly isSuspect?: true
}

export type SettleRule = {
  /** The lateness measured for the stream, by which nothing changes any more. */
  readonly settleMs: number
  /** The time from the push to the first reading, from there to the second, and so on. The last interval is repeated. */
  readonly intervalsMs: readonly number[]
}

/** The evidence of a reading about the parts that it touches. */
type Evidence = {
  readonly window: Span
  readonly sentAtMs: number
  /** The slower of the two clocks at the time of sending. */
  readonly knownAtMs: number
  /** The `derivation-state` of the answer; undefined where upstream sends none. */
  readonly word: DerivationState | undefined
  /** The reading changed a stored record whose time had settled, apart from the push. */
  readonly changed: boolean
  /** The reading is complete for its window, and was planned after the last push. */
  readonly mayCover: boolean
}

/** When the next reading of the part counts, and the part should be read again. */
export function nextReadingAtMs(part: AwaitingPart, rule: SettleRule): number {
  const { touchedAtMs, readAtMs, readings } = part
  if (readAtMs === null) return touchedAtMs + intervalMs(rule, 0)
  const leastMs = agedIntervalMs(readAtMs - touchedAtMs, rule)
  const settledAtMs = Math.max(
    touchedAtMs + settleMsOfPart(part, rule),
    readAtMs + Math.max(intervalMs(rule, 1), leastMs),
  )
  return Math.min(readAtMs + Math.max(intervalMs(rule, readings), leastMs), settledAtMs)
}

/** Where every reading brings a change, or is called pending, each agreement restarts: the intervals grow with the push's age. */
const agedIntervalMs = (ageMs: number, { intervalsMs }: SettleRule): number =>
  Math.min(ageMs / AGE_SHARE, intervalsMs.at(-1) ?? 0)

const AGE_SHARE = 16

/** A second push restarts the agreement. Records dated after the push have not happened yet: their own day settles them. */
export function touchParts(parts: readonly AwaitingPart[], spans: readonly Span[], atMs: number): AwaitingPart[] {
  const touched = union(spans.map((span) => clip(span, { startMs: Number.NEGATIVE_INFINITY, endMs: atMs })))
  const before = parts.flatMap((part) => subtract([part], touched).map((span) => ({ ...part, ...span })))
  return joinParts([...before, ...touched.map((span) => ({ ...span, touchedAtMs: atMs, readAtMs: null, readings: 0 }))])
}

const settleMsOfPart = ({ isSuspect }: AwaitingPart, { settleMs }: SettleRule): number => (isSuspect ? 0 : settleMs)

/** The days around a silent difference are read again until two readings agree. Spans that a push touched are read again anyway. */
export function suspectParts(parts: readonly AwaitingPart[], spans: readonly Span[], atMs: number): AwaitingPart[] {
  const suspect = union(spans.map((span) => clip(span, { startMs: Number.NEGATIVE_INFINITY, endMs: atMs })))
  const kept = parts.flatMap((part) =>
    part.isSuspect ? subtract([part], suspect).map((span) => ({ ...part, ...span })) : [part],
  )
  const added = subtract(suspect, union(kept)).map((span) => ({ ...span, ...suspectState, touchedAtMs: atMs }))
  return joinParts([...kept, ...added])
}

/**
 * A span that upstream calls pending was touched by somebody else's push, no later than the reading: it is read again
 * as after a push of ours. Spans that a push of ours touched are read again anyway.
 */
export function pendingParts(parts: readonly AwaitingPart[], spans: readonly Span[], atMs: number): AwaitingPart[] {
  const state = { touchedAtMs: atMs, readAtMs: atMs, readings: 1 }
  return joinParts([...parts, ...subtract(spans, union(parts)).map((span) => ({ ...span, ...state }))])
}

const suspectState = { readAtMs: null, readings: 0, isSuspect: true } as const

/** The parts after a reading. A part that has settled by it is missing. */
export function partsAfterReading(parts: readonly AwaitingPart[], reading: Evidence, rule: SettleRule): AwaitingPart[] {
  const after = parts.flatMap((part) => {
    if (!overlaps(part, reading.window)) return [part]
    const outside = subtract([part], [reading.window]).map((span) => ({ ...part, ...span }))
    const inside = readPart({ ...part, ...clip(part, reading.window) }, reading, rule)
    return inside ? [...outside, inside] : outside
  })
  return joinParts(after)
}

function readPart(part: AwaitingPart, reading: Evidence, rule: SettleRule): AwaitingPart | undefined {
  const { sentAtMs, knownAtMs, word, changed, mayCover } = reading
  if (word === 'finished' && mayCover) return undefined
  const isEarly = sentAtMs < (part.readAtMs === null ? nextReadingAtMs(part, rule) : part.readAtMs)
  if (isEarly) return part
  if (changed || word === 'pending') return { ...part, readAtMs: sentAtMs, readings: 1 }
  if (!mayCover || !isApart(part, sentAtMs, rule)) return part
  const agrees = part.readings > 0
  if (agrees && knownAtMs >= part.touchedAtMs + settleMsOfPart(part, rule)) return undefined
  return { ...part, readAtMs: sentAtMs, readings: part.readings + 1 }
}

/** Half the interval is enough: a nightly that comes a little early then counts, and needs no second reading. */
function isApart(part: AwaitingPart, sentAtMs: number, rule: SettleRule): boolean {
  if (part.readAtMs === null) return true
  return sentAtMs >= part.readAtMs + (nextReadingAtMs(part, rule) - part.readAtMs) / 2
}

const intervalMs = ({ intervalsMs }: SettleRule, index: number): number =>
  intervalsMs[Math.min(index, intervalsMs.length - 1)] ?? 0

const PARTS_MAX = 64

const isSameState = (a: AwaitingPart, b: AwaitingPart): boolean =>
  a.touchedAtMs === b.touchedAtMs &&
  a.readAtMs === b.readAtMs &&
  a.readings === b.readings &&
  a.isSuspect === b.isSuspect

/** Joins neighbours in the same state. Where there are too many parts all take the least settled state, and small gaps close. */
function joinParts(parts: readonly AwaitingPart[]): AwaitingPart[] {
  const joined: AwaitingPart[] = []
  for (const part of parts.toSorted((a, b) => a.startMs - b.startMs)) {
    const last = joined.at(-1)
    if (last && last.endMs === part.startMs && isSameState(last, part))
      joined.splice(-1, 1, { ...last, endMs: part.endMs })
    else joined.push(part)
  }
  return joined.length <= PARTS_MAX ? joined : withFewerParts(joined)
}

function withFewerParts(parts: readonly AwaitingPart[]): AwaitingPart[] {
  const read = parts.every(({ readAtMs }) => readAtMs !== null)
  const state = {
    touchedAtMs: Math.max(...parts.map(({ touchedAtMs }) => touchedAtMs)),
    readAtMs: read ? Math.max(...parts.map(({ readAtMs }) => readAtMs ?? 0)) : null,
    readings: Math.min(...parts.map(({ readings }) => readings)),
    ...(parts.every(({ isSuspect }) => isSuspect) ? { isSuspect: true as const } : {}),
  }
  let spans = union(parts)
  for (let gapMs = DAY; spans.length > PARTS_MAX; gapMs *= 2) spans = union(spans, gapMs)
  return spans.map((span) => ({ ...span, ...state }))
}
