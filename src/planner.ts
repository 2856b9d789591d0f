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

/**
 * What a reading tells of the records at its window's edges. `crossing` names those it held that reach beyond the window,
 * by `shortNameOf`. `reachesBack`: one of them had begun before the window, so upstream does tell of such.
 */
export type Edges = { readonly crossing: readonly number[]; readonly reachesBack: boolean }

/** A reading of the last hour. */
export type RecentReading = Span & Edges & { readonly sentAtMs: number }

/** What the ledger knows of a profile's stream at the moment of commit, its row locked. */
export type LedgerState = {
  readonly generation: number
  readonly digesting: readonly Span[]
  readonly digestedAtMs: number
  readonly recent: readonly RecentReading[]
}

export type Arrival = Edges & {
  readonly span: Span
  /** The answer speaks of everything there is, whatever its window: a snapshot. */
  readonly whole: boolean
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
      /** Newer readings, of any window: a record may reach across several. What they held is theirs. See `isTheirs`. */
      readonly newer: readonly RecentReading[]
      /** Nothing where a newer reading overlaps: then this one cannot speak for its whole window. */
      readonly covers: readonly Span[]
      /** Whether what is missing from this reading may be marked gone. */
      readonly complete: boolean
      readonly recent: readonly RecentReading[]
    }

/** How long a reading may be on its way. Newer readings are remembered for this long. */
export const READING_AGE_MAX_MS = 60 * 60 * 1000

/** Whether a record lies wholly inside a window. */
export const isInside = (record: Span, window: Span): boolean =>
  record.from >= window.from && record.from < window.to && record.to <= window.to

/** Whether a record had begun before a window and reaches into it. */
export const reachesInto = (record: Span, window: Span): boolean => record.from < window.from && record.to > window.from

/**
 * Whether a reading must have held the record if it was there: one that lies wholly inside its window, whatever upstream
 * means by a record that "touches" a window; and one that had begun before and ends inside, where the answer itself shows
 * that upstream tells of such. So a record across a seam belongs to the window that holds its end. `statements.ts` says
 * the same in SQL.
 */
export const mustHaveHeld = (reading: Span & Pick<Edges, 'reachesBack'>, record: Span): boolean =>
  isInside(record, reading) || (reading.reachesBack && reachesInto(record, reading) && record.to <= reading.to)

/** Whether a newer reading has spoken about this record, so that an older one must not. */
export const isTheirs = (record: Span & { readonly name: number }, newer: readonly RecentReading[]): boolean =>
  newer.some((read) => mustHaveHeld(read, record) || read.crossing.includes(record.name))

/** Decides what a reading may do to the warehouse. Pure: the promises about order and coverage are kept here. */
export function judge(arrival: Arrival, ledger: LedgerState, nowMs: number): Verdict {
  const { whole, sentAtMs, crossing, reachesBack } = arrival
  if (sentAtMs < nowMs - READING_AGE_MAX_MS) return { kind: 'too-old' }
  const { from, to } = arrival.span
  const newer = ledger.recent.filter((read) => read.sentAtMs > sentAtMs)
  const overtaken = newer.some((read) => whole || (read.from < to && from < read.to))
  const touches = (read: RecentReading) => read.from <= to && from <= read.to
  const saysNoMore = (read: RecentReading) =>
    read.sentAtMs <= sentAtMs && (whole || (read.from >= from && read.to <= to && !newer.some(touches)))
  const kept = ledger.recent.filter((read) => read.sentAtMs >= nowMs - READING_AGE_MAX_MS && !saysNoMore(read))
  return {
    kind: 'admitted',
    newer,
    covers: overtaken ? [] : settledPart(arrival, ledger),
    complete: !overtaken,
    recent: [...kept, { from, to, sentAtMs, crossing, reachesBack }],
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
