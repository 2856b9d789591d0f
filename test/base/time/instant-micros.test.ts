import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { parseInstant } from '../../../src/base/time/instant.ts'
import { epochDayOf, instantMicrosOf } from '../../../src/base/time/instant-micros.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** The days of the Gregorian calendar one by one, as an oracle without formula: text of the day and days since 1970. */
function* daysOfYears(from: number, to: number): Generator<[text: string, epochDay: number]> {
  let epochDay = 0
  for (let year = 1970; year > from; year -= 1) epochDay -= isLeap(year - 1) ? 366 : 365
  for (let year = from; year <= to; year += 1) {
    const months = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    for (const [month, days] of months.entries())
      for (let day = 1; day <= days; day += 1) {
        yield [`${year}-${padded(month + 1)}-${padded(day)}`, epochDay]
        epochDay += 1
      }
  }
}

const isLeap = (year: number) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
const padded = (number: number, digits = 2) => String(number).padStart(digits, '0')

test('a day is counted from 1970 on every day from 1901 to 2099, and on no day before or after', () => {
  for (const [text, epochDay] of daysOfYears(1896, 2104)) {
    const isCounted = text >= '1901' && text < '2100'
    if (epochDayOf(text) !== (isCounted ? epochDay : undefined)) expect(epochDayOf(text), text).toBe(epochDay)
  }
  expect(epochDayOf('1970-01-01')).toBe(0)
  expect(epochDayOf('2026-07-11T23:59:59+12:00')).toBe(Date.UTC(2026, 6, 11) / 86_400_000)
})

test.for([
  ['a month that there is not', ['2026-00-10', '2026-13-01', '2026-99-01']],
  [
    'a day that its month has not',
    ['2026-01-00', '2026-01-32', '2026-04-31', '2024-04-31', '2026-02-29', '2024-02-30', '2024-12-32'],
  ],
  ['another sign between the numbers', ['2026/07/11', '2026-07/11', '2026/07-11', '2026 07 11', '202607-11-']],
  [
    'a letter for a digit',
    ['x026-07-11', '20x6-07-11', '202x-07-11', '2026-x7-11', '2026-0x-11', '2026-07-x1', '2026-07-1x'],
  ],
  ['too short a text', ['', '2026', '2026-07', '2026-07-1']],
] as const)('%s is no day', ([, texts]) => {
  for (const text of texts) expect(epochDayOf(text), text).toBeUndefined()
})

const two = (max: number) => fc.integer({ min: 0, max }).map((number) => padded(number))
const offset = fc
  .tuple(fc.constantFrom('+', '-'), fc.integer({ min: 0, max: 14 * 60 }))
  .map(([sign, minutes]) => ({ sign, minutes }))

/** A date-time of any form that the contract accepts, and its microseconds by whole numbers alone. */
const written = fc
  .record({
    day: fc.date({ min: new Date('1890-01-01'), max: new Date('2110-01-01'), noInvalidDate: true }),
    letter: fc.constantFrom('T', 't'),
    time: fc.tuple(two(23), two(59), two(59)),
    mark: fc.constantFrom('.', ','),
    fraction: fc.option(fc.stringMatching(/^\d{1,9}$/), { freq: 2, nil: undefined }),
    zone: fc.option(offset, { nil: undefined }),
    shape: fc.constantFrom('colon', 'plain'),
    zulu: fc.constantFrom('Z', 'z', ''),
  })
  .map(({ day, letter, time, mark, fraction, zone, shape, zulu }) => {
    const date = day.toISOString().slice(0, 10)
    const minutes = zone ? padded(zone.minutes % 60) : ''
    const offsetText = zone
      ? `${zone.sign}${padded(Math.floor(zone.minutes / 60))}${shape === 'colon' ? ':' : ''}${minutes}`
      : zulu
    const [hour, minute, second] = time.map(BigInt)
    const midnight = BigInt(Date.parse(date)) * 1000n
    const ofDay = ((hour ?? 0n) * 3600n + (minute ?? 0n) * 60n + (second ?? 0n)) * 1_000_000n
    const offsetMicros = BigInt((zone?.sign === '-' ? -1 : 1) * (zone?.minutes ?? 0)) * 60_000_000n
    const beyond = BigInt((fraction ?? '').slice(0, 6).padEnd(6, '0'))
    return {
      text: `${date}${letter}${time.join(':')}${fraction === undefined ? '' : mark + fraction}${offsetText}`,
      micros: Number(midnight + ofDay - offsetMicros + beyond),
    }
  })

test('every form of a date-time is read to the microsecond', () => {
  fc.assert(
    fc.property(written, ({ text, micros }) => {
      expect(instantMicrosOf(text), text).toBe(micros)
    }),
    { seed: 20261124, numRuns: 5000 },
  )
})

