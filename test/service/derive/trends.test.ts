import { describe, expect, test } from 'vitest'
import { trendAnswerSchema } from '../../../src/base/contract/trend.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { judgeTrend } from '../../../src/service/derive/days/trend-judgement.ts'
import {
  clockMedian,
  midRank,
  normalShare,
  quantile,
  theilSen,
  weightedMean,
} from '../../../src/service/derive/model/statistics.ts'
import { studentTail, weekTest } from '../../../src/service/derive/model/week-test.ts'
import { dayBefore, daysFrom, deriveAll, log } from './made-logs.ts'

const asOf = '2026-04-02T00:00:00Z'
const month = daysFrom('2026-03-02', 28)
const walking = (of: (place: number) => number, days = month) =>
  days.flatMap((day, place) => (of(place) > 0 ? [log('steps', `${day}T09:00:00Z`, [60, of(place)])] : []))

function trend(logs: readonly DataLog[], name: string, until = asOf) {
  const all = deriveAll({ logs, asOf: until }).trends
  return all.findLast((trend) => trend['name'] === name && trend['category'] === 'factor')
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
  test('of a new profile needs a change larger than most people’s weeks differ', () => {
    const state = (percent: number) =>
      trend(
        walking((place) => 8000 * (1 + (percent / 100) * Math.floor(place / 7))),
        'steps',
      )?.['state']
    expect(state(60)).toBe('increasing')
    expect(state(10)).toBe('stable')
  })
  test('a resting heart rate is better when it is lower', () => {
    const rates = month.map((day) => log('resting_heart_rate', `${day}T09:00:00Z`, [0, 60]))
    expect(trend(rates, 'resting_heart_rate')).toMatchObject({ isHigherBetter: false, state: 'stable' })
  })
})

describe('up, down or stable', () => {
  type Judged = { earlier?: (day: number) => number; days?: number; name?: string }
  const line = (of: (day: number) => number, from: number, days: number) =>
    Array.from({ length: days }, (_, place): [number, number] => [from + place, of(from + place)])
  /** Day 0 is the first of the four weeks. */
  const judge = (of: (day: number) => number, { earlier = of, days = 28, name = 'steps' }: Judged = {}) =>
    judgeTrend({ name, firstDay: 0, values: line(of, 0, days), earlier: line(earlier, -84, 84) })
  /** Weeks that are alike, with a pattern of weekdays: no noise of weeks. */
  const weekly = (level: number) => (day: number) => level + 500 * ((((day % 7) + 7) % 7) - 3)

  test('weeks that rise from the level before are increasing, their mirror image decreasing', () => {
    expect(judge((day) => 8000 + Math.max(0, day) * 100).state).toBe('increasing')
    expect(judge((day) => 8000 - Math.max(0, day) * 100).state).toBe('decreasing')
    expect(judge(weekly(8000)).state).toBe('stable')
  })
  test('the slope is that of the four weeks by the week', () => {
    expect(judge((day) => 8000 + Math.max(0, day) * 100).slopePerWeek).toBeCloseTo(700, 9)
  })
  test('the unit of a figure decides nothing', () => {
    const rising = (day: number) => 8000 + Math.max(0, day) * 100
    expect(judge((day) => rising(day) / 1e6)).toMatchObject({
      state: 'increasing',
      pValue: expect.closeTo(judge(rising).pValue ?? 0, 9),
    })
  })
  test.each([5, 6, 8, 10, 12, 20])('a rise that began %d weeks ago and goes on is increasing', (count) => {
    const began = 28 - 7 * count
    expect(judge((day) => 8000 + Math.max(0, day - began) * 85).state).toBe('increasing')
    expect(judge((day) => 8000 - Math.max(0, day - began) * 50).state).toBe('decreasing')
  })
  test('a sudden step at the beginning of the four weeks is a change, though they have no slope', () => {
    expect(judge((day) => (day < 0 ? 8000 : 5600)).state).toBe('decreasing')
    expect(judge((day) => (day < 0 ? 8000 : 10_400)).state).toBe('increasing')
  })
  test('a change that went back before the four weeks, or turned in them, is none', () => {
    expect(judge((day) => (day < -28 ? 8000 : day < 0 ? 11_000 : 9500)).state).toBe('stable')
    expect(judge((day) => weekly(6000)(day) + 70 * day, { earlier: weekly(7000) }).state).toBe('stable')
  })
  test('a change that ended before the four weeks is none, however sure it is', () => {
    /** The levels of the eight weeks up to the last, after eight weeks of 300. */
    const nights = (...levels: number[]) =>
      judge((day) => levels[Math.floor(day / 7) + 4] ?? 300, { name: 'sleep_duration' })
    expect(nights(420, 420, 420, 420, 420, 420, 420, 420)).toMatchObject({
      state: 'stable',
      pValue: expect.closeTo(0.025, 3),
    })
    // The last four have a mean of 418 after one of 420, and of 420.5 after one of 420.
    expect(nights(450, 410, 410, 410, 418, 418, 418, 418).state).toBe('stable')
    expect(nights(420, 420, 420, 420, 440, 414, 414, 414).state).toBe('increasing')
  })
  test('where the four weeks before are missing, the last week must be past the first', () => {
    const state = (...levels: number[]) =>
      judgeTrend({
        name: 'steps',
        firstDay: 0,
        values: line((day) => levels[Math.floor(day / 7)] ?? 0, 0, 28),
        earlier: line(() => 8000, -84, 56),
      }).state
    expect(state(12_000, 12_000, 12_000, 12_000)).toBe('stable')
    expect(state(12_000, 12_300, 12_000, 11_900)).toBe('stable')
    expect(state(12_000, 11_900, 12_000, 12_100)).toBe('increasing')
  })
  test('a slope over fewer than fourteen values is stable', () => {
    const rising = (day: number) => 8000 + 300 * Math.max(0, day)
    expect(judge(rising, { days: 14 }).pValue).not.toBeNull()
    expect(judge(rising, { days: 13 })).toEqual({ state: 'stable', slopePerWeek: null, pValue: null })
  })
  test('the weeks before show what is usual: the same four weeks are a trend for a steady person only', () => {
    const rising = (day: number) => weekly(8000)(day) + 60 * day
    const wandering = (day: number) => 8000 + 2500 * Math.sin(day / 9)
    expect(judge(rising, { earlier: weekly(8000) }).state).toBe('increasing')
    expect(judge(rising, { earlier: wandering }).state).toBe('stable')
  })
  test('one odd day makes no trend', () => {
    const steady = (day: number) => 8000 + 400 * ((((day % 5) + 5) % 5) - 2)
    expect(judge((day) => (day === 27 ? 90_000 : steady(day)), { earlier: steady }).state).toBe('stable')
  })
  test('a day counts as at most four deviations from the middle', () => {
    // A median distance of 1,000: 4 × 1.4826 × 1,000 above 8,000 are 13,930.4.
    const pValue = (last: number) => judge((day) => (day === 27 ? last : weekly(8000)(day))).pValue ?? 0
    expect(pValue(13_931)).toBe(pValue(90_000))
    expect(pValue(13_930)).toBeGreaterThan(pValue(90_000))
  })
  test('a figure that never varies, or is always zero, is stable', () => {
    expect(judge(() => 60).state).toBe('stable')
    expect(judge(() => 0).state).toBe('stable')
  })
  test('a figure that was zero may rise, and one may fall to zero', () => {
    const debt = { name: 'sleep_debt', earlier: () => 0 }
    expect(judge((day) => day / 7, debt)).toMatchObject({ state: 'increasing', pValue: expect.closeTo(0, 3) })
    expect(judge(() => 0, { ...debt, earlier: () => 3 })).toMatchObject({
      state: 'decreasing',
      pValue: expect.closeTo(0, 3),
    })
  })
  test('a week with fewer than four days, or three nights, does not count', () => {
    const days = (perWeek: number) =>
      line((day) => (day < 0 ? 8000 : 5000), -84, 112).filter(([day]) => (day + 84) % 7 < perWeek)
    const state = (perWeek: number, name: string) =>
      judgeTrend({
        name,
        firstDay: 0,
        values: line(() => 5000, 0, 28),
        earlier: days(perWeek).filter(([day]) => day < 0),
      }).state
    expect([state(4, 'steps'), state(3, 'steps')]).toEqual(['decreasing', 'stable'])
    expect([state(3, 'sleep_duration'), state(2, 'sleep_duration')]).toEqual(['decreasing', 'stable'])
  })
})

