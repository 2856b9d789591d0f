import { describe, expect, test } from 'vitest'
import { archetypeAnswerSchema } from '../../../src/base/contract/archetype.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { bandOf, settledBand } from '../../../src/service/derive/days/hysteresis.ts'
import { archetypeThresholds, hysteresis } from '../../../src/service/derive/model/archetype-model.ts'
import { mean } from '../../../src/service/derive/model/statistics.ts'
import { createSeededRandom } from '../../../src/service/sandbox/people/seeded-random.ts'
import { dayBefore, daysFrom, deriveAll, log, walk, wornAllDay } from './made-logs.ts'

const week = daysFrom('2026-03-02', 7)
const month = daysFrom('2026-03-01', 31)
const asOf = '2026-04-02T00:00:00Z'

function said(logs: readonly DataLog[], name: string, periodicity = 'weekly', until = asOf) {
  const all = deriveAll({ logs, asOf: until }).archetypes
  return all.find((one) => one['name'] === name && one['periodicity'] === periodicity)?.['value']
}

describe('activity', () => {
  const walking = (steps: number, days = week) => days.map((day) => log('steps', `${day}T09:00:00Z`, [60, steps]))

  test.each([
    [4999, 'sedentary'],
    [5000, 'lightly_active'],
    [7499, 'lightly_active'],
    [7500, 'moderately_active'],
    [9999, 'moderately_active'],
    [10000, 'highly_active'],
  ])('%d steps a day are %s', (steps, value) => {
    expect(said(walking(steps), 'activity_level')).toBe(value)
  })
  test('needs four valid days of a week, ten of a month', () => {
    expect(said(walking(8000, week.slice(0, 4)), 'activity_level')).toBe('moderately_active')
    expect(said(walking(8000, week.slice(0, 3)), 'activity_level')).toBeUndefined()
    expect(said(walking(8000, month.slice(0, 10)), 'activity_level', 'monthly')).toBe('moderately_active')
    expect(said(walking(8000, month.slice(0, 9)), 'activity_level', 'monthly')).toBeUndefined()
  })
  test('a week says nothing before it is over', () => {
    expect(said(walking(8000), 'activity_level', 'weekly', '2026-03-08T23:59:59Z')).toBeUndefined()
    expect(said(walking(8000), 'activity_level', 'weekly', '2026-03-09T00:00:00Z')).toBe('moderately_active')
  })
  test('a month ends at midnight of its last day', () => {
    const row = deriveAll({ logs: walking(8000, month), asOf }).archetypes.find(
      (one) => one['periodicity'] === 'monthly',
    )
    expect(row).toMatchObject({ startDateTime: '2026-03-01T00:00:00+00:00', endDateTime: '2026-03-31T00:00:00+00:00' })
  })
})

describe('exercise', () => {
  const session = (day: string, kind: string, minutes: number) =>
    log(`exercise_session_${kind}`, `${day}T18:00:00Z`, [minutes, minutes])
  const worn = week.flatMap((day) => wornAllDay(day))
  const trained = (count: number, minutes = 30) => [
    ...worn,
    ...week.slice(0, count).map((day) => session(day, 'running', minutes)),
  ]

  test.each([
    [1, 'occasional_exerciser'],
    [2, 'occasional_exerciser'],
    [3, 'regular_exerciser'],
    [5, 'frequent_exerciser'],
  ])('%d sessions a week: %s', (count, value) => {
    expect(
      said(
        [...trained(count), log('steps', `${week[0]}T09:00:00Z`, [10, 300])].concat(
          week.map((day) => log('steps', `${day}T12:00:00Z`, [10, 300])),
        ),
        'exercise_frequency',
      ),
    ).toBe(value)
  })
  test('sessions under ten minutes do not count', () => {
    const steps = week.map((day) => log('steps', `${day}T12:00:00Z`, [10, 300]))
    // Sessions of nine minutes show that the sources send sessions.
    expect(said([...trained(5, 9), ...steps], 'exercise_frequency')).toBe('rare_exerciser')
    expect(said([...trained(5, 10), ...steps], 'exercise_frequency')).toBe('frequent_exerciser')
  })
  test('names the exercises with the most time, and their orientation', () => {
    const days = week.map(String)
    const logs = [
      session(days[0] ?? '', 'yoga', 60),
      session(days[1] ?? '', 'running', 50),
      session(days[2] ?? '', 'pilates', 20),
    ]
    // Yoga 60, running 50, pilates 20: of mind and body 80 of 130.
    expect(said(logs, 'primary_exercise')).toBe('yoga')
    expect(said(logs, 'secondary_exercise')).toBe('running')
    expect(said(logs, 'primary_exercise_type')).toBe('mind_body_oriented')
    expect(said(logs.slice(0, 1), 'secondary_exercise')).toBeUndefined()
  })
  test.each([
    ['strength_training', 'strength_oriented'],
    ['cycling', 'cardio_oriented'],
    ['tennis', 'sport_oriented'],
    ['hiking', 'outdoor_oriented'],
    ['crossfit', 'hybrid_oriented'],
  ])('%s is %s', (kind, value) => {
    expect(said([session(week[0] ?? '', kind, 30)], 'primary_exercise_type')).toBe(value)
  })
  test('three kinds of a third each are hybrid', () => {
    const kinds = ['yoga', 'running', 'tennis']
    expect(
      said(
        kinds.map((kind, place) => session(week[place] ?? '', kind, 30)),
        'primary_exercise_type',
      ),
    ).toBe('hybrid_oriented')
  })
})

