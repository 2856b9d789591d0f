import { describe, expect, test } from 'vitest'
import { archetypeAnswerSchema } from '../../../src/base/contract/archetype.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { bandOf, settledBand } from '../../../src/service/derive/days/hysteresis.ts'
import {
  archetypeThresholds,
  consistentFrom,
  type OrdinalName,
  periodMinimums,
  usualDeviation,
} from '../../../src/service/derive/model/archetype-model.ts'
import { median } from '../../../src/service/derive/model/statistics.ts'
import { sleepPatternOf } from '../../../src/service/derive/records/archetype-records.ts'
import { createSeededRandom } from '../../../src/service/sandbox/people/seeded-random.ts'
import { dayBefore, daysFrom, deriveAll, log, walk, wornAllDay } from './made-logs.ts'
import { drawnShare, realNoise, realWeeks } from './real-noise.ts'

const week = daysFrom('2026-03-02', 7)
const month = daysFrom('2026-03-01', 31)
const asOf = '2026-04-02T00:00:00Z'

function said(logs: readonly DataLog[], name: string, periodicity = 'weekly', until = asOf) {
  const all = deriveAll({ logs, asOf: until }).archetypes
  return all.find((archetype) => archetype['name'] === name && archetype['periodicity'] === periodicity)?.['value']
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
      (archetype) => archetype['periodicity'] === 'monthly',
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

describe('lives with the noise of real people’s weeks', () => {
  const noise = realNoise('steps')
  const edges = archetypeThresholds.activity_level
  type Weeks = readonly (number | null)[]
  const replayed = (weeks: Weeks, week: number) =>
    Array.from({ length: periodMinimums.weekly.replayed }, (_, place) => {
      const value = weeks[week - periodMinimums.weekly.replayed + 1 + place]
      return value === undefined ? null : value
    })
  const activityLevel = (weeks: Weeks) =>
    weeks.map((_, week) => settledBand(edges, replayed(weeks, week), usualDeviation('activity_level', 'weekly')))
  /** The levels of people differ by a third. Some weeks are missing. */
  function weeksOf(random: ReturnType<typeof createSeededRandom>, count: number, levelAt = (_week: number) => 1) {
    const level = 8000 * Math.exp(random.normal(0, 0.35))
    const weeks = realWeeks(random, noise, { weeks: count, share: drawnShare(random, noise) })
    return weeks.map((value, week) => (random.chance(0.04) ? null : level * levelAt(week) * Math.max(0.05, value)))
  }
  /** The share of weeks whose label is another than that of the week before. */
  function changeRate(count: number, labelsOf: (random: ReturnType<typeof createSeededRandom>) => (unknown | null)[]) {
    const lives = Array.from({ length: 400 }, (_, life) =>
      labelsOf(createSeededRandom('archetypes', count, life)).filter((label) => label !== null),
    )
    const pairs = lives.flatMap((labels) => labels.slice(1).map((label, index) => label !== labels[index]))
    return pairs.filter(Boolean).length / pairs.length
  }

  test.each([12, 52])('over %d weeks change their activity level in at most 13 of 100', (count) => {
    const raw = changeRate(count, (random) => weeksOf(random, count).map((value) => value && bandOf(edges, value)))
    expect(raw).toBeGreaterThan(0.35)
    expect(changeRate(count, (random) => activityLevel(weeksOf(random, count)))).toBeLessThanOrEqual(0.13)
  })
  test('have the new level after two weeks that are past the threshold by more than a deviation of their own', () => {
    let followed = 0
    for (let life = 0; life < 300; life += 1) {
      const random = createSeededRandom('a change that stays', life)
      const [from, factor] = [random.integer(8, 24), random.between(0.4, 2.2)]
      const weeks = weeksOf(random, 30, (week) => (week < from ? 1 : factor))
      const labels = activityLevel(weeks)
      const known = weeks.flatMap((value, week) => (value === null ? [] : [week]))
      for (const [place, week] of known.entries()) {
        const [before, last] = [known[place - 2] ?? 0, known[place - 1] ?? 0]
        const label = labels[before]
        const seen = replayed(weeks, week).filter((value) => value !== null)
        if (place < 5 || label === null || label === undefined || seen.length < 6) continue
        const deviation = median(seen.slice(1).map((value, index) => Math.abs(value - (seen[index] ?? 0)))) / 0.9539
        const [least, most] = [Math.min, Math.max].map((of) => of(weeks[last] ?? 0, weeks[week] ?? 0))
        const isPast =
          (least ?? 0) > (edges[label] ?? Number.POSITIVE_INFINITY) + deviation ||
          (most ?? 0) < (edges[label - 1] ?? 0) - deviation
        const isMeasured = deviation > 0.06 * (edges[label] ?? edges[2])
        if (!isPast || !isMeasured) continue
        expect(labels[week], `life ${life}, week ${week}`).not.toBe(label)
        followed += 1
      }
    }
    expect(followed).toBeGreaterThan(200)
  })
  test.each([12, 52])('over %d weeks change their sleep pattern in at most 13 of 100', (count) => {
    // We have no data of the noise of bedtimes: a deviation of half an hour for clock times and 0.025 for the regularity is assumed.
    const settle = (name: OrdinalName, thresholds: readonly number[], weeks: Weeks) =>
      weeks.map((_, week) => settledBand(thresholds, replayed(weeks, week), usualDeviation(name, 'weekly')))
    const rate = changeRate(count, (random) => {
      const share = drawnShare(random, noise)
      const around = (level: number, deviation: number) =>
        realWeeks(random, { ...noise, week: deviation }, { weeks: count, share }).map((value) => level + value - 1)
      const bed = settle('bed_schedule', archetypeThresholds.bed_schedule, around(random.normal(700, 60), 30))
      const wake = settle('wake_schedule', archetypeThresholds.wake_schedule, around(random.normal(450, 60), 30))
      const regular = settle('sleep_regularity', [consistentFrom], around(random.normal(0.86, 0.035), 0.025))
      return bed.map((band, week) =>
        sleepPatternOf({ bed: band ?? 0, wake: wake[week] ?? 0, regular: regular[week] ?? 0 }),
      )
    })
    expect(rate).toBeLessThanOrEqual(0.13)
  })
})

test('a week just past a threshold keeps the archetype of the week before', () => {
  const weeks = daysFrom('2026-03-02', 14).map((day, place) =>
    log('steps', `${day}T09:00:00Z`, [60, place < 7 ? 7400 : 7800]),
  )
  const labels = deriveAll({ logs: weeks, asOf }).archetypes.filter(
    (archetype) => archetype['name'] === 'activity_level' && archetype['periodicity'] === 'weekly',
  )

  expect(labels.map((label) => label['value'])).toEqual(['lightly_active', 'lightly_active'])
})

test('who trains three times a week is a regular exerciser from the fourth such week on', () => {
  const days = daysFrom('2026-01-05', 7 * 12)
  const logs = days.flatMap((day, place) => [
    log('steps', `${day}T09:00:00Z`, [60, 5000]),
    ...(place % 7 < (place < 7 * 8 ? 2 : 3) ? [log('exercise_session_running', `${day}T18:00:00Z`, [30, 30])] : []),
  ])
  const labels = deriveAll({ logs, asOf }).archetypes.filter(
    (archetype) => archetype['name'] === 'exercise_frequency' && archetype['periodicity'] === 'weekly',
  )

  expect(labels.slice(-2).map((label) => label['value'])).toEqual(['occasional_exerciser', 'regular_exerciser'])
})

test('a served archetype has the contract’s shape', () => {
  const logs = month.flatMap((day) => [
    log('sleep_stage_sleeping', `${dayBefore(day)}T23:00:00Z`, [480, 480]),
    ...walk(`${day}T09:00:00Z`, [60, 6000]),
    log('exercise_session_rowing', `${day}T18:00:00Z`, [20, 20]),
  ])
  const { archetypes } = deriveAll({ logs, asOf })

  expect(new Set(archetypes.map((archetype) => archetype['name'])).size).toBe(12)
  for (const archetype of archetypes) expect(() => archetypeAnswerSchema.parse(archetype)).not.toThrow()
})
