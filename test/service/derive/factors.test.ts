import { describe, expect, test } from 'vitest'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import type { DayFacts, MovementFacts, NightFacts } from '../../../src/service/derive/day/facts.ts'
import { createDerivation } from '../../../src/service/derive/days/derivation.ts'
import { agreement } from '../../../src/service/derive/days/sleep-over-days.ts'
import type { Demographics } from '../../../src/service/derive/model/demographics.ts'
import type { FactorName } from '../../../src/service/derive/model/model.ts'
import { profileId, unknownDemographics, unknownMovement } from './made-logs.ts'

// Monday 2 March 2026, in UTC.
const first = dayNumberFromText('2026-03-02')

const movement = (of: Partial<MovementFacts> = {}): MovementFacts => ({ ...unknownMovement, ...of })

/** A night from a clock time (in minutes; of the evening before where above 720), with its length in minutes. */
const night = (day: number, onset: number, duration: number, of: Partial<NightFacts> = {}): Partial<DayFacts> => {
  const onsetAt = (day * 1440 + (onset > 720 ? onset - 1440 : onset)) * 60_000
  const from = (onsetAt / 60_000 - (day * 1440 - 360)) % 1440
  return {
    night: {
      offset: 0,
      onsetAt,
      wakeAt: onsetAt + duration * 60_000,
      duration,
      inBed: null,
      awake: null,
      light: null,
      deep: null,
      rem: null,
      latency: null,
      interruptions: null,
      awakeAfterOnset: null,
      efficiency: null,
      estimated: false,
      ...of,
    },
    asleep: [[from, from + duration]],
  }
}

const facts = (day: number, of: Partial<DayFacts>): DayFacts => ({
  day,
  offset: 0,
  movement: null,
  night: null,
  naps: null,
  asleep: [],
  exercise: [],
  measures: {},
  ...of,
})

function over(days: readonly DayFacts[], person: Partial<Demographics> = {}) {
  return createDerivation({
    profileId,
    demographics: { ...unknownDemographics, ...person },
    asOfMs: Date.parse('2027-01-01'),
    facts: days,
  })
}

const days = (count: number, of: (place: number, day: number) => Partial<DayFacts>) =>
  Array.from({ length: count }, (_, place) => facts(first + place, of(place, first + place)))

function last(all: readonly DayFacts[], name: FactorName, person: Partial<Demographics> = {}) {
  return over(all, person).factors(all.at(-1)?.day ?? 0)[name]
}

describe('steps', () => {
  const walked = (steps: number, person: Partial<Demographics> = {}) =>
    last(
      days(1, () => ({ movement: movement({ steps }) })),
      'steps',
      person,
    )

  test('have a goal of 10,000, from sixty years on of 8,000', () => {
    expect(walked(10000, { age: 59 })).toMatchObject({ goal: 10000, score: 1 })
    // 8,000 of 8,000 scores like 10,000 of 10,000; 7,200 / 0.8 = 9,000.
    expect(walked(8000, { age: 60 })).toMatchObject({ goal: 8000, score: 1 })
    expect(walked(7200, { age: 60 })?.score).toBeCloseTo(0.93, 10)
  })
  test('score on the line between two points of the curve', () => {
    // Half-way from 3,553 to 5,801: (0.35 + 0.70) / 2.
    expect(walked(4677)?.score).toBeCloseTo(0.525, 10)
  })
  test('do not count on a day that is not valid', () => {
    expect(
      last(
        days(1, () => ({ movement: movement({ steps: 9000, valid: false }) })),
        'steps',
      ),
    ).toBeUndefined()
  })
})

describe('intense activity', () => {
  const active = (count: number, intense: number) =>
    last(
      days(count, () => ({ movement: movement({ intense }) })),
      'intense_activity_duration',
    )

  test('is the week’s mean of the intense minutes', () => {
    expect(active(7, 15)).toMatchObject({ value: 15 })
    // From 10 (0.5) to 21.4 (0.9): 0.5 + 0.4 × 5 / 11.4.
    expect(active(7, 15)?.score).toBeCloseTo(0.6754, 4)
  })
  test('needs three days, and looks at seven', () => {
    expect(active(2, 30)).toBeUndefined()
    expect(active(3, 30)).toMatchObject({ value: 30, score: 1 })
    const week = days(8, (place) => ({ movement: movement({ intense: place === 0 ? 1000 : 7 }) }))
    expect(last(week, 'intense_activity_duration')?.value).toBe(7)
  })
})

