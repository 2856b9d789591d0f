import type { DayFacts, MovementFacts } from '../day/facts.ts'
import { type FactorName, lookBacks, sleepRules, validDay, vitalFactorNames, wearRules } from '../model/model.ts'
import { nightFactorNames } from '../model/score-definitions.ts'

/** The day on which a factor is missing: its facts (also while it is not over), and whether it is over. */
export type MissingDay = { readonly facts: DayFacts | undefined; readonly isOver: boolean }

/** An input that lacked: how many minutes of it are known, of how many needed. */
type Lack = {
  readonly input: 'wear' | 'recorded' | 'main sleep'
  readonly minutes: number
  readonly needed: number
}
type Missing = { readonly reason: string; readonly lacks: Lack[] }

const without = (reason: string): Missing => ({ reason, lacks: [] })
const lackOf = (reason: string, input: Lack['input'], minutes: number, needed: number): Missing => ({
  reason,
  lacks: [{ input, minutes: Math.floor(minutes), needed }],
})
const isOfNight = (name: FactorName) => nightFactorNames.includes(name) || isStrain(name)
/** The minutes of all sleep of the day: where they are enough, they are in pieces, and no number of minutes says what lacked. */
function noMainSleep(asleep: DayFacts['asleep']): Missing {
  const reason = 'no main sleep of at least three hours is known'
  const minutes = asleep.reduce((sum, [from, to]) => sum + to - from, 0)
  const needed = sleepRules.mainMinutesMin
  return minutes < needed ? lackOf(reason, 'main sleep', minutes, needed) : without(reason)
}

/** Why a factor is missing on a day, as text of an explanation, and the input that lacked, where it is a matter of minutes. */
export function missingReason(name: FactorName, { facts, isOver }: MissingDay): Missing {
  if (!facts) return noLogs(name)
  if (vitalFactorNames.includes(name)) return without(vitalMissing(name, facts))
  if (isOfNight(name)) return facts.night ? without(nightReasons[name] ?? irregular) : noMainSleep(facts.asleep)
  if (!facts.movement) return without('no movement was recorded')
  if (!isOver) return without('the day is not over yet')
  return movementMissing(name, facts.movement)
}

function noLogs(name: FactorName): Missing {
  const reason = 'no log tells of this day'
  if (vitalFactorNames.includes(name)) return without(reason)
  return { reason, lacks: isOfNight(name) ? noMainSleep([]).lacks : notValid(0).lacks }
}

const notValid = (wear: number): Missing =>
  lackOf(
    'the day is not valid: under ten hours of wear, and too few steps or too much stillness',
    'wear',
    wear,
    validDay.wearMinutesMin,
  )

/** Strain is judged in the morning, from the days before, so it needs a night like the factors of sleep. */
function isStrain(name: FactorName): boolean {
  return name === 'walking_strain_capacity' || name === 'exercise_strain_capacity'
}

function movementMissing(name: FactorName, movement: MovementFacts): Missing {
  if (!movement.valid) return notValid(movement.wear)
  const { coveredMinutesMin } = wearRules
  const reason = movementReasons[name]
  if (reason !== undefined) return without(reason)
  if (movement.covered >= coveredMinutesMin) return without('no steps by the hour were recorded')
  return lackOf('less than ten hours of the day are recorded', 'recorded', movement.covered, coveredMinutesMin)
}

const { pattern, intensity, regularity, debt, circadian, strain } = lookBacks
const stageMissing = 'the source of the night does not record that stage of sleep'

/** The lack of a valid day of movement. The other factors need only hours of the day that are recorded. */
const movementReasons: Partial<Record<FactorName, string>> = {
  steps: 'no steps were recorded',
  floors_climbed: 'no floors were recorded',
  active_calories: 'no active energy was recorded',
  activity_regularity: `there are fewer than ${pattern.daysMin} valid days in ${pattern.days} with steps by the hour`,
  intense_activity_duration: `there are fewer than ${intensity.daysMin} days in ${intensity.days} with steps by the minute, or with active minutes`,
}

/** The lack of a day with a night. */
const nightReasons: Partial<Record<FactorName, string>> = {
  physical_recovery: stageMissing,
  mental_recovery: stageMissing,
  sleep_continuity: 'the source of the night does not record being awake',
  sleep_debt: `there are fewer than ${debt.nightsMin} nights in ${debt.days}`,
  circadian_alignment: `there are fewer than ${circadian.nightsMin} nights in ${circadian.days}`,
  exercise_strain_capacity: `there is no exercise session in the ${strain.days} days before, or there are fewer than ${strain.daysMin} valid days`,
  walking_strain_capacity: `there are fewer than ${strain.daysMin} valid days in the ${strain.days} before`,
}
const irregular = `there are fewer than ${regularity.nightsMin} nights in ${regularity.days}, or too few of them in a row`

function vitalMissing(name: FactorName, { measures }: DayFacts): string {
  if (name === 'resting_heart_rate') return 'no resting heart rate is known of that day'
  const measured = measures['heart_rate_variability_rmssd'] ?? measures['heart_rate_variability_sdnn']
  if (!measured) return 'it was not measured that day'
  const { valuesMin, days } = lookBacks.personal
  return `there are fewer than ${valuesMin} days in the ${days} before to compare it with`
}
