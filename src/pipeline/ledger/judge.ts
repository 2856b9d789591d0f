import type { DerivationState } from '../../base/contract/derivation-state.ts'
import { intersect, overlaps, type Span, subtract, union } from '../../base/time/spans.ts'
import { HOUR } from '../../base/time/units.ts'
import { type AwaitingPart, partsAfterReading, pendingParts, type SettleRule } from './awaiting-upstream.ts'

/**
 * The evidence of a reading about the edges of its window. `crossingHashes` holds the key hash (`recordKeyHash`) of each record
 * that the reading held and that reaches beyond the window. `reachesBack`: one of these records had begun before the
 * window, so upstream does send records that began before a window.
 */
export type WindowEdges = { readonly crossingHashes: readonly number[]; readonly reachesBack: boolean }

/** The window of a reading of the last hour. */
export type RecentWindow = Span & WindowEdges & { readonly sentAtMs: number }

/** The ledger's row of a profile's stream at the moment of commit, when the row is locked. */
export type LedgerState = {
  readonly generation: number
  /** Spans that pushes touched and that have not settled since. */
  readonly awaiting: readonly AwaitingPart[]
  readonly recent: readonly RecentWindow[]
}

export type Verdict =
  /** The profile has no ledger row: it was erased, and nothing of it may be stored. */
  | { readonly kind: 'erased' }
  /** The reading is so old that newer readings may have been forgotten: it stores nothing and covers nothing. */
  | { readonly kind: 'too-old' }
  | Admission

export type Admission = {
  readonly kind: 'admitted'
  /** Newer readings of any window, for a record may reach across several windows. See `isHeldByNewer`. */
  readonly newer: readonly RecentWindow[]
  /** Whether a record that the reading lacks may be marked gone: not where a newer reading overlaps, nor while upstream derives. */
  readonly complete: boolean
  /** Whether the reading may cover: where it is complete, and was planned after the last push that touched the stream. */
  readonly mayCover: boolean
  readonly recent: readonly RecentWindow[]
}

/** The changes of the ledger by a stored reading. */
export type CoverageChange = {
  /** The spans that the reading covers. */
  readonly covers: readonly Span[]
  /** Spans that are not covered any more, because upstream calls them pending. */
  readonly uncovers: readonly Span[]
  /** Spans that pushes touched and that this reading has not settled either. */
  readonly awaiting: readonly AwaitingPart[]
}

/** How long a reading may be on its way. Newer readings are remembered for this long. */
export const READING_AGE_MAX_MS = HOUR

/** Whether a record lies wholly inside a window. */
export const isInside = (record: Span, window: Span): boolean =>
  record.startMs >= window.startMs && record.startMs < window.endMs && record.endMs <= window.endMs

/** Whether a record had begun before a window and reaches into it. */
export const reachesInto = (record: Span, window: Span): boolean =>
  record.startMs < window.startMs && record.endMs > window.startMs

/**
 * Whether a reading must have held the record if upstream had it. This is so for a record that lies wholly inside the
 * window, whatever upstream means by a record that "touches" a window; and for a record that had begun before the window
 * and ends inside it, if the answer itself shows that upstream sends such records. So a record across two windows belongs
 * to the window that holds its end. `mustHaveHeldSql` says the same in SQL.
 */
export const mustHaveHeld = (reading: Span & Pick<WindowEdges, 'reachesBack'>, record: Span): boolean =>
  isInside(record, reading) || (reading.reachesBack && reachesInto(record, reading) && record.endMs <= reading.endMs)

/** Whether a newer reading decides about this record, so that an older reading must not change it. */
export const isHeldByNewer = (record: Span & { readonly keyHash: number }, newer: readonly RecentWindow[]): boolean =>
  newer.some((read) => mustHaveHeld(read, record) || read.crossingHashes.includes(record.keyHash))

/** Decides what a reading may do to the warehouse. Pure: the promises about order and coverage are kept here. */
export function judgeReading(
  reading: WindowEdges & {
    readonly window: Span
    /** A reading of a snapshot covers all records, whatever its window. */
    readonly stream: { readonly kind: 'windowed' | 'snapshot' }
    readonly sentAtMs: number
    readonly word: DerivationState | undefined
    readonly generation: number
    readonly isPartial?: boolean
  },
  ledger: LedgerState | undefined,
  nowMs: number,
): Verdict {
  if (!ledger) return { kind: 'erased' }
  const { window, sentAtMs, crossingHashes, reachesBack } = reading
  if (sentAtMs < nowMs - READING_AGE_MAX_MS) return { kind: 'too-old' }
  const isSnapshot = reading.stream.kind === 'snapshot'
  const newer = ledger.recent.filter((read) => read.sentAtMs > sentAtMs)
  const overlapsOurs = (read: RecentWindow) => isSnapshot || overlaps(read, window)
  const overtaken = newer.some(overlapsOurs)
  // If two readings were sent at one instant, by clocks that differ, the newer one is unknown: the first stays.
  const isSecond = ledger.recent.some((read) => read.sentAtMs === sentAtMs && overlapsOurs(read))
  const touches = (read: RecentWindow) => read.startMs <= window.endMs && window.startMs <= read.endMs
  const isObsolete = (read: RecentWindow) =>
    read.sentAtMs <= sentAtMs &&
    (isSnapshot || (read.startMs >= window.startMs && read.endMs <= window.endMs && !newer.some(touches)))
  const kept = ledger.recent.filter((read) => read.sentAtMs >= nowMs - READING_AGE_MAX_MS && !isObsolete(read))
  return {
    kind: 'admitted',
    newer,
    complete: !overtaken && reading.word !== 'pending' && !reading.isPartial,
    mayCover: !overtaken && !isSecond && reading.generation === ledger.generation && !reading.isPartial,
    recent: [...kept, { ...window, sentAtMs, crossingHashes, reachesBack }],
  }
}

/**
 * Decides what a reading covers, once its changes are known: the part of its window that had settled when its request
 * was sent, by the slower of the two clocks, without the spans that upstream may still derive from a push.
 */
export function settleReading(
  reading: {
    readonly window: Span
    readonly sentAtMs: number
    readonly serverAtMs: number | undefined
    readonly word: DerivationState | undefined
  },
  { awaiting }: Pick<LedgerState, 'awaiting'>,
  {
    mayCover,
    firstChangeMs,
    rule,
  }: {
    readonly mayCover: boolean
    /** The end of the oldest record that the reading changed; undefined when it changed none. */
    readonly firstChangeMs: number | undefined
    readonly rule: SettleRule
  },
): CoverageChange {
  const { window, sentAtMs, serverAtMs, word } = reading
  const knownAtMs = Math.min(sentAtMs, serverAtMs ?? sentAtMs)
  const settledUntilMs = knownAtMs - rule.settleMs
  // The newest days change from hour to hour. That says nothing about what was pushed for older days.
  const changed = firstChangeMs !== undefined && firstChangeMs <= settledUntilMs
  const left = partsAfterReading(awaiting, { window, sentAtMs, knownAtMs, word, changed, mayCover }, rule)
  if (!mayCover) return { covers: [], uncovers: [], awaiting: left }
  const settled = intersect([window], [{ startMs: Number.NEGATIVE_INFINITY, endMs: settledUntilMs }])
  if (word === 'pending') return { covers: [], uncovers: settled, awaiting: pendingParts(left, settled, sentAtMs) }
  return { covers: subtract(settled, union(left)), uncovers: [], awaiting: left }
}