describe('regularity of activity', () => {
  const hourly = (at: number) => Array.from({ length: 24 }, (_, hour) => (hour === at ? 1000 : 0))

  test('is 1 when every day is the same', () => {
    expect(
      last(
        days(7, () => ({ movement: movement({ steps: 5000, hourly: hourly(9) }) })),
        'activity_regularity',
      )?.value,
    ).toBeCloseTo(1, 10)
  })
  test('is half the regularity of the amount and half that of the hours', () => {
    // Steps 4,000 5,000 6,000 …: median 5,000, deviations 1,000 0 1,000 …: median 1,000; 1 - 1/5 = 0.8.
    // Six days at nine, today at ten: mean 6/7 and 1/7 of it, cosine 1 / √37 = 0.1644. (0.8 + 0.1644) / 2.
    const steps = [4000, 5000, 6000, 4000, 6000, 4000, 6000]
    const all = days(7, (place) => ({
      movement: movement({ steps: steps[place] ?? 0, hourly: hourly(place === 6 ? 10 : 9) }),
    }))
    expect(last(all, 'activity_regularity')?.value).toBeCloseTo((0.8 + 1 / Math.sqrt(37)) / 2, 6)
  })
  test('is absent with fewer than seven days', () => {
    expect(
      last(
        days(6, () => ({ movement: movement({ steps: 5000, hourly: hourly(9) }) })),
        'activity_regularity',
      ),
    ).toBeUndefined()
  })
})

