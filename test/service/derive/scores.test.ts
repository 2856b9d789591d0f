import { describe, expect, test } from 'vitest'
import { scoreAnswerSchema } from '../../../src/base/contract/score.ts'
import type { Factor, Factors } from '../../../src/service/derive/days/factors.ts'
import { scoresFrom, stateOf } from '../../../src/service/derive/days/scores.ts'
import { type FactorName, factorUnits } from '../../../src/service/derive/model/model.ts'
import { type ScoreDefinition, scoreDefinitions } from '../../../src/service/derive/model/score-definitions.ts'
import { daysFrom, deriveAll, log, score, wornAllDay } from './made-logs.ts'

const given = (scores: Partial<Record<FactorName, number>>): Factors =>
  Object.fromEntries(
    Object.entries(scores).map(([name, one]) => [name, { name, value: 1, goal: 1, score: one, unit: '' } as Factor]),
  )

const judgedByOwnDays = (scores: Partial<Record<FactorName, number>>): Factors =>
  Object.fromEntries(Object.entries(given(scores)).map(([name, one]) => [name, { ...one, basis: 'personal' as const }]))

test('the weights of every score sum to one and name known factors only', () => {
  for (const { weights, requiredFactor } of Object.values<ScoreDefinition>(scoreDefinitions)) {
    expect(Object.values(weights).reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 12)
    if (requiredFactor) expect(Object.keys(weights)).toContain(requiredFactor)
    for (const name of Object.keys(weights)) expect(factorUnits).toHaveProperty(name)
  }
})

