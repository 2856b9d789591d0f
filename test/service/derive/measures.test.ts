import { describe, expect, test } from 'vitest'
import { biomarker, daysFrom, deriveAll, log, wornAllDay } from './made-logs.ts'

const day = '2026-06-03'
const at = (time: string, on = day) => `${on}T${time}:00+02:00`
const asOf = '2026-07-01T00:00:00Z'
type Logs = Parameters<typeof deriveAll>[0]['logs']
const value = (logs: Logs, type: string, person = {}) => biomarker(deriveAll({ logs, asOf, person }), type, day)
const worn = wornAllDay(day, '+02:00')

describe('vitals', () => {
  const asleep = log('sleep_stage_sleeping', at('00:00'), [420, 420])
  const minutes = (kind: string, from: string, values: readonly number[], extra = {}) => {
    const start = Date.parse(at(from))
    return values.map((value, place) =>
      log(kind, at(from), [0, value], { startMs: start + place * 60_000, endMs: start + place * 60_000, ...extra }),
    )
  }
  const many = (count: number, value: number) => Array.from({ length: count }, () => value)

  test('the source’s own resting rate comes first', () => {
    expect(
      value(
        [asleep, log('resting_heart_rate', at('12:00'), [0, 54]), ...minutes('heart_rate', '01:00', many(60, 48))],
        'heart_rate_resting',
      ),
    ).toBe('54')
  })
  test('else the resting rate is the 5th percentile of five-minute medians asleep', () => {
    // Twelve groups of five: 50, 51 … 61. Place 0.05 × 11 = 0.55 between 50 and 51: 50.55.
    const values = Array.from({ length: 60 }, (_, place) => 50 + Math.floor(place / 5))
    expect(value([asleep, ...minutes('heart_rate', '01:00', values)], 'heart_rate_resting')).toBe('50.55')
  })
  test('else the resting rate is the calmest half hour awake, as an estimate', () => {
    const derived = deriveAll({
      logs: [...minutes('heart_rate', '10:00', many(30, 80)), ...minutes('heart_rate', '15:00', many(31, 62))],
      asOf,
    })

    expect(derived.biomarkers.find((biomarker) => biomarker['type'] === 'heart_rate_resting')).toMatchObject({
      value: '62',
      estimated: true,
    })
  })
  test('a mean over sleep needs twenty minutes with a reading', () => {
    expect(value([asleep, ...minutes('heart_rate', '01:00', many(19, 50))], 'heart_rate_sleep')).toBeUndefined()
    expect(
      value([asleep, ...minutes('heart_rate', '01:00', [...many(10, 50), ...many(10, 60)])], 'heart_rate_sleep'),
    ).toBe('55')
    expect(value([asleep, ...minutes('respiratory_rate', '01:00', many(20, 14))], 'respiratory_rate_sleep')).toBe('14')
  })
  test('samples outside of sleep do not count for sleep', () => {
    expect(
      value([asleep, ...minutes('heart_rate', '06:45', [...many(15, 50), ...many(40, 90)])], 'heart_rate_sleep'),
    ).toBeUndefined()
  })
  test('one minute has one value: the median of the best instrument in it', () => {
    const logs = [
      asleep,
      ...minutes('heart_rate', '01:00', many(20, 50)),
      ...minutes('heart_rate', '01:00', many(20, 90), { deviceType: 'phone', source: 'b' }),
    ]
    const three = [48, 52, 60].map((value) => ({ ...log('heart_rate', at('02:00'), [0, value]), deviceId: null }))

    expect(value(logs, 'heart_rate_sleep')).toBe('50')
    // 20 minutes of 50 and one of median 52: 1052 / 21.
    expect(value([...logs, ...three], 'heart_rate_sleep')).toBe('50.095')
  })
  test('variability needs three values asleep, or the night’s own figure, or three in the day, for each kind alone', () => {
    const rmssd = 'heart_rate_variability_rmssd'
    expect(value([asleep, ...minutes(rmssd, '01:00', [40, 50, 60])], rmssd)).toBe('50')
    expect(value([asleep, ...minutes(rmssd, '01:00', [40, 50])], rmssd)).toBeUndefined()
    expect(value([asleep, log(rmssd, at('00:00'), [400, 44])], rmssd)).toBe('44')
    expect(value([asleep, ...minutes(rmssd, '10:00', [40, 42, 60])], rmssd)).toBe('42')
    expect(value([asleep, ...minutes(rmssd, '01:00', [40, 50, 60])], 'heart_rate_variability_sdnn')).toBeUndefined()
  })
  test.each([
    ['heart_rate_variability_rmssd', 'heart_rate_variability_rmssd'],
    ['respiratory_rate', 'respiratory_rate_sleep'],
    ['oxygen_saturation', 'oxygen_saturation_sleep'],
  ])('one %s a night counts: in the sleep, up to an hour after it, or over it', (kind, biomarker) => {
    const once = (start: string, minutes: number, extra = {}) =>
      value([asleep, log(kind, at(start), [minutes, 44], extra)], biomarker)

    expect(once('03:00', 0)).toBe('44')
    // Asleep from 00:00 to 07:00.
    expect(once('07:40', 0)).toBe('44')
    expect(once('08:00', 0)).toBe('44')
    expect(once('08:01', 0)).toBeUndefined()
    expect(once('00:00', 420)).toBe('44')
    expect(once('01:00', 30)).toBe('44')
    expect(once('07:40', 0, { recordingMethod: 'manual_entry' })).toBeUndefined()
    // A second reading of the instrument on that sleep day: it samples, and two samples are too few.
    expect(value([asleep, ...minutes(kind, '03:00', [44, 46])], biomarker)).toBeUndefined()
    expect(value([asleep, log(kind, at('03:00'), [0, 44]), log(kind, at('15:00'), [0, 46])], biomarker)).toBeUndefined()
  })
  test('one heart rate in the night is a moment, not the night', () => {
    expect(value([asleep, log('heart_rate', at('03:00'), [0, 44])], 'heart_rate_sleep')).toBeUndefined()
  })
  test('oxygen comes as a share or in percent, glucose in either unit', () => {
    expect(value(minutes('oxygen_saturation', '10:00', [0.97, 97, 0.97]), 'oxygen_saturation')).toBe('97')
    expect(value([log('blood_glucose', at('10:00'), [0, 99.088], { unit: 'mg/dL' })], 'blood_glucose')).toBe('5.5')
    expect(value([log('blood_glucose', at('10:00'), [0, 5.5], { unit: 'mmol/L' })], 'blood_glucose')).toBe('5.5')
  })
  test('blood pressure, temperatures and the other vitals', () => {
    const logs = [
      asleep,
      log('blood_pressure_systolic', at('10:00'), [0, 120]),
      log('blood_pressure_systolic', at('11:00'), [0, 130]),
      log('blood_pressure_diastolic', at('10:00'), [0, 80]),
      log('basal_body_temperature', at('07:00'), [0, 36.4]),
      log('sleeping_wrist_temperature', at('00:00'), [400, 34.6]),
    ]

    expect(value(logs, 'blood_pressure_systolic')).toBe('125')
    expect(value(logs, 'blood_pressure_diastolic')).toBe('80')
    expect(value(logs, 'body_temperature_basal')).toBe('36.4')
    expect(value(logs, 'skin_temperature_sleep')).toBe('34.6')
  })
})

