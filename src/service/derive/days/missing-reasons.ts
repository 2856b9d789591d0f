import type { DayFacts, MovementFacts } from '../day/facts.ts'
import { type FactorName, lookBacks, vitalFactorNames, wearRules } from '../model/model.ts'
import { nightFactorNames } from '../model/score-definitions.ts'

/** The day on which a factor is missing: its facts (also while it is not over), and whether it is over. */
export type MissingDay = { readonly facts: DayFacts | undefined; readonly isOver: boolean }

const noMainSleep = 'no main sleep of at least three hours is known'

/** Why a factor is missing on a day, as text of an explanation. */
export function missingReason(name: FactorName, { facts, isOver }: MissingDay): string {
  if (!facts) return 'no log tells of this day'
  if (vitalFactorNames.includes(name)) return vitalMissing(name, facts)
  if (nightFactorNames.includes(name) || isStrain(name)) return facts.night ? nightMissing(name) : noMainSleep
  if (!facts.movement) return 'no movement was recorded'
  if (!isOver) return 'the day is not over yet'
  return movementMissing(name, facts.movement)
}

/** Strain is judged in the morning, from the days before, so it needs a night like the factors of sleep. */
function isStrain(name: FactorName): boolean {
  return name === 'walking_strain_capacity' || name === 'exercise_strain_capacity'
}

function movementMissing(name: FactorName, movement: MovementFacts): string {
  const { pattern, intensity } = lookBacks
  if (!movement.valid) return 'the day is not valid: under ten hours of wear, and too few steps or too much stillness'
  if (name === 'steps') return 'no steps were recorded'
  if (name === 'floors_climbed') return 'no floors were recorded'
  if (name === 'active_calories') return 'no active energy was recorded'
  if (name === 'activity_regularity')
    return `there are fewer than ${pattern.daysMin} valid days in ${pattern.days} with steps by the hour`
  if (name === 'intense_activity_duration') {
    return `there are fewer than ${intensity.daysMin} days in ${intensity.days} with steps by the minute, or with active minutes`
  }
  if (movement.covered >= wearRules.coveredMinutesMin) return 'no steps by the hour were recorded'
  return 'less than ten hours of the day are recorded'
}

function nightMissing(name: FactorName): string {
  const { regularity, debt, circadian, strain } = lookBacks
  if (name === 'physical_recovery' || name === 'mental_recovery')
    return 'the source of the night does not record that stage of sleep'
  if (name === 'sleep_continuity') return 'the source of the night does not record being awake'
  if (name === 'sleep_debt') return `there are fewer than ${debt.nightsMin} nights in ${debt.days}`
  if (name === 'circadian_alignment') return `there are fewer than ${circadian.nightsMin} nights in ${circadian.days}`
  if (name === 'exercise_strain_capacity')
    return `there is no exercise session in the ${strain.days} days before, or there are fewer than ${strain.daysMin} valid days`
  if (isStrain(name)) return `there are fewer than ${strain.daysMin} valid days in the ${strain.days} before`
  return `there are fewer than ${regularity.nightsMin} nights in ${regularity.days}, or too few of them in a row`
}

function vitalMissing(name: FactorName, { measures }: DayFacts): string {
  if (name === 'resting_heart_rate') return 'no resting heart rate is known of that day'
  const measured = measures['heart_rate_variability_rmssd'] ?? measures['heart_rate_variability_sdnn']
  if (!measured) return 'it was not measured that day'
  const { valuesMin, days } = lookBacks.personal
  return `there are fewer than ${valuesMin} days in the ${days} before to compare it with`
}
