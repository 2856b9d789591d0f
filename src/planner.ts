import { intersect, type Span, subtract } from './coverage.ts'
import { DAY } from './window.ts'

export type PlanInput = {
  /** What is to be covered. Its end is "now" for a sync, the end of the range for a backfill. */
  wanted: Span
  covered: readonly Span[]
  /** What must not be asked for yet: refused a short while ago, or still being derived upstream. */
  blocked: readonly Span[]
  /** The longest window that one request may ask for. */
  sizeMs: number
  /** How many windows one plan may hold; what is left is due again next time. */
  windowsMax: number
}

/** What is due: wanted less covered less blocked, cut to windows, newest first. */
export function dueWindows(input: PlanInput): Span[] {
  const due = subtract(subtract([input.wanted], input.covered), input.blocked)
  const windows = due.reverse().flatMap((span) => cut(span, input.sizeMs))
  return windows.slice(0, input.windowsMax)
}

/**
 * Cuts from the newest end, at UTC midnights: the newest window holds the open day, the older ones are whole days.
 * Cutting at midnights keeps records that are dated by day out of the seams as far as that can be.
 */
function cut(span: Span, sizeMs: number): Span[] {
  const windows: Span[] = []
  for (let to = span.to; to > span.from; ) {
    const earliest = to - sizeMs
    const midnight = Math.ceil(earliest / DAY) * DAY
    const from = Math.max(span.from, midnight < to ? midnight : earliest)
    windows.push({ from, to })
    to = from
  }
  return windows
}

/** A reading of the last hour. `crossing` names the records it held that reach beyond its window, by `Row.name`. */
export type RecentReading = Span & { readonly sentAtMs: number; readonly crossing: readonly number[] }

/** What the ledger knows of a profile's stream at the moment of commit, its row locked. */
export type LedgerState = {
  readonly generation: number
  readonly digesting: readonly Span[]
  readonly digestedAtMs: number
  readonly recent: readonly RecentReading[]
}

export type Arrival = {
  readonly span: Span
  /** The answer speaks of everything there is, whatever its window: a snapshot. */
  readonly whole: boolean
  readonly crossing: readonly number[]
  readonly sentAtMs: number
  readonly serverAtMs: number | undefined
  readonly generation: number
  readonly settleMs: number
}

export type Verdict =
  /** The reading is so old that newer ones may have been forgotten: it stores nothing and covers nothing. */
  | { readonly kind: 'too-old' }
  | {
      readonly kind: 'admitted'
      /** Newer readings of the same time or its edges: what they held is theirs, not ours. See `isTheirs`. */
      readonly newer: readonly RecentReading[]
      /** Nothing where a newer reading overlaps: then this one cannot speak for its whole window. */
      readonly covers: readonly Span[]
      /** Whether what is missing from this reading may be marked gone. */
      readonly complete: boolean
      readonly recent: readonly RecentReading[]
    }

/** How long a reading may be on its way. Newer readings are remembered for this long. */
export const READING_AGE_MAX_MS = 60 * 60 * 1000

/**
 * Which records a reading must have held if they were there, whatever upstream means by a record that "touches" a
 * window: those wholly inside it. Of others, neighbours may hold the same one, or neither.
 */
export const isInside = (record: Span, window: Span): boolean =>
  record.from >= window.from && record.from < window.to && record.to <= window.to

/** Whether a newer reading has spoken about this record, so that an older one must not. */
export const isTheirs = (record: Span & { readonly name: number }, newer: readonly RecentReading[]): boolean =>
  newer.some((read) => isInside(record, read) || read.crossing.includes(record.name))

/** Decides what a reading may do to the warehouse. Pure: the promises about order and coverage are kept here. */
export function judge(arrival: Arrival, ledger: LedgerState, nowMs: number): Verdict {
  const { whole, sentAtMs, crossing } = arrival
  if (sentAtMs < nowMs - READING_AGE_MAX_MS) return { kind: 'too-old' }
  const { from, to } = arrival.span
  const newer = ledger.recent.filter(
    (read) => read.sentAtMs > sentAtMs && (whole || (read.from <= to && from <= read.to)),
  )
  const overtaken = newer.some((read) => whole || (read.from < to && from < read.to))
  const isAnswered = (read: RecentReading) =>
    read.sentAtMs <= sentAtMs && (whole || (read.from >= from && read.to <= to && newer.length === 0))
  const kept = ledger.recent.filter((read) => read.sentAtMs >= nowMs - READING_AGE_MAX_MS && !isAnswered(read))
  return {
    kind: 'admitted',
    newer,
    covers: overtaken ? [] : settledPart(arrival, ledger),
    complete: !overtaken,
    recent: [...kept, { from, to, sentAtMs, crossing }],
  }
}

/** A reading covers what had settled when its request was sent, by the slower of the two clocks. */
function settledPart(arrival: Arrival, ledger: LedgerState): Span[] {
  if (arrival.generation !== ledger.generation) return []
  const knownAtMs = Math.min(arrival.sentAtMs, arrival.serverAtMs ?? arrival.sentAtMs)
  const settled = { from: Number.NEGATIVE_INFINITY, to: knownAtMs - arrival.settleMs }
  const part = intersect([arrival.span], [settled])
  return arrival.sentAtMs < ledger.digestedAtMs ? subtract(part, ledger.digesting) : part
}
