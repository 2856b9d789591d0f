import fc from 'fast-check'
import { expect, test } from 'vitest'
import { dayNumberFromText, dayText, mondayOf, monthOf } from '../../../src/base/time/local-time.ts'
import { DAY } from '../../../src/base/time/units.ts'
import { answerState } from '../../../src/service/recompute/answer-state.ts'
import { nextChangeMs } from '../../../src/service/recompute/next-change.ts'
import { firstPortion } from '../../../src/service/recompute/portion.ts'
import {
  factsLookBackDays,
  lastDayReached,
  outcomeDaysReached,
  unitsReached,
} from '../../../src/service/recompute/reach.ts'
import { createShares } from '../../../src/service/recompute/shares.ts'
import type { DerivationProgress } from '../../../src/service/store/derivation-progress.ts'
import type { WaitingProfile } from '../../../src/service/store/waiting-profiles.ts'

const changesAfter = (days: Parameters<typeof nextChangeMs>[0], from: string): string[] => {
  const changes: string[] = []
  for (let ms = nextChangeMs(days, Date.parse(from)); ms !== null && changes.length < 9; ms = nextChangeMs(days, ms))
    changes.push(new Date(ms).toISOString())
  return changes
}

test('time changes records when the sleep day, the day, the week and the month end, each by its own clock', () => {
  const tuesday = { localDay: '2026-03-10', offsetMinutes: 60, nightOffsetMinutes: 120 }
  expect(changesAfter([tuesday], '2026-03-10T00:00:00Z')).toEqual([
    '2026-03-10T16:00:00.000Z', // 18:00 by the clock of the night
    '2026-03-10T23:00:00.000Z',
    '2026-03-15T23:00:00.000Z',
    '2026-03-31T23:00:00.000Z',
  ])
  expect(changesAfter([{ ...tuesday, nightOffsetMinutes: null }], '2026-03-10T16:00:00Z')[0]).toBe(
    '2026-03-10T17:00:00.000Z',
  )
})

test('of several days the one that ends first decides, and none decides when all are over', () => {
  const days = ['2026-02-28', '2026-03-01'].map((localDay) => ({
    localDay,
    offsetMinutes: localDay.endsWith('28') ? -300 : 540,
    nightOffsetMinutes: null,
  }))
  expect(changesAfter(days, '2026-02-28T23:30:00Z').slice(0, 2)).toEqual([
    '2026-03-01T05:00:00.000Z',
    '2026-03-01T09:00:00.000Z',
  ])
  expect(nextChangeMs(days, Date.parse('2026-04-01T00:00:00Z'))).toBeNull()
})

const settled: DerivationProgress = {
  revision: '1',
  firstMarkedDay: null,
  lastMarkedDay: null,
  dueAtMs: null,
  asOfMs: null,
  isOutdated: false,
}
const at = (text: string) => Date.parse(text)
const rangeOf = (first: string, last: string) => ({ firstAt: new Date(first), lastAt: new Date(last) })
const whole = rangeOf('2026-01-01T00:00:00Z', '2026-12-31T00:00:00Z')

test('an answer is pending from the very moment at which time changes records', () => {
  const stateAt = (nowMs: number) =>
    answerState(
      { ...settled, asOfMs: at('2026-03-10T12:00:00Z'), dueAtMs: at('2026-03-10T23:00:00Z') },
      { kind: 'score', range: whole, nowMs },
    )

  expect(stateAt(at('2026-03-10T23:00:00Z') - 1)).toBe('finished')
  expect(stateAt(at('2026-03-10T23:00:00Z'))).toBe('pending')
})

