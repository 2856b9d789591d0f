import { type FieldRule, type FileKind, lasting, session } from '../declared-format.ts'
import type { MeasureName } from '../measures.ts'
import { hasColumns, type SourceRow } from '../small-files.ts'
import { between, instantIn, offsetMinutesIn } from '../source-times.ts'
import { isEmpty, lastingRecord, noSleepMeasured, numberIn, textIn } from '../source-values.ts'

const stages: Readonly<Record<string, MeasureName>> = {
  AWAKE: 'sleep_stage_awake',
  WAKE: 'sleep_stage_awake',
  RESTLESS: 'sleep_stage_awake',
  LIGHT: 'sleep_stage_light',
  DEEP: 'sleep_stage_deep',
  REM: 'sleep_stage_rem',
  ASLEEP: 'sleep_stage_sleeping',
}

const stageOf = (row: SourceRow): MeasureName | undefined => {
  const type = textIn(row['sleep_stage_type']).toUpperCase()
  return Object.hasOwn(stages, type) ? stages[type] : undefined
}

const stage: FieldRule = {
  recordsOf(row, place, frame) {
    const to = stageOf(row)
    return to ? [lastingRecord(place, to, frame)] : [{ place, fault: 'sleep_stage_type: is not known', text: '' }]
  },
  mapping: Object.entries(stages).map(([from, to]) => ({ from, to, units: 'from start to end' })),
}

/** A time of UTC, and the offset of the person's clock in another column. */
const withOffset = (time: unknown, offset: unknown) => {
  const [instant, offsetMinutes] = [instantIn(time), offsetMinutesIn(offset)]
  return instant && { atMs: instant.atMs, offsetMinutes: offsetMinutes ?? 0 }
}

const kindsOfExercise: ReadonlyArray<readonly [word: RegExp, kind: string]> = [
  [/\bwalk/i, 'walking'],
  [/\b(run|treadmill)/i, 'running'],
  [/\b(bike|biking|cycling|spinning)\b/i, 'cycling'],
  [/\bswim/i, 'swimming'],
  [/\bhik(e|ing)\b/i, 'hiking'],
  [/\bweight|strength/i, 'strength_training'],
]

/** `Outdoor Run` is running. Other names stay as they are. */
const exerciseOf = (name: string): string => kindsOfExercise.find(([word]) => word.test(name))?.[1] ?? name

/** Nights, their stages and exercises in `Health Fitness Data_GoogleData`: in UTC, each with the offset of the person's clock. */
export const takeoutEntities: readonly FileKind[] = [
  {
    file: 'UserSleeps_DATE.csv',
    recognises: hasColumns('sleep_id', 'sleep_start', 'sleep_end', 'start_utc_offset'),
    when(row) {
      if (numberIn(row['minutes_asleep']) === 0 && row['data_source'] !== 'MANUAL') return noSleepMeasured
      const start = withOffset(row['sleep_start'], row['start_utc_offset'])
      return (
        between(start, withOffset(row['sleep_end'], row['end_utc_offset'])) ??
        'a night without sleep_start or sleep_end'
      )
    },
    frame: ({ data_source: by }) => (by === 'MANUAL' ? { recordingMethod: 'manual_entry' } : {}),
    fields: [lasting('sleep_stage_in_bed', 'the night')],
  },
  {
    file: 'UserSleepStages_DATE.csv',
    recognises: hasColumns('sleep_id', 'sleep_stage_type', 'sleep_stage_start', 'sleep_stage_end'),
    when(row) {
      const start = withOffset(row['sleep_stage_start'], row['start_utc_offset'])
      const end = withOffset(row['sleep_stage_end'], row['end_utc_offset'])
      return between(start, end) ?? 'a stage without its start or its end'
    },
    fields: [stage],
  },
  {
    file: 'UserExercises_DATE.csv',
    recognises: hasColumns('exercise_start', 'exercise_end', 'activity_name', 'log_type'),
    when(row) {
      if (!isEmpty(row['deletion_reason']) && !/^(UNSPECIFIED|NONE)$/.test(textIn(row['deletion_reason'])))
        return { leftOut: 'an exercise that was deleted' }
      const start = withOffset(row['exercise_start'], row['utc_offset'])
      return (
        between(start, withOffset(row['exercise_end'], row['utc_offset'])) ??
        'an exercise without exercise_start or exercise_end'
      )
    },
    frame: ({ log_type: by, exercise_id: id }) => ({
      recordingMethod: by === 'MANUAL' ? 'manual_entry' : 'actively_recorded',
      ownId: isEmpty(id) ? undefined : String(id),
    }),
    fields: [session('activity_name', (row) => exerciseOf(textIn(row['activity_name'])))],
  },
]
