import { coded, declareFormat, type FieldRule, measure, session } from './declared-format.ts'
import type { MeasureName } from './measures.ts'
import { jsonRows, type SourceRow } from './small-files.ts'
import { between, instantsIn, utc } from './source-times.ts'
import { fieldsIn, listIn, numberIn, textIn } from './source-values.ts'

const STREAM = 'vitalsync.stream'

/**
 * A file is a stream, which its points do not name, so each gets its name; and its values, which are in a field for their
 * type: integer, float, or text.
 */
function pointsIn(value: unknown): readonly unknown[] | undefined {
  const { 'Data Points': points, 'Data Source': stream } = fieldsIn(value)
  if (!Array.isArray(points)) return undefined
  return points.map(fieldsIn).map((point) => {
    const [first, second] = listIn(point['fitValue']).map((each) => fieldsIn(fieldsIn(each)['value']))
    return { ...point, [STREAM]: stream, fitValue: numberOf(first), 'second fitValue': numberOf(second) }
  })
}
const numberOf = (value: SourceRow = {}) => numberIn(value['intVal'] ?? value['fpVal'])

const nanosIn = (value: unknown) => {
  const atMs = Math.round(numberIn(value) / 1_000_000)
  return Number.isNaN(atMs) ? undefined : utc(atMs)
}

/** The stream of energy goes on while nothing was recorded: by age, sex and weight. */
const isEstimate = (originDataSourceId: unknown): boolean =>
  /:(default_calories_expended|from_bmr)$|com\.google\.calories\.bmr:/.test(textIn(originDataSourceId))

/** The one stream of a type that is read. All other streams of the type are parts of it, or are made of it. */
const stream = (type: string, merged: string, ...fields: readonly FieldRule[]) => ({
  file: `All Data, ${type}:${merged}`,
  holds: (row: SourceRow) => row[STREAM] === `derived:com.google.${type}:com.google.android.gms:${merged}`,
  when: ({ startTimeNanos, endTimeNanos, originDataSourceId }: SourceRow) =>
    isEstimate(originDataSourceId)
      ? { leftOut: 'energy that the app estimated of the body alone' }
      : (between(nanosIn(startTimeNanos), nanosIn(endTimeNanos)) ?? 'a point without its start or its end'),
  frame({ originDataSourceId, modifiedTimeMillis }: SourceRow) {
    const modifiedMs = numberIn(modifiedTimeMillis)
    return {
      ...(/user_input$/.test(textIn(originDataSourceId)) ? { recordingMethod: 'manual_entry' as const } : {}),
      modifiedMs: Number.isNaN(modifiedMs) ? undefined : modifiedMs,
    }
  },
  fields,
})

const value = (to: MeasureName, unit: string, from = 'fitValue') => measure(from, to, unit, { as: '', of: ', UTC' })

const stages = {
  1: 'sleep_stage_awake',
  2: 'sleep_stage_sleeping',
  3: 'sleep_stage_out_of_bed',
  4: 'sleep_stage_light',
  5: 'sleep_stage_deep',
  6: 'sleep_stage_rem',
} as const

/** Google Fit by Takeout: one stream of points a file. */
export const googleFit = declareFormat({
  name: 'google-fit',
  title: 'Google Fit (Takeout)',
  vendor: 'google',
  files: 'the zip of Takeout, or its folder Fit',
  checked: 'files of our own writer only',
  years: 'none, for no published file was read',
  origin: { source: 'Google Fit', deviceType: 'unknown', recordingMethod: 'automatically_recorded' },
  kinds: [
    {
      recognises: ({ text }) => /^\s*\{\s*"Data (Source|Points)"\s*:/.test(text),
      rows: jsonRows(pointsIn),
      mixed: [
        stream('step_count.delta', 'merge_step_deltas', value('steps', 'count')),
        stream('calories.expended', 'merge_calories_expended', value('total_energy_burned', 'kcal')),
        stream('heart_rate.bpm', 'merge_heart_rate_bpm', value('heart_rate', 'bpm')),
        stream('heart_rate.bpm', 'resting_heart_rate<-merge_heart_rate_bpm', value('resting_heart_rate', 'bpm')),
        stream('weight', 'merge_weight', value('weight', 'kg')),
        stream('height', 'merge_height', value('height', 'm')),
        stream('body.fat.percentage', 'merged', value('body_fat', 'percent')),
        stream('oxygen_saturation', 'merged', value('oxygen_saturation', 'percent')),
        stream('body.temperature', 'merged', value('body_temperature', 'degC')),
        stream('blood_glucose', 'merged', value('blood_glucose', 'mmol/L')),
        stream(
          'blood_pressure',
          'merged',
          value('blood_pressure_systolic', 'mmHg'),
          value('blood_pressure_diastolic', 'mmHg', 'second fitValue'),
        ),
        stream(
          'sleep.segment',
          'merged',
          coded('fitValue', stages, { otherwise: 'a stage of sleep that is not known' }),
        ),
      ],
      otherwise: 'a stream that repeats another, or has nothing for us',
    },
    {
      file: 'All Sessions',
      recognises: ({ text }) => /^\s*\{\s*"fitnessActivity"\s*:/.test(text),
      rows: jsonRows((session) => [session]),
      when({ startTime, endTime, fitnessActivity }) {
        if (fitnessActivity === 'sleep') return { leftOut: 'a night: its segments are a stream' }
        return instantsIn(startTime, endTime) ?? 'a session without startTime or endTime'
      },
      fields: [session('activity', (row) => row['fitnessActivity'])],
    },
  ],
  leftOut: [
    ['every other stream, raw or derived', 'a part of a merged stream, or made of one'],
    [
      'calories.expended of default_calories_expended or calories.bmr',
      'an estimate that goes on while nothing was recorded',
    ],
    ['Daily activity metrics', 'sums; their days may be those of UTC', /(^|\/)Daily activity metrics\/[^/]*\.csv$/],
    ['Activities', 'All Sessions has them', /(^|\/)Fit\/Activities\/[^/]*\.tcx$/],
  ],
})
