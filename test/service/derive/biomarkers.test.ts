import { describe, expect, test } from 'vitest'
import { biomarkerAnswerSchema, biomarkerTypes } from '../../../src/base/contract/biomarker.ts'
import { biomarkerForms } from '../../../src/service/derive/model/biomarker-catalogue.ts'
import { biomarker, daysFrom, deriveAll, factor, log, walk, wornAllDay } from './made-logs.ts'

const day = '2026-06-03'
const at = (time: string, on = day) => `${on}T${time}:00+02:00`
const asOf = '2026-07-01T00:00:00Z'
type Logs = Parameters<typeof deriveAll>[0]['logs']
const value = (logs: Logs, type: string, person = {}) => biomarker(deriveAll({ logs, asOf, person }), type, day)
const worn = wornAllDay(day, '+02:00')

describe('intensity', () => {
  test('goes by the pace of steps: from 40 low, from 100 medium, from 130 high', () => {
    const logs = [
      ...walk(at('08:00'), [10, 390]), // 39 a minute: none
      ...walk(at('09:00'), [10, 400]), // 40: low
      ...walk(at('10:00'), [10, 990]), // 99: low
      ...walk(at('11:00'), [10, 1000]), // 100: medium
      ...walk(at('12:00'), [10, 1290]), // 129: medium
      ...walk(at('13:00'), [10, 1300]), // 130: high
      ...worn,
    ]

    const types = ['low', 'medium', 'high'].map((intensity) => value(logs, `activity_${intensity}_intensity_duration`))
    expect(types).toEqual(['20', '20', '10'])
    expect(value(logs, 'active_duration')).toBe('50')
    expect(value(logs, 'steps')).toBe('5370')
  })

  test('a session overrides the pace: by its kind where no pulse can be judged', () => {
    const brisk = [...walk(at('09:00'), [30, 3600]), ...worn]
    const yoga = log('exercise_session_yoga', at('09:00'), [30, 30])

    expect(value(brisk, 'activity_medium_intensity_duration')).toBe('30')
    expect(value([...brisk, yoga], 'activity_medium_intensity_duration')).toBe('0')
    expect(value([...brisk, yoga], 'activity_low_intensity_duration')).toBe('30')
    expect(
      value([...brisk, { ...yoga, dataType: 'exercise_session_running' }], 'activity_high_intensity_duration'),
    ).toBe('30')
    expect(
      value([...brisk, { ...yoga, dataType: 'exercise_session_cycling' }], 'activity_medium_intensity_duration'),
    ).toBe('30')
  })

  test('and by heart rate where pulse and age are known', () => {
    // Age 40: the maximum is 208 - 0.7 × 40 = 180. 64 % is 115.2, 77 % is 138.6.
    const pulse = (rate: number) =>
      Array.from({ length: 30 }, (_, minute) =>
        log('heart_rate', at(`09:${String(minute).padStart(2, '0')}`), [0, rate]),
      )
    const run = log('exercise_session_running', at('09:00'), [30, 30])
    const stroll = walk(at('12:00'), [10, 300])
    const of = (rate: number, type: string) =>
      value([run, ...stroll, ...pulse(rate)], `activity_${type}_intensity_duration`, { age: 40 })

    expect([of(115, 'low'), of(116, 'medium'), of(138, 'medium'), of(139, 'high')]).toEqual(['30', '30', '30', '30'])
  })

  test('two records of one workout are one workout', () => {
    const logs = [
      log('exercise_session_running', at('09:00'), [30, 30]),
      log('exercise_session_running', at('09:02'), [30, 30], { deviceType: 'phone', source: 'b' }),
      ...walk(at('12:00'), [10, 300]),
      ...worn,
    ]

    expect(value(logs, 'activity_high_intensity_duration')).toBe('30')
  })
})

