import { expect, test } from 'vitest'
import { dayNumberAt, dayNumberFromText, midnightMs } from '../../../src/base/time/local-time.ts'
import { DAY, MINUTE } from '../../../src/base/time/units.ts'
import { dayBoundsOf } from '../../../src/service/derive/day/day-bounds.ts'
import { factsOfDays } from '../../../src/service/derive/day/facts-of-days.ts'
import { createLogsByDay } from '../../../src/service/derive/day/logs-by-day.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { offsetMinutesAt } from '../../../src/service/sandbox/people/zone-offsets.ts'
import { biomarker, daysFrom, deriveAll, log, unknownDemographics } from './made-logs.ts'

const asOfMs = Date.parse('2027-01-01T00:00:00Z')

/** A change of a zone's clocks: the instant, and the offsets before and after it, in minutes. */
type Change = { zone: string; atMs: number; before: number; after: number }

function changesOf(zone: string): Change[] {
  const changes: Change[] = []
  const [firstMs, lastMs] = [Date.parse('2016-01-01T00:00:00Z'), Date.parse('2026-01-01T00:00:00Z')]
  for (let ms = firstMs; ms < lastMs; ms += 7 * DAY) {
    const [before, after] = [offsetMinutesAt(zone, ms), offsetMinutesAt(zone, ms + 7 * DAY)]
    if (before === after) continue
    let [low, high] = [ms, ms + 7 * DAY]
    while (high - low > MINUTE) {
      const middle = low + Math.floor((high - low) / 2 / MINUTE) * MINUTE
      if (offsetMinutesAt(zone, middle) === before) low = middle
      else high = middle
    }
    changes.push({ zone, atMs: high, before, after })
  }
  return changes
}

const changes = Intl.supportedValuesOf('timeZone').flatMap(changesOf)

/** Changes at the same local time by the same minutes differ in the date only. */
const kindsOfChange = [
  ...new Map(
    changes.map((change) => [
      `${change.before} ${change.after} ${(change.atMs / MINUTE + change.before) % 1440}`,
      change,
    ]),
  ).values(),
]

/** When a local day begins: at its midnight, or, when a change skips its midnight, at the change. */
function dayStartMs({ atMs, before, after }: Change, day: number): number {
  const [old, newMidnightMs] = [midnightMs(day, before), midnightMs(day, after)]
  if (after > before) return old <= atMs ? old : Math.max(newMidnightMs, atMs)
  return old < atMs ? old : newMidnightMs
}

const offsetAt = ({ atMs, before, after }: Change, ms: number) => (ms < atMs ? before : after)

function stepsBetween(change: Change, [startMs, endMs]: readonly [number, number], value: number): DataLog {
  const startOffset = offsetAt(change, startMs)
  const made = log('steps', new Date(startMs).toISOString(), [(endMs - startMs) / MINUTE, value], { periodicity: null })
  return { ...made, startOffset, endOffset: offsetAt(change, endMs) }
}

function aroundChange(change: Change) {
  const day = dayNumberAt(change.atMs - 1, change.before)
  const days = Array.from({ length: 5 }, (_, index) => day - 2 + index)
  return { days, starts: [...days, day + 3].map((dayNumber) => dayStartMs(change, dayNumber)) }
}

function stepsByDay(logs: readonly DataLog[], days: readonly number[]): (number | null | undefined)[] {
  const facts = factsOfDays({ logs, demographics: unknownDemographics, asOfMs }, days)
  return days.map((day) => facts.find((fact) => fact.day === day)?.movement?.steps)
}

test('there are changes by half an hour, by hours, at midnight and before midnight', () => {
  expect(changes.length).toBeGreaterThan(2000)
  expect(kindsOfChange.length).toBeGreaterThan(60)
  const clock = ({ atMs, before }: Change) => (atMs / MINUTE + before) % 1440
  expect(changes.some(({ before, after }) => Math.abs(after - before) === 30)).toBe(true)
  expect(changes.some(({ before, after }) => Math.abs(after - before) >= 120)).toBe(true)
  expect(changes.some((change) => clock(change) === 0 && change.after > change.before)).toBe(true)
  expect(changes.some((change) => clock(change) === 0 && change.after < change.before)).toBe(true)
})