describe('statistics against worked examples', () => {
  const rising = [1, 3, 2, 5, 4].map((value, week) => ({ week, value }))
  const independent = { deviation: 0, weight: 0, correlation: 0 }

  test('least squares on independent weeks give change and p value of a worked example', () => {
    // 1 3 2 5 4 over weeks 0 to 4: slope 0.8, residual sum of squares 3.6, 1.2 a degree of freedom of 3. Error √(1.2 / 10) = 0.346,
    // t = 2.309: 0.104 by tables.
    const found = weekTest(rising, (week) => week, independent)
    expect(found.change).toBeCloseTo(0.8, 10)
    expect(found.pValue).toBeCloseTo(0.104, 2)
  })
  test('the usual deviation counts like the weeks of its weight', () => {
    // (3.6 + 3 × 0.49) / 6 = 0.845, error 0.2907, t = 2.752 with 6: 0.033.
    const found = weekTest(rising, (week) => week, { ...independent, deviation: 0.7, weight: 3 })
    expect(found.pValue).toBeCloseTo(0.033, 2)
  })
  test('correlated weeks are fewer than they seem, and less correlated across a missing week', () => {
    const p = (correlation: number, weeks = rising) =>
      weekTest(weeks, (week) => week, { ...independent, correlation }).pValue
    expect(p(0)).toBeLessThan(p(0.3))
    expect(p(0.3)).toBeLessThan(p(0.6))
    // Weeks 0, 2, 4, … with 0.5 between neighbours are correlated by 0.25.
    const apart = rising.map(({ week, value }) => ({ week: 2 * week, value }))
    expect(p(0.5, apart)).toBeCloseTo(p(0.25), 10)
  })
  test('two weeks, or a shape that no week has, are no evidence', () => {
    expect(weekTest(rising.slice(0, 2), (week) => week, independent).pValue).toBe(1)
    expect(weekTest(rising, () => 0, independent).pValue).toBe(1)
    expect(weekTest(rising, () => 1, independent).pValue).toBe(1)
  })
  test('the tail of Student’s t agrees with its tables', () => {
    // From tables: 2.571 with 5 degrees and 2.228 with 10 leave 5 %, 12 and more leave next to nothing.
    expect(studentTail(2.571, 5)).toBeCloseTo(0.05, 2)
    expect(studentTail(2.228, 10)).toBeCloseTo(0.05, 3)
    expect(studentTail(12, 30)).toBeLessThan(1e-6)
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
  for (const trend of trends) expect(() => trendAnswerSchema.parse(trend)).not.toThrow()
})