describe('hours, stillness and the minimum of ten hours', () => {
  const hourly = (counts: readonly number[]) =>
    counts.map((count, place) => log('steps', at(`${String(8 + place).padStart(2, '0')}:00`), [60, count]))

  test('an hour is active from 250 steps or one minute of medium pace', () => {
    // 249 no, 250 yes, 400 yes, then one minute at 100 steps: yes.
    const logs = [...hourly([249, 250, 400]), log('steps', at('15:00'), [1, 100]), ...worn]

    expect(value(logs, 'active_hours')).toBe('3')
  })

  test('with under ten recorded hours there are no active hours and no stillness', () => {
    const half = worn.filter((minute) => minute.startMs < Date.parse(at('09:55')))
    const logs = [...half, log('steps', at('12:00'), [10, 800])]

    // 09:55 of pulse and ten minutes of steps are 605 minutes; without the pulse of one hour 545.
    expect(value(logs, 'active_hours')).toBe('1')
    expect(
      value(
        logs.filter((log) => log.startMs >= Date.parse(at('01:00'))),
        'active_hours',
      ),
    ).toBeUndefined()
    expect(
      value(
        logs.filter((log) => log.startMs >= Date.parse(at('01:00'))),
        'activity_sedentary_duration',
      ),
    ).toBeUndefined()
  })

  test('stillness counts from an hour on', () => {
    // Still from 12:00 to 12:59, too short, and from 20:00 to midnight: 240 minutes.
    const logs = [
      log('sleep_stage_sleeping', at('00:00'), [420, 420]),
      ...walk(at('07:00'), [300, 600], 60),
      ...walk(at('12:59'), [421, 900], 60),
      ...worn,
    ]

    expect(factor(deriveAll({ logs, asOf }), ['activity', 'extended_inactivity'], day)).toMatchObject({
      value: 240,
      score: 1,
    })
  })

  test('sedentary is awake and recorded, less what was active', () => {
    // Lying from 00:00 to 07:00; 17 hours awake = 1020; an hour at 60 a minute: 960.
    const logs = [log('sleep_stage_sleeping', at('00:00'), [420, 420]), ...walk(at('12:00'), [60, 3600]), ...worn]

    expect(value(logs, 'activity_sedentary_duration')).toBe('960')
  })

  test('without any sleep the waking hours are a guess, and flagged as estimated', () => {
    // 07:00 to 23:00 is 960; less the hour: 900.
    const derived = deriveAll({ logs: [...walk(at('12:00'), [60, 3600]), ...worn], asOf })

    const row = derived.biomarkers.find((biomarker) => biomarker['type'] === 'activity_sedentary_duration')
    expect(row).toMatchObject({ value: '900', estimated: true })
  })
})

describe('a valid day', () => {
  test('200 steps and not a day of stillness, or ten hours of wear', () => {
    expect(value([log('steps', at('09:00'), [10, 199])], 'steps')).toBeUndefined()
    expect(value([log('steps', at('09:00'), [10, 200])], 'steps')).toBe('200')
    expect(value([log('steps', at('09:00'), [10, 50]), ...worn], 'steps')).toBe('50')
  })
  test('a device on the table that reports 23 hours of nothing is not worn', () => {
    // Zeros over 24 hours and 200 steps in one minute: covered all day, sedentary 1,439 of 1,440 awake at most.
    const zeros = Array.from({ length: 24 }, (_, hour) =>
      log('steps', at(`${String(hour).padStart(2, '0')}:00`), [60, 0]),
    )
    const logs = [
      ...zeros,
      log('steps', at('12:00'), [1, 200]),
      log('sleep_stage_sleeping', at('00:00', '2026-06-04'), [1, 1]),
      log('sleep_stage_sleeping', at('23:58'), [2, 2]),
    ]

    expect(value(logs, 'steps')).toBeUndefined()
  })
  test('zeros alone are zero steps of a worn day', () => {
    expect(value([log('steps', at('09:00'), [60, 0]), ...worn], 'steps')).toBe('0')
  })
})

describe('a night', () => {
  const stage = (name: string, start: string, minutes: number, on = day) =>
    log(`sleep_stage_${name}`, at(start, on), [minutes, minutes])
  // In bed 22:30-06:40 (490): 20 awake, 180 light, 60 deep, 4 awake, 90 rem, 10 awake, 120 light, 6 awake at the end.
  const whole = [
    stage('in_bed', '22:30', 490, '2026-06-02'),
    stage('awake', '22:30', 20, '2026-06-02'),
    stage('light', '22:50', 180, '2026-06-02'),
    stage('deep', '01:50', 60),
    stage('awake', '02:50', 4),
    stage('rem', '02:54', 90),
    stage('awake', '04:24', 10),
    stage('light', '04:34', 120),
    stage('awake', '06:34', 6),
  ]

  test.each([
    ['sleep_start_time', '2026-06-02T22:50:00+02:00'],
    ['sleep_end_time', '2026-06-03T06:34:00+02:00'],
    ['sleep_mid_time', '2026-06-03T02:42:00+02:00'],
    ['sleep_duration', '450'],
    ['sleep_in_bed_duration', '490'],
    ['sleep_awake_duration', '40'],
    ['sleep_light_duration', '300'],
    ['sleep_deep_duration', '60'],
    ['sleep_rem_duration', '90'],
    ['sleep_latency', '20'],
    // Only the ten minutes are long enough and lie between falling asleep and waking up.
    ['sleep_interruptions', '1'],
    // 450 / 490.
    ['sleep_efficiency', '91.84'],
  ])('%s', (type, expected) => {
    expect(value(whole, type)).toBe(expected)
  })

  test('joins logs less than an hour apart', () => {
    const near = [stage('sleeping', '00:00', 200), stage('sleeping', '04:20', 100)]
    const far = [stage('sleeping', '00:00', 200), stage('sleeping', '04:21', 100)]

    expect(value(near, 'sleep_duration')).toBe('300')
    // The second sleep is a nap now.
    expect(value(far, 'sleep_duration')).toBe('200')
  })
  test('lasts three hours at least, and sixteen at most', () => {
    expect(value([stage('sleeping', '00:00', 179)], 'sleep_duration')).toBeUndefined()
    expect(value([stage('sleeping', '00:00', 180)], 'sleep_duration')).toBe('180')
    expect(value([stage('sleeping', '00:00', 960)], 'sleep_duration')).toBe('960')
    expect(value([stage('sleeping', '00:00', 961)], 'sleep_duration')).toBeUndefined()
  })
  test('is nine tenths of the time in bed, and estimated, when only time in bed is known', () => {
    const derived = deriveAll({ logs: [stage('in_bed', '23:00', 480, '2026-06-02')], asOf })

    expect(derived.biomarkers.find((biomarker) => biomarker['type'] === 'sleep_duration')).toMatchObject({
      value: '432',
      estimated: true,
    })
    expect(biomarker(derived, 'sleep_latency', day)).toBeUndefined()
    expect(biomarker(derived, 'sleep_efficiency', day)).toBeUndefined()
  })
  test('without awake or in-bed records has no efficiency and no interruptions', () => {
    const logs = [stage('sleeping', '00:00', 400)]

    expect(value(logs, 'sleep_efficiency')).toBeUndefined()
    expect(value(logs, 'sleep_interruptions')).toBeUndefined()
  })
})

