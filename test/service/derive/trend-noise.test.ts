import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { judgeTrend } from '../../../src/service/derive/days/trend-judgement.ts'
import { mean, quantile, sum } from '../../../src/service/derive/model/statistics.ts'
import { createSeededRandom } from '../../../src/service/sandbox/people/seeded-random.ts'
import { drawnShare, realDays, realNoise, realWeeks } from './real-noise.ts'
import { measures, rowOf } from './trend-rates.ts'

type Random = ReturnType<typeof createSeededRandom>

describe('the noise of the lives', () => {
  /** As the file was computed: the deviation from a straight line over the mean, of eleven weeks with at least four days. */
  function deviationOf(days: readonly (number | null)[]): number {
    const weeks = Array.from({ length: days.length / 7 }, (_, week) => days.slice(7 * week, 7 * week + 7))
      .map((week) => week.filter((day) => day !== null))
      .flatMap((week, x) => (week.length < 4 ? [] : [{ x, y: mean(week) }]))
    const [middle, level] = [mean(weeks.map(({ x }) => x)), mean(weeks.map(({ y }) => y))]
    const slope =
      sum(weeks.map(({ x, y }) => (x - middle) * (y - level))) / sum(weeks.map(({ x }) => (x - middle) ** 2))
    const squares = sum(weeks.map(({ x, y }) => (y - level - slope * (x - middle)) ** 2))
    return Math.sqrt(squares / (weeks.length - 2)) / level
  }

  test.each([
    ['steps', [0.11, 0.206, 0.343]],
    ['sleep_score', [0.037, 0.053, 0.073]],
    ['readiness_score', [0.048, 0.087, 0.136]],
    ['resting_heart_rate', [0.016, 0.029, 0.041]],
  ] as const)('of %s has the percentiles of real people within a fifth', (measure, real) => {
    const noise = realNoise(measure)
    const deviations = Array.from({ length: 600 }, (_, life) => {
      const random = createSeededRandom('measured again', measure, life)
      return deviationOf(realDays(random, noise, { weeks: 11, share: drawnShare(random, noise) }))
    })

    for (const [index, share] of [0.1, 0.5, 0.9].entries()) {
      const ratio = quantile(deviations, share) / (real[index] ?? 1)
      expect(ratio, `percentile ${share}`).toBeGreaterThan(0.8)
      expect(ratio, `percentile ${share}`).toBeLessThan(1.25)
    }
  })
})

describe('the page’s rates of lives with the noise of real people’s weeks', async () => {
  const page = await readFile(new URL('../../../docs/reference/derivation.md', import.meta.url), 'utf8')
  const rows = measures.map((measure) => {
    const line = page
      .split('\n')
      .find((text) => text.startsWith(`| \`${measure[0]}\` |`) && text.split('|').length === 9)
    const cells = line?.split('|').slice(2, -1) ?? []
    return { measure, name: measure[0], row: cells.map((cell) => cell.split('/').map(Number)) }
  })

  test.each(rows)('of $name are those of the judgement', ({ measure, row }) => {
    const lives = 1000
    const found = rowOf(measure, lives)

    expect(found.map((rates) => rates.length)).toEqual(row.map((rates) => rates.length))
    for (const [index, rate] of found.flat().entries()) {
      const stated = row.flat()[index] ?? Number.NaN
      const deviation = Math.sqrt((stated * (100 - stated)) / lives)
      expect(Math.abs(rate - stated), `figure ${index}: ${rate} instead of ${stated}`).toBeLessThan(3 * deviation + 0.3)
    }
  })
  test.each(rows)('of $name: at most 4 of 100 lives without a change have a trend', ({ row }) => {
    const [falseAlarms = [], ofIrregular = []] = row
    expect(Math.max(...falseAlarms)).toBeLessThanOrEqual(4)
    expect(Math.max(...ofIrregular)).toBeLessThanOrEqual(8)
  })
  test.each(rows)('of $name: a decline, a step and a rise that goes on are found as often as the goal', ({ row }) => {
    const [, , [decline = 0] = [], [goal = 100] = [], [step = 0] = [], rises = []] = row
    expect(Math.min(decline, step, ...rises)).toBeGreaterThanOrEqual(goal)
    expect(step).toBeGreaterThanOrEqual(decline)
  })
})

