import type { Span } from '../../base/time/spans.ts'

/** When a reading may mark records gone. */
export type Belief = {
  /** The share of the stored records of a window, of MANY_RECORDS and more, that one reading may mark gone. 1: any share. */
  readonly goneShareMax: number
  /** The least time between the requests of a first and a second reading. */
  readonly spacingMs: number
}

/** The key hashes of the stored records that a suspicious reading lacked. The ledger keeps them until later readings agree. */
export type Suspicion = Span & { readonly sentAtMs: number; readonly lackedHashes: readonly number[] }

/** If a window holds fewer records, one reading may mark any share of them gone, except all. */
export const MANY_RECORDS = 10

/**
 * Whether a reading that would mark more records gone than one reading may is believed: only when earlier readings lacked each
 * of these records too. A record that a later reading holds is not missing any more.
 */
export function judgeSuspicions(
  reading: {
    readonly window: Span
    readonly sentAtMs: number
    readonly heldHashes: ReadonlySet<number>
    /** Whether the reading may mark records gone. */
    readonly complete: boolean
    /** The records that it would mark gone, if these are more than one reading may mark; otherwise empty. */
    readonly lackedHashes: readonly number[]
  },
  before: readonly Suspicion[],
  belief: Belief,
): { readonly isSuspicious: boolean; readonly suspicions: readonly Suspicion[] } {
  const { window, sentAtMs, heldHashes, lackedHashes, complete } = reading
  const open = before.flatMap((suspicion) =>
    suspicion.sentAtMs < sentAtMs ? without(suspicion, heldHashes) : [suspicion],
  )
  const lackedEarlier = new Set(
    open.flatMap((suspicion) => (suspicion.sentAtMs <= sentAtMs - belief.spacingMs ? suspicion.lackedHashes : [])),
  )
  const isSuspicious = lackedHashes.some((hash) => !lackedEarlier.has(hash))
  if (isSuspicious) {
    const known = new Set(open.flatMap((suspicion) => suspicion.lackedHashes))
    const added = lackedHashes.filter((hash) => !known.has(hash))
    return {
      isSuspicious,
      suspicions: added.length > 0 ? [...open, { ...window, sentAtMs, lackedHashes: added }] : open,
    }
  }
  const isAnswered = ({ startMs, endMs, ...suspicion }: Suspicion) =>
    complete && suspicion.sentAtMs < sentAtMs && startMs >= window.startMs && endMs <= window.endMs
  const gone = new Set(lackedHashes)
  return {
    isSuspicious,
    suspicions: open.filter((suspicion) => !isAnswered(suspicion)).flatMap((suspicion) => without(suspicion, gone)),
  }
}

/** The suspicion of the other records; none when no record is left. */
function without(suspicion: Suspicion, hashes: ReadonlySet<number>): Suspicion[] {
  const lackedHashes = suspicion.lackedHashes.filter((hash) => !hashes.has(hash))
  return lackedHashes.length > 0 ? [{ ...suspicion, lackedHashes }] : []
}