describe('body', () => {
  const earlier = (days: number) => daysFrom('2026-05-01', 34).at(-1 - days) ?? ''
  const step = log('steps', at('09:00'), [60, 1000])

  test('a measure stays known for thirty days, a height for good', () => {
    const weighed = (days: number) => [
      step,
      log('weight', at('07:00', earlier(days)), [0, 80]),
      log('height', '2025-01-01T08:00:00+02:00', [0, 2]),
    ]

    expect(value(weighed(30), 'weight')).toBe('80')
    expect(value(weighed(31), 'weight')).toBeUndefined()
    // 80 / 2².
    expect(value(weighed(30), 'body_mass_index')).toBe('20')
  })
  test('fat and lean mass follow from weight and share', () => {
    const logs = [
      log('weight', at('07:00'), [0, 80]),
      log('weight', at('20:00'), [0, 82]),
      log('body_fat', at('07:00'), [0, 0.25]),
    ]

    expect(value(logs, 'weight')).toBe('82')
    expect(value(logs, 'body_fat')).toBe('25')
    expect(value(logs, 'fat_mass')).toBe('20.5')
    expect(value(logs, 'lean_mass')).toBe('61.5')
    expect(value([...logs, log('lean_body_mass', at('08:00'), [0, 60])], 'lean_mass')).toBe('60')
  })
  test('energy is burned at rest and in total', () => {
    const logs = [
      log('active_energy_burned', at('09:00'), [60, 300], { unit: 'kcal' }),
      log('basal_energy_burned', at('00:00'), [720, 800], { unit: 'kcal' }),
      ...worn,
    ]

    expect(value(logs, 'resting_energy_burned')).toBe('800')
    expect(value(logs, 'total_energy_burned')).toBe('1100')
    expect(value([...logs, log('total_energy_burned', at('00:00'), [1440, 2000])], 'total_energy_burned')).toBe('2000')
    expect(value([log('basal_metabolic_rate', at('09:00'), [0, 1650])], 'resting_energy_burned')).toBe('1650')
  })
  test('VO2max stays known for ninety days, a waist for thirty', () => {
    const old = daysFrom('2026-03-01', 95).at(-1 - 90) ?? ''
    expect(value([step, log('vo2_max', at('07:00', old), [0, 42])], 'vo2_max')).toBe('42')
    expect(value([step, log('vo2_max', at('07:00', '2026-03-04'), [0, 42])], 'vo2_max')).toBeUndefined()
    expect(value([log('waist_circumference', at('07:00'), [0, 84], { unit: 'cm' })], 'waist_circumference')).toBe(
      '0.84',
    )
  })
  test('characteristics come from the demographics', () => {
    const person = { birthDate: '1986-06-03', gender: 'Female' }
    expect(value([step], 'age', person)).toBe('40')
    expect(value([step], 'biological_sex', person)).toBe('Female')
    expect(value([step], 'date_of_birth', person)).toBe('1986-06-03T00:00:00+00:00')
    expect(value([step], 'biological_sex', { gender: 'Gender Diverse' })).toBeUndefined()
  })
})