describe('sleep', () => {
  const slept =
    (durations: readonly number[], person: Partial<Demographics> = {}) =>
    (name: FactorName) =>
      last(
        days(durations.length, (place, day) => night(day, 1380, durations[place] ?? 0)),
        name,
        person,
      )

  test('needs 480 minutes, from 65 on 450', () => {
    expect(slept([480], { age: 64 })('sleep_duration')).toMatchObject({ goal: 480, score: 1 })
    expect(slept([450], { age: 65 })('sleep_duration')).toMatchObject({ goal: 450, score: 1 })
  })
  test('debt is the missing sleep less half of the surplus, scaled to seven nights', () => {
    // 60 + 120 short, 60 over: 180 - 30 = 150 over three nights; × 7 / 3 = 350 minutes = 5.8333 h.
    expect(slept([420, 360, 540])('sleep_debt')?.value).toBeCloseTo(350 / 60, 10)
    expect(slept([600, 600, 420])('sleep_debt')?.value).toBe(0)
    expect(slept([420, 420])('sleep_debt')).toBeUndefined()
  })
  test('the need behind a debt is the own usual sleep once fourteen nights before are known', () => {
    const usual = (count: number, minutes: number) => Array.from({ length: count }, () => minutes)
    // Fourteen nights of 420, then 360: seven nights miss 60 of 420, one hour. Against 480 they missed 8.
    expect(slept([...usual(14, 420), 360])('sleep_debt')).toMatchObject({ value: 1, basis: 'personal' })
    expect(slept([...usual(13, 420), 360])('sleep_debt')).toMatchObject({ value: 8, basis: 'population' })
    // The own usual sleep counts from 6 to 10 hours, from 65 years on from 5 to 9.
    expect(slept([...usual(14, 330), 330])('sleep_debt')?.value).toBe(3.5)
    expect(slept([...usual(14, 330), 330], { age: 70 })('sleep_debt')?.value).toBe(0)
    expect(slept([...usual(14, 620), 570])('sleep_debt')?.value).toBe(0)
  })
  test('for readiness the own usual night is the goal', () => {
    // 400 and 460 in turn: median 430, every deviation 30, spread 44.478. 385.522 is z = -1.
    const ownDays = Array.from({ length: 14 }, (_, place) => (place % 2 === 0 ? 400 : 460))
    const factor = slept([...ownDays, 430 - 44.478])('sleep_duration')
    expect(factor).toMatchObject({ goal: 480, own: { goal: 430 } })
    expect(factor?.own?.score).toBeCloseTo(0.65, 10)
    // Nights that are all alike get a spread of twenty minutes: 20 less is z = -1 too.
    expect(slept([...Array.from({ length: 14 }, () => 430), 410])('sleep_duration')?.own?.score).toBeCloseTo(0.65, 10)
    expect(slept([...ownDays.slice(1), 430])('sleep_duration')).not.toHaveProperty('own')
  })
  test('efficiency is the share of the time in bed', () => {
    const all = days(1, (_, day) => night(day, 1380, 480, { efficiency: 0.875 }))
    // Half-way from 85 (0.85) to 90 (0.95).
    expect(last(all, 'sleep_efficiency')).toMatchObject({ value: 87.5, goal: 90 })
    expect(last(all, 'sleep_efficiency')?.score).toBeCloseTo(0.9, 10)
  })
  test('regularity needs five nights and four pairs of neighbours', () => {
    expect(slept([480, 480, 480, 480, 480])('sleep_regularity')).toMatchObject({ value: 1, score: 1 })
    expect(slept([480, 480, 480, 480])('sleep_regularity')).toBeUndefined()
    const gap = days(6, (_, day) => night(day, 1380, 480)).filter((day) => day.day !== first + 2)
    expect(last(gap, 'sleep_regularity')).toBeUndefined()
  })
  test('regularity is the share of minutes in which neighbours agree', () => {
    // Alternating 23:00 and 00:00 for eight hours: an hour differs at each end, 120 of 1440: 1 - 1/12.
    const all = days(7, (place, day) => night(day, place % 2 === 0 ? 1380 : 0, 480))
    expect(last(all, 'sleep_regularity')?.value).toBeCloseTo(1 - 1 / 12, 10)
    expect(agreement([[300, 780]], [[300, 780]])).toBe(1)
    expect(agreement([[0, 720]], [[720, 1440]])).toBe(0)
  })
  test('rhythm is the distance of the middle of the night from its usual time', () => {
    // Seven nights in the week of Monday, six at 03:00, the last (Sunday) at 04:00. Free: 03:00 and 04:00, half-way
    // 03:30; work 03:00: half an hour of jetlag, half of it 15. 60 + 15.
    const all = days(7, (place, day) => night(day, place === 6 ? 0 : 1380, 480))
    expect(last(all, 'circadian_alignment')?.value).toBeCloseTo(75, 10)
    expect(last(all.slice(0, 6), 'circadian_alignment')).toBeUndefined()
  })
  test('rhythm around midnight is on a clock face, not on a line', () => {
    // Middles at 23:50 and 00:10 in turn, seven nights ending with 23:50: the usual middle is 23:50, so the distance is 0.
    const all = days(7, (place, day) => night(day, place % 2 === 0 ? 1190 : 1210, 480))
    expect(last(all, 'circadian_alignment')?.value).toBeLessThan(30)
  })
  test('continuity and both recoveries are the night’s own figures', () => {
    const all = days(1, (_, day) => night(day, 1380, 480, { awake: 12, awakeAfterOnset: 10, deep: 90, rem: 110 }))
    expect(last(all, 'sleep_continuity')).toMatchObject({ value: 10, score: 0.91, goal: 0 })
    expect(last(all, 'physical_recovery')).toMatchObject({ value: 90, score: 1 })
    expect(last(all, 'mental_recovery')).toMatchObject({ value: 110, score: 0.95 })
  })
})

