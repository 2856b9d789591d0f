import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../src/base/time/units.ts'
import {
  firstSlotAfter,
  hasWildcardHour,
  newestSlotSince,
  slotsBetween,
  type ZonedCron,
} from '../../../src/pipeline/schedule/slots.ts'
import { createTimetable } from '../../../src/pipeline/schedule/timetable.ts'

const quarterHourly: ZonedCron = {
  matches: (wall) => wall.getUTCMinutes() % 15 === 0,
  hourIsWildcard: true,
  offsetMs: () => 0,
}

/** Whole minutes, among them slots, and moments just before and after them. */
const moments = fc
  .tuple(fc.integer({ min: 0, max: 240 }), fc.constantFrom(-1, 0, 1))
  .map(([minutes, ms]) => minutes * MINUTE + ms)

test('every search leaves its earlier end out: between both ends, first after one, newest up to one', () =>
  fc.assert(
    fc.property(moments, moments, (first, second) => {
      const [sinceMs, untilMs] = [Math.min(first, second), Math.max(first, second)]
      const slots = Array.from({ length: 18 }, (_, quarter) => quarter * 15 * MINUTE).filter((ms) => ms > sinceMs)
      const before = slots.filter((ms) => ms < untilMs)

      expect(slotsBetween(quarterHourly, sinceMs, untilMs).map(Number)).toEqual(before)
      expect(firstSlotAfter(quarterHourly, sinceMs, untilMs)?.getTime()).toBe(before[0])
      const newest = newestSlotSince(quarterHourly, sinceMs, untilMs)?.getTime()
      expect(newest).toBe(slots.findLast((ms) => ms <= untilMs))
    }),
    { numRuns: 500, seed: 40 },
  ))

test('missed slots are those of the last seven days, and not the one exactly seven days ago', () => {
  const midnights: ZonedCron = {
    matches: (wall) => wall.getTime() % DAY === 0,
    hourIsWildcard: true,
    offsetMs: () => 0,
  }

  expect(slotsBetween(midnights, 0, 30 * DAY).map((slot) => slot.getTime() / DAY)).toEqual([24, 25, 26, 27, 28, 29])
  expect(slotsBetween(midnights, 0, 30 * DAY + 1)[0]?.getTime()).toBe(24 * DAY)
  expect(slotsBetween(midnights, 0, 30 * DAY - 1)[0]?.getTime()).toBe(23 * DAY)
})

test('a daily line has one slot on each local date, whenever and by however much the clocks are set', () =>
  fc.assert(
    fc.property(
      fc.integer({ min: -48, max: 56 }),
      fc.constantFrom(-12, -8, -4, -2, 2, 4, 8, 12),
      fc.integer({ min: 0, max: 95 }),
      fc.integer({ min: 0, max: 95 }),
      (offset, change, changedAt, slotAt) => {
        const [formerMs, laterMs] = [offset * 15 * MINUTE, (offset + change) * 15 * MINUTE]
        const changeMs = 2 * DAY + changedAt * 15 * MINUTE - formerMs
        const daily: ZonedCron = {
          matches: (wall) => wall.getTime() % DAY === slotAt * 15 * MINUTE,
          hourIsWildcard: false,
          offsetMs: (atMs) => (atMs < changeMs ? formerMs : laterMs),
        }
        // From the midnight of day 0 by the former clock to that of day 6 by the later one.
        expect(slotsBetween(daily, -formerMs - 1, 6 * DAY - laterMs)).toHaveLength(6)
      },
    ),
    { numRuns: 250, seed: 41 },
  ))

test.each([
  ['*/10 * * * *', true],
  ['0 */2 * * *', true],
  ['30 2 * * *', false],
  ['* 3 * * *', false],
  ['0 30 2 * * *', false],
  ['5 0 * * * *', true],
  ['  15 * 1 * 1  ', true],
  ['15  *  1  1  1', true],
])('the hour of %j is a star: %s', (line, isWildcard) => {
  expect(hasWildcardHour(line)).toBe(isWildcard)
})

test('slots are the same in whichever zone the process runs', () => {
  const here = process.env['TZ']
  const nowMs = Date.parse('2026-07-01T12:00:00Z')
  try {
    for (const zone of ['UTC', 'Asia/Tokyo', 'America/New_York', 'Pacific/Chatham']) {
      process.env['TZ'] = zone
      const { timetable } = createTimetable({
        name: 'nightly',
        cron: '30 2 * * *',
        timeZone: 'Europe/Berlin',
        makeUpMs: 0,
      })
      expect(newestSlotSince(timetable, nowMs - 24 * HOUR, nowMs)?.toISOString(), zone).toBe('2026-07-01T00:30:00.000Z')
    }
  } finally {
    if (here === undefined) delete process.env['TZ']
    else process.env['TZ'] = here
  }
})
