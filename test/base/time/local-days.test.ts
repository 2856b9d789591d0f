import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatOffset } from '../../../src/base/time/instant.ts'
import {
  dayNumberAt,
  dayNumberFromText,
  dayText,
  isoText,
  midnightMs,
  minutesSinceMidnight,
  mondayOf,
  monthOf,
  weekday,
} from '../../../src/base/time/local-time.ts'
import { DAY, MINUTE } from '../../../src/base/time/units.ts'

const seed = 20261124
/** From the year 1 to the year 9999, a day each with the same chance. */
const day = fc.integer({ min: -719_162, max: 2_932_896 })
const offset = fc.integer({ min: -14 * 60, max: 14 * 60 })
const ms = fc.integer({ min: -60_000 * DAY, max: 60_000 * DAY })

test('a local day begins at its midnight and ends before the next', () => {
  fc.assert(
    fc.property(ms, offset, (atMs, east) => {
      const local = dayNumberAt(atMs, east)
      expect(midnightMs(local, east)).toBeLessThanOrEqual(atMs)
      expect(midnightMs(local + 1, east)).toBeGreaterThan(atMs)
      expect(minutesSinceMidnight(atMs, east)).toBe((atMs - midnightMs(local, east)) / MINUTE)
    }),
    { seed },
  )
})

test('a midnight belongs to its own day, and the millisecond before it to the day before', () => {
  fc.assert(
    fc.property(fc.integer({ min: -60_000, max: 60_000 }), offset, (local, east) => {
      expect(dayNumberAt(midnightMs(local, east), east)).toBe(local)
      expect(dayNumberAt(midnightMs(local, east) - 1, east)).toBe(local - 1)
    }),
    { seed },
  )
  expect(midnightMs(1, 120)).toBe(Date.parse('1970-01-02T00:00:00+02:00'))
  expect(minutesSinceMidnight(Date.parse('2026-07-11T08:30:15+12:00'), 720)).toBe(510.25)
})

test('the text of a day and its number stand for one another, and the time behind the date is ignored', () => {
  fc.assert(
    fc.property(day, (number) => {
      expect(dayNumberFromText(dayText(number))).toBe(number)
      expect(dayNumberFromText(`${dayText(number)}T23:59:59-14:00`)).toBe(number)
      expect(dayText(number)).toMatch(/^\d{4}-\d\d-\d\d$/)
    }),
    { seed },
  )
  expect([dayText(0), dayText(-1), dayText(59)]).toEqual(['1970-01-01', '1969-12-31', '1970-03-01'])
  expect(dayNumberFromText('no day')).toBeNaN()
})

test('an instant is written in whole seconds with its offset, and read back as the second that it lies in', () => {
  fc.assert(
    fc.property(ms, offset, (atMs, east) => {
      const text = isoText(atMs, east)
      expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/)
      expect(text.endsWith(formatOffset(east))).toBe(true)
      expect(Date.parse(text)).toBe(Math.floor(atMs / 1000) * 1000)
      expect(dayNumberFromText(text)).toBe(dayNumberAt(Math.floor(atMs / 1000) * 1000, east))
    }),
    { seed },
  )
  expect(isoText(-1, 0)).toBe('1969-12-31T23:59:59+00:00')
})

test('weeks begin on Monday, and each has its Monday at or before the day', () => {
  fc.assert(
    fc.property(day, (number) => {
      // The runtime counts from Sunday.
      expect(weekday(number)).toBe((new Date(number * DAY).getUTCDay() + 6) % 7)
      expect(mondayOf(number)).toBe(number - weekday(number))
    }),
    { seed },
  )
  expect(weekday(dayNumberFromText('2026-03-02'))).toBe(0)
  expect(weekday(dayNumberFromText('1969-12-28'))).toBe(6)
  expect(mondayOf(dayNumberFromText('2026-03-08'))).toBe(dayNumberFromText('2026-03-02'))
})

test('the months follow one another without a gap, and a day lies in its own month', () => {
  fc.assert(
    fc.property(fc.integer({ min: -60_000, max: 60_000 }), fc.integer({ min: -30, max: 30 }), (number, months) => {
      const own = monthOf(number)
      expect(own.first <= number && number <= own.last).toBe(true)
      const month = monthOf(number, months)
      expect(dayText(month.first).slice(8)).toBe('01')
      expect(monthOf(number, months + 1).first).toBe(month.last + 1)
      expect(month.last - month.first + 1).toBeGreaterThanOrEqual(28)
      expect(monthIndex(month.first) - monthIndex(number)).toBe(months)
    }),
    { seed },
  )
  const leapDay = dayNumberFromText('2024-02-29')
  expect(monthOf(leapDay)).toEqual({ first: dayNumberFromText('2024-02-01'), last: leapDay })
})

const monthIndex = (number: number) => {
  const [year = 0, month = 0] = dayText(number).split('-').map(Number)
  return year * 12 + month
}
