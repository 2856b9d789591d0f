/** The kinds of derived records. */
export type DerivedKind = 'score' | 'biomarker' | 'archetype' | 'trend' | 'comparison'
