import cron from 'node-cron'
import { expect, test } from 'vitest'
import { zoneOffsetMs } from '../../../src/base/time/local-time.ts'
import { HOUR, MINUTE } from '../../../src/base/time/units.ts'
import { hasWildcardHour, newestSlotSince, type ZonedCron } from '../../../src/pipeline/schedule/slots.ts'

function timetable(line: string, timeZone: string): ZonedCron {
  const matcher = cron.createTask(line, () => undefined, { timezone: 'UTC' })
  return {
    matches: (wall) => matcher.match(wall),
    hourIsWildcard: hasWildcardHour(line),
    offsetMs: zoneOffsetMs(timeZone),
  }
}

/** All slots of a span, found as a scheduler finds them: by a search every minute, from the last search on. */
function slotsOf(table: ZonedCron, from: string, to: string): string[] {
  const slots: string[] = []
  let searchedToMs = Date.parse(from) - MINUTE
  for (let now = Date.parse(from); now <= Date.parse(to); now += MINUTE) {
    const slot = newestSlotSince(table, searchedToMs, now)
    if (slot) slots.push(slot.toISOString())
    searchedToMs = now
  }
  return slots
}

test('a nightly in the hour that spring skips happens once, when the clocks have gone on', () => {
  const slots = slotsOf(timetable('30 2 * * *', 'Europe/Berlin'), '2026-03-28T00:00:00Z', '2026-03-31T00:00:00Z')

  expect(slots).toEqual(['2026-03-28T01:30:00.000Z', '2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z'])
})

test('a nightly in the hour that autumn repeats happens once, the first time', () => {
  const slots = slotsOf(timetable('30 2 * * *', 'Europe/Berlin'), '2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z')

  expect(slots).toEqual(['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'])
})

test('half an hour of daylight saving is enough to be counted', () => {
  const table = timetable('45 1 * * *', 'Australia/Lord_Howe')

  expect(slotsOf(table, '2026-04-03T12:00:00Z', '2026-04-05T12:00:00Z')).toHaveLength(2)
  expect(slotsOf(table, '2026-10-02T12:00:00Z', '2026-10-04T12:00:00Z')).toHaveLength(2)
})

test('a line whose hour is a star follows elapsed time', () => {
  const spring = slotsOf(timetable('*/10 * * * *', 'Europe/Berlin'), '2026-03-29T00:00:00Z', '2026-03-29T02:59:00Z')
  const autumn = slotsOf(timetable('*/10 * * * *', 'Europe/Berlin'), '2026-10-25T00:00:00Z', '2026-10-25T02:59:00Z')

  expect(spring).toHaveLength(18)
  expect(autumn).toHaveLength(18)
})

test('the newest slot is found however long ago the last search was, and never an older one', () => {
  const table = timetable('0 3 * * *', 'UTC')
  const now = Date.parse('2026-03-05T02:59:59Z')

  expect(newestSlotSince(table, now - 25 * HOUR, now)?.toISOString()).toBe('2026-03-04T03:00:00.000Z')
  expect(newestSlotSince(table, Date.parse('2026-03-04T03:00:00Z'), now)).toBeUndefined()
  expect(newestSlotSince(table, now, now + 1000)?.toISOString()).toBe('2026-03-05T03:00:00.000Z')
})
