import { describe, expect, test } from 'vitest'
import { explanationLines } from '../../../src/app/commands/questions/explain.ts'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import { factsOfDays } from '../../../src/service/derive/day/facts-of-days.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { mean } from '../../../src/service/derive/model/statistics.ts'
import { explainScore } from '../../../src/service/derive/records/explanation.ts'
import { dayBefore, daysFrom, deriveAll, log, phone, score, unknownDemographics, wornAllDay } from './made-logs.ts'

const week = daysFrom('2026-03-02', 7)
const last = '2026-03-08'
const asOf = Date.parse('2026-03-10T00:00:00Z')
const watchSteps = log('steps', `${last}T09:00:00Z`, [60, 6600])
const phoneSteps = log('steps', `${last}T09:00:00Z`, [60, 6400], phone)
const copy = { ...watchSteps, id: 'ffffffff-ffff-4fff-8fff-ffffffffffff' }
const logs: DataLog[] = [
  ...week.flatMap((day) => [
    log('sleep_stage_sleeping', `${dayBefore(day)}T23:00:00Z`, [450, 450]),
    ...(day === last ? [] : [log('steps', `${day}T09:00:00Z`, [60, 6600])]),
    ...wornAllDay(day),
  ]),
  log('sleep_stage_sleeping', `${dayBefore(last)}T22:00:00Z`, [400, 400], phone),
  watchSteps,
  phoneSteps,
  copy,
]

const ask = (type: 'activity' | 'sleep' | 'wellbeing' | 'readiness', from: readonly DataLog[] = logs, day = last) =>
  explainScore({
    logs: from,
    facts: factsOfDays({ logs: from, demographics: unknownDemographics, asOfMs: asOf }),
    demographics: unknownDemographics,
    asOfMs: asOf,
    day: dayNumberFromText(day),
    type,
  })

