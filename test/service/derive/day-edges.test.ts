import { expect, test } from 'vitest'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import { MINUTE } from '../../../src/base/time/units.ts'
import { factsOfDays } from '../../../src/service/derive/day/facts-of-days.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { log, phone, unknownDemographics } from './made-logs.ts'

const march10 = dayNumberFromText('2026-03-10')

const factsOf = (logs: readonly DataLog[], days?: readonly number[]) =>
  factsOfDays({ logs, demographics: unknownDemographics, asOfMs: Date.parse('2027-01-01T00:00:00Z') }, days)

test('a log that begins at the instant of the derivation is known, a later one is not', () => {
  const weight = log('weight', '2026-03-10T08:00:00Z', [0, 70])
  const at = (asOfMs: number) => factsOfDays({ logs: [weight], demographics: unknownDemographics, asOfMs })

  expect(at(weight.startMs - 1)).toEqual([])
  expect(at(weight.startMs)).toMatchObject([{ day: march10 }])
})

test('a parent whose children have all of its value covers no time of another device', () => {
  const whole = log('steps', '2026-03-10T10:00:00Z', [60, 100])
  const child = log('steps', '2026-03-10T10:00:00Z', [30, 100], { parentId: whole.id })
  const pocket = log('steps', '2026-03-10T10:30:00Z', [20, 30], phone)

  expect(factsOf([whole, child, pocket])[0]?.movement?.steps).toBe(130)
})

test('two workouts that touch are two', () => {
  const long = log('exercise_session_running', '2026-03-10T09:30:00Z', [60, 1])
  const short = log('exercise_session_walking', '2026-03-10T10:30:00Z', [30, 1])

  expect(factsOf([long, short])[0]?.exercise.map(({ exercise }) => exercise)).toEqual(['running', 'walking'])
})

test('the calmest half hour is half an hour, not a minute more', () => {
  const startMs = Date.parse('2026-03-10T10:00:00Z')
  const rates = Array.from({ length: 31 }, (_, minute) =>
    log('heart_rate', '2026-03-10T10:00:00Z', [0, minute === 0 ? 112 : 50], {
      startMs: startMs + minute * MINUTE,
      endMs: startMs + minute * MINUTE,
    }),
  )

  expect(factsOf(rates)[0]?.measures['heart_rate_resting']).toEqual({ value: 50, estimated: true })
})

test('an oxygen saturation of one is all of it', () => {
  const values = [1, 1, 1].map((value, hour) => log('oxygen_saturation', `2026-03-10T1${hour}:00:00Z`, [0, value]))

  expect(factsOf(values)[0]?.measures['oxygen_saturation']?.value).toBe(100)
})

test('a nightly figure counts when half of its time lies in the night', () => {
  const night = log('sleep_stage_sleeping', '2026-03-10T00:00:00Z', [360, 1])
  const figureOf = (start: string) => {
    const figure = log('sleeping_wrist_temperature', start, [360, 36.5])
    return factsOf([night, figure]).find(({ day }) => day === march10)?.measures['skin_temperature_sleep']?.value
  }

  expect(figureOf('2026-03-10T03:00:00Z')).toBe(36.5)
  expect(figureOf('2026-03-10T03:01:00Z')).toBeUndefined()
})
