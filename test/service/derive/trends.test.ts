import { describe, expect, test } from 'vitest'
import { trendAnswerSchema } from '../../../src/base/contract/trend.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { judgeTrend } from '../../../src/service/derive/days/trend-judgement.ts'
import { serialTest, studentTail } from '../../../src/service/derive/model/serial-noise.ts'
import {
  clockMedian,
  midRank,
  normalShare,
  quantile,
  theilSen,
  weightedMean,
} from '../../../src/service/derive/model/statistics.ts'
import { dayBefore, daysFrom, deriveAll, log } from './made-logs.ts'

const asOf = '2026-04-02T00:00:00Z'
const month = daysFrom('2026-03-02', 28)
const walking = (of: (place: number) => number, days = month) =>
  days.flatMap((day, place) => (of(place) > 0 ? [log('steps', `${day}T09:00:00Z`, [60, of(place)])] : []))

function trend(logs: readonly DataLog[], name: string, until = asOf) {
  const all = deriveAll({ logs, asOf: until }).trends
  return all.findLast((one) => one['name'] === name && one['category'] === 'factor')
}

describe('a trend', () => {
  test('has the means of four weeks, each against the week before', () => {
    // 8,000, 8,800 (+10 %), 8,800 (0), 6,600 (-25 %).
    const weeks = [8000, 8800, 8800, 6600]
    expect(
      trend(
        walking((place) => weeks[Math.floor(place / 7)] ?? 0),
        'steps',
      ),
    ).toMatchObject({
      trendStartDateTime: '2026-03-02T00:00:00+00:00',
      trendEndDateTime: '2026-03-29T23:59:59+00:00',
      data: [
        {
          value: 8000,
          percentChangeFromPrevious: null,
          startDateTime: '2026-03-02T00:00:00+00:00',
          endDateTime: '2026-03-08T23:59:59+00:00',
        },
        { value: 8800, percentChangeFromPrevious: 0.1 },
        { value: 8800, percentChangeFromPrevious: 0 },
        { value: 6600, percentChangeFromPrevious: -0.25 },
      ],
      isHigherBetter: true,
      weeksUsed: 4,
    })
  })
  test('a week needs four valid days, the trend two weeks', () => {
    const some = (counts: readonly number[]) =>
      walking((place) => (place % 7 < (counts[Math.floor(place / 7)] ?? 0) ? 8000 : 0))
    expect(trend(some([4, 3, 3, 4]), 'steps')?.['data']).toHaveLength(2)
    expect(trend(some([3, 3, 3, 4]), 'steps')).toBeUndefined()
  })
  test('three nights are enough for subjects of the night', () => {
    const nights = (perWeek: number) =>
      month
        .filter((_, place) => place % 7 < perWeek)
        .map((day) => log('sleep_stage_sleeping', `${dayBefore(day)}T23:00:00Z`, [450, 450]))
    expect(trend(nights(3), 'sleep_duration')).toBeDefined()
    expect(trend(nights(2), 'sleep_duration')).toBeUndefined()
  })
  test('comes when the week is over, not before', () => {
    expect(
      trend(
        walking(() => 8000),
        'steps',
        '2026-03-29T23:59:59Z',
      )?.['trendEndDateTime'],
    ).toBe('2026-03-22T23:59:59+00:00')
    expect(
      trend(
        walking(() => 8000),
        'steps',
        '2026-03-30T00:00:00Z',
      )?.['trendEndDateTime'],
    ).toBe('2026-03-29T23:59:59+00:00')
  })
  test('a last week far from the week before is a change, though all days have no slope', () => {
    // +75 %, where 67 % is the threshold; most pairs of days are equal, so the median slope is 0.
    expect(
      trend(
        walking((place) => (place < 21 ? 8000 : 14000)),
        'steps',
      )?.['state'],
    ).toBe('increasing')
    expect(
      trend(
        walking((place) => (place < 21 ? 8000 : 13000)),
        'steps',
      )?.['state'],
    ).toBe('stable')
  })
  test('a resting heart rate is better when it is lower', () => {
    const rates = month.map((day) => log('resting_heart_rate', `${day}T09:00:00Z`, [0, 60]))
    expect(trend(rates, 'resting_heart_rate')).toMatchObject({ isHigherBetter: false, state: 'stable' })
  })
})