describe('an explanation', () => {
  test('sums up to the served score', () => {
    const served = score(deriveAll({ logs, asOf: '2026-03-10T00:00:00Z' }), 'wellbeing', last)
    const explanation = ask('wellbeing')

    expect(explanation.value).toBe(served?.value)
    expect(explanation.factors.map(({ name }) => name)).toEqual(served?.factors.map(({ name }) => name))
    expect(explanation.factors.reduce((sum, { contribution }) => sum + contribution, 0)).toBeCloseTo(
      served?.value ?? 0,
      2,
    )
    expect(explanation.factors.reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(1, 3)
  })
  test('lists the used logs, and the logs left out with the reason', () => {
    const explanation = ask('activity')

    expect(explanation.used.filter(({ dataType }) => dataType === 'steps')).toMatchObject([
      { amount: 6600, value: 6600 },
    ])
    const reasons = Object.fromEntries(explanation.leftOut.map(({ id, reason }) => [id, reason]))
    expect(reasons[phoneSteps.id]).toMatch(/better ranked/)
    expect(Object.values(reasons)).toContain('an exact copy of another log')
  })
  test('reports each log of steps once, though steps count for movement and for rest', () => {
    const reported: string[] = []
    const lineage = {
      used: (log: DataLog, as: string) => void (as === 'steps' && reported.push(log.id)),
      leftOut: () => undefined,
    }

    factsOfDays({ logs, demographics: unknownDemographics, asOfMs: asOf, lineage }, [dayNumberFromText(last)])

    expect(reported).toEqual([watchSteps.id])
  })
  test('says which source’s night counts', () => {
    const explanation = ask('sleep')

    expect(explanation.used.map(({ source }) => source)).toContain('watch-app')
    expect(explanation.leftOut).toMatchObject([
      { source: 'phone-app', reason: expect.stringMatching(/another source/) },
    ])
    expect(explanation.used.some(({ dataType }) => dataType === 'steps')).toBe(false)
  })
  test('says why there is no score, and which factors are missing', () => {
    expect(
      ask(
        'sleep',
        logs.filter(({ dataType }) => !dataType.startsWith('sleep')),
      ),
    ).toMatchObject({ value: null, reason: 'no main sleep of at least three hours is known' })
    expect(ask('sleep', logs, '2026-03-02').reason).toBe('less than half of the weight of its factors is there')
    expect(ask('activity', logs, '2026-05-01').reason).toBe('no log tells of this day')
    expect(ask('wellbeing', logs, '2026-03-02').reason).toMatch(
      /^there is no sleep score \(less than half of the weight/,
    )
    expect(ask('activity', [log('steps', `${last}T09:00:00Z`, [10, 100])]).reason).toMatch(/^the day is not valid/)
    expect(ask('readiness').missing.map(({ name }) => name)).toContain('heart_rate_variability')
  })
  test('can be read in a terminal', () => {
    const lines = explanationLines(ask('activity')).join('\n')

    expect(lines).toMatch(/^activity on 2026-03-08: 0\.\d\d \(\w+\), from \d+ % of its weight, model transparent-v3/)
    expect(lines).toMatch(/steps +6600 +10000 +count +0\.\d\d/)
    expect(lines).toMatch(/logs of the day left out: 3/)
    // 288 heart rates show wear, and are no log of activity; the walk is one line.
    expect(lines).toMatch(
      /1 × +steps +2026-03-08T09:00:00\+00:00 to 2026-03-08T10:00:00\+00:00 +watch-app \(watch\) +counts 6600/,
    )
    expect(lines.indexOf('steps   ')).toBeLessThan(lines.indexOf('logs of the day'))
    expect(lines).toMatch(/diagnoses nothing/)
    expect(explanationLines(ask('activity', logs, '2026-05-01'))[0]).toBe(
      'activity on 2026-05-01: no score, because no log tells of this day; wear: 0 of 600 minutes needed',
    )
  })
  test('folds the logs of one kind, source and reason into one line, and lists fifty', () => {
    const minutes = Array.from({ length: 300 }, (_, minute) =>
      log('steps', new Date(Date.parse(`${last}T12:00:00Z`) + minute * 60_000).toISOString(), [1, 20]),
    )
    const onTheTable = minutes.map((minute) => log('steps', new Date(minute.startMs).toISOString(), [1, 10], phone))
    const explanation = ask('activity', [...minutes, ...onTheTable])

    expect(explanation.usedGroups).toEqual([
      {
        dataType: 'steps',
        source: 'watch-app',
        deviceType: 'watch',
        as: 'steps',
        count: 300,
        startDateTime: `${last}T12:00:00+00:00`,
        endDateTime: `${last}T17:00:00+00:00`,
        amount: 6000,
      },
    ])
    expect(explanation.leftOutGroups).toMatchObject([
      { source: 'phone-app', count: 300, reason: expect.stringMatching(/better ranked/) },
    ])
    expect([explanation.used.length, explanation.leftOut.length]).toEqual([50, 50])
    expect([explanation.usedCount, explanation.leftOutCount]).toEqual([300, 300])
  })
  test('stays bounded when every log has a source of its own', () => {
    const strange = Array.from({ length: 200 }, (_, minute) =>
      log('steps', new Date(Date.parse(`${last}T12:00:00Z`) + minute * 60_000).toISOString(), [1, 20], {
        source: `app ${minute}`,
      }),
    )
    const explanation = ask('activity', strange)

    expect(explanation.usedCount).toBe(200)
    expect(JSON.stringify(explanation).length).toBeLessThan(60_000)
  })
})

describe('a reader can compute the trend of a factor again', () => {
  // Three nights a week are too few for regularity, and the phone knows neither stages nor wakefulness: no sleep score.
  const days = daysFrom('2026-03-02', 28)
  const nights = days
    .filter((_, place) => place % 7 < 3)
    .map((day, place) => log('sleep_stage_sleeping', `${dayBefore(day)}T23:00:00Z`, [400 + ((place * 37) % 90), 1]))
  const now = Date.parse('2026-04-02T00:00:00Z')
  const facts = factsOfDays({ logs: nights, demographics: unknownDemographics, asOfMs: now })
  const value = (name: string, day: string) =>
    explainScore({
      logs: nights,
      facts,
      demographics: unknownDemographics,
      asOfMs: now,
      day: dayNumberFromText(day),
      type: 'sleep',
    }).factors.find((factor) => factor.name === name)?.value

  test.each(['sleep_duration', 'sleep_debt'])('of %s, from explain, on days without a score', (name) => {
    const derived = deriveAll({ logs: nights, asOf: '2026-04-02T00:00:00Z' })
    const trend = derived.trends.findLast((trend) => trend['name'] === name && trend['category'] === 'factor')
    // The trend's data are records of the contract; the test reads their starts and values only.
    const weeks = (trend?.['data'] ?? []) as { startDateTime: string; value: number }[]

    expect(derived.scores).toEqual([])
    expect(weeks.length).toBeGreaterThan(2)
    for (const week of weeks) {
      const dayValues = daysFrom(week.startDateTime.slice(0, 10), 7).flatMap((day) => value(name, day) ?? [])
      expect(mean(dayValues)).toBeCloseTo(week.value, 3)
    }
  })
})
