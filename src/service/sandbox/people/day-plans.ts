import type { SeededRandom } from './seeded-random.ts'

/**
 * How a person of each kind spends a day, in minutes of the local clock counted from the midnight of the day.
 * `bedMinute` is the start of the night that ends on this day: below 0 when the night began on the evening before.
 */
export type DayPlan = {
  bedMinute: number
  wakeMinute: number
  naps: Array<{ start: number; minutes: number }>
  outings: Outing[]
  /** Steps in an ordinary waking hour, beside the outings. */
  stepsPerIdleHour: number
}

type Outing = {
  startMinute: number
  minutes: number
  /** Steps a minute; 0 for sports without steps. */
  cadence: number
  /** Share of the heart rate reserve in use. */
  effort: number
  /** The name of the exercise session that the person records, if any. */
  exercise?: string
}

type DayPlanner = (day: number, random: SeededRandom) => DayPlan

const SUNDAY = 0
const SATURDAY = 6
/** 1970-01-01, day 0, was a Thursday. */
const weekdayOf = (day: number) => (((day + 4) % 7) + 7) % 7
const isWeekend = (day: number) => weekdayOf(day) === SUNDAY || weekdayOf(day) === SATURDAY

const walk = (start: number, minutes: number, random: SeededRandom): Outing => ({
  startMinute: start + random.integer(-8, 8),
  minutes: Math.max(4, Math.round(minutes * random.between(0.8, 1.2))),
  cadence: random.integer(98, 114),
  effort: 0.3,
})

const run = (start: number, minutes: number, random: SeededRandom): Outing => ({
  startMinute: start + random.integer(-15, 15),
  minutes: Math.max(20, Math.round(minutes)),
  cadence: random.integer(158, 172),
  effort: random.between(0.68, 0.8),
  exercise: 'running',
})

const sport = (exercise: string, start: number, random: SeededRandom): Outing => ({
  startMinute: start + random.integer(-15, 15),
  minutes: random.integer(35, 60),
  cadence: exercise === 'strength_training' ? 20 : 0,
  effort: exercise === 'yoga' ? 0.25 : 0.5,
  exercise,
})

const sleepTimes = (bed: number, wake: number, random: SeededRandom) => ({
  bedMinute: Math.round(random.normal(bed, 22)),
  wakeMinute: Math.round(random.normal(wake, 16)),
})

const officeWorker: DayPlanner = (day, random) => {
  if (isWeekend(day)) {
    const outings = [walk(11 * 60, 35, random)]
    if (random.chance(0.5)) outings.push(walk(16 * 60, 40, random))
    return { ...sleepTimes(0, 500, random), naps: [], outings, stepsPerIdleHour: 250 }
  }
  const outings = [walk(7 * 60 + 50, 14, random), walk(17 * 60 + 35, 15, random)]
  if (random.chance(0.7)) outings.push(walk(12 * 60 + 30, 14, random))
  if (weekdayOf(day) % 2 === 1 && random.chance(0.75)) outings.push(sport('strength_training', 18 * 60 + 30, random))
  return { ...sleepTimes(-50, 405, random), naps: [], outings, stepsPerIdleHour: 190 }
}

type Shift = 'early' | 'late' | 'night' | 'off'
const shiftRotation: readonly Shift[] = ['early', 'early', 'late', 'late', 'night', 'night', 'off', 'off']
const shiftOf = (day: number): Shift =>
  shiftRotation[((day % shiftRotation.length) + shiftRotation.length) % shiftRotation.length] ?? 'off'

/** A rota of eight days. After a night shift the person sleeps by day: the sleep of a day lies within that day. */
const shiftWorker: DayPlanner = (day, random) => {
  const shift = shiftOf(day)
  const afterNight = shiftOf(day - 1) === 'night'
  const night = afterNight
    ? sleepTimes(7 * 60 + 15, 14 * 60, random)
    : shift === 'early'
      ? sleepTimes(-140, 285, random)
      : sleepTimes(-10, shift === 'night' ? 510 : 480, random)
  const rounds = { early: 6.5 * 60, late: 14.5 * 60, night: 22.5 * 60, off: 15 * 60 }[shift]
  const outings = [walk(rounds, 18, random), walk(rounds + 150, 22, random), walk(rounds + 300, 16, random)]
  const naps = shift === 'night' && !afterNight && random.chance(0.7) ? [{ start: 17 * 60, minutes: 75 }] : []
  return {
    ...night,
    naps,
    outings: outings.filter((outing) => outing.startMinute > night.wakeMinute),
    stepsPerIdleHour: 270,
  }
}

const traveller: DayPlanner = (day, random) => {
  const outings = [walk(8 * 60 + 15, 16, random), walk(13 * 60, 22, random), walk(18 * 60 + 45, 32, random)]
  if (random.chance(0.25)) outings.push(run(6 * 60 + 50, 30, random))
  return {
    ...sleepTimes(isWeekend(day) ? 5 : -35, isWeekend(day) ? 470 : 400, random),
    naps: [],
    outings,
    stepsPerIdleHour: 220,
  }
}

const phoneOnly: DayPlanner = (day, random) => {
  const outings = [walk(8 * 60, 16, random), walk(16 * 60 + 30, 20, random)]
  if (isWeekend(day)) outings.push(walk(11 * 60, 45, random))
  return { ...sleepTimes(-25, isWeekend(day) ? 480 : 420, random), naps: [], outings, stepsPerIdleHour: 200 }
}

const twoDevices: DayPlanner = (day, random) => {
  const outings = [walk(7 * 60 + 30, 22, random), walk(12 * 60 + 15, 18, random), walk(18 * 60, 25, random)]
  if (random.chance(0.35)) outings.push(sport(random.pick(['cycling', 'yoga', 'swimming']), 19 * 60, random))
  return { ...sleepTimes(-60, isWeekend(day) ? 445 : 395, random), naps: [], outings, stepsPerIdleHour: 220 }
}

const nightOwl: DayPlanner = (day, random) => {
  const outings = [walk(14 * 60, 18, random)]
  if (random.chance(0.6)) outings.push(walk(22 * 60, 26, random))
  return { ...sleepTimes(150, isWeekend(day) ? 655 : 590, random), naps: [], outings, stepsPerIdleHour: 190 }
}

const runner: DayPlanner = (day, random) => {
  const weekday = weekdayOf(day)
  const outings = [walk(12 * 60 + 30, 15, random)]
  if (weekday === SUNDAY) outings.push(run(8 * 60 + 30, random.between(80, 110), random))
  else if (weekday === 2 || weekday === 4 || weekday === SATURDAY)
    outings.push(run(6 * 60 + 30, random.between(35, 55), random))
  else if (random.chance(0.4)) outings.push(sport('strength_training', 18 * 60, random))
  return { ...sleepTimes(-110, weekday === SUNDAY ? 420 : 345, random), naps: [], outings, stepsPerIdleHour: 230 }
}

const newcomer: DayPlanner = () => ({ bedMinute: 0, wakeMinute: 480, naps: [], outings: [], stepsPerIdleHour: 0 })

export const dayPlanners = {
  'office-worker': officeWorker,
  'shift-worker': shiftWorker,
  traveller,
  'phone-only': phoneOnly,
  'two-devices': twoDevices,
  'night-owl': nightOwl,
  runner,
  newcomer,
} as const satisfies Record<string, DayPlanner>

export type PersonKind = keyof typeof dayPlanners
