import { describe, expect, test } from 'vitest'
import { comparisonAnswerSchema } from '../../../src/base/contract/comparison.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { magnitude } from '../../../src/service/derive/days/references.ts'
import { type Cohort, cohortNorm } from '../../../src/service/derive/model/cohort.ts'
import type { Demographics } from '../../../src/service/derive/model/demographics.ts'
import { stepsNorm, stepsNormOfAll, vo2MaxNorm } from '../../../src/service/derive/model/norms.ts'
import { derive } from './derive-at-once.ts'
import { daysFrom, log, profileId, unknownDemographics } from './made-logs.ts'

const asOf = '2026-04-02T00:00:00Z'
const month = daysFrom('2026-03-02', 28)
const walking = (of: (place: number) => number, days = month) =>
  days.map((day, place) => log('steps', `${day}T09:00:00Z`, [60, of(place)]))

function comparison(
  logs: readonly DataLog[],
  [name, day]: readonly [string, string],
  person: Partial<Demographics> = {},
  cohort: Cohort | null = null,
) {
  const { comparisons } = derive({
    logs,
    asOfMs: Date.parse(asOf),
    demographics: { ...unknownDemographics, ...person },
    profileId,
    cohort,
  })
  for (const comparison of comparisons) comparisonAnswerSchema.parse(comparison)
  const found = comparisons.find(
    (comparison) => comparison['name'] === name && String(comparison['startDateTime']).startsWith(day),
  )
  // The contract's own schema has just checked the type.
  return (found?.['data'] as { type: string; [key: string]: unknown }[] | undefined) ?? []
}

describe('a comparison', () => {
  test('with one’s own days needs fourteen days without the day itself, and has a median and no percentile', () => {
    // 1,000 to 14,000 before: median 7,500. 15,000 is above all of them: very high, +100 %.
    const logs = walking((place) => 1000 * (place + 1), month.slice(0, 15))
    expect(comparison(logs, ['steps', '2026-03-16']).find(({ type }) => type === 'baseline')).toEqual({
      type: 'baseline',
      value: 7500,
      percentile: null,
      difference: 7500,
      percentageDifference: 1,
      state: 'very_high',
      properties: { basis: 'own days', n: 14 },
    })
    expect(comparison(logs, ['steps', '2026-03-15']).map(({ type }) => type)).toEqual(['global'])
  })
  test('with people of the same sex and age uses the published table that it names', () => {
    const logs = walking(() => 10015, month.slice(0, 1))
    const [demographic] = comparison(logs, ['steps', '2026-03-02'], { gender: 'Male', age: 44 })
    expect(demographic).toMatchObject({
      type: 'demographic',
      value: 10015,
      percentile: 50,
      difference: 0,
      state: 'average',
      properties: { normId: 'nhanes-2011-2014-stepcount-ssl', basis: 'published norm' },
    })
    expect(comparison(logs, ['steps', '2026-03-02'], { gender: 'Male' }).map(({ type }) => type)).toEqual(['global'])
  })
  test('of a resting heart rate uses the normal curve of the sex', () => {
    const rates = [log('resting_heart_rate', '2026-03-02T09:00:00Z', [0, 71.1])]
    // (71.1 - 63.6) / 7.5 = 1: 84.1 %.
    expect(comparison(rates, ['heart_rate_resting', '2026-03-02'], { gender: 'Male', age: 30 })[0]).toMatchObject({
      percentile: 84.1,
      state: 'high',
    })
  })
  test('of a vital names the norm of the person, and that of everyone', () => {
    const man = { gender: 'Male', age: 30 }
    const norms = (logs: readonly DataLog[], name: string) =>
      comparison(logs, [name, '2026-03-02'], man).map(({ properties }) => properties)
    const of = (normId: string) => ({ basis: 'published norm', normId })
    const at = '2026-03-02T09:00:00Z'
    const [rate, vo2Max] = [log('resting_heart_rate', at, [0, 60]), log('vo2_max', at, [0, 45])]
    expect(norms([rate], 'heart_rate_resting')).toEqual([of('wearables-quer-2020-by-sex'), of('wearables-quer-2020')])
    expect(norms([vo2Max], 'vo2_max')).toEqual([of('friend-treadmill'), of('friend-treadmill-all-adults')])
    // The weight is known, and the night of the day is an estimate; a VO2max that is estimated itself is not compared.
    const weight = log('weight', at, [0, 70])
    const inBed = log('sleep_stage_in_bed', '2026-03-01T23:00:00Z', [480, 480])
    expect(norms([vo2Max, weight, inBed], 'vo2_max')).toEqual([
      of('friend-myers-2017'),
      of('friend-treadmill-all-adults'),
    ])
    expect(norms([weight], 'vo2_max')).toEqual([])
  })
  test('of VO2max uses the weight where it is known, else age and sex', () => {
    // 79.9 - 0.39×40 - 13.7 - 0.127×(70×2.20462) = 31.00
    expect(vo2MaxNorm({ sex: 'Female', age: 40, weightKg: 70 }).middle).toBeCloseTo(31.001, 3)
    expect(vo2MaxNorm({ sex: 'Male', age: 25, weightKg: null }).middle).toBe(48)
    // Half-way from 25 to 75.
    expect(vo2MaxNorm({ sex: 'Female', age: 50, weightKg: null }).middle).toBeCloseTo(27.95, 10)
  })
  test('of variability uses the own days only', () => {
    const logs = [40, 45, 50].map((value, place) =>
      log('heart_rate_variability_rmssd', `2026-03-02T0${place + 7}:00:00Z`, [0, value]),
    )
    const quantiles = { heart_rate_variability_rmssd: { n: 50, values: [20, 40, 60] } }
    const everyone: Cohort = { all: quantiles, cells: { 'Male 30': quantiles } }
    const person = { gender: 'Male', age: 30 }
    expect(comparison(logs, ['heart_rate_variability_rmssd', '2026-03-02'], person, everyone)).toEqual([])
  })
  test('the median of all adults lies at half', () => {
    const norm = stepsNormOfAll()
    expect(norm.shareBelow(norm.middle)).toBeCloseTo(0.5, 6)
    expect(stepsNorm('Female', 25).shareBelow(5826)).toBeCloseTo(0.25, 6)
    expect(stepsNorm('Female', 95).shareBelow(0)).toBeGreaterThan(0)
  })
})

