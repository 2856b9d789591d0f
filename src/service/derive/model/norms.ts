import type { Sex } from './demographics.ts'
import { stepsBandsFrom, stepsNormId, stepsNorms, stepsNormsOfAdults, stepsPercentiles } from './norms-steps.ts'
import { interpolate, normalShare, withoutEqualNeighbours } from './statistics.ts'

/** A distribution to compare with: its median, and the share of it at or below a value. */
export type Norm = { readonly normId: string; readonly middle: number; readonly shareBelow: (x: number) => number }

/**
 * Resting heart rate of wearers: mean 65.5, deviation 7.7, range 40-109 (Quer 2020); women 2-3 higher (Fitbit). The two
 * means are set so that 63 % women give 65.5. Clinics find 71 and 74 in seated people (Ostchega, NHANES 1999-2008).
 */
export const restingHeartRates = {
  Male: { mean: 63.6, spread: 7.5 },
  Female: { mean: 66.6, spread: 7.5 },
  all: { mean: 65.5, spread: 7.7 },
} as const

/** VO2max by decade of age (FRIEND, treadmill); ends 20-29 and 70-79 as published, decades between on the line. */
const friendMedians = {
  Male: [
    [25, 48],
    [75, 24.4],
  ],
  Female: [
    [25, 37.6],
    [75, 18.3],
  ],
} as const

/** Myers 2017 (FRIEND): 79.9 - 0.39 age - 13.7 [female] - 0.127 weight in pounds, deviation 7.2. */
const vo2MaxSpread = 7.2
/** The ages of the people that this formula was made from. */
export const vo2MaxAges = [20, 79] as const
const poundsPerKg = 2.20462

/** The norm of steps for a sex and the band of an age. */
export function stepsNorm(sex: Sex, age: number): Norm {
  const band = stepsBandsFrom.findLastIndex((from) => age >= from)
  const row: readonly number[] = stepsNorms[sex][Math.max(0, band)] ?? []
  const curve = row.flatMap((steps, index): [number, number][] => [[steps, (stepsPercentiles[index] ?? 0) / 100]])
  const middle = row[stepsPercentiles.indexOf(50)] ?? 0
  return { normId: stepsNormId, middle, shareBelow: (x) => interpolate(withoutEqualNeighbours(curve), x) }
}

/** The norm of steps for all adults: the mean of the decades from 20 to 69 of both sexes, percentile by percentile. */
export function stepsNormOfAll(): Norm {
  const rows: ReadonlyArray<readonly number[]> = stepsNormsOfAdults
  const curve = stepsPercentiles.map((percentile, index): [number, number] => {
    const total = rows.reduce((sum, row) => sum + (row[index] ?? 0), 0)
    return [total / rows.length, percentile / 100]
  })
  const middle = curve[stepsPercentiles.indexOf(50)]?.[0] ?? 0
  return { normId: `${stepsNormId}-all-adults`, middle, shareBelow: (x) => interpolate(curve, x) }
}

export function restingHeartRateNorm(sex: Sex | null): Norm {
  const { mean, spread } = restingHeartRates[sex ?? 'all']
  return normalNorm(sex === null ? 'wearables-quer-2020' : 'wearables-quer-2020-by-sex', mean, spread)
}

export function vo2MaxNorm(person: { sex: Sex; age: number; weightKg: number | null }): Norm {
  if (person.weightKg === null) {
    return normalNorm('friend-treadmill', interpolate(friendMedians[person.sex], person.age), vo2MaxSpread)
  }
  return normalNorm('friend-myers-2017', vo2MaxExpected({ ...person, weightKg: person.weightKg }), vo2MaxSpread)
}

/** The VO2max that people of this sex, age and weight have on average. */
export function vo2MaxExpected({ sex, age, weightKg }: { sex: Sex; age: number; weightKg: number }): number {
  const female = sex === 'Female' ? 1 : 0
  return 79.9 - 0.39 * age - 13.7 * female - 0.127 * weightKg * poundsPerKg
}

/** The norm of VO2max for all adults: both sexes at 45, the middle of the measured decades. */
export function vo2MaxNormOfAll(): Norm {
  const middle = (interpolate(friendMedians.Male, 45) + interpolate(friendMedians.Female, 45)) / 2
  return normalNorm('friend-treadmill-all-adults', middle, 1.5 * vo2MaxSpread)
}

function normalNorm(normId: string, mean: number, spread: number): Norm {
  return { normId, middle: mean, shareBelow: (x) => normalShare((x - mean) / spread) }
}
