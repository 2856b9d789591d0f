import type { DayBounds } from './day-bounds.ts'
import type { DayInputs } from './day-inputs.ts'
import type { ExerciseSession } from './exercise-sessions.ts'
import type { SleepCluster } from './sleep-clusters.ts'

/** The inputs of one day, with its bounds and the sleep and exercise found around it. */
export type MovementInputs = DayInputs & {
  readonly bounds: DayBounds
  readonly clusters: readonly SleepCluster[]
  readonly sessions: readonly ExerciseSession[]
}