test.for([
  ['2026-07-11T00:00:00.123456Z', Date.UTC(2026, 6, 11) * 1000 + 123_456],
  ['2026-07-11T00:00:00.1234567Z', Date.UTC(2026, 6, 11) * 1000 + 123_456],
  ['2026-07-11T00:00:00.1234Z', Date.UTC(2026, 6, 11) * 1000 + 123_400],
  ['2026-07-11T00:00:00.12Z', Date.UTC(2026, 6, 11) * 1000 + 120_000],
  ['2026-07-11t00:00:00,123456z', Date.UTC(2026, 6, 11) * 1000 + 123_456],
  ['2026-07-11T00:00:00.123456+1200', Date.UTC(2026, 6, 10, 12) * 1000 + 123_456],
  ['2026-07-11T00:00:00.123456', Date.UTC(2026, 6, 11) * 1000 + 123_456],
  ['1900-03-01T00:00:00.123456Z', Date.UTC(1900, 2, 1) * 1000 + 123_456],
  ['2100-03-01T00:00:00.123456Z', Date.UTC(2100, 2, 1) * 1000 + 123_456],
  ['1969-12-31T23:59:59.999999Z', -1],
  ['2024-02-29T23:59:59Z', Date.UTC(2024, 1, 29, 23, 59, 59) * 1000],
  ['2026-07-11', Date.UTC(2026, 6, 11) * 1000],
] as const)('%s is %s µs', ([text, micros]) => {
  expect(instantMicrosOf(text)).toBe(micros)
})

test('a text with any character replaced is read as the contract or the runtime reads it, or not at all', () => {
  const replaced = fc
    .tuple(written, fc.nat({ max: 40 }), fc.constantFrom('x', '+', ':', '9', ' ', '-', 'T', '.', '٣', ''))
    .map(
      ([{ text }, at, character]) => text.slice(0, at % text.length) + character + text.slice((at % text.length) + 1),
    )
  fc.assert(
    fc.property(replaced, (text) => {
      const micros = instantMicrosOf(text)
      if (micros === undefined) return
      expect(Math.floor(micros / 1000), text).toBe(parseInstant(text)?.epochMs ?? Date.parse(text))
    }),
    { seed: 20261124, numRuns: 20_000 },
  )
  // The runtime reads a remark in brackets, and the 30th of February.
  for (const text of [
    '2026-07-11T00:00:00.5Z (noon)',
    '2026-02-30T00:00:00.5Z',
    '2026-07-11T00:00:00Z ',
    ' 2026-07-11T00:00:00Z',
    '2026-07-11T00:00:00+05:00x',
    'noon',
  ])
    expect(instantMicrosOf(text), text).toBeUndefined()
})

test('an instant that a number cannot hold to the microsecond gives nothing', () => {
  const lastMs = Math.floor(Number.MAX_SAFE_INTEGER / 1000)
  expect(instantMicrosOf(new Date(lastMs).toISOString())).toBe(lastMs * 1000)
  expect(instantMicrosOf(new Date(lastMs + 1).toISOString())).toBeUndefined()
  expect(instantMicrosOf(new Date(-lastMs).toISOString())).toBe(-lastMs * 1000)
  expect(instantMicrosOf(new Date(-lastMs - 1).toISOString())).toBeUndefined()
})

const anyDay = fc
  .date({ min: new Date('1901-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10))
const anyTime = fc.constantFrom('00:00:00', '23:59:59', '12:30:15', '09:08:07')
const anyZone = fc.constantFrom('Z', '+00:00', '-00:00', '-09:30', '+05:45', '+14:00', '-14:00', '-12:59')
const common = (fraction: string) =>
  fc
    .sample(fc.tuple(anyDay, anyTime, anyZone), { seed: 20261124, numRuns: 1000 })
    .map(([day, time, zone]) => `${day}T${time}${fraction}${zone}`)

/** `Date.parse` takes four times as long, and the contract's own parser four times as long as that. */
test('an instant in whole seconds with Z or an offset is read without Date.parse, one with a fraction without a calendar', () => {
  const whole = common('').map((text) => ({ text, ms: Date.parse(text) }))
  const withFraction = ['.5', '.123', '.123456'].flatMap(common)
  const parse = vi.spyOn(Date, 'parse')
  for (const { text, ms } of whole) if (instantMicrosOf(text) !== ms * 1000) expect(text).toBe(`${ms} ms`)
  expect(parse).not.toHaveBeenCalled()

  const calendar = vi.spyOn(Date.prototype, 'setUTCFullYear')
  for (const text of withFraction) instantMicrosOf(text)
  expect(calendar).not.toHaveBeenCalled()
})