describe('a score is the weighted mean of its factors', () => {
  test('activity, with each of its six factors, is 0.74', () => {
    // .35×.9 + .20×.8 + .15×.7 + .15×.6 + .10×.5 + .05×.4 = .315+.16+.105+.09+.05+.02 = .74
    const scores = scoresFrom(
      given({
        steps: 0.9,
        intense_activity_duration: 0.8,
        active_hours: 0.7,
        extended_inactivity: 0.6,
        active_calories: 0.5,
        floors_climbed: 0.4,
      }),
    )
    expect(scores.activity?.value).toBeCloseTo(0.74, 12)
    expect(scores.activity?.weightShare).toBeCloseTo(1, 12)
  })
  test('sleep of a phone: the weight of absent factors is redistributed', () => {
    // .26 .16 .13 .10 of .65 are .40 .246 .20 .154: .4×.85 + .246×.9 + .2×.97 + .154×.9 = .34+.2215+.194+.1385 = .894
    const scores = scoresFrom(
      given({ sleep_duration: 0.85, sleep_regularity: 0.9, sleep_debt: 0.97, circadian_alignment: 0.9 }),
    )
    expect(scores.sleep?.value).toBeCloseTo(0.894, 12)
    expect(scores.sleep?.weightShare).toBeCloseTo(0.65, 12)
    expect(scores.sleep?.parts.map(({ weight }) => Number(weight.toFixed(2)))).toEqual([0.4, 0.25, 0.2, 0.15])
  })
  test('readiness, with each of its eight factors, is 0.608', () => {
    // .35×.4 + .2×.6 + .15×1 + .1×.8 + .06×.3 + .05×.9 + .05×.7 + .04×.5 = .14+.12+.15+.08+.018+.045+.035+.02 = .608
    const scores = scoresFrom(
      judgedByOwnDays({
        sleep_duration: 1,
        sleep_debt: 0.8,
        resting_heart_rate: 0.6,
        heart_rate_variability: 0.4,
        physical_recovery: 0.9,
        mental_recovery: 0.7,
        walking_strain_capacity: 0.5,
        exercise_strain_capacity: 0.3,
      }),
    )
    expect(scores.readiness?.value).toBeCloseTo(0.608, 12)
  })
  test('readiness counts a factor only as it is judged against the own days', () => {
    const all = judgedByOwnDays({ sleep_duration: 1, heart_rate_variability: 0.6 })
    const { sleep_duration, ...rest } = all
    expect(scoresFrom(all).readiness?.value).toBeCloseTo((0.15 * 1 + 0.35 * 0.6) / 0.5, 12)
    // The same night against a goal for all is no readiness; with the own judgement beside it, that one counts.
    const goalForAll = { ...(sleep_duration as Factor), basis: 'population' as const }
    expect(scoresFrom({ ...rest, sleep_duration: goalForAll }).readiness).toBeUndefined()
    const both = { ...goalForAll, score: 1, own: { goal: 400, score: 0.2 } }
    const { readiness } = scoresFrom({ ...rest, sleep_duration: both })
    expect(readiness?.value).toBeCloseTo((0.15 * 0.2 + 0.35 * 0.6) / 0.5, 12)
    expect(readiness?.parts.find(({ factor }) => factor.name === 'sleep_duration')?.factor.goal).toBe(400)
  })
  test('mental wellbeing, with each of its six factors, is 0.695', () => {
    // .25×.9 + .20×.8 + .15×(.7 + .6 + .5) + .10×.4 = .225 + .16 + .27 + .04 = .695
    const scores = scoresFrom(
      given({
        sleep_regularity: 0.9,
        circadian_alignment: 0.8,
        steps: 0.7,
        active_hours: 0.6,
        activity_regularity: 0.5,
        extended_inactivity: 0.4,
      }),
    )
    expect(scores.mental_wellbeing?.value).toBeCloseTo(0.695, 12)
  })
  test('wellbeing is half activity, half sleep, and has the factors of both', () => {
    const scores = scoresFrom(
      given({
        steps: 0.6,
        intense_activity_duration: 0.6,
        sleep_duration: 0.9,
        sleep_regularity: 0.9,
        sleep_continuity: 0.9,
      }),
    )
    expect(scores.wellbeing?.value).toBeCloseTo(0.75, 12)
    // .35 + .20 = .55 of activity, .26 + .16 + .14 = .56 of sleep.
    expect(scores.wellbeing?.weightShare).toBeCloseTo(0.555, 12)
    expect(scores.wellbeing?.parts.map(({ factor }) => factor.name)).toEqual([
      'steps',
      'intense_activity_duration',
      'sleep_duration',
      'sleep_regularity',
      'sleep_continuity',
    ])
    expect(scores.wellbeing?.parts.reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(1, 12)
  })
})

describe('there is no score', () => {
  test('without its required factor, however much else is known', () => {
    const rest = given({
      sleep_regularity: 1,
      sleep_continuity: 1,
      sleep_efficiency: 1,
      sleep_debt: 1,
      circadian_alignment: 1,
    })
    expect(scoresFrom(rest).sleep).toBeUndefined()
  })
  test('with less than half of the weight, but with exactly half there is one', () => {
    const night = { sleep_duration: 1, sleep_debt: 1 }
    expect(scoresFrom(given({ ...night, circadian_alignment: 1 })).sleep).toBeUndefined()
    expect(scoresFrom(given({ ...night, sleep_efficiency: 1 })).sleep?.weightShare).toBeCloseTo(0.5, 12)
  })
  test('of activity only where no factor is known: any known factor carries it', () => {
    expect(scoresFrom(given({ steps: 0.6 })).activity).toMatchObject({ value: 0.6, weightShare: 0.35 })
    // .35×.6 + .1×.9 of .45.
    expect(scoresFrom(given({ steps: 0.6, active_calories: 0.9 })).activity?.value).toBeCloseTo(0.3 / 0.45, 12)
    expect(scoresFrom(given({ active_calories: 0.9 })).activity?.value).toBeCloseTo(0.9, 12)
    expect(scoresFrom(given({ activity_regularity: 1, sleep_duration: 1 })).activity).toBeUndefined()
  })
  test('of wellbeing without both of its halves', () => {
    expect(scoresFrom(given({ steps: 1, active_hours: 1 })).wellbeing).toBeUndefined()
  })
})

test('states begin at 0.40, 0.60 and 0.80', () => {
  expect([0.394, 0.396, 0.594, 0.596, 0.794, 0.796, 1].map(stateOf)).toEqual([
    'minimal',
    'low',
    'low',
    'medium',
    'medium',
    'high',
    'high',
  ])
})

test('a served score has the contract’s shape and names its sources', () => {
  const logs = daysFrom('2026-03-02', 7).flatMap((day) => [
    log('sleep_stage_sleeping', `${day}T00:00:00Z`, [450, 450]),
    log('steps', `${day}T09:00:00Z`, [60, 6600]),
    ...wornAllDay(day),
  ])

  const derived = deriveAll({ logs, person: { age: 40 } })

  // Seven activity scores; from the fifth night on, when regularity is known, three of sleep, wellbeing and mental wellbeing.
  expect(derived.scores.length).toBe(7 + 3 * 3)
  for (const score of derived.scores) expect(() => scoreAnswerSchema.parse(score)).not.toThrow()
  expect(score(derived, 'wellbeing', '2026-03-08')?.record).toMatchObject({
    scoreDateTime: '2026-03-08T00:00:00+00:00',
    dataSources: ['age', 'sleep', 'activity'],
    version: 1,
  })
  expect(score(derived, 'sleep', '2026-03-08')?.record['dataSources']).toEqual(['age', 'sleep'])
})
