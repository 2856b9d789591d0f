import { expect, test } from 'vitest'
import { dayNumberFromText, mondayOf, monthOf, weekday } from '../../src/time/local-days.ts'

test('calendar arithmetic', () => {
  const day = dayNumberFromText('2024-02-29')
  expect(weekday(dayNumberFromText('2026-03-02'))).toBe(0)
  expect(weekday(dayNumberFromText('1969-12-28'))).toBe(6)
  expect(mondayOf(dayNumberFromText('2026-03-08'))).toBe(dayNumberFromText('2026-03-02'))
  expect(monthOf(day)).toEqual({ first: dayNumberFromText('2024-02-01'), last: day })
  expect(monthOf(dayNumberFromText('2026-01-31'), 1)).toEqual({
    first: dayNumberFromText('2026-02-01'),
    last: dayNumberFromText('2026-02-28'),
  })
})
