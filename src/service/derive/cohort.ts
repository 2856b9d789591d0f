import { ageOn, type Person, sexOf } from './log.ts'
import type { Norm } from './norms.ts'
import { interpolate } from './statistics.ts'

/**
 * What an account's own profiles come to, where nothing fit to compare with is published. One value a person, so that
 * nobody with many days weighs more; quantiles only, so that no person's value can be read back.
 */
export type Cohort = {
  readonly all: Readonly<Record<string, Quantiles>>
  /** By sex and decade of age, as `cellOf` names them. */
  readonly cells: Readonly<Record<string, Readonly<Record<string, Quantiles>>>>
}

/** `values` are the quantiles at 0, 0.05 … 1. */
export type Quantiles = { readonly n: number; readonly values: readonly number[] }

export const cohortRules = { profilesMin: 50, cellMin: 10, quantiles: 21 } as const

export function cellOf(person: Person, day: number): string | null {
  const [sex, age] = [sexOf(person), ageOn(person, day)]
  return sex === null || age === null ? null : `${sex} ${Math.floor(age / 10) * 10}`
}

export function cohortNorm(
  quantiles: Quantiles | undefined,
  { normId, nMin }: { normId: string; nMin: number },
): (Norm & { n: number }) | null {
  if (!quantiles || quantiles.n < nMin || quantiles.values.length < 2) return null
  const steps = quantiles.values.length - 1
  const curve = quantiles.values.map((value, place): [number, number] => [value, place / steps])
  const rising = curve.filter(([value], place) => curve[place + 1]?.[0] !== value)
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
