import { expect, test } from 'vitest'
import { createOffsetCache } from '../../src/base/time/local-time.ts'
import { DAY, HOUR } from '../../src/base/time/units.ts'
import { createOffsetCompleter, createWallClock } from '../../src/intake/complete-offsets.ts'
import { type ZoneChange, zoneChanges } from '../support/zone-changes.ts'

/** The offset of a clock that shows this time, by trying both: the first of two, and the former where there is none. */
function expectedOffset({ atMs, beforeMs, afterMs }: ZoneChange, wallMs: number): number {
  const isShownBefore = wallMs - beforeMs < atMs
  const isShownAfter = wallMs - afterMs >= atMs
  return isShownBefore || !isShownAfter ? beforeMs : afterMs
}

/** Wall times around both readings of the change: the hour that is skipped or repeated lies between them. */
function wallTimesAround({ atMs, beforeMs, afterMs }: ZoneChange): number[] {
  const [low, high] = [atMs + Math.min(beforeMs, afterMs), atMs + Math.max(beforeMs, afterMs)]
  return [low - 11 * HOUR, low - 1, low, low + 1, (low + high) / 2, high - 1, high, high + 1, high + 11 * HOUR]
}

test('a wall time has its offset at all changes of all zones in ten years: the first of two, the former in a gap', () => {
  const clocks = new Map<string, ReturnType<typeof createWallClock>>()
  const wrong: string[] = []
  for (const change of zoneChanges()) {
    const clock = clocks.get(change.zone) ?? createWallClock(change.zone)
    clocks.set(change.zone, clock)
    for (const wallMs of wallTimesAround(change)) {
      const [found, expected] = [clock(wallMs), expectedOffset(change, wallMs)]
      if (found !== expected) wrong.push(`${change.zone} ${new Date(wallMs).toISOString()}: ${found}, not ${expected}`)
    }
  }
  expect(wrong).toEqual([])
})

test('a date-time without an offset gets the one that makes it the same moment, at the changes of some zones', () => {
  const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca', 'Asia/Tehran']
  for (const change of zoneChanges().filter(({ zone }) => zones.includes(zone))) {
    const complete = createOffsetCompleter(change.zone)
    for (const wallMs of wallTimesAround(change)) {
      const wall = new Date(wallMs).toISOString().slice(0, -1)
      const expectedMs = wallMs - expectedOffset(change, wallMs)
      expect(Date.parse(complete(wall)), `${change.zone} ${wall}`).toBe(expectedMs)
      expect(complete(wall.replace('T', ' '))).toBe(complete(wall))
    }
  }
})

test('a text with an offset, and one that is no date-time, is returned as it is', () => {
  const complete = createOffsetCompleter('Europe/Berlin')
  for (const text of [
    '2026-07-11T00:00:00Z',
    '2026-07-11T00:00:00+05:00',
    '2026-13-40',
    'noon',
    '',
    '2026-07-11T25:00',
    'x2026-07-11',
    '2026-07-11 10:00x',
  ])
    expect(complete(text), text).toBe(text)
  expect(complete('2026-07-11')).toBe('2026-07-11T00:00:00+02:00')
  expect(complete('2026-01-11 08:30')).toBe('2026-01-11T08:30+01:00')
  expect(complete('2026-01-11T08:30:15.25')).toBe('2026-01-11T08:30:15.25+01:00')
})

test('an offset is right whatever was asked before, and after more hours than are remembered', () => {
  const offsetAt = createOffsetCache('Europe/Berlin')
  const changeMs = Date.parse('2026-03-29T01:00:00Z')
  for (let round = 0; round < 2; round += 1) {
    expect([changeMs - 1, changeMs, changeMs + HOUR - 1].map(offsetAt)).toEqual([HOUR, 2 * HOUR, 2 * HOUR])
    for (let hour = 0; hour < 20_100; hour += 1) offsetAt(changeMs + 10 * DAY + hour * HOUR)
  }
})

test('clocks that were changed at one minute after midnight are read to the minute', () => {
  // Casey Station, 2020: at 00:01 the clocks went on to 03:01.
  const clock = createWallClock('Antarctica/Casey')
  expect(clock(Date.parse('2020-10-04T00:00:59Z'))).toBe(8 * HOUR)
  expect(clock(Date.parse('2020-10-04T03:01:00Z'))).toBe(11 * HOUR)
  expect(clock(Date.parse('2020-10-04T03:14:59Z'))).toBe(11 * HOUR)
})
