import type { MeasureName, SessionName } from '../measures.ts'
import { numberIn, textIn } from '../source-values.ts'

const stageNames: ReadonlyArray<readonly [name: string, stage: MeasureName]> = [
  ['unknown', 'sleep_stage_unknown'],
  ['awake', 'sleep_stage_awake'],
  ['sleeping', 'sleep_stage_sleeping'],
  ['out_of_bed', 'sleep_stage_out_of_bed'],
  ['light', 'sleep_stage_light'],
  ['deep', 'sleep_stage_deep'],
  ['rem', 'sleep_stage_rem'],
  ['awake_in_bed', 'sleep_stage_awake'],
]

/** The stages as the docs list them. */
export const stagesByNumber = stageNames.map(([name, stage], number) => ({ number, name, stage }))

/** By their numbers, from 0. */
const exerciseNames = (
  'other badminton baseball basketball cycling stationary_biking boot_camp boxing calisthenics cricket dancing exercise_class ' +
  'fencing american_football australian_football frisbee_disc golf guided_breathing gymnastics handball ' +
  'high_intensity_interval_training hiking ice_hockey ice_skating martial_arts paddling paragliding pilates racquetball ' +
  'rock_climbing roller_hockey rowing rugby running treadmill_running sailing scuba_diving skating skiing snowboarding ' +
  'snowshoeing soccer softball squash stair_climbing strength_training stretching surfing open_water_swimming swimming ' +
  'table_tennis tennis volleyball walking water_polo weightlifting wheelchair yoga other stair_climbing_machine elliptical ' +
  'rowing_machine'
).split(' ')

const deviceNames = 'unknown watch phone scale ring head_mounted fitness_band chest_strap smart_display'.split(' ')
const methods = ['unknown', 'actively_recorded', 'automatically_recorded', 'manual_entry'] as const

/** An enumerated value is a number, a number as text, or its name behind a prefix. */
const wordIn = (value: unknown, prefix: RegExp): string => textIn(value).toLowerCase().replace(prefix, '')

export const stageIn = (value: unknown): MeasureName | undefined =>
  stageNames[numberIn(value)]?.[1] ?? stageNames.find(([name]) => name === wordIn(value, /^.*stage_type_/))?.[1]

export function exerciseIn(value: unknown): SessionName {
  const word = wordIn(value, /^.*exercise_(session_)?type_/)
  const name = exerciseNames[numberIn(value)] ?? (exerciseNames.includes(word) ? word : 'other')
  return `exercise_session_${name}`
}

export const deviceIn = (value: unknown): string => deviceNames[numberIn(value)] ?? 'unknown'

export const methodIn = (value: unknown): (typeof methods)[number] =>
  methods[numberIn(value)] ?? methods.find((method) => method === wordIn(value, /^.*recording_method_/)) ?? 'unknown'