const weeks = 16
const days = 7 * weeks

type Life = { readonly name: string; readonly values: readonly number[]; readonly earlierDays?: number }

function stateOf({ name, values, earlierDays = days - 28 }: Life): string {
  const firstDay = days - 28
  const dated = values.map((value, day): [number, number] => [day, value])
  return judgeTrend({
    name,
    firstDay,
    values: dated.slice(firstDay),
    earlier: dated.slice(firstDay - earlierDays, firstDay),
  }).state
}

const shareWithTrend = (kind: string, make: (random: Random) => Life) =>
  mean(Array.from({ length: 400 }, (_, life) => (stateOf(make(createSeededRandom(kind, life))) === 'stable' ? 0 : 1)))

/** Every day of a person: none is missing, for the figures below look at several days at once. */
const everyDay = (random: Random, measure: string, count: number) => {
  const noise = { ...realNoise(measure), missingShare: 0 }
  return realDays(random, noise, { weeks: count, share: drawnShare(random, noise) }).flatMap((value) => value ?? [])
}

/** Missing hours of seven nights less half of the surplus, as the factor has them. */
function debts(random: Random): number[] {
  const nights = everyDay(random, 'sleep_duration', weeks + 1).map((share) => 430 * share)
  return Array.from({ length: days }, (_, day) => {
    const week = nights.slice(day + 1, day + 8).map((slept) => 450 - slept)
    const [missing, surplus] = [week.map((change) => Math.max(0, change)), week.map((change) => Math.max(0, -change))]
    return Math.max(0, 7 * mean(missing) - 3.5 * mean(surplus)) / 60
  })
}

/** The ratio of the weighted means of seven and of twenty-eight days. */
function strains(random: Random): number[] {
  const steps = everyDay(random, 'steps', weeks + 9).map((share) => Math.max(0, 8000 * share))
  const smooth = (window: readonly number[], weight: number) =>
    window.reduce((average, value) => average + weight * (value - average))
  return Array.from({ length: days }, (_, day) => {
    const window = steps.slice(day, day + 60)
    return smooth(window, 2 / 8) / smooth(window, 2 / 29)
  })
}

function intenseMinutes(random: Random): number[] {
  const minutes = everyDay(random, 'active_minutes_moderate_or_more', weeks + 1).map((share) => Math.max(0, 25 * share))
  return Array.from({ length: days }, (_, day) => mean(minutes.slice(day + 1, day + 8)))
}

describe('figures over several days', () => {
  test.each([
    ['sleep_debt', debts],
    ['walking_strain_capacity', strains],
    ['intense_activity_duration', intenseMinutes],
  ] as const)('have a trend in at most 8 of 100 lives without a change: %s', (name, life) => {
    expect(shareWithTrend(name, (random) => ({ name, values: life(random) }))).toBeLessThanOrEqual(0.08)
  })
})

test.each([
  ['steps', 'steps'],
  ['sleep', 'sleep_score'],
  ['resting_heart_rate', 'resting_heart_rate'],
  ['active_calories', 'steps'],
])('a new profile has no more trends than others: %s', (name, measure) => {
  for (const earlierDays of [0, 28]) {
    const rate = shareWithTrend(`new ${name}`, (random) => ({
      name,
      values: everyDay(random, measure, weeks),
      earlierDays,
    }))
    expect(rate, `${earlierDays} days before`).toBeLessThanOrEqual(0.06)
  }
})

test('a life whose level changed and stays has no trend for long', () => {
  const noise = realNoise('sleep_score')
  const rate = (changedWeek: number) =>
    shareWithTrend(`changed in week ${changedWeek}`, (random) => {
      const level = realWeeks(random, noise, { weeks, share: drawnShare(random, noise) })
      const values = level.flatMap((value, week) =>
        Array.from({ length: 7 }, () => value * (week < changedWeek ? 1 : 0.8)),
      )
      return { name: 'sleep', values }
    })

  expect(rate(12)).toBeGreaterThan(0.9)
  expect(rate(4)).toBeLessThan(0.3)
})
