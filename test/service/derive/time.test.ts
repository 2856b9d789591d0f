import { describe, expect, test } from 'vitest'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import { ageOn } from '../../../src/service/derive/model/demographics.ts'
import { biomarker, deriveAll, log, phone, score, wornAllDay } from './made-logs.ts'

const asOf = '2026-12-01T00:00:00Z'
const steps = (start: string, minutes: number, count: number) => log('steps', start, [minutes, count])

describe('a day is the local day of the person', () => {
  test('a log belongs to the date in its own offset, not to the date in UTC', () => {
    // 23:30 in Auckland on the 3rd is 10:30 UTC on the 3rd; 08:00 on the 3rd is 19:00 UTC on the 2nd.
    const logs = [steps('2026-06-03T08:00:00+13:00', 60, 3000), steps('2026-06-03T22:30:00+13:00', 60, 2000)]

    const derived = deriveAll({ logs, asOf })

    expect(biomarker(derived, 'steps', '2026-06-03')).toBe('5000')
    expect(biomarker(derived, 'steps', '2026-06-02')).toBeUndefined()
    expect(derived.biomarkers.find((biomarker) => biomarker['type'] === 'steps')).toMatchObject({
      startDateTime: '2026-06-03T00:00:00+13:00',
      endDateTime: '2026-06-03T23:59:59+13:00',
    })
  })

  test('an interval across midnight is shared out by time', () => {
    // 23:30 to 00:10: 30 of 40 minutes before midnight. 800 × 30/40 = 600 and 800 × 10/40 = 200.
    const logs = [steps('2026-06-03T23:30:00+02:00', 40, 800), steps('2026-06-04T12:00:00+02:00', 10, 100)]

    const derived = deriveAll({ logs, asOf })

    expect(biomarker(derived, 'steps', '2026-06-03')).toBe('600')
    expect(biomarker(derived, 'steps', '2026-06-04')).toBe('300')
  })

  test('an instant has no length to be shared and goes to its own date', () => {
    const logs = [steps('2026-06-03T23:59:59+02:00', 0, 500)]

    expect(biomarker(deriveAll({ logs, asOf }), 'steps', '2026-06-03')).toBe('500')
  })
})

describe('days on which the clocks change', () => {
  // Berlin, 2026: +01:00 until 29 March 02:00, then +02:00; back on 25 October at 03:00.
  test('the day of 23 hours ends in its new offset, and has every step', () => {
    const logs = [
      steps('2026-03-28T12:00:00+01:00', 60, 1000),
      steps('2026-03-29T01:30:00+01:00', 30, 300),
      steps('2026-03-29T03:00:00+02:00', 30, 400),
      steps('2026-03-29T23:30:00+02:00', 29, 500),
      steps('2026-03-30T12:00:00+02:00', 60, 2000),
    ]

    const derived = deriveAll({ logs, asOf })

    expect(['2026-03-28', '2026-03-29', '2026-03-30'].map((day) => biomarker(derived, 'steps', day))).toEqual([
      '1000',
      '1200',
      '2000',
    ])
    expect(
      derived.biomarkers.find((biomarker) => biomarker['type'] === 'steps' && biomarker['value'] === '1200'),
    ).toMatchObject({
      startDateTime: '2026-03-29T00:00:00+02:00',
      endDateTime: '2026-03-29T23:59:59+02:00',
    })
  })

  test('the whole of a day of 25 hours can be covered', () => {
    // A pulse every five minutes of all 25 hours, and no steps at all after one walk: stillness counts real minutes.
    const pulse = Array.from({ length: 300 }, (_, place) => {
      const at = Date.parse('2026-10-25T00:00:00+02:00') + place * 300_000
      const offset = at < Date.parse('2026-10-25T01:00:00Z') ? 120 : 60
      return log('heart_rate', new Date(at).toISOString(), [0, 60], { startOffset: offset, endOffset: offset })
    })
    const logs = [
      ...pulse,
      steps('2026-10-24T12:00:00+02:00', 60, 1000),
      ...Array.from({ length: 12 }, (_, place) =>
        steps(`2026-10-25T12:${String(place * 5).padStart(2, '0')}:00+01:00`, 5, 250),
      ),
      log('sleep_stage_sleeping', '2026-10-25T01:00:00+02:00', [420, 420], { endOffset: 60 }),
    ]

    const derived = deriveAll({ logs, asOf })

    // Asleep from 01:00+02:00 to 07:00+01:00, seven hours; the hour before it is one of the 25. 25 h - 7 h asleep - 1 h walking at 50 a minute = 17 h = 1020 min.
    expect(biomarker(derived, 'sleep_duration', '2026-10-25')).toBe('420')
    expect(biomarker(derived, 'sleep_end_time', '2026-10-25')).toBe('2026-10-25T07:00:00+01:00')
    expect(biomarker(derived, 'activity_sedentary_duration', '2026-10-25')).toBe('1020')
    expect(biomarker(derived, 'activity_low_intensity_duration', '2026-10-25')).toBe('60')
  })
})

test('a journey across zones gives each day the offset it ended in', () => {
  // Tokyo in the morning, Los Angeles in the evening of the same date.
  const logs = [
    steps('2026-06-10T09:00:00+09:00', 60, 1000),
    steps('2026-06-10T12:00:00-07:00', 60, 2000),
    steps('2026-06-11T12:00:00-07:00', 60, 4000),
  ]

  const derived = deriveAll({ logs, asOf })

  expect(biomarker(derived, 'steps', '2026-06-10')).toBe('3000')
  expect(biomarker(derived, 'steps', '2026-06-11')).toBe('4000')
  const row = derived.biomarkers.find((biomarker) => biomarker['type'] === 'steps' && biomarker['value'] === '3000')
  expect(row?.['endDateTime']).toBe('2026-06-10T23:59:59-07:00')
})

