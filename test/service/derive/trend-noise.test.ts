import { describe, expect, test } from 'vitest'
import { judgeTrend } from '../../../src/service/derive/days/trend-judgement.ts'
import { mean, roundTo } from '../../../src/service/derive/model/statistics.ts'
import { createSeededRandom } from '../../../src/service/sandbox/people/seeded-random.ts'

/**
 * How often the judgement says that something changes: in made-up lives in which nothing does, with the autocorrelation
 * that daily figures have, and in lives with the changes that it must find. The seeds are fixed, so the rates are too.
 */
const livesPerKind = 300
/** Where a rate lies near its limit, 300 lives would miss it by two in a hundred. */
const livesNearLimit = 1200
const nearLimit = ['variability, long memory', 'sleep score']
const days = 112
const judgedFrom = days - 28

type Random = ReturnType<typeof createSeededRandom>
const noise = (random: Random) => random.normal(0, 1)

/** First-order autoregression with deviation 1. */
function wandering(random: Random, decay: number, length = days): number[] {
  let value = noise(random)
  return Array.from({ length }, () => {
    value = decay * value + Math.sqrt(1 - decay ** 2) * noise(random)
    return value
  })
}

/** A part that passes slowly, and noise of single days. */
const mixed = (random: Random, share: number, decay: number) =>
  wandering(random, decay).map((slow) => Math.sqrt(share) * slow + Math.sqrt(1 - share) * noise(random))

const sleptMinutes = (random: Random, length: number) =>
  wandering(random, 0.2, length).map((one, day) => 430 + 70 * one + (day % 7 >= 5 ? 50 : 0))

/** Missing hours of seven nights less half of the surplus, as the factor has them. */
function debts(random: Random): number[] {
  const nights = sleptMinutes(random, days + 6)
  return Array.from({ length: days }, (_, day) => {
    const week = nights.slice(day, day + 7).map((slept) => 450 - slept)
    const [missing, surplus] = [week.map((one) => Math.max(0, one)), week.map((one) => Math.max(0, -one))]
    return Math.max(0, 7 * mean(missing) - 3.5 * mean(surplus)) / 60
  })
}

/** The ratio of the weighted means of seven and of twenty-eight days. */
function strains(random: Random): number[] {
  const steps = wandering(random, 0.2, days + 60).map((one) => Math.max(0, 8000 + 3200 * one))
  const smooth = (window: readonly number[], weight: number) =>
    window.reduce((average, value) => average + weight * (value - average))
  return Array.from({ length: days }, (_, day) => {
    const window = steps.slice(day, day + 60)
    return smooth(window, 2 / 8) / smooth(window, 2 / 29)
  })
}

const rolling = (values: readonly number[], length: number) =>
  Array.from({ length: values.length - length + 1 }, (_, from) => mean(values.slice(from, from + length)))

const unchanged: readonly (readonly [kind: string, name: string, life: (random: Random) => number[]])[] = [
  ['steps of independent days', 'steps', (random) => wandering(random, 0).map((one) => 8000 + 3200 * one)],
  ['steps with a habit', 'steps', (random) => mixed(random, 0.3, 0.9).map((one) => 8000 + 3200 * one)],
  ['sleep with weekends', 'sleep_duration', (random) => sleptMinutes(random, days)],
  ['sleep with good and bad weeks', 'sleep_duration', (random) => mixed(random, 0.3, 0.9).map((one) => 430 + 60 * one)],
  [
    'variability, short memory',
    'heart_rate_variability',
    (random) => wandering(random, 0.5).map((one) => 40 + 6 * one),
  ],
  [
    'variability, long memory',
    'heart_rate_variability',
    (random) => mixed(random, 0.5, 0.9).map((one) => 40 + 6 * one),
  ],
  ['resting rate', 'resting_heart_rate', (random) => wandering(random, 0.85).map((one) => 60 + 2 * one)],
  [
    'resting rate, smoothed by the device',
    'resting_heart_rate',
    (random) => wandering(random, 0.95).map((one) => 60 + 2 * one),
  ],
  ['readiness', 'readiness', (random) => mixed(random, 0.5, 0.85).map((one) => 0.75 + 0.08 * one)],
  ['sleep score', 'sleep', (random) => mixed(random, 0.4, 0.9).map((one) => 0.75 + 0.09 * one)],
  ['sleep debt', 'sleep_debt', debts],
  ['strain', 'walking_strain_capacity', strains],
  [
    'intense minutes',
    'intense_activity_duration',
    (random) => rolling(mixed(random, 0.2, 0.9).concat(wandering(random, 0, 6)), 7).map((one) => 25 + 12 * one),
  ],
]

type Life = { readonly name: string; readonly values: readonly number[]; readonly earlierDays?: number }

