import { describe, expect, test } from 'vitest'
import { scoreByPower, scoreOnCurve } from '../../../src/service/derive/days/factors.ts'
import { type CurvePoints, factorGoals, scoreCurves, scorePowers } from '../../../src/service/derive/model/model.ts'
import { biomarker, dayBefore, daysFrom, deriveAll, factor, log, score, wornAllDay } from './made-logs.ts'

// Real answers of a service with this interface: the value of a factor and its score there.
const golden: readonly [keyof typeof scoreCurves, readonly (readonly [value: number, seen: number])[]][] = [
  [
    'sleep_duration',
    [
      [420, 0.85],
      [473, 0.99],
      [480, 0.99],
      [540, 0.82],
      [600, 0.67],
    ],
  ],
  [
    'sleep_debt',
    [
      [0.375, 0.98],
      [0.438, 0.97],
      [0.875, 0.95],
      [1.5, 0.84],
    ],
  ],
  [
    'circadian_alignment',
    [
      [30, 0.9],
      [60, 0.81],
    ],
  ],
  ['sleep_continuity', [[10, 0.91]]],
  [
    'mental_recovery',
    [
      [93, 0.78],
      [110, 0.96],
    ],
  ],
  ['steps', [[9000, 0.93]]],
  ['active_hours', [[9, 0.83]]],
  ['floors_climbed', [[6, 0.79]]],
]

describe('a factor scores within 0.03 of the known answers', () => {
  for (const [name, seen] of golden) {
    const points: CurvePoints = scoreCurves[name]
    test.each(seen)(`${name} %d`, (value, expected) => {
      expect(Math.abs(scoreOnCurve(points, value) - expected)).toBeLessThanOrEqual(0.03)
    })
  }
  test.each([
    [62, 0.72],
    [90, 1],
  ])('physical_recovery %d', (value, expected) => {
    expect(
      Math.abs(scoreByPower(value, factorGoals.physical_recovery, scorePowers.physical_recovery) - expected),
    ).toBeLessThanOrEqual(0.03)
  })
  test('active_calories of 450 kcal score 0.92', () => {
    expect(
      Math.abs(scoreByPower(450, factorGoals.active_calories, scorePowers.active_calories) - 0.92),
    ).toBeLessThanOrEqual(0.03)
  })
})

test('the points of every curve stay within 0 to 1 and ascend in value', () => {
  for (const points of Object.values(scoreCurves) as CurvePoints[]) {
    const values = points.map(([x]) => x)
    expect(values).toEqual(values.toSorted((a, b) => a - b))
    expect(new Set(values).size).toBe(values.length)
    expect(points.every(([, y]) => y >= 0 && y <= 1)).toBe(true)
  }
})

// Monday 2 March to Sunday 29 March 2026; asleep from 22:00 to 06:00 each night.
const march = daysFrom('2026-03-02', 28)
const nights = march.map((day) => log('sleep_stage_sleeping', `${dayBefore(day)}T22:00:00+01:00`, [480, 480]))

test('a person who sleeps from 22:00 to 06:00 every night gets the archetypes of an early, regular sleeper', () => {
  const { archetypes } = deriveAll({ logs: nights, asOf: '2026-03-30T12:00:00+01:00' })

  const lastWeek = archetypes.filter(
    (archetype) => archetype['periodicity'] === 'weekly' && archetype['startDateTime'] === '2026-03-23T00:00:00+01:00',
  )
  const said = Object.fromEntries(
    lastWeek.map((archetype) => [archetype['name'], [archetype['value'], archetype['ordinality']]]),
  )
  expect(said).toEqual({
    bed_schedule: ['early_sleeper', 1],
    wake_schedule: ['early_riser', 1],
    sleep_duration: ['average_sleeper', 2],
    sleep_regularity: ['highly_regular_sleeper', 3],
    sleep_pattern: ['consistent_early_sleeper', 0],
    sleep_quality: ['optimal_sleep_quality', 3],
  })
  expect(lastWeek.every((archetype) => archetype['endDateTime'] === '2026-03-29T00:00:00+01:00')).toBe(true)
})

test('a night of 420 minutes and a day of 9,000 steps score the same through the whole model', () => {
  const logs = [
    log('sleep_stage_sleeping', '2026-03-02T23:00:00Z', [420, 420]),
    log('steps', '2026-03-03T09:00:00Z', [90, 9000]),
    log('active_energy_burned', '2026-03-03T09:00:00Z', [60, 450], { unit: 'kcal' }),
    log('floors_climbed', '2026-03-03T09:00:00Z', [60, 6]),
    ...wornAllDay('2026-03-03'),
  ]

  const derived = deriveAll({ logs, asOf: '2026-03-05T00:00:00Z' })

  expect(biomarker(derived, 'sleep_duration', '2026-03-03')).toBe('420')
  expect(factor(derived, ['activity', 'steps'], '2026-03-03')).toMatchObject({ value: 9000, goal: 10000, score: 0.93 })
  expect(factor(derived, ['activity', 'active_calories'], '2026-03-03')).toMatchObject({ value: 450, score: 0.92 })
  expect(factor(derived, ['activity', 'floors_climbed'], '2026-03-03')).toMatchObject({ value: 6, score: 0.79 })
  // One night: no regularity, debt or rhythm yet; 0.32 of the weight is less than half, so there is no sleep score.
  expect(score(derived, 'sleep', '2026-03-03')).toBeUndefined()
})