describe('an account’s own people', () => {
  const quantiles = (n: number) => ({ n, values: Array.from({ length: 21 }, (_, place) => 300 + 10 * place) })
  const night = [log('sleep_stage_sleeping', '2026-03-01T23:00:00Z', [450, 450])]
  const person = { gender: 'Female', age: 34 }
  const cohort = (n: number, cell: number): Cohort => ({
    all: { sleep_duration: quantiles(n) },
    cells: { 'Female 30': { sleep_duration: quantiles(cell) } },
  })

  test('are used where nothing is published, when the cohort is large enough', () => {
    // 300 to 500 in twentieths: 450 is at 75 %.
    const both = comparison(night, ['sleep_duration', '2026-03-02'], person, cohort(50, 10))
    expect(both).toMatchObject([
      {
        type: 'demographic',
        percentile: 75,
        value: 400,
        state: 'high',
        properties: { n: 10, basis: 'account cohort', normId: 'account-cohort-Female 30' },
      },
      { type: 'global', percentile: 75, properties: { n: 50, normId: 'account-cohort' } },
    ])
  })
  test('are used for an estimated night, as for a measured one', () => {
    const inBed = [log('sleep_stage_in_bed', '2026-03-01T23:00:00Z', [500, 500])]
    const [global] = comparison(inBed, ['sleep_duration', '2026-03-02'], {}, cohort(50, 10))
    expect(global).toMatchObject({ type: 'global', difference: 50 })
  })
  test('are used for scores, by the value that is served', () => {
    // 9,050 steps are at 0.93 and 1/20 of the way to 1: 0.9335.
    const scores = { n: 50, values: [0, 0.5, 1] }
    const everyone: Cohort = { all: { activity: scores }, cells: { 'Female 30': { activity: scores } } }
    const found = comparison(
      walking(() => 9050, month.slice(0, 1)),
      ['activity', '2026-03-02'],
      person,
      everyone,
    )
    expect(found).toMatchObject([
      { type: 'demographic', value: 0.5, difference: 0.43, percentile: 93 },
      { type: 'global', value: 0.5, difference: 0.43, percentile: 93 },
    ])
  })
  test('are not used below fifty people, or ten in the group', () => {
    expect(comparison(night, ['sleep_duration', '2026-03-02'], person, cohort(49, 10))).toEqual([])
    expect(comparison(night, ['sleep_duration', '2026-03-02'], person, cohort(50, 9)).map(({ type }) => type)).toEqual([
      'global',
    ])
    expect(cohortNorm(undefined, { normId: '', nMin: 0 })).toBeNull()
  })
})

test('magnitude changes at a tenth, a quarter, three quarters and nine tenths', () => {
  expect([0.09, 0.1, 0.24, 0.25, 0.74, 0.75, 0.89, 0.9].map(magnitude)).toEqual([
    'very_low',
    'low',
    'low',
    'average',
    'average',
    'high',
    'high',
    'very_high',
  ])
})
