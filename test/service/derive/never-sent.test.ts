import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { categoricalArchetypes, ordinalArchetypes } from '../../../src/base/contract/archetype.ts'
import { dayNumberFromText, mondayOf } from '../../../src/base/time/local-time.ts'
import { factsOfDays } from '../../../src/service/derive/day/facts-of-days.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { createDerivation } from '../../../src/service/derive/days/derivation.ts'
import { biomarkerForms } from '../../../src/service/derive/model/biomarker-catalogue.ts'
import { factorNames } from '../../../src/service/derive/model/model.ts'
import { weekArchetypeDrafts } from '../../../src/service/derive/records/archetype-records.ts'
import {
  biomarker,
  dayBefore,
  daysFrom,
  deriveAll,
  log,
  profileId,
  score,
  unknownDemographics,
  wornAllDay,
} from './made-logs.ts'

const page = await readFile(new URL('../../../docs/reference/derivation.md', import.meta.url), 'utf8')
const section = page.split(/^## /m).find((part) => part.startsWith('Unknown is not zero')) ?? ''
const table = section
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .slice(2)
  .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
  .map(([, kind = '', name = '', needs = '']) => ({
    kind,
    name,
    needs: needs.split(' or ').map((choice) => choice.split(' and ')),
  }))

const days = daysFrom('2026-03-15', 15)
const asOfMs = Date.parse('2026-04-02T00:00:00Z')
const person = { ...unknownDemographics, birthDate: '1986-06-03', gender: 'Female' }

const isDuringExercise = ({ startMs }: DataLog) => new Date(startMs).getUTCHours() === 18

/** A day on which everything is sent that the model reads. */
function everythingOn(day: string): DataLog[] {
  const at = (time: string) => `${day}T${time}:00Z`
  const stage = (name: string, start: string, minutes: number) => log(`sleep_stage_${name}`, start, [minutes, minutes])
  const evening = `${dayBefore(day)}T`
  const samples = (kind: string, value: number) =>
    Array.from({ length: 24 }, (_, place) =>
      log(kind, at(`0${1 + Math.floor(place / 12)}:${String((place % 12) * 5).padStart(2, '0')}`), [0, value]),
    )
  return [
    ...wornAllDay(day).map((pulse) => (isDuringExercise(pulse) ? { ...pulse, value: 150 } : pulse)),
    ...Array.from({ length: 12 }, (_, place) => log('steps', at(`09:${String(place * 5).padStart(2, '0')}`), [5, 550])),
    stage('in_bed', `${evening}22:30:00Z`, 490),
    stage('awake', `${evening}22:30:00Z`, 20),
    stage('light', `${evening}22:50:00Z`, 180),
    stage('deep', at('01:50'), 60),
    stage('awake', at('02:50'), 10),
    stage('rem', at('03:00'), 90),
    stage('light', at('04:30'), 130),
    stage('sleeping', at('14:00'), 30),
    log('floors_climbed', at('10:00'), [30, 6]),
    ...['active_energy_burned', 'basal_energy_burned', 'total_energy_burned'].map((kind) =>
      log(kind, at('10:00'), [60, 300]),
    ),
    ...['exercise_time', 'active_minutes', 'active_zone_minutes'].map((kind) => log(kind, at('18:00'), [60, 30])),
    log('exercise_session_running', at('18:00'), [30, 30]),
    log('exercise_session_yoga', at('19:00'), [20, 20]),
    ...samples('respiratory_rate', 14),
    ...samples('oxygen_saturation', 97),
    ...samples('heart_rate_variability_rmssd', 40),
    ...samples('heart_rate_variability_sdnn', 50),
    log('sleeping_wrist_temperature', at('00:00'), [300, 34.5]),
    ...['resting_heart_rate', 'height', 'weight', 'body_fat', 'body_mass_index', 'lean_body_mass'].map((kind) =>
      log(kind, at('07:30'), [0, kind === 'height' ? 1.8 : 60]),
    ),
    ...['waist_circumference', 'basal_metabolic_rate', 'vo2_max', 'blood_glucose', 'basal_body_temperature'].map(
      (kind) => log(kind, at('07:40'), [0, 36]),
    ),
    log('blood_pressure_systolic', at('07:45'), [0, 120]),
    log('blood_pressure_diastolic', at('07:45'), [0, 80]),
  ]
}

const everything = days.flatMap(everythingOn)
const last = dayNumberFromText(days.at(-1) ?? '')
const matches = (dataType: string, kind: string) =>
  kind.endsWith('*') ? dataType.startsWith(kind.slice(0, -1)) : dataType === kind

/** The names of all that is derived for the last day and its week when some kinds of logs were never sent. */
function derivedWithout(kinds: readonly string[]): Set<string> {
  const logs = everything.filter(({ dataType }) => !kinds.some((kind) => matches(dataType, kind)))
  const demographics = kinds.includes('demographics') ? unknownDemographics : person
  const facts = factsOfDays({ logs, demographics, asOfMs })
  const derivation = createDerivation({ profileId, demographics, asOfMs, facts })
  return new Set([
    ...derivation.biomarkerValues(last).map(({ type }) => `biomarker ${type}`),
    ...Object.keys(derivation.factors(last)).map((name) => `factor ${name}`),
    ...weekArchetypeDrafts(derivation, mondayOf(last)).map(({ name }) => `archetype ${name}`),
  ])
}

const known = new Map<string, Set<string>>()
function told(without: readonly string[]): Set<string> {
  const key = [...without].sort().join()
  const names = known.get(key) ?? derivedWithout(without)
  known.set(key, names)
  return names
}

/** The smallest choices of one kind from each alternative: without these kinds no alternative is whole. */
function removals(needs: readonly (readonly string[])[]): string[][] {
  const all = needs.reduce<Set<string>[]>(
    (sets, kinds) => sets.flatMap((set) => kinds.map((kind) => new Set([...set, kind]))),
    [new Set()],
  )
  const smallest = all.filter(
    (set) => !all.some((other) => other.size < set.size && [...other].every((kind) => set.has(kind))),
  )
  return [...new Map(smallest.map((set) => [[...set].sort().join(), [...set]])).values()]
}

test('the table of what is needed has every biomarker, factor and archetype once', () => {
  expect(table.map(({ kind, name }) => `${kind} ${name}`).toSorted()).toEqual(
    [
      ...Object.keys(biomarkerForms).map((name) => `biomarker ${name}`),
      ...factorNames.map((name) => `factor ${name}`),
      ...[...Object.keys(ordinalArchetypes), ...categoricalArchetypes].map((name) => `archetype ${name}`),
    ].toSorted(),
  )
})

test('with everything sent, everything is there', () => {
  expect(table.map(({ kind, name }) => `${kind} ${name}`).filter((name) => !told([]).has(name))).toEqual([])
})

test.each(table)('$kind $name is absent when its input was never sent', ({ kind, name, needs }) => {
  for (const without of removals(needs)) expect([...told(without)], without.join()).not.toContain(`${kind} ${name}`)
})

const week = days.slice(0, 7)

describe('coarse steps', () => {
  const walked = (minutes: number) =>
    days
      .slice(0, 7)
      .flatMap((day) => [
        ...wornAllDay(day),
        ...Array.from({ length: 60 / minutes }, (_, place) =>
          log('steps', `${day}T09:${String(place * minutes).padStart(2, '0')}:00Z`, [minutes, 110 * minutes]),
        ),
      ])
  const daily = days
    .slice(0, 7)
    .flatMap((day) => [...wornAllDay(day), log('steps', `${day}T00:00:00Z`, [1440, 9000], { periodicity: 'daily' })])
  const value = (logs: readonly DataLog[], type: string) => biomarker(deriveAll({ logs }), type, days[6] ?? '')
  const factorOf = (logs: readonly DataLog[], name: 'intense_activity_duration' | 'extended_inactivity') => {
    const demographics = unknownDemographics
    const facts = factsOfDays({ logs, demographics, asOfMs })
    const day = dayNumberFromText(days[6] ?? '')
    return createDerivation({ profileId, demographics, asOfMs, facts }).factors(day)[name]?.value
  }

  test('logs of up to six minutes give a pace, logs of ten minutes none', () => {
    expect(value(walked(6), 'activity_medium_intensity_duration')).toBe('60')
    expect(factorOf(walked(6), 'intense_activity_duration')).toBe(60)
    for (const level of ['low', 'medium', 'high'])
      expect(value(walked(10), `activity_${level}_intensity_duration`)).toBeUndefined()
    expect(value(walked(10), 'active_duration')).toBeUndefined()
    expect(value(walked(10), 'activity_sedentary_duration')).toBeUndefined()
    expect(factorOf(walked(10), 'intense_activity_duration')).toBeUndefined()
    expect(value(walked(10), 'steps')).toBe('6600')
    expect(value(walked(10), 'active_hours')).toBe('1')
  })
  test('a log of a day gives neither hours nor stillness', () => {
    expect(value(daily, 'steps')).toBe('9000')
    expect(value(daily, 'active_hours')).toBeUndefined()
    expect(factorOf(daily, 'extended_inactivity')).toBeUndefined()
    // 960 waking minutes less an hour's walk: the guess is 07:00 to 23:00, two bouts, 120 and 780 minutes.
    expect(factorOf(walked(60), 'extended_inactivity')).toBe(900)
  })
  test('the activity score of daily totals comes from the factors that are known', () => {
    const activity = (logs: readonly DataLog[]) => {
      const found = score(deriveAll({ logs }), 'activity', days[6] ?? '')?.record
      const factors = (found?.['factors'] ?? []) as { name: string }[]
      return { value: found?.['value'], factors: factors.map(({ name }) => name) }
    }
    const daily = (kind: string, value: number) =>
      week.map((day) => log(kind, `${day}T00:00:00Z`, [1440, value], { periodicity: 'daily' }))
    const steps = daily('steps', 9000)

    // 9,000 steps score 0.93. Energy of 250 kcal: (250 / 500) to the power of 0.8 is 0.574; .35×.93 + .1×.574 of .45 is 0.851.
    expect(activity(steps)).toEqual({ value: 0.93, factors: ['steps'] })
    expect(activity([...steps, ...daily('active_energy_burned', 250)])).toEqual({
      value: 0.85,
      factors: ['steps', 'active_calories'],
    })
    // 15 active minutes score 0.5 + 0.4 × 5 / 11.4 = 0.675: .35×.93 + .2×.675 of .55 is 0.837.
    expect(activity([...steps, ...daily('active_minutes', 15)])).toEqual({
      value: 0.84,
      factors: ['steps', 'intense_activity_duration'],
    })
    // A strap that counts energy and no steps is worn all day.
    expect(activity([...week.flatMap((day) => wornAllDay(day)), ...daily('active_energy_burned', 250)])).toEqual({
      value: 0.57,
      factors: ['active_calories'],
    })
    expect(activity(week.flatMap((day) => wornAllDay(day)))).toEqual({ value: undefined, factors: [] })
  })
  test('the device’s own count of active minutes is taken, with sessions of high intensity twice', () => {
    const counted = (kind: string, minutes: number, more: (day: string) => DataLog[] = () => []) =>
      factorOf(
        [...daily, ...week.flatMap((day) => [log(kind, `${day}T09:00:00Z`, [600, minutes]), ...more(day)])],
        'intense_activity_duration',
      )
    const run = (day: string) => [log('exercise_session_running', `${day}T10:00:00Z`, [20, 20])]

    expect(counted('exercise_time', 35)).toBe(35)
    expect(counted('active_minutes', 25)).toBe(25)
    // The 20 minutes of running are among the 35, and high: 35 + 20. Zone minutes are counted twice already.
    expect(counted('exercise_time', 35, run)).toBe(55)
    expect(counted('active_zone_minutes', 45, run)).toBe(45)
  })
})

describe('a stage that the source records on other nights', () => {
  const night = (day: string, rem: number) => [
    log('sleep_stage_light', `${day}T00:00:00Z`, [300, 300]),
    ...(rem > 0 ? [log('sleep_stage_rem', `${day}T05:00:00Z`, [rem, rem])] : []),
    log('sleep_stage_deep', `${day}T06:30:00Z`, [60, 60]),
  ]
  const rem = (logs: readonly DataLog[], day: string) => biomarker(deriveAll({ logs }), 'sleep_rem_duration', day)
  const nights = (first: string) => [...night(first, 90), ...night('2026-03-29', 0)]

  test('is zero for four weeks, and unknown after that', () => {
    expect(rem(nights('2026-03-02'), '2026-03-29')).toBe('0')
    expect(rem(nights('2026-03-01'), '2026-03-29')).toBeUndefined()
    expect(rem(night('2026-03-29', 0), '2026-03-29')).toBeUndefined()
  })
})

describe('a person without exercise sessions', () => {
  const frequency = (logs: readonly DataLog[]) =>
    deriveAll({ logs }).archetypes.findLast(
      (archetype) =>
        archetype['name'] === 'exercise_frequency' && archetype['startDateTime'] === '2026-06-08T00:00:00+00:00',
    )?.['value']
  const steps = daysFrom('2026-06-08', 7).map((day) => log('steps', `${day}T09:00:00Z`, [60, 6000]))
  const run = (day: string) => log('exercise_session_running', `${day}T09:00:00Z`, [30, 30])

  test('exercises rarely where the sources sent a session within ninety days, else nobody knows', () => {
    // Ninety days before Sunday 14 June is 16 March.
    expect(frequency(steps)).toBeUndefined()
    expect(frequency([run('2026-03-16'), ...steps])).toBe('rare_exerciser')
    expect(frequency([run('2026-03-15'), ...steps])).toBeUndefined()
  })
})