describe('weeks', () => {
  const week = daysFrom('2026-06-01', 7)

  test('have means of at least four valid days, once they are over', () => {
    const logs = week.slice(0, 4).map((on, place) => log('steps', at('09:00', on), [60, 1000 + 100 * place]))
    const weekly = (from: Logs, until: string) =>
      deriveAll({ logs: from, asOf: until }).biomarkers.find(
        (biomarker) => biomarker['type'] === 'steps' && biomarker['periodicity'] === 'weekly',
      )

    expect(weekly(logs, '2026-06-08T00:00:00+02:00')).toMatchObject({
      value: '1150',
      aggregation: 'average',
      valueType: 'double',
      startDateTime: '2026-06-01T00:00:00+02:00',
      endDateTime: '2026-06-07T23:59:59+02:00',
    })
    expect(weekly(logs, '2026-06-07T23:59:59+02:00')).toBeUndefined()
    expect(weekly(logs.slice(1), '2026-06-08T00:00:00+02:00')).toBeUndefined()
  })
  test('need three nights, and take over the last debt of the week', () => {
    const nights = week.slice(0, 3).map((on) => log('sleep_stage_sleeping', at('00:00', on), [420, 420]))
    const derived = deriveAll({ logs: nights, asOf })
    const weekly = (type: string) =>
      derived.biomarkers.find((biomarker) => biomarker['type'] === type && biomarker['periodicity'] === 'weekly')?.[
        'value'
      ]

    expect(weekly('sleep_duration')).toBe('420')
    // Three nights an hour short, scaled to seven: 7 hours.
    expect(weekly('sleep_debt')).toBe('7')
    // Every weekly row says that it is a mean, but those that cover several days already.
    const aggregations = derived.biomarkers
      .filter((biomarker) => biomarker['periodicity'] === 'weekly')
      .map((biomarker) => [biomarker['type'], biomarker['aggregation']])
    expect(aggregations.filter(([, aggregation]) => aggregation !== 'average')).toEqual([['sleep_debt', 'total']])
  })
})

test('every type of the contract has a form in its own category; naps and chronotype are added to them', () => {
  const forms = Object.entries(biomarkerForms).map(([type, { category }]) => `${category} ${type}`)
  const promised = Object.entries(biomarkerTypes).flatMap(([category, types]) =>
    types.map((type) => `${category} ${type}`),
  )
  expect(forms.toSorted()).toEqual([...promised, 'sleep nap_duration', 'sleep chronotype'].toSorted())
})

test('every record has the contract’s shape', () => {
  const logs = [
    log('sleep_stage_in_bed', at('00:00'), [420, 420]),
    log('steps', at('09:00'), [60, 1000]),
    log('weight', at('09:00'), [0, 80]),
  ]
  const { biomarkers } = deriveAll({ logs, asOf, person: { birthDate: '1986-06-03', gender: 'Female' } })

  expect(biomarkers.length).toBeGreaterThan(10)
  for (const biomarker of biomarkers) expect(() => biomarkerAnswerSchema.parse(biomarker)).not.toThrow()
})