test('daily logs of 10,000 steps give 10,000 steps on each day, over every change of clocks of ten years', () => {
  for (const change of changes) {
    const { days, starts } = aroundChange(change)
    const logs = days.map((_, index) => stepsBetween(change, [starts[index] ?? 0, starts[index + 1] ?? 0], 10_000))
    expect(stepsByDay(logs, days), `${change.zone} ${new Date(change.atMs).toISOString()}`).toEqual(
      days.map(() => 10_000),
    )
  }
})

test('a step a minute gives as many steps as the day has minutes, and days end where the next begins', () => {
  for (const change of kindsOfChange) {
    const { days, starts } = aroundChange(change)
    const [firstMs, lastMs] = [starts[0] ?? 0, starts.at(-1) ?? 0]
    const quarters = Array.from({ length: (lastMs - firstMs) / (15 * MINUTE) }, (_, index) => {
      const startMs = firstMs + index * 15 * MINUTE
      return stepsBetween(change, [startMs, startMs + 15 * MINUTE], 15)
    })
    const told = `${change.zone} ${new Date(change.atMs).toISOString()}`
    const minutes = days.map((_, index) => ((starts[index + 1] ?? 0) - (starts[index] ?? 0)) / MINUTE)
    expect(stepsByDay(quarters, days), told).toEqual(minutes)
    const logsByDay = createLogsByDay(quarters)
    expect(
      days.map((day) => dayBoundsOf(logsByDay, day)?.span),
      told,
    ).toEqual(days.map((_, index) => ({ startMs: starts[index], endMs: starts[index + 1] })))
  }
})

test('three daily logs over the end of summer time, also when they keep the offset in which they began', () => {
  const days = ['2026-10-24', '2026-10-25', '2026-10-26']
  const told = (logs: readonly DataLog[]) => days.map((day) => biomarker(deriveAll({ logs }), 'steps', day))
  const steps = (start: string, hours: number, endOffset: number) =>
    log('steps', start, [hours * 60, 10_000], { endOffset, unit: 'count' })
  const logs = [
    steps('2026-10-24T00:00:00+02:00', 24, 120),
    steps('2026-10-25T00:00:00+02:00', 25, 60),
    steps('2026-10-26T00:00:00+01:00', 24, 60),
  ]

  expect(told(logs)).toEqual(['10000', '10000', '10000'])
  // The end of the second log written as 01:00+02:00 is the same instant as 00:00+01:00.
  const pulse = log('heart_rate', '2026-10-25T20:00:00+01:00', [0, 60])
  expect(told(logs.map((log) => ({ ...log, endOffset: log.startOffset })).concat(pulse))).toEqual([
    '10000',
    '10000',
    '10000',
  ])
})

test('a journey makes the day as long as the person lived on that date', () => {
  // Tokyo until 14:00, then Los Angeles: from 10 June 00:00+09:00 to 11 June 00:00-07:00 are 40 hours; back, 8 hours.
  const [west, east] = ['2026-06-10', '2026-06-20']
  const walks = daysFrom('2026-06-08', 16).flatMap((day) => {
    const [morning, evening] = [
      day <= west || day > east ? '+09:00' : '-07:00',
      day < west || day >= east ? '+09:00' : '-07:00',
    ]
    return [log('steps', `${day}T00:30:00${morning}`, [5, 500]), log('steps', `${day}T20:00:00${evening}`, [5, 500])]
  })
  const logsByDay = createLogsByDay(walks)
  const hours = (day: string) => {
    const span = dayBoundsOf(logsByDay, dayNumberFromText(day))?.span
    return span && (span.endMs - span.startMs) / (60 * MINUTE)
  }

  expect(hours(west)).toBe(40)
  expect(hours(east)).toBe(8)
  for (const day of daysFrom('2026-06-09', 13)) {
    const number = dayNumberFromText(day)
    expect(dayBoundsOf(logsByDay, number)?.span.endMs).toBe(dayBoundsOf(logsByDay, number + 1)?.span.startMs)
  }
})
