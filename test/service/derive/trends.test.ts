import { describe, expect, test } from 'vitest'
import { trendAnswerSchema } from '../../../src/contract/trend.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { judgeTrend } from '../../../src/service/derive/days/trend-judgement.ts'
import {
  clockMedian,
  mannKendall,
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
  test('less is better for some subjects', () => {
    const rates = month.map((day) => log('resting_heart_rate', `${day}T09:00:00Z`, [0, 60]))
    expect(trend(rates, 'resting_heart_rate')).toMatchObject({ isHigherBetter: false, state: 'stable' })
  })
})

describe('up, down or stable', () => {
  const line = (of: (day: number) => number, days = 28) =>
    Array.from({ length: days }, (_, day): [number, number] => [day, of(day)])

  test('a large and significant slope', () => {
    // Steps: 10 % over 27 days of a median 8,000 are 800, 29.63 a day.
    expect(
      judgeTrend(
        line((day) => 8000 + 30 * (day - 13.5)),
        null,
        'steps',
      ).state,
    ).toBe('increasing')
    expect(
      judgeTrend(
        line((day) => 8000 - 30 * (day - 13.5)),
        null,
        'steps',
      ).state,
    ).toBe('decreasing')
    expect(
      judgeTrend(
        line((day) => 8000 + 29 * (day - 13.5)),
        null,
        'steps',
      ).state,
    ).toBe('stable')
  })
  test('not with fewer than fourteen values', () => {
    expect(
      judgeTrend(
        line((day) => 8000 + 300 * day, 14),
        null,
        'steps',
      ).state,
    ).toBe('increasing')
    expect(
      judgeTrend(
        line((day) => 8000 + 300 * day, 13),
        null,
        'steps',
      ).state,
    ).toBe('stable')
  })
  test('not when it is not significant', () => {
    // Rises over three days, then falls back, again and again: steep pairs without a trend.
    expect(
      judgeTrend(
        line((day) => 8000 + 2000 * (day % 4)),
        null,
        'steps',
      ).state,
    ).toBe('stable')
  })
  test('or a last week that differs by more than weeks without a change do', () => {
    expect(
      judgeTrend(
        line(() => 8000),
        0.67,
        'steps',
      ).state,
    ).toBe('increasing')
    expect(
      judgeTrend(
        line(() => 8000),
        -0.67,
        'steps',
      ).state,
    ).toBe('decreasing')
    expect(
      judgeTrend(
        line(() => 8000),
        0.66,
        'steps',
      ).state,
    ).toBe('stable')
    expect(
      judgeTrend(
        line(() => 0.8),
        0.15,
        'readiness',
      ).state,
    ).toBe('increasing')
  })
})

describe('statistics against worked examples', () => {
  test('Mann and Kendall', () => {
    // 1 2 3 4 5: S = 10, var = 5×4×15/18 = 16.667, z = 9/4.0825 = 2.2045, p = 0.0275.
    expect(mannKendall([1, 2, 3, 4, 5])).toBeCloseTo(0.0275, 4)
    // 1 1 2 2: S = 4, var = (4×3×13 - 2×(2×1×9))/18 = 120/18, z = 3/2.582 = 1.1619, p = 0.2453.
    expect(mannKendall([1, 1, 2, 2])).toBeCloseTo(0.2453, 4)
    expect(mannKendall([3, 3, 3])).toBe(1)
  })
  test('Theil and Sen', () => {
    // Slopes of (0,0) (1,1) (2,10): 1, 5, 9.
    expect(
      theilSen([
        [0, 0],
        [1, 1],
        [2, 10],
      ]),
    ).toBe(5)
  })
  test('the other statistics', () => {
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