test('a scale that reports in UTC does not move the day', () => {
  const logs = [
    ...Array.from({ length: 20 }, (_, hour) =>
      steps(`2026-06-10T${String(hour).padStart(2, '0')}:00:00+12:00`, 60, 100),
    ),
    log('weight', '2026-06-10T22:00:00Z', [0, 70]),
  ]

  const row = deriveAll({ logs, asOf }).biomarkers.find((biomarker) => biomarker['type'] === 'steps')

  expect(row?.['startDateTime']).toBe('2026-06-10T00:00:00+12:00')
})

describe('a night belongs to the day it ends on', () => {
  const asleep = (start: string, minutes: number) => log('sleep_stage_sleeping', start, [minutes, minutes])

  test('and lasts from 18:00 to 18:00 of the next day', () => {
    const derived = deriveAll({ logs: [asleep('2026-06-03T22:00:00+02:00', 480)], asOf })

    const row = derived.biomarkers.find((biomarker) => biomarker['type'] === 'sleep_duration')
    expect(row).toMatchObject({
      value: '480',
      startDateTime: '2026-06-03T18:00:00+02:00',
      endDateTime: '2026-06-04T17:59:59+02:00',
    })
  })

  test('a sleep across 18:00 belongs to the day of its middle', () => {
    // 14:00 to 20:00 has its middle at 17:00: still the 3rd. 16:00 to 22:00 at 19:00: the 4th.
    const early = deriveAll({ logs: [asleep('2026-06-03T14:00:00+02:00', 360)], asOf })
    const late = deriveAll({ logs: [asleep('2026-06-03T16:00:00+02:00', 360)], asOf })

    expect(biomarker(early, 'sleep_duration', '2026-06-03')).toBe('360')
    expect(biomarker(late, 'sleep_duration', '2026-06-04')).toBe('360')
  })

  test('exactly at 18:00 the next day begins', () => {
    // 15:00 to 21:00: the middle is 18:00 itself.
    const derived = deriveAll({ logs: [asleep('2026-06-03T15:00:00+02:00', 360)], asOf })

    expect(biomarker(derived, 'sleep_duration', '2026-06-04')).toBe('360')
  })

  test('a night worker’s sleep belongs to the morning of its own day', () => {
    const derived = deriveAll({ logs: [asleep('2026-06-03T09:00:00+02:00', 450)], asOf })

    expect(biomarker(derived, 'sleep_duration', '2026-06-03')).toBe('450')
    expect(biomarker(derived, 'sleep_start_time', '2026-06-03')).toBe('2026-06-03T09:00:00+02:00')
  })
})

describe('a day that is not over', () => {
  const logs = [
    log('sleep_stage_sleeping', '2026-06-02T22:00:00+02:00', [480, 480]),
    steps('2026-06-03T09:00:00+02:00', 60, 6000),
    ...wornAllDay('2026-06-03', '+02:00'),
  ]

  test('has intraday biomarkers and no activity score', () => {
    const derived = deriveAll({ logs, asOf: '2026-06-03T15:00:00+02:00' })

    expect(biomarker(derived, 'steps', '2026-06-03', 'intraday')).toBe('6000')
    expect(biomarker(derived, 'steps', '2026-06-03')).toBeUndefined()
    expect(biomarker(derived, 'sleep_duration', '2026-06-03', 'intraday')).toBe('480')
    expect(score(derived, 'activity', '2026-06-03')).toBeUndefined()
  })

  test('after 18:00 its night is final, after midnight all of it', () => {
    const evening = deriveAll({ logs, asOf: '2026-06-03T18:00:00+02:00' })
    const after = deriveAll({ logs, asOf: '2026-06-04T00:00:00+02:00' })

    expect(biomarker(evening, 'sleep_duration', '2026-06-03')).toBe('480')
    expect(biomarker(evening, 'steps', '2026-06-03')).toBeUndefined()
    expect(biomarker(after, 'steps', '2026-06-03')).toBe('6000')
    expect(score(after, 'activity', '2026-06-03')).toBeDefined()
  })

  test('a log from the future is not known yet', () => {
    const future = [...logs, steps('2026-06-03T20:00:00+02:00', 60, 4000)]

    expect(
      biomarker(deriveAll({ logs: future, asOf: '2026-06-03T15:00:00+02:00' }), 'steps', '2026-06-03', 'intraday'),
    ).toBe('6000')
    expect(biomarker(deriveAll({ logs: future, asOf: '2026-06-04T15:00:00+02:00' }), 'steps', '2026-06-03')).toBe(
      '10000',
    )
  })
})

test('a phone in another zone counts its steps by its own clock', () => {
  const logs = [steps('2026-06-03T12:00:00+02:00', 60, 1000), log('steps', '2026-06-03T22:30:00Z', [60, 500], phone)]

  const derived = deriveAll({ logs, asOf })

  expect(biomarker(derived, 'steps', '2026-06-03')).toBe('1500')
})

test('a birthday counts from that day on', () => {
  const person = { birthDate: '1986-06-03', age: 12, gender: null }
  expect(ageOn(person, dayNumberFromText('2026-06-02'))).toBe(39)
  expect(ageOn(person, dayNumberFromText('2026-06-03'))).toBe(40)
  expect(ageOn({ ...person, birthDate: null }, dayNumberFromText('2026-06-03'))).toBe(12)
})