function stateOf({ name, values, earlierDays = judgedFrom }: Life): string {
  const dated = values.map((value, day): [number, number] => [day, value])
  const [before, last] = [mean(values.slice(-14, -7)), mean(values.slice(-7))]
  return judgeTrend({
    name,
    firstDay: judgedFrom,
    values: dated.slice(judgedFrom),
    earlier: dated.slice(judgedFrom - earlierDays, judgedFrom),
    lastChange: before === 0 ? null : roundTo((last - before) / before, 4),
  }).state
}

/** The share of lives with one of these states. */
function shareOf(
  states: readonly string[],
  kind: string,
  make: (random: Random) => Life,
  lives = livesPerKind,
): number {
  const told = Array.from({ length: lives }, (_, index) => stateOf(make(createSeededRandom(`${kind} ${index}`))))
  return told.filter((state) => states.includes(state)).length / lives
}

/**
 * The series with the phases of its waves drawn again: it keeps the person's own level, deviation and autocorrelation, and
 * has no trend at any place.
 */
function surrogateOf(values: readonly number[], random: Random): number[] {
  const [count, level] = [values.length, mean(values)]
  const angle = (wave: number, day: number) => (2 * Math.PI * wave * day) / count
  const waves = Array.from({ length: Math.floor(count / 2) }, (_, index) => {
    const wave = index + 1
    const of = (turn: (angle: number) => number) =>
      values.reduce((total, value, day) => total + (value - level) * turn(angle(wave, day)), 0)
    const height = (Math.hypot(of(Math.cos), of(Math.sin)) * (2 * wave === count ? 1 : 2)) / count
    return { wave, height, phase: random.between(0, 2 * Math.PI) }
  })
  return values.map((_, day) =>
    waves.reduce((total, { wave, height, phase }) => total + height * Math.cos(angle(wave, day) + phase), level),
  )
}

const changing = ['increasing', 'decreasing']

describe('lives in which nothing changes', () => {
  test.each(unchanged)('have a trend in at most 6 of 100 cases: %s', (kind, name, life) => {
    const lives = nearLimit.includes(kind) ? livesNearLimit : livesPerKind
    for (const earlierDays of [84, 28]) {
      const rate = shareOf(changing, kind, (random) => ({ name, values: life(random), earlierDays }), lives)
      expect(rate, `${earlierDays} days before`).toBeLessThanOrEqual(0.06)
    }
  })
  test.each(unchanged)('nor surrogates that keep each person’s autocorrelation: %s', (kind, name, life) => {
    const people = Array.from({ length: 60 }, (_, index) => life(createSeededRandom(`person ${kind} ${index}`)))
    const rates = people.map((values, index) =>
      shareOf(changing, `${kind} ${index}`, (random) => ({ name, values: surrogateOf(values, random) }), 5),
    )
    expect(mean(rates)).toBeLessThanOrEqual(0.06)
  })
  test('and seldom with the four weeks alone', () => {
    const rates = unchanged.map(([kind, name, life]) =>
      shareOf(changing, kind, (random) => ({ name, values: life(random), earlierDays: 0 })),
    )
    expect(mean(rates)).toBeLessThanOrEqual(0.06)
  })
})

/** A life that declines by a share of its level over the four weeks. */
const declining = (values: readonly number[], share: number) =>
  values.map((value, day) => (day < judgedFrom ? value : value - (mean(values) * share * (day - judgedFrom)) / 27))

describe('a decline over four weeks', () => {
  test.each([
    ['sleep by 30 %', 'sleep_duration', (random: Random) => declining(sleptMinutes(random, days), 0.3)],
    [
      'variability by 30 %',
      'heart_rate_variability',
      (random: Random) =>
        declining(
          wandering(random, 0.5).map((one) => 40 + 5.6 * one),
          0.3,
        ),
    ],
    [
      'resting rate by 30 %',
      'resting_heart_rate',
      (random: Random) =>
        declining(
          wandering(random, 0.85).map((one) => 60 + 2 * one),
          0.3,
        ),
    ],
    [
      'steps by 75 %',
      'steps',
      (random: Random) =>
        declining(
          wandering(random, 0.2).map((one) => 8000 + 3200 * one),
          0.75,
        ),
    ],
  ])('%s is found in at least 80 %% of lives', (kind, name, life) => {
    expect(shareOf(['decreasing'], kind, (random) => ({ name, values: life(random) }))).toBeGreaterThanOrEqual(0.8)
  })
  test('steps by 30 % are found seldom: their noise is that large', () => {
    const life = (random: Random) =>
      declining(
        wandering(random, 0.2).map((one) => 8000 + 3200 * one),
        0.3,
      )
    const found = shareOf(['decreasing'], 'steps', (random) => ({ name: 'steps', values: life(random) }))
    expect(found).toBeGreaterThan(0.1)
    expect(found).toBeLessThan(0.5)
  })
})
