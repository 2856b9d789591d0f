/** Why a covered window differs from what upstream gives now. */
export const differenceCauses = ['lost-here', 'changed-upstream', 'late-upstream'] as const
export type DifferenceCause = (typeof differenceCauses)[number]

/** A record in which the warehouse and upstream differ, with what the warehouse knows of it. */
export type RecordDifference =
  | {
      readonly kind: 'missing-here'
      /** The warehouse has the record, and marked it gone when a reading lacked it. */
      readonly isMarkedGone: boolean
      /** The history holds a former version: the record was stored once, and records are never deleted. */
      readonly isInHistory: boolean
      /** When upstream made the record, by the record's own field. */
      readonly madeAtMs: number | undefined
      /** A reading that had to hold the record was sent at this instant or later: it held what upstream had made before. */
      readonly readSinceMs: number
    }
  | {
      readonly kind: 'differing'
      /** The stored text is not the text that its digest was made of. */
      readonly isDamaged: boolean
    }
  | { readonly kind: 'missing-upstream' }

/**
 * Whether upstream's tag is false if upstream says by it that nothing has changed: what is stored here, undamaged, came from
 * upstream, and upstream gives it otherwise now, or not at all.
 */
export const contradictsTag = (difference: RecordDifference): boolean =>
  difference.kind === 'missing-upstream' || (difference.kind === 'differing' && !difference.isDamaged)

/**
 * The cause by evidence. `lost-here` needs a proof: upstream's tag is the same, the stored text is damaged, the history
 * knows a record that is missing, or upstream made the record before it was read. Without a proof, a record that was never
 * stored came late, and a record that differs or is missing upstream was changed upstream.
 */
export function differenceCauseOf(
  difference: RecordDifference,
  /** Upstream's tag says that nothing changed since the window was last read. */
  { unchangedUpstream }: { readonly unchangedUpstream: boolean },
): DifferenceCause {
  if (unchangedUpstream) return 'lost-here'
  if (difference.kind === 'missing-upstream') return 'changed-upstream'
  if (difference.kind === 'differing') return difference.isDamaged ? 'lost-here' : 'changed-upstream'
  if (difference.isMarkedGone) return 'changed-upstream'
  const wasThere = difference.madeAtMs !== undefined && difference.madeAtMs <= difference.readSinceMs
  return difference.isInHistory || wasThere ? 'lost-here' : 'late-upstream'
}
