import { formatOffset } from '../../../base/time/instant.ts'
import { MINUTE } from '../../../base/time/units.ts'
import {
  byExercise,
  byStage,
  type Cells,
  nightsOf,
  ofType,
  sessionsOf,
  type TimedLog,
  tableText,
  type ZipPart,
} from './timed-logs.ts'

const stages = byStage({ awake: 40_001, light: 40_002, deep: 40_003, rem: 40_004 })
const exercises = byExercise({
  running: 1002,
  strength_training: 15_002,
  cycling: 11_007,
  swimming: 14_001,
  yoga: 9002,
})

/** The logs of a watch and a scale as Samsung Health exports them: a line before the columns, and a comma after each row. */
export function samsungHealthFiles(timed: readonly TimedLog[]): ZipPart[] {
  const nights = nightsOf(timed)
  return [
    valuesFile('shealth.tracker.heart_rate', 'com.samsung.health.heart_rate.', [
      'heart_rate',
      ofType(timed, 'heart_rate'),
    ]),
    valuesFile('shealth.tracker.pedometer_step_count', 'com.samsung.health.step_count.', [
      'count',
      ofType(timed, 'steps'),
    ]),
    valuesFile('health.weight', '', ['weight', ofType(timed, 'weight')]),
    tableFile('shealth.sleep', 'com.samsung.health.sleep.', {
      names: [],
      rows: nights.map(({ night }) => [night, []]),
    }),
    tableFile('health.sleep_stage', '', {
      names: ['sleep_id', 'stage'],
      rows: nights.flatMap(({ night, stages: nightStages }) =>
        nightStages.map((sample) => [sample, [night.log.id, stages[sample.log.dataType] ?? 0]] as const),
      ),
    }),
    tableFile('shealth.exercise', 'com.samsung.health.exercise.', {
      names: ['exercise_type'],
      rows: sessionsOf(timed).map((sample) => [sample, [exercises[sample.log.dataType] ?? 0]]),
    }),
  ]
}

type Table = { readonly names: readonly string[]; readonly rows: ReadonlyArray<readonly [one: TimedLog, cells: Cells]> }

const valuesFile = (name: string, prefix: string, [column, timed]: [column: string, timed: readonly TimedLog[]]) =>
  tableFile(name, prefix, { names: [column], rows: timed.map((sample) => [sample, [sample.log.value]]) })

function tableFile(name: string, prefix: string, { names, rows }: Table) {
  const columns = ['start_time', 'end_time', 'time_offset', 'datauuid', ...names].map((column) => `${prefix}${column}`)
  const cells = rows.map(([sample, more]) => [
    utcText(sample.startMs),
    utcText(sample.endMs),
    `UTC${formatOffset(sample.wallShiftMs / MINUTE).replace(':', '')}`,
    sample.log.id,
    ...more,
    '',
  ])
  const head = Buffer.from(`com.samsung.${name},6000003,8\n`)
  return { name: `samsunghealth/com.samsung.${name}.csv`, data: Buffer.concat([head, tableText(columns, cells)]) }
}

/** `2026-03-29 07:45:03.000` */
const utcText = (atMs: number): string => new Date(atMs).toISOString().slice(0, -1).replace('T', ' ')
