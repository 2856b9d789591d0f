import type { Span } from '../../base/time/spans.ts'

/** When a reading is believed that records are gone. */
export type Belief = {
  /** The share of the stored records of a window, of MANY_RECORDS and more, that one reading may mark gone. 1: any share. */
  readonly goneShareMax: number
  /** The least time between the requests of a first and a second reading. */
  readonly spacingMs: number
}

/** A reading that was not believed: the key hashes of the stored records that it lacked. */
export type DoubtedReading = Span & { readonly sentAtMs: number; readonly lackedHashes: readonly number[] }

/** If a window holds fewer records, one reading may mark any share of them gone, except all. */
export const MANY_RECORDS = 10

/** The part of a reading that raises or settles doubts about stored records. */
export type TestedReading = {
  readonly window: Span
  readonly sentAtMs: number
  readonly heldHashes: ReadonlySet<number>
  /** Whether the reading may mark records gone. */
  readonly complete: boolean
  /** The records that it would mark gone, if these are more than one reading may mark; otherwise empty. */
  readonly lackedHashes: readonly number[]
}

export type DoubtVerdict = {
  /** The reading alone is not believed: nothing may be marked gone, and nothing covered. */
  readonly isDoubted: boolean
  /** The doubts to remember after the reading. */
  readonly doubts: readonly DoubtedReading[]
}

/**
 * Whether a reading is believed that would mark more records gone than one reading may. It is, when earlier readings lacked
 * each of these records too. A record that a later reading holds is doubted no more.
 */
export function judgeDoubts(reading: TestedReading, before: readonly DoubtedReading[], belief: Belief): DoubtVerdict {
  const { window, sentAtMs, heldHashes, lackedHashes, complete } = reading
  const open = before.flatMap((doubt) => (doubt.sentAtMs < sentAtMs ? without(doubt, heldHashes) : [doubt]))
  const lackedEarlier = new Set(
    open.flatMap((doubt) => (doubt.sentAtMs <= sentAtMs - belief.spacingMs ? doubt.lackedHashes : [])),
  )
  const isDoubted = lackedHashes.some((hash) => !lackedEarlier.has(hash))
  if (isDoubted) {
    const known = new Set(open.flatMap((doubt) => doubt.lackedHashes))
    const added = lackedHashes.filter((hash) => !known.has(hash))
    return { isDoubted, doubts: added.length > 0 ? [...open, { ...window, sentAtMs, lackedHashes: added }] : open }
  }
  const isAnswered = ({ startMs, endMs, ...doubt }: DoubtedReading) =>
    complete && doubt.sentAtMs < sentAtMs && startMs >= window.startMs && endMs <= window.endMs
  const gone = new Set(lackedHashes)
  return { isDoubted, doubts: open.filter((doubt) => !isAnswered(doubt)).flatMap((doubt) => without(doubt, gone)) }
}

/** The doubt of the other records; none when no record is left. */
function without(doubt: DoubtedReading, hashes: ReadonlySet<number>): DoubtedReading[] {
  const lackedHashes = doubt.lackedHashes.filter((hash) => !hashes.has(hash))
  return lackedHashes.length > 0 ? [{ ...doubt, lackedHashes }] : []
}
