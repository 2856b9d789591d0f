import { scoreTypes } from '../../contract/score.ts'
import { lowerIsBetter } from './archetype-model.ts'
import { cellOf, cohortNorm, cohortRules } from './cohort.ts'
import type { Derivation } from './derivation.ts'
import { ageOn, sexOf } from './log.ts'
import { keepDays, windows } from './model.ts'
import { type Norm, restingHeartRateNorm, stepsNorm, stepsNormOfAll, vo2MaxNorm, vo2MaxNormOfAll } from './norms.ts'
import { comparedUnit, type Draft, recordId, wholeDays } from './records.ts'
import { lastMeasure } from './series.ts'
import { median, midRank, roundTo } from './statistics.ts'

type Subject = { readonly category: 'score' | 'biomarker'; readonly name: string; readonly unit: string }
type Reference = {
  type: 'baseline' | 'demographic' | 'global'
  value: number
  share: number
  properties: Record<string, string | number>
}

const biomarkers = {
  steps: 'count',
  sleep_duration: 'minute',
  heart_rate_resting: 'bpm',
  heart_rate_variability_sdnn: 'ms',
  heart_rate_variability_rmssd: 'ms',
  vo2_max: 'mL/kg/min',
} as const

type Compared = keyof typeof biomarkers

export const subjects: readonly Subject[] = [
  ...scoreTypes.map((name) => ({ category: 'score' as const, name, unit: 'index' })),
  ...Object.entries(biomarkers).map(([name, unit]) => ({ category: 'biomarker' as const, name, unit })),
]

/** How a day that is over compares with the person's own days, with people like them, and with everyone. */
export function dayComparisons(derivation: Derivation, day: number): Draft[] {
  const facts = derivation.factsOn(day)
  if (!facts || !derivation.isOver(day)) return []
  const period = wholeDays(day, day, facts.offset)
  return subjects.flatMap((subject) => {
    const value = comparedValue(derivation, day, subject.name)
    if (value === null) return []
    const data = references(derivation, { day, value, subject }).map((reference) => referenceRecord(reference, value))
    if (data.length === 0) return []
    const { category, name, unit } = subject
    const id = recordId(derivation.profileId, ['comparison', category, name, comparedUnit(day)])
    const { startDateTime, endDateTime, startAt, endAt } = period
    const isHigherBetter = !lowerIsBetter.includes(name)
    const head = { id, type: 'comparison', category, name, value, unit, isHigherBetter, periodicity: 'daily' }
    const body = { ...head, startDateTime, endDateTime, data }
    return [
      {
        kind: 'comparison' as const,
        id,
        name,
        category,
        periodicity: 'daily',
        unit: comparedUnit(day),
        startAt,
        endAt,
        body,
      },
    ]
  })
}

export function comparedValue(derivation: Derivation, day: number, name: string): number | null {
  const score = scoreTypes.find((type) => type === name)
  if (score) {
    const value = derivation.scores(day)[score]?.value
    return value === undefined ? null : roundTo(value, 2)
  }
  if (!isCompared(name)) return null
  // An estimate is what the norm expects of such a person: compared with it, it would always be average.
  const estimated = derivation.readings(day).some((reading) => reading.type === name && reading.estimated)
  return name === 'vo2_max' && estimated ? null : derivation.reading(day, name)
}

function isCompared(name: string): name is Compared {
  return name in biomarkers
}

type Question = { day: number; value: number; subject: Subject }

function references(derivation: Derivation, question: Question): Reference[] {
  return [ownBaseline(derivation, question), demographic(derivation, question), everyone(derivation, question)].flatMap(
    (reference) => reference ?? [],
  )
}

function ownBaseline(derivation: Derivation, { day, value, subject }: Question): Reference | null {
  const rules = windows.comparison
  const known = derivation
    .daysBetween(day - rules.days, day - 1)
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

/** Published tables by sex and age; where there are none, the account's own people when they are enough to hide in. */
function demographic(derivation: Derivation, { day, value, subject }: Question): Reference | null {
  const { person, cohort } = derivation
  const [sex, age] = [sexOf(person), ageOn(person, day)]
  if (sex === null || age === null) return null
  const published = publishedFor(derivation, { day, name: subject.name, sex, age })
  if (published) return normReference('demographic', published, value)
  const cell = cellOf(person, day)
  const whole = cohort?.all[subject.name]
  if (!usesCohort(subject) || cell === null || !whole || whole.n < cohortRules.profilesMin) return null
  const norm = cohortNorm(cohort?.cells[cell]?.[subject.name], {
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
  const weight = lastMeasure(derivation.series, day, { name: 'weight', keptDays: keepDays.body })
  return vo2MaxNorm({ sex, age, weightKg: weight?.value ?? null })
}

function everyone({ cohort }: Derivation, { value, subject }: Question): Reference | null {
  if (subject.name === 'steps') return normReference('global', stepsNormOfAll(), value)
  if (subject.name === 'heart_rate_resting') return normReference('global', restingHeartRateNorm(null), value)
  if (subject.name === 'vo2_max') return normReference('global', vo2MaxNormOfAll(), value)
  if (!usesCohort(subject)) return null
  const norm = cohortNorm(cohort?.all[subject.name], { normId: 'account-cohort', nMin: cohortRules.profilesMin })
  return norm && normReference('global', norm, value)
}

/** Heart rate variability differs so much between people that only the own baseline says anything. */
function usesCohort({ category, name }: Subject): boolean {
  return category === 'score' || name === 'sleep_duration'
}

function normReference(type: 'demographic' | 'global', norm: Norm & { n?: number }, value: number): Reference {
  const { normId, middle } = norm
  const basis = norm.n === undefined ? 'published norm' : 'account cohort'
  const size = norm.n === undefined ? {} : { n: norm.n }
  return { type, value: middle, share: norm.shareBelow(value), properties: { basis, normId, ...size } }
}

/** How large the value is among those it is compared with; whether that is good, `isHigherBetter` tells. */
export function magnitude(share: number): 'very_low' | 'low' | 'average' | 'high' | 'very_high' {
  if (share < 0.1) return 'very_low'
  if (share < 0.25) return 'low'
  if (share < 0.75) return 'average'
  return share < 0.9 ? 'high' : 'very_high'
}

function referenceRecord({ type, value, share, properties }: Reference, x: number) {
  return {
    type,
    value: roundTo(value, 3),
    percentile: type === 'baseline' ? null : roundTo(share * 100, 1),
    difference: roundTo(x - value, 3),
    percentageDifference: value === 0 ? null : roundTo((x - value) / value, 4),
    state: magnitude(share),
    properties,
  }
}
