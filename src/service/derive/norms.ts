import type { Sex } from './log.ts'
import { stepsBandsFrom, stepsNormId, stepsNorms, stepsPercentiles } from './norms-steps.ts'
import { interpolate, normalShare } from './statistics.ts'

/** A reference to compare with: its middle, and the share of it that lies at or below a value. */
export type Norm = { readonly normId: string; readonly middle: number; readonly shareBelow: (x: number) => number }

/**
 * Resting heart rate of wearers: mean 65.5, deviation 7.7, range 40-109 (Quer 2020); women 2-3 higher (Fitbit). The two
 * means are set so that 63 % women give 65.5. Clinics find 71 and 74 in seated people (Ostchega, NHANES 1999-2008).
 */
export const restingHeartRate = {
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
export const vo2MaxSpread = 7.2
/** The ages of those it was made from. */
export const vo2MaxAges = [20, 79] as const
const poundsPerKg = 2.20462

/** The band of a person's age, for those with both age and sex. */
export function stepsNorm(sex: Sex | 'Overall', age: number): Norm {
  const band = stepsBandsFrom.findLastIndex((from) => age >= from)
  const row: readonly number[] = stepsNorms[sex][Math.max(0, band)] ?? []
  const curve = row.flatMap((steps, place): [number, number][] => [[steps, (stepsPercentiles[place] ?? 0) / 100]])
  const middle = row[stepsPercentiles.indexOf(50)] ?? 0
  return { normId: stepsNormId, middle, shareBelow: (x) => interpolate(strictly(curve), x) }
}

/** All adults as one: the mean of the decades from 20 to 69 of both sexes, place by place. */
export function stepsNormOfAll(): Norm {
  const rows: (readonly number[])[] = stepsNorms.Overall.slice(2, 7)
  const curve = stepsPercentiles.map((percentile, place): [number, number] => {
    const total = rows.reduce((sum, row) => sum + (row[place] ?? 0), 0)
    return [total / rows.length, percentile / 100]
  })
  const middle = curve[stepsPercentiles.indexOf(50)]?.[0] ?? 0
  return { normId: `${stepsNormId}-all-adults`, middle, shareBelow: (x) => interpolate(curve, x) }
}

/** Equal neighbours (whole bands of zeros among the oldest) keep the highest percentile: P(reference <= x). */
function strictly(curve: readonly [number, number][]): [number, number][] {
  return curve.filter(([x], place) => curve[place + 1]?.[0] !== x)
}

export function restingHeartRateNorm(sex: Sex | null): Norm {
  const { mean, spread } = restingHeartRate[sex ?? 'all']
  return normalNorm(sex === null ? 'wearables-quer-2020' : 'wearables-quer-2020-by-sex', mean, spread)
}

export function vo2MaxNorm(person: { sex: Sex; age: number; weightKg: number | null }): Norm {
  if (person.weightKg === null) {
    return normalNorm('friend-treadmill', interpolate(friendMedians[person.sex], person.age), vo2MaxSpread)
  }
  return normalNorm('friend-myers-2017', vo2MaxExpected({ ...person, weightKg: person.weightKg }), vo2MaxSpread)
}

export function vo2MaxExpected({ sex, age, weightKg }: { sex: Sex; age: number; weightKg: number }): number {
  const female = sex === 'Female' ? 1 : 0
  return 79.9 - 0.39 * age - 13.7 * female - 0.127 * weightKg * poundsPerKg
}

/** Both sexes at 45, the middle of the decades that were measured. */
export function vo2MaxNormOfAll(): Norm {
  const middle = (interpolate(friendMedians.Male, 45) + interpolate(friendMedians.Female, 45)) / 2
  return normalNorm('friend-treadmill-all-adults', middle, 1.5 * vo2MaxSpread)
}

function normalNorm(normId: string, mean: number, spread: number): Norm {
  return { normId, middle: mean, shareBelow: (x) => normalShare((x - mean) / spread) }
}
