import { describe, expect, test } from 'vitest'
import { biomarker, daysFrom, deriveAll, log, phone } from './made-logs.ts'

const day = '2026-06-03'
const asOf = '2026-07-01T00:00:00Z'
const at = (time: string, on = day) => `${on}T${time}:00+02:00`
const asleep = (start: string, minutes: number, on = day) => log('sleep_stage_sleeping', at(start, on), [minutes, 1])
type Logs = Parameters<typeof deriveAll>[0]['logs']
const rowOf = (logs: Logs, type: string, person = {}) =>
  deriveAll({ logs, asOf, person }).biomarkers.find(
    (biomarker) =>
      biomarker['type'] === type &&
      biomarker['periodicity'] === 'daily' &&
      String(biomarker['endDateTime']).startsWith(day),
  )

describe('nap_duration', () => {
  test('is all sleep of a day except its night', () => {
    // Night 00:00-07:00; naps 13:00-13:25 and 16:00-16:40: 25 + 40.
    const logs = [asleep('00:00', 420), asleep('13:00', 25), asleep('16:00', 40)]

    expect(rowOf(logs, 'nap_duration')).toMatchObject({ value: '65', unit: 'minute', aggregation: 'total' })
    expect(rowOf(logs, 'nap_duration')).not.toHaveProperty('estimated')
    expect(rowOf(logs, 'sleep_duration')).toMatchObject({ value: '420' })
  })
  test('is absent without a nap, and present without a night', () => {
    expect(rowOf([asleep('00:00', 420)], 'nap_duration')).toBeUndefined()
    // Two hours and 59 minutes are no night.
    expect(rowOf([asleep('00:00', 179)], 'nap_duration')).toMatchObject({ value: '179' })
    expect(rowOf([asleep('00:00', 179)], 'sleep_duration')).toBeUndefined()
  })
  test('is nine tenths of mere time in bed, and estimated', () => {
    const nap = log('sleep_stage_in_bed', at('13:00'), [60, 1], phone)

    expect(rowOf([asleep('00:00', 420), nap], 'nap_duration')).toMatchObject({ value: '54', estimated: true })
  })
  test('after 18:00 belongs to the next day', () => {
    expect(rowOf([asleep('00:00', 420), asleep('18:30', 30)], 'nap_duration')).toBeUndefined()
  })
})

describe('chronotype', () => {
  // 1 June 2026 is a Monday; mornings of Saturday and Sunday, 6 and 7 June, are free.
  const [week, sunday] = [daysFrom('2026-06-01', 7), '2026-06-07']
  const nights = (work: readonly [string, number], free: readonly [string, number], days = week) =>
    days.map((on, place) => asleep(...(place % 7 < 5 ? work : free), on))
  const of = (logs: Logs, on = sunday, periodicity = 'daily') =>
    biomarker(deriveAll({ logs, asOf }), 'chronotype', on, periodicity)

  test('is the middle of sleep on free days, less half of the extra sleep', () => {
    // Work 00:00-06:00 (360), free 01:00-10:00 (540), middle 05:30. Week: (5 × 360 + 2 × 540) / 7 = 411.43 minutes.
    // Caught up 540 - 411.43 = 128.57, half of it 64.29: 330 - 64.29 = 265.71 minutes, 4.4286 hours.
    expect(of(nights(['00:00', 360], ['01:00', 540]))).toBe('4.4286')
  })
  test('is the plain middle without extra sleep on free days', () => {
    // Free 01:00-07:00, middle 04:00; work 480.
    expect(of(nights(['00:00', 480], ['01:00', 360]))).toBe('4')
  })
  test('goes round the clock: before midnight is late in the day', () => {
    // Free 20:00-02:30, middle 23:15.
    const logs = week.map((on, place) =>
      place < 5 ? asleep('00:00', 480, on) : log('sleep_stage_sleeping', at('20:00', week[place - 1] ?? ''), [390, 1]),
    )
    expect(of(logs)).toBe('23.25')
  })
  test('needs two free nights and three others, and one that day', () => {
    const logs = nights(['00:00', 360], ['00:00', 360])

    expect(of(logs, '2026-06-06')).toBeUndefined()
    expect(of(logs.slice(2))).toBe('3')
    expect(of(logs.slice(3))).toBeUndefined()
    expect(of([...logs, log('steps', at('09:00', '2026-06-08'), [60, 900])], '2026-06-08')).toBeUndefined()
  })
  test('of a week is the last value of the week', () => {
    // The second week's free days are an hour later: the middle of 03:00, 03:00, 04:00, 04:00 is 03:30.
    const second = nights(['00:00', 360], ['01:00', 360], daysFrom('2026-06-08', 7))
    expect(of([...nights(['00:00', 360], ['00:00', 360]), ...second], '2026-06-14', 'weekly')).toBe('3.5')
  })
})

describe('an estimate of VO2max', () => {
  const person = { birthDate: '1986-06-03', gender: 'Female' }
  const weight = log('weight', at('08:00'), [0, 60], { unit: 'kg' })

  test('is the expected value by age, sex and weight, and estimated', () => {
    // 79.9 - 0.39 × 40 - 13.7 - 0.127 × 60 × 2.20462 = 79.9 - 15.6 - 13.7 - 16.7992 = 33.8008.
    expect(rowOf([weight], 'vo2_max', person)).toMatchObject({ value: '33.8008', estimated: true })
    // A man: 13.7 more.
    expect(rowOf([weight], 'vo2_max', { ...person, gender: 'Male' })).toMatchObject({ value: '47.5008' })
  })
  test('gives way to a measurement', () => {
    const measured = log('vo2_max', at('07:00'), [0, 42])

    expect(rowOf([weight, measured], 'vo2_max', person)).toMatchObject({ value: '42' })
    expect(rowOf([weight, measured], 'vo2_max', person)).not.toHaveProperty('estimated')
  })
  test('is absent without age, sex or weight, and for ages outside the norm', () => {
    const steps = log('steps', at('09:00'), [60, 900])

    expect(rowOf([steps], 'vo2_max', person)).toBeUndefined()
    expect(rowOf([weight], 'vo2_max', { gender: 'Female' })).toBeUndefined()
    expect(rowOf([weight], 'vo2_max', { age: 40 })).toBeUndefined()
    expect(rowOf([weight], 'vo2_max', { age: 19, gender: 'Male' })).toBeUndefined()
    expect(rowOf([weight], 'vo2_max', { age: 80, gender: 'Male' })).toBeUndefined()
  })
  test('is not compared, because against its own norm it would always be average', () => {
    const compared = (logs: Logs) =>
      deriveAll({ logs, asOf, person }).comparisons.filter((comparison) => comparison['name'] === 'vo2_max')

    expect(compared([weight])).toEqual([])
    expect(compared([weight, log('vo2_max', at('07:00'), [0, 42])]).length).toBeGreaterThan(0)
  })
})
