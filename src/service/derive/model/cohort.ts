import { ageOn, type Demographics, sexOf } from './demographics.ts'
import type { Norm } from './norms.ts'
import { interpolate, withoutEqualNeighbours } from './statistics.ts'

/**
 * The distribution of an account's own profiles, to compare with where no norm is published. One value for each person,
 * so that a person with many days weighs no more than others; quantiles only, so that no person's value can be read back.
 * Stored as JSON: keep keys and their order.
 */
export type Cohort = {
  readonly all: Readonly<Record<string, Quantiles>>
  /** By sex and decade of age, as `cohortCellOf` names them. */
  readonly cells: Readonly<Record<string, Readonly<Record<string, Quantiles>>>>
}

/** `values` are the quantiles at 0, 0.05 … 1. */
export type Quantiles = { readonly n: number; readonly values: readonly number[] }

/** Fewer profiles than these are never used (k-anonymity): of a whole account, and of one cell. */
export const cohortRules = { profilesMin: 50, cellMin: 10, quantiles: 21 } as const

export function cohortCellOf(demographics: Demographics, day: number): string | null {
  const [sex, age] = [sexOf(demographics), ageOn(demographics, day)]
  return sex === null || age === null ? null : `${sex} ${Math.floor(age / 10) * 10}`
}

export function cohortNorm(
  quantiles: Quantiles | undefined,
  { normId, nMin }: { normId: string; nMin: number },
): (Norm & { n: number }) | null {
  if (!quantiles || quantiles.n < nMin || quantiles.values.length < 2) return null
  const steps = quantiles.values.length - 1
  const curve = quantiles.values.map((value, index): [number, number] => [value, index / steps])
  const rising = withoutEqualNeighbours(curve)
  return {
    normId,
    n: quantiles.n,
    middle: interpolate(
      curve.map(([value, share]) => [share, value]),
      0.5,
    ),
    shareBelow: (x) => (x < (rising[0]?.[0] ?? 0) ? 0 : interpolate(rising, x)),
  }
}
