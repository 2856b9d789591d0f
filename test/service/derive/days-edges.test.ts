import { expect, test } from 'vitest'
import { midnightMs } from '../../../src/base/time/local-time.ts'
import type { DayFacts, MovementFacts } from '../../../src/service/derive/day/facts.ts'
import { createDaySeries, lastMeasure } from '../../../src/service/derive/days/day-series.ts'
import { createDerivation } from '../../../src/service/derive/days/derivation.ts'
import { activityRegularity } from '../../../src/service/derive/days/factors.ts'
import { type ComparedSubject, referencesFor } from '../../../src/service/derive/days/references.ts'
import { unknownDemographics as demographics, profileId, unknownMovement } from './made-logs.ts'

const LATER_MS = midnightMs(30_000, 0)

const factsOn = (day: number, fields: Partial<DayFacts> = {}): DayFacts => ({
  ...{ day, offset: 0, movement: null, night: null, naps: null, asleep: [], exercise: [], measures: {} },
  ...fields,
})

const running = [{ exercise: 'running', minutes: 30 }]

const movementOf = (steps: number, fields: Partial<MovementFacts> = {}): MovementFacts => ({
  ...unknownMovement,
  steps,
  hourly: Array.from({ length: 24 }, (_, hour) => (hour === 9 ? steps : 0)),
  wear: 900,
  covered: 900,
  ...fields,
})

const derivationOf = (facts: readonly DayFacts[], asOfMs = LATER_MS) =>
  createDerivation({ profileId, demographics, asOfMs, facts })

test('a day that is not over has no movement and no exercise, and has them from its midnight on, by its own clock', () => {
  const day = factsOn(20_000, { offset: 120, movement: movementOf(8000), exercise: running })
  const at = (asOfMs: number) => createDaySeries([day], { demographics, asOfMs }).at(20_000)

  expect(at(midnightMs(20_001, 120) - 1)).toMatchObject({ movement: null, exercise: [] })
  expect(at(midnightMs(20_001, 120))).toEqual(day)
})

test('the last measure is the latest one, as old as it may be and no older', () => {
  const weightOn = (day: number, value: number) => factsOn(day, { measures: { weight: { value } } })
  const series = createDaySeries([weightOn(100, 70), weightOn(120, 72), factsOn(125)], {
    demographics,
    asOfMs: LATER_MS,
  })
  const last = (day: number, daysMax = 30) => lastMeasure(series, day, { name: 'weight', daysMax })?.value

  expect([119, 120, 125, 150, 151].map((day) => last(day))).toEqual([70, 72, 72, 72, undefined])
  expect(last(99)).toBeUndefined()
})

test('a person sends sessions if one began on the day or on one of the ninety before', () => {
  const derivation = derivationOf([factsOn(1000, { exercise: running }), factsOn(1100)])

  expect([999, 1000, 1090, 1091].map((day) => derivation.sendsSessions(day))).toEqual([false, true, true, false])
})

test('whether a period is over is said by the clock of the last known day in it', () => {
  const facts = [factsOn(1000, { offset: 600 }), factsOn(1005, { offset: -300 })]
  const isOver = (asOfMs: number) => derivationOf(facts, asOfMs).isOver(1006)

  expect(isOver(midnightMs(1007, 600))).toBe(false)
  expect(isOver(midnightMs(1007, -300) - 1)).toBe(false)
  expect(isOver(midnightMs(1007, -300))).toBe(true)
})

test('the regularity of a day is known for valid days alone', () => {
  const days = Array.from({ length: 14 }, (_, place) => factsOn(1000 + place, { movement: movementOf(8000) }))
  const regularityOn = (valid: boolean) => {
    const today = factsOn(1014, { movement: movementOf(8000, { valid }) })
    return activityRegularity(createDaySeries([...days, today], { demographics, asOfMs: LATER_MS }), 1014)
  }

  expect(regularityOn(true)).toBeCloseTo(1)
  expect(regularityOn(false)).toBeNull()
})

test('a value is compared with the latest sixty days of ninety', () => {
  const facts = Array.from({ length: 91 }, (_, place) =>
    factsOn(1000 + place, { movement: movementOf(place < 30 ? 1000 : 9000 + place) }),
  )
  const subject: ComparedSubject = { category: 'biomarker', name: 'steps', unit: 'count' }
  const [baseline] = referencesFor(derivationOf(facts), { day: 1090, value: 9000, subject })

  // Days 30 to 89.
  expect(baseline).toMatchObject({ type: 'baseline', value: 9059.5, properties: { n: 60 } })
})