describe('sleep', () => {
  const asleep = (days: readonly string[], clock: string, minutes: number) =>
    days.map((day) =>
      log('sleep_stage_sleeping', `${clock >= '12:00' ? dayBefore(day) : day}T${clock}:00Z`, [minutes, minutes]),
    )

  test.each([
    [299, 'very_short_sleeper'],
    [300, 'short_sleeper'],
    [419, 'short_sleeper'],
    [420, 'average_sleeper'],
    [540, 'average_sleeper'],
    [541, 'long_sleeper'],
  ])('%d minutes: %s', (minutes, value) => {
    expect(said(asleep(week, '23:00', minutes), 'sleep_duration')).toBe(value)
  })
  test.each([
    ['21:29', 'very_early_sleeper'],
    ['21:30', 'early_sleeper'],
    ['22:59', 'early_sleeper'],
    ['23:00', 'late_sleeper'],
    ['00:29', 'late_sleeper'],
    ['00:30', 'very_late_sleeper'],
  ])('asleep from %s: %s', (clock, value) => {
    expect(said(asleep(week, clock, 480), 'bed_schedule')).toBe(value)
  })
  test.each([
    ['00:00', 329, 'very_early_riser'],
    ['00:00', 330, 'early_riser'],
    ['00:00', 450, 'late_riser'],
    ['00:00', 540, 'very_late_riser'],
  ])('from %s for %d minutes: %s', (clock, minutes, value) => {
    expect(said(asleep(week, clock, minutes), 'wake_schedule')).toBe(value)
  })
  test.each([
    ['22:00', 480, 'consistent_early_sleeper'],
    ['23:30', 400, 'consistent_early_riser'],
    ['01:00', 480, 'consistent_late_sleeper'],
    ['23:30', 520, 'consistent_late_riser'],
  ])('from %s for %d minutes: %s', (clock, minutes, value) => {
    expect(said(asleep(week, clock, minutes), 'sleep_pattern')).toBe(value)
  })
  test('is irregular and inconsistent when the nights differ by hours', () => {
    // Eight hours from 21:00 and from 01:00 in turn: four hours differ at each end, 480 of 1440: P = 0.667.
    const logs = week.flatMap((day, place) => asleep([day], place % 2 === 0 ? '21:00' : '01:00', 480))
    expect(said(logs, 'sleep_regularity')).toBe('highly_irregular_sleeper')
    expect(said(logs, 'sleep_pattern')).toMatch(/^inconsistent_/)
  })
  test('regularity needs five nights of a week in a row, eighteen of a month', () => {
    expect(said(asleep(week.slice(0, 5), '23:00', 480), 'sleep_regularity')).toBe('highly_regular_sleeper')
    expect(said(asleep(week.slice(0, 4), '23:00', 480), 'sleep_regularity')).toBeUndefined()
    expect(said(asleep(month.slice(0, 18), '23:00', 480), 'sleep_regularity', 'monthly')).toBe('highly_regular_sleeper')
    expect(said(asleep(month.slice(0, 17), '23:00', 480), 'sleep_regularity', 'monthly')).toBeUndefined()
  })
  test.each([
    // 480 of 641 are .7488, of 640 .75, of 565 .8496, of 564 .8511, of 522 .9195, of 521 .9213.
    [641, 'highly_inefficient_sleeper'],
    [640, 'inefficient_sleeper'],
    [565, 'inefficient_sleeper'],
    [564, 'efficient_sleeper'],
    [522, 'efficient_sleeper'],
    [521, 'highly_efficient_sleeper'],
  ])('480 of %d minutes in bed: %s', (inBed, value) => {
    const logs = week.flatMap((day) => [
      log('sleep_stage_in_bed', `${dayBefore(day)}T22:00:00Z`, [inBed, 1]),
      log('sleep_stage_sleeping', `${dayBefore(day)}T22:10:00Z`, [480, 1]),
    ])
    expect(said(logs, 'sleep_efficiency')).toBe(value)
  })
})

