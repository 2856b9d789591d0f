import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../src/base/time/units.ts'
import { firstSlotAfter, newestSlotSince, slotsBetween, type ZonedCron } from '../../../src/pipeline/schedule/slots.ts'
import { type ZoneChange, zoneChanges } from '../../support/zone-changes.ts'

/** One change for each instant and pair of offsets: many zones change together. */
let changes: ZoneChange[] = []
beforeAll(() => {
  const named = zoneChanges().map((each) => [`${each.atMs} ${each.beforeMs} ${each.afterMs}`, each] as const)
  changes = [...new Map(named).values()]
})

const noChange: ZoneChange = { zone: 'UTC', atMs: 0, beforeMs: 0, afterMs: 0 }

/** A line of one time of day, in minutes since midnight, in a zone that knows one change. */
const daily = (minuteOfDay: number, { atMs, beforeMs, afterMs }: ZoneChange): ZonedCron => ({
  matches: (wall) => (wall.getTime() % DAY) / MINUTE === minuteOfDay,
  hourIsWildcard: false,
  offsetMs: (ms) => (ms < atMs ? beforeMs : afterMs),
})

/** The one moment of a wall time: the first of two, and the first minute after the gap for a time that is skipped. */
function momentOf(wallMs: number, { atMs, beforeMs, afterMs }: ZoneChange): number {
  if (wallMs - beforeMs < atMs) return wallMs - beforeMs
  return Math.max(wallMs - afterMs, atMs)
}

const allOf = (table: ZonedCron, fromMs: number, untilMs: number) =>
  slotsBetween(table, fromMs - 1, untilMs).map(Number)

test('each day has one slot at all changes of all zones in ten years, whatever the time of day', () => {
  const wrong: string[] = []
  for (const change of changes) {
    const [fromMs, untilMs] = [change.atMs - 8 * HOUR, change.atMs + 8 * HOUR]
    for (let aroundMs = change.atMs - 3 * HOUR; aroundMs <= change.atMs + 3 * HOUR; aroundMs += 30 * MINUTE) {
      const wallMs = aroundMs + Math.max(change.beforeMs, change.afterMs)
      const slots = allOf(daily((wallMs % DAY) / MINUTE, change), fromMs, untilMs)
      if (slots.length !== 1 || slots[0] !== momentOf(wallMs, change))
        wrong.push(
          `${change.zone} ${new Date(wallMs).toISOString().slice(0, 16)}: ${slots.map((ms) => new Date(ms).toISOString())}`,
        )
    }
  }
  expect(wrong).toEqual([])
  expect(changes.length).toBeGreaterThan(300)
})

/** By number, for the changes are found when the tests begin. */
const change = fc.nat().map((number) => changes[number % changes.length] ?? noChange)
const minuteOfDay = fc.integer({ min: 0, max: 1439 })
/** Milliseconds around the change, within two days. */
const near = fc.integer({ min: -2 * DAY, max: 2 * DAY })

test('the first slot after a moment is the first of the slots, and the newest since a moment the last', () => {
  fc.assert(
    fc.property(change, minuteOfDay, near, near, (zone, minute, a, b) => {
      const table = daily(minute, zone)
      const [sinceMs, untilMs] = [zone.atMs + Math.min(a, b), zone.atMs + Math.max(a, b)]
      const slots = slotsBetween(table, sinceMs, untilMs).map(Number)
      for (const ms of slots) expect(ms > sinceMs && ms < untilMs).toBe(true)
      expect(firstSlotAfter(table, sinceMs, untilMs)?.getTime()).toBe(slots[0])
      // The newest may be at the end itself.
      expect(newestSlotSince(table, sinceMs, untilMs - 1)?.getTime()).toBe(slots.at(-1))
    }),
    { seed: 20261124, numRuns: 150 },
  )
})

test('however a span is cut, its parts have the slots of the whole: none is lost and none comes twice', () => {
  fc.assert(
    fc.property(change, minuteOfDay, fc.array(near, { minLength: 2, maxLength: 6 }), (zone, minute, offsets) => {
      const table = daily(minute, zone)
      const cuts = offsets.map((ms) => zone.atMs + ms).sort((a, b) => a - b)
      // `slotsBetween` takes both ends as excluded: each part ends just after the moment at which the next begins.
      const parts = cuts.slice(1).flatMap((untilMs, index) => slotsBetween(table, cuts[index] ?? 0, untilMs + 1))
      expect(parts.map(Number)).toEqual(slotsBetween(table, cuts[0] ?? 0, (cuts.at(-1) ?? 0) + 1).map(Number))
    }),
    { seed: 20261124, numRuns: 100 },
  )
})

test('a line whose hour is a star ticks with elapsed time through every change', () => {
  for (const zone of changes.slice(0, 50)) {
    const table: ZonedCron = {
      ...daily(0, zone),
      hourIsWildcard: true,
      matches: (wall) => wall.getUTCMinutes() % 15 === 0,
    }
    const slots = allOf(table, zone.atMs - 4 * HOUR, zone.atMs + 4 * HOUR)
    expect(slots).toEqual(Array.from({ length: 32 }, (_, index) => zone.atMs - 4 * HOUR + index * 15 * MINUTE))
  }
})

test('slots further back than a week are not looked for', () => {
  const untilMs = 30 * DAY + HOUR
  expect(slotsBetween(daily(0, noChange), untilMs - 20 * DAY, untilMs)).toHaveLength(7)
})
