import { scoreTypes } from '../../../base/contract/score.ts'
import { cohortCellOf, cohortNorm, cohortRules } from '../model/cohort.ts'
import { ageOn, sexOf } from '../model/demographics.ts'
import { knownForDays, lookBacks } from '../model/model.ts'
import {
  type Norm,
  restingHeartRateNorm,
  stepsNorm,
  stepsNormOfAll,
  vo2MaxNorm,
  vo2MaxNormOfAll,
} from '../model/norms.ts'
import { median, midRank, roundTo } from '../model/statistics.ts'
import { lastMeasure } from './day-series.ts'
import type { Derivation } from './derivation.ts'

export type ComparedSubject = { readonly category: 'score' | 'biomarker'; readonly name: string; readonly unit: string }
export type Reference = {
  type: 'baseline' | 'demographic' | 'global'
  value: number
  share: number
  properties: Record<string, string | number>
}

const comparedBiomarkers = {
  steps: 'count',
  sleep_duration: 'minute',
  heart_rate_resting: 'bpm',
  heart_rate_variability_sdnn: 'ms',
  heart_rate_variability_rmssd: 'ms',
  vo2_max: 'mL/kg/min',
} as const

export const comparedSubjects: readonly ComparedSubject[] = [
  ...scoreTypes.map((name) => ({ category: 'score' as const, name, unit: 'index' })),
  ...Object.entries(comparedBiomarkers).map(([name, unit]) => ({ category: 'biomarker' as const, name, unit })),
]

/** The number of a score or biomarker on a day, as it is compared; null where there is none. */
export function comparedValue(derivation: Derivation, day: number, name: string): number | null {
  const score = scoreTypes.find((type) => type === name)
  if (score) {
    const value = derivation.scores(day)[score]?.value
    return value === undefined ? null : roundTo(value, 2)
  }
  if (!isCompared(name)) return null
  // An estimated VO2max is the value that the norm expects: compared with the norm, it would always be average.
  const isEstimated = () =>
    derivation.biomarkerValues(day).some((reading) => reading.type === name && reading.estimated)
  return name === 'vo2_max' && isEstimated() ? null : derivation.biomarkerNumber(day, name)
}

function isCompared(name: string): name is keyof typeof comparedBiomarkers {
  return name in comparedBiomarkers
}

type ComparedValue = { day: number; value: number; subject: ComparedSubject }

/** The references that a value can be compared with: the own days, people of that sex and age, everyone. */
export function referencesFor(derivation: Derivation, compared: ComparedValue): Reference[] {
  return [
    baselineReference(derivation, compared),
    demographicReference(derivation, compared),
    globalReference(derivation, compared),
  ].flatMap((reference) => reference ?? [])
}

function baselineReference(derivation: Derivation, { day, value, subject }: ComparedValue): Reference | null {
  const rules = lookBacks.comparison
  const known = derivation.series
    .between(day - rules.days, day - 1)
    .flatMap((facts) => comparedValue(derivation, facts.day, subject.name) ?? [])
    .slice(-rules.valuesMax)
  if (known.length < rules.valuesMin) return null
  return {
    type: 'baseline',
    value: median(known),
    share: midRank(known, value),
    properties: { basis: 'own days', n: known.length },
  }
}

/** A published norm by sex and age, else the account's own cohort if it is large enough (k-anonymity). */
function demographicReference(derivation: Derivation, { day, value, subject }: ComparedValue): Reference | null {
  const { demographics, cohort } = derivation
  const [sex, age] = [sexOf(demographics), ageOn(demographics, day)]
  if (sex === null || age === null) return null
  const published = publishedFor(derivation, { day, name: subject.name, sex, age })
  if (published) return normReference('demographic', published, value)
  const cell = cohortCellOf(demographics, day)
  const ofAll = cohort?.all[subject.name]
  if (!usesCohort(subject) || cell === null || !ofAll || ofAll.n < cohortRules.profilesMin) return null
  const norm = cohortNorm(cohort.cells[cell]?.[subject.name], {
    normId: `account-cohort-${cell}`,
    nMin: cohortRules.cellMin,
  })
  return norm && normReference('demographic', norm, value)
}

function publishedFor(
  derivation: Derivation,
  { day, name, sex, age }: { day: number; name: string; sex: 'Female' | 'Male'; age: number },
): Norm | null {
  if (name === 'steps') return stepsNorm(sex, age)
  if (name === 'heart_rate_resting') return restingHeartRateNorm(sex)
  if (name !== 'vo2_max') return null
  const weight = lastMeasure(derivation.series, day, { name: 'weight', daysMax: knownForDays.body })
  return vo2MaxNorm({ sex, age, weightKg: weight?.value ?? null })
}

function globalReference({ cohort }: Derivation, { value, subject }: ComparedValue): Reference | null {
  if (subject.name === 'steps') return normReference('global', stepsNormOfAll(), value)
  if (subject.name === 'heart_rate_resting') return normReference('global', restingHeartRateNorm(null), value)
  if (subject.name === 'vo2_max') return normReference('global', vo2MaxNormOfAll(), value)
  if (!usesCohort(subject)) return null
  const norm = cohortNorm(cohort?.all[subject.name], { normId: 'account-cohort', nMin: cohortRules.profilesMin })
  return norm && normReference('global', norm, value)
}

/** Heart rate variability differs so much between people that only the person's own baseline means anything. */
function usesCohort({ category, name }: ComparedSubject): boolean {
  return category === 'score' || name === 'sleep_duration'
}

function normReference(type: 'demographic' | 'global', norm: Norm & { n?: number }, value: number): Reference {
  const { normId, middle } = norm
  const basis = norm.n === undefined ? 'published norm' : 'account cohort'
  const size = norm.n === undefined ? {} : { n: norm.n }
  return { type, value: middle, share: norm.shareBelow(value), properties: { basis, normId, ...size } }
}

/** How large a value is within the reference. Whether large is good, `isHigherBetter` says. */
export function magnitude(share: number): 'very_low' | 'low' | 'average' | 'high' | 'very_high' {
  if (share < 0.1) return 'very_low'
  if (share < 0.25) return 'low'
  if (share < 0.75) return 'average'
  return share < 0.9 ? 'high' : 'very_high'
}
