import { isMainThread } from 'node:worker_threads'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatInstant, localDateOf, parseInstant } from '../../src/base/time/instant.ts'
import { instantMicrosOf } from '../../src/base/time/instant-micros.ts'
import {
  createOffsetCache,
  dayNumberFromText,
  dayText,
  isoText,
  monthOf,
  zoneOffsetMs,
} from '../../src/base/time/local-time.ts'
import { DAY, HOUR, MINUTE } from '../../src/base/time/units.ts'

// Zones that were on the other side of the date line in 1970, ahead and behind, of half hours, and with two clocks a year.
const zones = ['Pacific/Kiritimati', 'Pacific/Apia', 'America/New_York', 'Australia/Adelaide', 'Europe/London']

test.for(zones)(
  'in a process that runs in %s every instant, day and month is as anywhere',
  (zone, { onTestFinished }) => {
    expect(isMainThread).toBe(true) // the zone of a thread cannot be changed
    const former = process.env['TZ']
    onTestFinished(() => {
      if (former === undefined) delete process.env['TZ']
      else process.env['TZ'] = former
    })
    process.env['TZ'] = zone
    expect(Intl.DateTimeFormat().resolvedOptions().timeZone).toBe(zone)
    const days = { min: Date.UTC(1960, 0) / DAY, max: Date.UTC(2099, 11, 31) / DAY }
    fc.assert(
      fc.property(fc.integer(days), fc.integer({ min: 0, max: 1439 }), (day, minutes) => {
        const atMs = day * DAY + minutes * MINUTE
        const [date = '', time = ''] = new Date(atMs).toISOString().slice(0, 16).split('T')
        const [year = 0, month = 0] = date.split('-').map(Number)

        expect(parseInstant(date)).toEqual({ epochMs: day * DAY, offsetMinutes: 0 })
        expect(parseInstant(`${date}T${time}`)).toEqual({ epochMs: atMs, offsetMinutes: 0 })
        expect(parseInstant(`${date}T${time}:00`)).toEqual({ epochMs: atMs, offsetMinutes: 0 })
        expect(parseInstant(`${date}T${time}:00+12:00`)).toEqual({ epochMs: atMs - 12 * HOUR, offsetMinutes: 720 })
        expect(instantMicrosOf(`${date}T${time}:00.5Z`)).toBe(atMs * 1000 + 500_000)
        expect(localDateOf({ epochMs: atMs, offsetMinutes: 0 })).toBe(date)
        expect(formatInstant({ epochMs: atMs - 2 * HOUR, offsetMinutes: 120 })).toBe(`${date}T${time}:00+02:00`)
        expect(isoText(atMs - 2 * HOUR, 120)).toBe(`${date}T${time}:00+02:00`)
        expect([dayText(day), dayNumberFromText(date)]).toEqual([date, day])
        expect(monthOf(day)).toEqual({ first: Date.UTC(year, month - 1) / DAY, last: Date.UTC(year, month) / DAY - 1 })
        for (const offsetMs of [zoneOffsetMs('Asia/Tokyo'), createOffsetCache('Asia/Tokyo')])
          expect(offsetMs(atMs)).toBe(9 * HOUR)
      }),
      { numRuns: 60 },
    )
  },
)