test('all that time passed over is pending, from the last derivation on, or from now if the clock was set back', () => {
  const stateOf = (asOf: string, now: string, day: string) =>
    answerState(
      { ...settled, asOfMs: at(asOf), dueAtMs: at(now) },
      { kind: 'score', range: rangeOf(`${day}T10:00:00Z`, `${day}T14:00:00Z`), nowMs: at(now) },
    )

  for (const [asOf, now] of [
    ['2026-03-10T12:00:00Z', '2026-03-30T12:00:00Z'],
    ['2026-03-30T12:00:00Z', '2026-03-10T12:00:00Z'],
  ] as const) {
    for (const day of ['2026-03-09', '2026-03-10', '2026-03-20', '2026-03-31'])
      expect(stateOf(asOf, now, day), `${asOf} ${now} ${day}`).toBe('pending')
    expect(stateOf(asOf, now, '2026-03-01')).toBe('finished')
  }
})

test('an outdated answer is pending whatever is asked, and one that nothing waits for is finished', () => {
  for (const kind of ['score', 'biomarker', 'archetype', 'trend', 'comparison'] as const) {
    expect(answerState({ ...settled, isOutdated: true }, { kind, range: whole, nowMs: 0 })).toBe('pending')
    expect(answerState(settled, { kind, range: whole, nowMs: 0 })).toBe('finished')
  }
})

test('scores are pending on the days that a marked day reaches: two before in any zone, ninety-three after', () => {
  const marked = { firstMarkedDay: '2026-03-10', lastMarkedDay: '2026-03-12' }
  const stateOn = (day: string) =>
    answerState(
      { ...settled, ...marked },
      { kind: 'score', range: rangeOf(`${day}T00:00:00Z`, `${day}T23:59:59Z`), nowMs: 0 },
    )
  // Facts of the 8th may change. East of Greenwich they are dated the 7th by UTC.
  for (const day of ['2026-03-07', '2026-03-08', '2026-03-11', '2026-06-12', '2026-06-13'])
    expect(stateOn(day), day).toBe('pending')
  for (const day of ['2026-03-01', '2026-06-20']) expect(stateOn(day), day).toBe('finished')
  const touching = (first: string, last: string) =>
    answerState({ ...settled, ...marked }, { kind: 'score', range: rangeOf(first, last), nowMs: 0 })
  expect(touching('2026-01-01T00:00:00Z', '2026-03-05T23:59:59.999Z')).toBe('finished')
  expect(touching('2026-01-01T00:00:00Z', '2026-03-06T00:00:00Z')).toBe('pending')
  expect(touching('2026-06-13T23:59:59.999Z', '2026-12-01T00:00:00Z')).toBe('pending')
  expect(touching('2026-06-14T00:00:00Z', '2026-12-01T00:00:00Z')).toBe('finished')
})

const knownDays = Array.from({ length: 400 }, (_, day) => 1000 + day)

test('a changed day reaches its own outcome and those of the ninety days after it', () => {
  const reached = (changed: number[], heightFrom = Number.POSITIVE_INFINITY) =>
    outcomeDaysReached({ changed, heightFrom }, knownDays)

  expect(reached([1100])).toEqual(knownDays.filter((day) => day >= 1100 && day <= 1190))
  expect(reached([1300, 1100])).toEqual(
    knownDays.filter((day) => (day >= 1100 && day <= 1190) || (day >= 1300 && day <= 1390)),
  )
  expect(reached([1350], 1200)).toEqual(knownDays.filter((day) => day >= 1200))
})

test('a changed day reaches comparisons for ninety days, sixteen weeks and three months', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1000, max: 1399 }), (day) => {
      const units = unitsReached({ changed: [day], passed: [] }, knownDays)

      expect(units.days).toEqual([day])
      expect(units.compared).toEqual(knownDays.filter((known) => known >= day && known <= day + 90))
      expect(units.mondays).toEqual(Array.from({ length: 16 }, (_, week) => mondayOf(day) + 7 * week))
      expect(units.months).toEqual([0, 1, 2].map((month) => monthOf(day, month).first))
      // The days that are read for all that must hold their last week, month and comparison.
      const last = Math.max(...units.compared, ...units.mondays.map((monday) => monday + 6))
      expect(lastDayReached(day)).toBeGreaterThanOrEqual(Math.max(last, monthOf(day, 2).last))
    }),
    { numRuns: 100, seed: 40 },
  )
})

