import { readFileSync } from 'node:fs'
import type { createSeededRandom } from '../../../src/service/sandbox/people/seeded-random.ts'

/** Aggregates of real people's weeks; the head of the file says where they are from and how they were computed. */
const text = readFileSync(new URL('weekly-noise.csv', import.meta.url), 'utf8')
const [head = '', ...lines] = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
const columns = head.split(',')

type Random = ReturnType<typeof createSeededRandom>
type Noise = {
  /** The deviation of weekly means over the person's mean: the median person, and the spread of its logarithm between people. */
  readonly week: number
  readonly weekSpread: number
  /** The deviation of days over the mean, of the median person. */
  readonly day: number
  /** The correlation of neighbouring weeks, free of what the removed trend takes off. */
  readonly weekCorrelation: number
  readonly missingShare: number
}

/** From the tenth to the ninetieth percentile of a normal distribution, in deviations. */
const TENTHS = 2.563
/** The spread of the logarithm of a deviation that is computed from eleven weeks less a trend, of one and the same person. */
const SPREAD_OF_ESTIMATE = 0.236

/** The noise of real people's weeks of a measure, from the row with the most people. */
export function realNoise(measure: string): Noise {
  const row = lines.map((line) => line.split(',')).find(([name, , weeksMin]) => name === measure && weeksMin === '6')
  if (!row) throw new RangeError(`read real noise: there is no row of ${measure}`)
  const cell = (column: string) => Number(row[columns.indexOf(column)])
  const spread = Math.log(cell('cv_week_p90') / cell('cv_week_p10')) / TENTHS
  return {
    week: cell('cv_week_p50'),
    weekSpread: Math.sqrt(Math.max(0.01, spread ** 2 - SPREAD_OF_ESTIMATE ** 2)),
    day: cell('sd_day_over_mean_p50'),
    weekCorrelation: Math.max(0, cell('lag1_week_p50') - cell('lag1_week_if_independent_p50')),
    missingShare: cell('share_days_missing_p50'),
  }
}

/** How much the noise of a person is of that of the median person. */
export const drawnShare = (random: Random, { weekSpread }: Noise) => Math.exp(weekSpread * random.normal(0, 1))

/** Weekly means around 1 of a person, with the deviation and correlation of real weeks. */
export function realWeeks(random: Random, noise: Noise, { weeks, share }: { weeks: number; share: number }): number[] {
  const { week, weekCorrelation } = noise
  let slow = random.normal(0, 1)
  return Array.from({ length: weeks }, () => {
    slow = weekCorrelation * slow + Math.sqrt(1 - weekCorrelation ** 2) * random.normal(0, 1)
    return 1 + week * share * slow
  })
}

/**
 * Daily values around 1, day by day from a Monday on: weekly means as above, and days around them as far apart as real ones.
 * Null: the day is missing.
 */
export function realDays(random: Random, noise: Noise, { weeks, share }: { weeks: number; share: number }) {
  const { day, missingShare } = noise
  const within = (Math.max(0, day ** 2 - noise.week ** 2) * 7) / 6
  // The file's weeks were computed from the days that were there, so their deviation holds what missing days add.
  const added = (within * missingShare) / (7 * (1 - missingShare))
  const week = Math.sqrt(Math.max(0, noise.week ** 2 - added))
  return realWeeks(random, { ...noise, week }, { weeks, share }).flatMap((level) => {
    const days = Array.from({ length: 7 }, () => share * Math.sqrt(within) * random.normal(0, 1))
    const middle = days.reduce((total, day) => total + day / 7, 0)
    return days.map((day) => (random.chance(missingShare) ? null : level + day - middle))
  })
}
