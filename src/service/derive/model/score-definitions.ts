/** The factors of each score with their weights, and the states. Like all of this folder they belong to `modelVersion`. */
import type { FactorName } from './model.ts'

export type ScoreDefinition = {
  /** Without it, or with less than half of the weight, there is no score. Without a required factor any known factor makes a score. */
  readonly requiredFactor?: FactorName
  readonly weights: Readonly<Partial<Record<FactorName, number>>>
  /** Only factors that are judged against the person's own days count: what differs between people says nothing. */
  readonly isPersonal?: true
}

/** Weights sum to 1. */
export const scoreDefinitions = {
  activity: {
    weights: {
      steps: 0.35,
      intense_activity_duration: 0.2,
      active_hours: 0.15,
      extended_inactivity: 0.15,
      active_calories: 0.1,
      floors_climbed: 0.05,
    },
  },
  sleep: {
    requiredFactor: 'sleep_duration',
    weights: {
      sleep_duration: 0.26,
      sleep_regularity: 0.16,
      sleep_continuity: 0.14,
      sleep_debt: 0.13,
      sleep_efficiency: 0.11,
      circadian_alignment: 0.1,
      physical_recovery: 0.05,
      mental_recovery: 0.05,
    },
  },
  readiness: {
    requiredFactor: 'sleep_duration',
    isPersonal: true,
    weights: {
      heart_rate_variability: 0.35,
      resting_heart_rate: 0.2,
      sleep_duration: 0.15,
      sleep_debt: 0.1,
      exercise_strain_capacity: 0.06,
      physical_recovery: 0.05,
      mental_recovery: 0.05,
      walking_strain_capacity: 0.04,
    },
  },
  mental_wellbeing: {
    requiredFactor: 'steps',
    weights: {
      sleep_regularity: 0.25,
      circadian_alignment: 0.2,
      steps: 0.15,
      active_hours: 0.15,
      activity_regularity: 0.15,
      extended_inactivity: 0.1,
    },
  },
} as const satisfies Record<string, ScoreDefinition>

/** The factors of a score with their weights, in the order in which records list them. */
export function weightEntries({ weights }: ScoreDefinition): [FactorName, number][] {
  // Object.entries widens the keys to strings.
  return Object.entries(weights) as [FactorName, number][]
}

export const weightShareMin = 0.5
export const stateFloors = { low: 0.4, medium: 0.6, high: 0.8 } as const

/** Factors that come from the night that ends on the day. All of them make the sleep score. */
export const nightFactorNames: readonly string[] = Object.keys(scoreDefinitions.sleep.weights)
