/** The header in which every derived answer says whether it is complete for the range that was asked for. */
export const DERIVATION_STATE_HEADER = 'derivation-state'

/** `pending`: changes that upstream has acknowledged are still to be derived, and they may change the asked range. */
export const derivationStates = ['finished', 'pending'] as const

export type DerivationState = (typeof derivationStates)[number]

/** The kinds of derived records. */
export type DerivedKind = 'score' | 'biomarker' | 'archetype' | 'trend' | 'comparison'
