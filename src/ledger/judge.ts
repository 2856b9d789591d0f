import type { DerivationState } from '../contract/derivation-state.ts'
import { intersect, overlaps, type Span, subtract, union } from '../time/spans.ts'
import { HOUR } from '../time/units.ts'

/**
 * What a reading shows about the edges of its window. `crossingHashes` holds the key hash (`recordKeyHash`) of each record
 * that the reading held and that reaches beyond the window. `reachesBack`: one of these records had begun before the
 * window, so upstream does tell records that began before a window.
 */
export type WindowEdges = { readonly crossingHashes: readonly number[]; readonly reachesBack: boolean }

/** A reading of the last hour. */
export type RecentReading = Span & WindowEdges & { readonly sentAtMs: number }

/** The ledger's row of a profile's stream at the moment of commit, when the row is locked. */
export type LedgerState = {
  readonly generation: number
  readonly digesting: readonly Span[]
  readonly digestedAtMs: number
  readonly recent: readonly RecentReading[]
}

export type ArrivedReading = WindowEdges & {
  readonly window: Span
  /** A reading of a snapshot speaks of everything there is, whatever its window. */
  readonly stream: { readonly kind: 'windowed' | 'snapshot'; readonly settleMs: number }
  readonly sentAtMs: number
  readonly serverAtMs: number | undefined
  readonly word: DerivationState | undefined
  readonly generation: number
}

export type ReadingVerdict =
  /** The profile has no ledger row: it was erased, and nothing of it may be stored. */
  | { readonly kind: 'erased' }
  /** The reading is so old that newer readings may have been forgotten: it stores nothing and covers nothing. */
  | { readonly kind: 'too-old' }
  | AdmissionVerdict

export type AdmissionVerdict = {
  readonly kind: 'admitted'
  /** Newer readings of any window, for a record may reach across several windows. See `isHeldByNewer`. */
  readonly newer: readonly RecentReading[]
  /** The spans that the reading covers: none where a newer reading overlaps, for then it cannot speak for its whole window. */
  readonly covers: readonly Span[]
  /** Whether a record that the reading lacks may be marked gone: not while upstream itself is not done. */
  readonly complete: boolean
  readonly recent: readonly RecentReading[]
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
 * and ends inside it, if the answer itself shows that upstream tells such records. So a record across two windows belongs
 * to the window that holds its end. `mustHaveHeldSql` says the same in SQL.
 */
export const mustHaveHeld = (reading: Span & Pick<WindowEdges, 'reachesBack'>, record: Span): boolean =>
  isInside(record, reading) || (reading.reachesBack && reachesInto(record, reading) && record.endMs <= reading.endMs)

/** Whether a newer reading has spoken about this record, so that an older reading must not. */
export const isHeldByNewer = (record: Span & { readonly keyHash: number }, newer: readonly RecentReading[]): boolean =>
  newer.some((read) => mustHaveHeld(read, record) || read.crossingHashes.includes(record.keyHash))

/** Decides what a reading may do to the warehouse. Pure: the promises about order and coverage are kept here. */
export function judgeReading(reading: ArrivedReading, ledger: LedgerState | undefined, nowMs: number): ReadingVerdict {
  if (!ledger) return { kind: 'erased' }
  const { window, sentAtMs, crossingHashes, reachesBack } = reading
  if (sentAtMs < nowMs - READING_AGE_MAX_MS) return { kind: 'too-old' }
  const isSnapshot = reading.stream.kind === 'snapshot'
  const newer = ledger.recent.filter((read) => read.sentAtMs > sentAtMs)
  const overtaken = newer.some((read) => isSnapshot || overlaps(read, window))
  const touches = (read: RecentReading) => read.startMs <= window.endMs && window.startMs <= read.endMs
  const saysNoMore = (read: RecentReading) =>
    read.sentAtMs <= sentAtMs &&
    (isSnapshot || (read.startMs >= window.startMs && read.endMs <= window.endMs && !newer.some(touches)))
  const kept = ledger.recent.filter((read) => read.sentAtMs >= nowMs - READING_AGE_MAX_MS && !saysNoMore(read))
  return {
    kind: 'admitted',
    newer,
    covers: overtaken ? [] : settledPart(reading, ledger),
    complete: !overtaken && reading.word !== 'pending',
    recent: [...kept, { ...window, sentAtMs, crossingHashes, reachesBack }],
  }
}

/**
 * A reading covers the part of its window that had settled when its request was sent, by the slower of the two clocks.
 * Where upstream gives its word, the word alone says whether upstream has derived from what was pushed: a reading that
 * upstream calls pending covers nothing.
 */
function settledPart(reading: ArrivedReading, ledger: LedgerState): Span[] {
  if (reading.generation !== ledger.generation || reading.word === 'pending') return []
  const knownAtMs = Math.min(reading.sentAtMs, reading.serverAtMs ?? reading.sentAtMs)
  const settled = { startMs: Number.NEGATIVE_INFINITY, endMs: knownAtMs - reading.stream.settleMs }
  const part = intersect([reading.window], [settled])
  if (reading.word === 'finished' || reading.sentAtMs >= ledger.digestedAtMs) return part
  return subtract(part, union(ledger.digesting))
}