describe('up, down or stable', () => {
  type Judged = { earlier?: (day: number) => number; days?: number; lastChange?: number | null; name?: string }
  const line = (of: (day: number) => number, from: number, days: number) =>
    Array.from({ length: days }, (_, place): [number, number] => [from + place, of(from + place)])
  /** Day 0 is the first of the four weeks. */
  const judge = (of: (day: number) => number, { earlier, days = 28, lastChange = null, name = 'steps' }: Judged = {}) =>
    judgeTrend({
      name,
      firstDay: 0,
      values: line(of, 0, days),
      earlier: earlier ? line(earlier, -84, 84) : [],
      lastChange,
    })
  /** A week that repeats, around a level: no trend, and no noise beyond the weekdays. */
  const weekly = (level: number) => (day: number) => level + 500 * ((((day % 7) + 7) % 7) - 3)

  test('a slope over the threshold is increasing, its mirror image decreasing, a smaller slope stable', () => {
    // Steps: 10 % over 27 days of a median 8,000 are 800, 29.63 a day.
    expect(judge((day) => 8000 + 30 * (day - 13.5)).state).toBe('increasing')
    expect(judge((day) => 8000 - 30 * (day - 13.5)).state).toBe('decreasing')
    expect(judge((day) => 8000 + 29 * (day - 13.5)).state).toBe('stable')
  })
  test('a slope over fewer than fourteen values is stable', () => {
    expect(judge((day) => 8000 + 300 * day, { days: 14 }).state).toBe('increasing')
    expect(judge((day) => 8000 + 300 * day, { days: 13 }).state).toBe('stable')
  })
  test('steep rises that fall back each time are not significant, so the trend is stable', () => {
    // Rises over three days, then falls back, again and again: steep pairs without a trend.
    expect(judge((day) => 8000 + 2000 * (day % 4)).state).toBe('stable')
  })
  test('the weeks before show what is usual: the same four weeks are a trend for a steady person only', () => {
    const rising = (day: number) => weekly(8000)(day) + 60 * day
    const wandering = (day: number) => 8000 + 2500 * Math.sin(day / 9)
    expect(judge(rising, { earlier: weekly(8000) }).state).toBe('increasing')
    expect(judge(rising, { earlier: wandering }).state).toBe('stable')
  })
  test('four weeks that come back to the level before are no trend away from it', () => {
    expect(judge((day) => weekly(6000)(day) + 70 * day, { earlier: weekly(8000) }).state).toBe('stable')
  })
  test('a rise of four weeks far below the level before is none: the days as a whole fell', () => {
    const wobbling = (level: (day: number) => number) => (day: number) => level(day) + 100 * ((((day % 7) + 7) % 7) - 3)
    const rising = wobbling((day) => 5000 + 75 * day)
    expect(judge(rising, { earlier: wobbling(() => 5000) }).state).toBe('increasing')
    expect(judge(rising, { earlier: wobbling(() => 15_000) }).state).toBe('stable')
  })
  test('a last week whose days went the other way than its mean is no change', () => {
    const lastWeek = (day: number) => (day < 21 ? 8000 : 8000 * 1.67)
    expect(judge(lastWeek, { earlier: () => 8000, lastChange: 0.67 }).state).toBe('increasing')
    expect(judge(lastWeek, { earlier: () => 8000, lastChange: -0.67 }).state).toBe('stable')
  })
  test('a last week that differs from the week before by more than weeks without a change do, and than the person’s do', () => {
    const lastWeek = (factor: number) => (day: number) => (day < 21 ? 8000 : 8000 * factor)
    expect(judge(lastWeek(1.67), { earlier: () => 8000, lastChange: 0.67 }).state).toBe('increasing')
    expect(judge(lastWeek(0.33), { earlier: () => 8000, lastChange: -0.67 }).state).toBe('decreasing')
    expect(judge(lastWeek(1.66), { earlier: () => 8000, lastChange: 0.66 }).state).toBe('stable')
    const restless = (day: number) => (Math.floor(day / 7) % 2 === 0 ? 4000 : 12000)
    expect(judge(lastWeek(1.67), { earlier: restless, lastChange: 0.67 }).state).toBe('stable')
  })
})

describe('statistics against worked examples', () => {
  test('least squares on independent days give slope and p value of a worked example', () => {
    // 1 3 2 5 4 over days 0 to 4: slope 0.8, residual sum of squares 3.6, 0.72 a value. The level takes a fifth of the
    // variance with it: 0.72 / 0.8 = 0.9. Error √(0.9 / 10) = 0.3, t = 2.6667 with 3 degrees of freedom: 0.0759 by tables.
    const values = [1, 3, 2, 5, 4].map((value, day): [number, number] => [day, value])
    const found = serialTest(values, { regressor: (day) => day, least: [] })
    expect(found.change).toBeCloseTo(0.8, 10)
    expect(found.pValue).toBeCloseTo(0.076, 2)
  })
  test('the tail of Student’s t agrees with its tables', () => {
    // From tables: 2.571 with 5 degrees and 2.228 with 10 leave 5 %, 12 and more leave next to nothing.
    expect(studentTail(2.571, 5)).toBeCloseTo(0.05, 2)
    expect(studentTail(2.228, 10)).toBeCloseTo(0.05, 3)
    expect(studentTail(12, 30)).toBeLessThan(1e-6)
  })
  test('correlated days are fewer than they seem: the same slope is less certain', () => {
    const values = Array.from({ length: 28 }, (_, day): [number, number] => [day, day + 3 * (day % 2)])
    const p = (share: number) => serialTest(values, { regressor: (day) => day, least: [{ share, decay: 0.9 }] }).pValue
    expect(p(0)).toBeLessThan(p(0.3))
    expect(p(0.3)).toBeLessThan(p(0.9))
  })
  test('the slope of Theil and Sen is the median of the slopes of all pairs', () => {
    // Slopes of (0,0) (1,1) (2,10): 1, 5, 9.
    expect(
      theilSen([
        [0, 0],
        [1, 1],
        [2, 10],
      ]),
    ).toBe(5)
  })
  test('normal share, quantile, mid-rank, weighted mean and clock median give the worked values', () => {
    expect(normalShare(1.96)).toBeCloseTo(0.975, 4)
    expect(normalShare(-1)).toBeCloseTo(0.1587, 4)
    expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5)
    expect(midRank([1, 2, 2, 3], 2)).toBe(0.5)
    expect(weightedMean([1, 1, 5], 3)).toBe(3)
    expect(clockMedian([1430, 10, 1420])).toBe(1430)
    expect(clockMedian([1430, 10])).toBe(0)
  })
})

test('served trends have the contract’s shape', () => {
  const { trends } = deriveAll({ logs: walking((place) => 6000 + 100 * place), asOf })
  expect(trends.length).toBeGreaterThan(1)
  for (const one of trends) expect(() => trendAnswerSchema.parse(one)).not.toThrow()
})