describe('an archetype changes slowly', () => {
  const edges = [10, 20, 30]
  /** Few periods: the margin is a twentieth of the threshold. */
  const settle = (...values: (number | null)[]) =>
    settledBand(edges, values, { leastMargin: (edge) => edge * 0.05, deviations: 2, pairShare: 0.5 })

  test('a value on a threshold belongs above it', () => {
    expect([9.9, 10, 20, 29.9, 30].map((value) => bandOf(edges, value))).toEqual([0, 1, 2, 2, 3])
  })
  test('one period just past a threshold changes nothing, one far past it does', () => {
    expect(settle(19, 20.9)).toBe(1)
    expect(settle(19, 21.1)).toBe(2)
    expect(settle(21, 19.1)).toBe(2)
    expect(settle(21, 18.9)).toBe(1)
  })
  test('two periods in a row past it change the band when their mean is by half of the margin', () => {
    expect(settle(19, 20.6, 20.6)).toBe(2)
    expect(settle(19, 20.4, 20.4)).toBe(1)
    expect(settle(19, 20.6, 19, 20.6)).toBe(1)
  })
  test('a gap neither confirms nor changes a band, and has no band itself', () => {
    expect(settle(19, 20.6, null)).toBeNull()
    expect(settle(19, 20.6, null, 20.6)).toBe(1)
    expect(settle(null, 25)).toBe(2)
  })
  test('a band may change by two at once', () => {
    expect(settle(5, 25)).toBe(2)
  })
  test('the margin grows with the differences of the person’s own periods', () => {
    // Differences 2, 2, 2 and the last: median 2, a deviation of 2 / 0.9539 = 2.097, twice that 4.193.
    expect(settle(18, 16, 18, 16, 24.1)).toBe(1)
    expect(settle(18, 16, 18, 16, 24.3)).toBe(2)
    // Two in a row need half of it, 2.097 past 20.
    expect(settle(18, 16, 18, 16, 22, 22)).toBe(1)
    expect(settle(18, 16, 18, 16, 22.2, 22.2)).toBe(2)
  })
  test('the replay begins with the middle of its first half', () => {
    // 21, 19, 19, 21, 19, 19 of six: the first half is 21 19 19, its median 19, and no value is past 20 by the margin.
    expect(settle(21, 19, 19, 21, 19, 19)).toBe(1)
    expect(settle(21, 21, 19, 21, 19, 20.9)).toBe(2)
  })
})

describe('made-up lives', () => {
  const edges = archetypeThresholds.activity_level
  const lives = 300
  const label = (weeks: readonly number[], week: number) =>
    settledBand(edges, weeks.slice(Math.max(0, week - 15), week + 1), {
      leastMargin: (edge) => edge * hysteresis.share,
      ...hysteresis,
    })
  /** Weekly means around a level that may change in week 40, with a little memory from week to week. */
  function weeksOf(
    random: ReturnType<typeof createSeededRandom>,
    levelAt: (week: number) => number,
    deviation: number,
  ) {
    let own = random.normal(0, 1)
    return Array.from({ length: 56 }, (_, week) => {
      own = 0.3 * own + Math.sqrt(1 - 0.09) * random.normal(0, 1)
      return levelAt(week) * (1 + deviation * own)
    })
  }
  const share = (of: (random: ReturnType<typeof createSeededRandom>) => number) =>
    mean(Array.from({ length: lives }, (_, life) => of(createSeededRandom('archetypes', life))))

  test.each([0.1, 0.15, 0.2, 0.25])(
    'without a change keep their activity level in 85 %% of weeks, at a deviation of %d',
    (deviation) => {
      const changes = share((random) => {
        const level = random.between(3500, 12_500)
        const weeks = weeksOf(random, () => level, deviation)
        const labels = weeks.map((_, week) => label(weeks, week)).slice(16)
        return mean(labels.slice(1).map((one, index) => (one === labels[index] ? 0 : 1)))
      })

      expect(changes).toBeLessThanOrEqual(0.15)
    },
  )
  test.each([
    [4000, 8750],
    [6250, 12_000],
    [12_000, 6250],
  ])('from %d to %d steps have the new level within two weeks', (from, to) => {
    const moved = share((random) => {
      const weeks = weeksOf(random, (week) => (week < 40 ? from : to), 0.2)
      return Math.sign((label(weeks, 41) ?? 0) - bandOf(edges, from)) === Math.sign(to - from) ? 1 : 0
    })

    expect(moved).toBeGreaterThanOrEqual(0.9)
  })
})

test('a week just past a threshold keeps the archetype of the week before', () => {
  const weeks = daysFrom('2026-03-02', 14).map((day, place) =>
    log('steps', `${day}T09:00:00Z`, [60, place < 7 ? 7400 : 7800]),
  )
  const labels = deriveAll({ logs: weeks, asOf }).archetypes.filter(
    (one) => one['name'] === 'activity_level' && one['periodicity'] === 'weekly',
  )

  expect(labels.map((one) => one['value'])).toEqual(['lightly_active', 'lightly_active'])
})

test('a served archetype has the contract’s shape', () => {
  const logs = month.flatMap((day) => [
    log('sleep_stage_sleeping', `${dayBefore(day)}T23:00:00Z`, [480, 480]),
    ...walk(`${day}T09:00:00Z`, [60, 6000]),
    log('exercise_session_rowing', `${day}T18:00:00Z`, [20, 20]),
  ])
  const { archetypes } = deriveAll({ logs, asOf })

  expect(new Set(archetypes.map((one) => one['name'])).size).toBe(12)
  for (const one of archetypes) expect(() => archetypeAnswerSchema.parse(one)).not.toThrow()
})