describe('strain', () => {
  const load = (steps: readonly number[]) => [
    ...days(steps.length, (place) => ({ movement: movement({ steps: steps[place] ?? 0 }) })),
    // The day itself is not part of its own load.
    facts(first + steps.length, { ...night(first + steps.length, 1380, 480), movement: movement({ steps: 50000 }) }),
  ]

  test('scores 1 for fourteen days of steady load, and is absent with fewer', () => {
    expect(last(load(Array.from({ length: 14 }, () => 8000)), 'walking_strain_capacity')).toMatchObject({
      value: 1,
      score: 1,
    })
    expect(last(load(Array.from({ length: 13 }, () => 8000)), 'walking_strain_capacity')).toBeUndefined()
  })
  test('is the ratio of a seven-day to a twenty-eight-day weighted mean, up to yesterday', () => {
    // 14 days of 5,000, then one of 15,000: λ 2/8 and 2/29. (5000 + 2500) / (5000 + 689.655) = 1.3182.
    const all = load([...Array.from({ length: 14 }, () => 5000), 15000])
    expect(last(all, 'walking_strain_capacity')?.value).toBeCloseTo(7500 / (5000 + 20000 / 29), 8)
    // From 1.3 (1) to 1.5 (0.75).
    expect(last(all, 'walking_strain_capacity')?.score).toBeCloseTo(
      1 - (0.25 * (7500 / (5000 + 20000 / 29) - 1.3)) / 0.2,
      8,
    )
  })
  test('does not exist without any training', () => {
    const all = days(20, (_, day) => ({
      ...night(day, 1380, 480),
      movement: movement({ steps: 1, exerciseLoad: 0 }),
    }))
    expect(last(all, 'exercise_strain_capacity')).toBeUndefined()
    expect(last(all, 'walking_strain_capacity')).toBeDefined()
  })
})

describe('heart', () => {
  const rates = (values: readonly number[], name = 'heart_rate_resting') =>
    days(values.length, (place) => ({ measures: { [name]: { value: values[place] ?? 0 } } }))

  test('resting rate is judged against one’s own sixty days, once fourteen are known', () => {
    // 58 and 62 in turn: median 60, every deviation 2: 1.4826 × 2 = 2.9652. z of 63 = 1.0117.
    const ownDays = Array.from({ length: 14 }, (_, place) => (place % 2 === 0 ? 58 : 62))
    const factor = last(rates([...ownDays, 63]), 'resting_heart_rate')
    expect(factor).toMatchObject({ goal: 60, basis: 'personal' })
    // From z = 1 (0.65) to 2 (0.4).
    expect(factor?.score).toBeCloseTo(0.65 - 0.25 * (3 / 2.9652 - 1), 6)
  })
  test('before that it is judged against the population, by sex where it is known', () => {
    expect(last(rates([63.6]), 'resting_heart_rate', { gender: 'Male' })).toMatchObject({
      goal: 63.6,
      score: 0.9,
      basis: 'population',
    })
    expect(last(rates([66.6]), 'resting_heart_rate', { gender: 'Female' })).toMatchObject({
      goal: 66.6,
      basis: 'population',
    })
    // One deviation above the mean of all: 65.5 + 7.7.
    expect(last(rates([73.2]), 'resting_heart_rate')?.score).toBeCloseTo(0.65, 10)
  })
  test('a heart rate that never varies gets a spread of one and a half', () => {
    // A baseline of sixties only: the spread is the minimum, 1.5. 63 is z = 2.
    expect(last(rates([...Array.from({ length: 14 }, () => 60), 63]), 'resting_heart_rate')?.score).toBeCloseTo(0.4, 10)
  })
  test('variability is judged on its logarithm, against one’s own days only', () => {
    const rmssd = 'heart_rate_variability_rmssd'
    const ownDays = Array.from({ length: 14 }, (_, place) => (place % 2 === 0 ? 40 : 50))
    const middle = (Math.log(40) + Math.log(50)) / 2
    const spread = 1.4826 * ((Math.log(50) - Math.log(40)) / 2)
    const value = Math.exp(middle - 1.5 * spread)
    const factor = last(rates([...ownDays, value], rmssd), 'heart_rate_variability')
    expect(factor?.goal).toBeCloseTo(Math.sqrt(2000), 8)
    // Between z = -2 (0.3) and -1 (0.6).
    expect(factor?.score).toBeCloseTo(0.45, 8)
    expect(last(rates([...ownDays.slice(1), value], rmssd), 'heart_rate_variability')).toBeUndefined()
  })
})

test('a baseline reaches sixty days back and not further', () => {
  const value = { measures: { heart_rate_resting: { value: 60 } } }
  const old = [...days(14, () => value), facts(first + 74, { measures: { heart_rate_resting: { value: 60 } } })]
  // Day 74: sixty days back is day 14; days 0 to 13 are too old.
  expect(last(old, 'resting_heart_rate')?.basis).toBe('population')
  expect(last([...old.slice(0, 14), facts(first + 60, value)], 'resting_heart_rate')?.basis).toBe('personal')
})
