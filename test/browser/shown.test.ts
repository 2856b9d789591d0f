import { expect, test } from 'vitest'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/base/time/units.ts'
import { besideGoal, shownChange, shownMeasured } from '../../src/dashboard/browser/measured.ts'
import {
  datesApart,
  isLocalZone,
  shownAge,
  shownInstant,
  shownPeople,
  shownSpan,
  shownText,
} from '../../src/web/browser/shown.ts'

test('a span of time is shown in one unit or two, and never with a zero', () => {
  const told = [90 * SECOND, 5 * MINUTE, 75 * MINUTE, HOUR, DAY, DAY + 5 * MINUTE, 3 * DAY].map(shownSpan)
  expect(told).toEqual(['1 min 30 s', '5 min', '1 h 15 min', '1 h', '24 h', '24 h 5 min', '3 days'])
  expect(shownAge('2026-03-01T00:00:00Z', Date.parse('2026-03-01T03:00:00Z'))).toBe('3 h ago')
})

test('a measured value has its unit in the right number, and a goal stands beside it, also when less is better', () => {
  expect([1, 1.04, 476, 0].map((value) => shownMeasured(value, 'minute'))).toEqual([
    '1 minute',
    '1.04 minutes',
    '476 minutes',
    '0 minutes',
  ])
  expect(shownMeasured(11_195.4, 'count')).toBe('11,195')
  expect(shownMeasured(94.44, 'percent')).toBe('94.4 %')
  expect(shownMeasured(45.8, 'ms')).toBe('45.8 ms')
  expect(shownChange(10, 10.4, 'hour')).toBe('10 to 10.4 hours')
  expect(besideGoal({ value: 5.3, unit: 'hour', goal: 0 })).toBe('5.3 hours, goal 0')
  expect(besideGoal({ value: 0.95, unit: 'index', goal: 1 })).toBe('0.95, goal 1')
})

test('one is a person, several are people', () => {
  expect([0, 1, 12_345].map(shownPeople)).toEqual(['0 people', '1 person', '12,345 people'])
})

test('the dates below a chart have room, however narrow it is', () => {
  for (const width of [200, 254, 600, 1600])
    for (const days of [1, 7, 28, 60]) expect((datesApart(days, width) * width) / days).toBeGreaterThanOrEqual(40)
})

const names = ['👩‍💻 Ada', '👩🏽‍🤝‍👨🏻', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', 'می‌خواهم', 'श्री क्‍ष', 'ක්‍රිෂ්ණා', 'Zoë', '\u0600١٢']

test('joiners stay in names and emoji that need them, and are visible where they only hide', () => {
  expect(names.map((name) => shownText(name))).toEqual(names)
  const hiding = [
    'ad\u200dmin',
    'ad\u200cmin',
    '\u200dada',
    'ada\u200d',
    '\u202eada',
    'a\u{e0061}',
    '😀\u200d a',
    'a\u0007',
  ]
  const shown = [
    'ad\ufffdmin',
    'ad\ufffdmin',
    '\ufffdada',
    'ada\ufffd',
    '\ufffdada',
    'a\ufffd',
    '😀\ufffd a',
    'a\ufffd',
  ]
  expect(hiding.map((name) => shownText(name))).toEqual(shown)
})

test('a text is cut between letters, however many units a letter takes', () => {
  expect(shownText('a👩🏽‍🤝‍👨🏻b', 5)).toBe('a…')
  expect(shownText('a👩🏽‍🤝‍👨🏻bc', 13)).toBe('a👩🏽‍🤝‍👨🏻…')
  expect(shownText('x'.repeat(30), 10)).toBe(`${'x'.repeat(10)}…`)
})

test('an instant is shown in UTC, or in the zone of the browser', () => {
  const instant = '2026-03-01T23:30:15.000Z'
  expect(shownInstant(instant)).toBe('2026-03-01 23:30')
  isLocalZone.value = true
  const local = new Date(instant)
  expect(shownInstant(instant, 'seconds')).toContain(` ${local.toTimeString().slice(0, 8)}`)
  expect(shownInstant(instant)).toContain(`-${String(local.getDate()).padStart(2, '0')} `)
  isLocalZone.value = false
})