test('facts are read as far around a day as months are replayed, with their look-back', () => {
  // Four months of 31 days, and the ninety days that their first day looks back.
  expect(lastDayReached(1000)).toBe(1000 + 4 * 31 + 90)
  expect(factsLookBackDays).toBe(4 * 31 + 90)
})

test('time alone reaches the weeks and months that it passed over, and no day', () => {
  const sunday = dayNumberFromText('2026-03-01')
  expect(unitsReached({ changed: [], passed: [sunday, sunday + 1] }, knownDays)).toEqual({
    days: [],
    compared: [],
    mondays: [sunday - 6, sunday + 1],
    months: [sunday],
  })
})

const markOn = (localDay: string, isSingle = false) => ({ localDay, mark: '1', isSingle })

test('a portion takes marks up to its budget, and counts logs that two marks share once', () => {
  const marks = ['2026-03-10', '2026-03-11', '2026-03-12'].map((day) => markOn(day))
  const logsOn = new Map([['2026-03-10', 10_000]]) // 100 ms, and 5 ms for each mark
  const taken = (budgetMs: number) => firstPortion(marks, { logsOn, budgetMs }).marks.length

  expect([104, 105, 109, 110, 115].map(taken)).toEqual([0, 1, 1, 2, 3])
  expect(firstPortion(marks, { logsOn, budgetMs: 109 }).tooLarge).toBeUndefined()
})

test('a mark that costs too much is split, and a single day is taken whatever it costs', () => {
  const logsOn = new Map([['2026-03-08', 10_000]])
  const first = (isSingle: boolean) => firstPortion([markOn('2026-03-10', isSingle)], { logsOn, budgetMs: 50 })

  expect(first(false)).toEqual({ marks: [], tooLarge: markOn('2026-03-10') })
  expect(first(true)).toEqual({ marks: [markOn('2026-03-10', true)], tooLarge: undefined })
})

test('logs up to four days from a mark are read for it, and up to two days from a single day', () => {
  const isCostly = (isSingle: boolean, away: number) => {
    const day = dayNumberFromText('2026-03-10')
    const logsOn = new Map([[dayText(day + away), 10_000]])
    const marks = [markOn('2026-03-01', true), markOn('2026-03-10', isSingle)]
    return firstPortion(marks, { logsOn, budgetMs: 50 }).marks.length === 1
  }

  expect([-5, -4, 4, 5].map((away) => isCostly(false, away))).toEqual([false, true, true, false])
  expect([-3, -2, 2, 3].map((away) => isCostly(true, away))).toEqual([false, true, true, false])
})

const waits = (profileId: string, sinceMs: number, fields: Partial<WaitingProfile> = {}): WaitingProfile => ({
  ...{ profileId, accountId: profileId.slice(0, 1), sinceMs, isFresh: false, asOfMs: null },
  ...fields,
})

test('time that was taken bit by bit counts as much as time taken at once', () => {
  for (const taken of [[240], [120, 120], Array.from({ length: 24 }, () => 10)]) {
    const shares = createShares(() => 0)
    for (const ms of taken) shares.charge({ accountId: 'a', profileId: 'a0' }, ms)

    expect(shares.order([waits('a1', 1), waits('b1', 2)])).toEqual(['b1', 'a1'])
  }
})

test('of profiles with few marked days the least recently derived comes first, then the one that waits shortest', () => {
  const shares = createShares(() => 0)
  const fresh = (profileId: string, sinceMs: number, asOfMs: number | null) =>
    waits(profileId, sinceMs, { isFresh: true, asOfMs })
  const all = [fresh('a1', 1, DAY), fresh('b1', 2, 5), fresh('c1', 3, 5), fresh('d1', 4, null)]

  expect(shares.order(all)).toEqual(['d1', 'c1', 'b1', 'a1'])
})
