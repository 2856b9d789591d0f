/**
 * The facts of one local day: all that its logs say, before any rule that looks at other days. Small, plain and rounded
 * to three digits, so that two derivations of the same logs give the same bytes. The facts are stored, and neighbouring
 * days are derived from them. Stored as JSON: a renamed or reordered key rewrites every day.
 */
export type DayFacts = {
  readonly day: number
  /** Minutes east of UTC at the end of the day: the offset that the records of the day carry. */
  readonly offset: number
  readonly movement: MovementFacts | null
  readonly night: NightFacts | null
  /** Asleep in minutes outside the night; null when no nap is known. */
  readonly naps: DayMeasure | null
  /** When the person slept, in minutes since 18:00 of the day before; empty when no sleep of the day is known. */
  readonly asleep: readonly (readonly [from: number, to: number])[]
  readonly exercise: readonly { readonly exercise: string; readonly minutes: number }[]
  /** Vitals and body measures of the day by biomarker type. */
  readonly measures: Readonly<Record<string, DayMeasure>>
}

/** Reads stored facts. Only this program writes them, so their shape is not checked again. */
export function parseDayFacts(text: string): DayFacts {
  return JSON.parse(text)
}

export type DayMeasure = { readonly value: number; readonly estimated?: true }

export type MovementFacts = {
  readonly valid: boolean
  readonly steps: number | null
  readonly floors: number | null
  readonly activeEnergy: number | null
  readonly totalEnergy: number | null
  readonly restingEnergy: number | null
  readonly activeHours: number | null
  /** Minutes by intensity; null where the steps are too coarse for a pace. */
  readonly low: number | null
  readonly medium: number | null
  readonly high: number | null
  /** Minutes of at least medium intensity, high counted twice, by pace or as a device counted them. */
  readonly intense: number | null
  /** The same within exercise sessions alone; 0 without a session, whether or not the sources send sessions. */
  readonly exerciseLoad: number
  readonly sedentary: number | null
  readonly stillness: number | null
  /** Steps by local clock hour; null where the steps are coarser than an hour, or were not sent. */
  readonly hourly: readonly number[] | null
  readonly wear: number
  readonly covered: number
  /** Whether the waking hours are a guess, because no sleep is known. */
  readonly wakingGuessed: boolean
}

export type NightFacts = {
  readonly offset: number
  readonly onsetAt: number
  readonly wakeAt: number
  readonly duration: number
  readonly inBed: number | null
  readonly awake: number | null
  readonly light: number | null
  readonly deep: number | null
  readonly rem: number | null
  readonly latency: number | null
  readonly interruptions: number | null
  readonly awakeAfterOnset: number | null
  readonly efficiency: number | null
  readonly estimated: boolean
}
