import { UsageProblem } from '../../../base/errors.ts'
import { declareRows, type FieldRule, lasting, leftOutRows, measure, type RowDeclaration } from '../declared-format.ts'
import type {
  ExportFile,
  HealthFormat,
  HealthRecord,
  ReadOptions,
  RecordBatch,
  SourceInstant,
} from '../export-format.ts'
import type { MeasureName, SessionName } from '../measures.ts'
import type { SourceRow } from '../small-files.ts'
import { between, momentAt } from '../source-times.ts'
import { isEmpty, lastingRecord, numberIn, textIn } from '../source-values.ts'
import { isSqlite, openSqliteTables, type SqliteTables, type TableQuery } from './sqlite-tables.ts'

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
const stagesByNumber = stageNames.map(([name, stage], number) => ({ number, name, stage }))

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

const stageIn = (value: unknown): MeasureName | undefined =>
  stageNames[numberIn(value)]?.[1] ?? stageNames.find(([name]) => name === wordIn(value, /^.*stage_type_/))?.[1]

function exerciseIn(value: unknown): SessionName {
  const word = wordIn(value, /^.*exercise_(session_)?type_/)
  const name = exerciseNames[numberIn(value)] ?? (exerciseNames.includes(word) ? word : 'other')
  return `exercise_session_${name}`
}

const deviceIn = (value: unknown): string => deviceNames[numberIn(value)] ?? 'unknown'

const methodIn = (value: unknown): (typeof methods)[number] =>
  methods[numberIn(value)] ?? methods.find((method) => method === wordIn(value, /^.*recording_method_/)) ?? 'unknown'

/** Offsets are seconds; a record without one is placed by UTC, or by --time-zone. */
function instantOf(atMs: unknown, offsetSeconds: unknown): SourceInstant | undefined {
  const at = numberIn(atMs)
  const seconds = isEmpty(offsetSeconds) ? 0 : numberIn(offsetSeconds)
  if (Number.isNaN(at) || !(Math.abs(seconds) <= 14 * 3600)) return undefined
  return { atMs: at, offsetMinutes: Math.round(seconds / 60) }
}

/** Without the row, which may have bytes in it. */
const badTime = { fault: 'a record whose time or offset is none' }

/** A table, as the query reads it and as its rows are mapped. */
type Table = Omit<RowDeclaration, 'file' | 'frame'> & TableQuery

const namesOf = (fields: readonly FieldRule[]) => fields.flatMap(({ from }) => from ?? [])
const intervalColumns = ['start_time', 'end_time', 'start_zone_offset', 'end_zone_offset']
const originColumns = ['app_info_id', 'device_info_id', 'recording_method', 'last_modified_time']

const moment = (name: string, ...fields: readonly FieldRule[]): Table => ({
  table: `${name}_record_table`,
  columns: [...originColumns, 'time', 'zone_offset', ...namesOf(fields)],
  bytes: ['uuid'],
  when: (row) => momentAt(instantOf(row['time'], row['zone_offset'])) ?? badTime,
  fields,
})

const interval = (name: string, ...fields: readonly FieldRule[]): Table => ({
  table: `${name}_record_table`,
  columns: [...originColumns, ...intervalColumns, ...namesOf(fields)],
  bytes: ['uuid'],
  when(row) {
    const start = instantOf(row['start_time'], row['start_zone_offset'])
    const end = instantOf(row['end_time'], row['end_zone_offset'] ?? row['start_zone_offset'])
    return between(start, end) ?? badTime
  },
  fields,
})

/** Samples and stages belong to a parent, which has the offset, the app and the device of them. */
const parentOf = (table: string) => ({
  table,
  keys: ['parent_key', 'parent_id'],
  columns: ['app_info_id', 'device_info_id', 'recording_method', 'last_modified_time', 'start_zone_offset'],
})

const exercise: FieldRule = {
  from: 'exercise_type',
  recordsOf: (row, place, frame) => [lastingRecord(place, exerciseIn(row['exercise_type']), frame)],
  mapping: [{ from: '', to: 'exercise_session_<type>', units: 'from start to end' }],
}

const stages: FieldRule = {
  recordsOf(row, place, frame) {
    const stage = stageIn(row['stage_type'])
    return stage ? [lastingRecord(place, stage, frame)] : []
  },
  mapping: stagesByNumber.map(({ number, name, stage }) => ({
    from: `${number} or ${name}`,
    to: stage,
    units: 'from start to end',
  })),
}

/** Grams, small calories, percentages from 0 to 100, watts. */
const tablesRead: readonly Table[] = [
  moment('weight', measure('weight', 'weight', 'g')),
  moment('height', measure('height', 'height', 'm')),
  moment('body_fat', measure('percentage', 'body_fat', 'percent')),
  moment('lean_body_mass', measure('mass', 'lean_body_mass', 'g')),
  moment('bone_mass', measure('mass', 'bone_mass', 'g')),
  moment('body_water_mass', measure('body_water_mass', 'body_water_mass', 'g')),
  moment('basal_metabolic_rate', measure('basal_metabolic_rate', 'basal_metabolic_rate', 'W')),
  moment('resting_heart_rate', measure('beats_per_minute', 'resting_heart_rate', 'bpm')),
  moment(
    'heart_rate_variability_rmssd',
    measure('heart_rate_variability_millis', 'heart_rate_variability_rmssd', 'ms'),
  ),
  moment('oxygen_saturation', measure('percentage', 'oxygen_saturation', 'percent')),
  moment('respiratory_rate', measure('rate', 'respiratory_rate', 'breath/min')),
  moment('vo2_max', measure('vo2_milliliters_per_minute_kilogram', 'vo2_max', 'mL/kg/min')),
  moment('blood_glucose', measure('level', 'blood_glucose', 'mmol/L')),
  moment('body_temperature', measure('temperature', 'body_temperature', 'degC')),
  moment('basal_body_temperature', measure('temperature', 'basal_body_temperature', 'degC')),
  moment(
    'blood_pressure',
    measure('systolic', 'blood_pressure_systolic', 'mmHg'),
    measure('diastolic', 'blood_pressure_diastolic', 'mmHg'),
  ),
  interval('steps', measure('count', 'steps', 'count')),
  interval('floors_climbed', measure('floors', 'floors_climbed', 'count')),
  interval('active_calories_burned', measure('energy', 'active_energy_burned', 'cal')),
  interval('total_calories_burned', measure('energy', 'total_energy_burned', 'cal')),
  {
    table: 'heart_rate_record_series_table',
    columns: ['epoch_millis', 'beats_per_minute'],
    parent: parentOf('heart_rate_record_table'),
    when: (row) => momentAt(instantOf(row['epoch_millis'], row['start_zone_offset'])) ?? badTime,
    fields: [measure('beats_per_minute', 'heart_rate', 'bpm', { note: 'offset of its parent' })],
  },
  {
    table: 'sleep_stages_table',
    columns: ['stage_start_time', 'stage_end_time', 'stage_type'],
    parent: parentOf('sleep_session_record_table'),
    when(row) {
      const start = instantOf(row['stage_start_time'], row['start_zone_offset'])
      const end = instantOf(row['stage_end_time'], row['start_zone_offset'])
      const time = stageIn(row['stage_type']) && between(start, end)
      return time ?? { fault: 'a stage whose type or times are none' }
    },
    fields: [stages],
  },
  interval('sleep_session', lasting('sleep_stage_in_bed', '')),
  interval('exercise_session', exercise),
]

const unknownOrigin = { source: 'unknown', deviceType: 'unknown', recordingMethod: 'unknown' } as const

const NAMED_MAX = 10_000

/** The app and the device of a record, which are in tables of their own. */
function createOrigins(tables: SqliteTables): RowDeclaration['frame'] & {} {
  const byId = <T>(table: string, columns: readonly string[], named: (row: SourceRow) => T) => {
    const known = new Map<number, T>()
    for (const row of tables.rows({ table, columns: ['row_id', ...columns] })) {
      if (known.size >= NAMED_MAX) break
      known.set(numberIn(row['row_id']), named(row))
    }
    return known
  }
  const apps = byId('application_info_table', ['package_name'], (row) => textIn(row['package_name']) || 'unknown')
  const devices = byId('device_info_table', ['manufacturer', 'model', 'device_type'], deviceOf)
  return (row) => {
    const { deviceType, deviceId } = devices.get(numberIn(row['device_info_id'])) ?? noDevice
    const modifiedMs = numberIn(row['last_modified_time'])
    return {
      source: apps.get(numberIn(row['app_info_id'])) ?? 'unknown',
      deviceType,
      recordingMethod: methodIn(row['recording_method']),
      deviceId,
      modifiedMs: Number.isNaN(modifiedMs) ? undefined : modifiedMs,
      ownId: textIn(row['uuid']) || undefined,
    }
  }
}

function deviceOf({ manufacturer, model, device_type: type }: SourceRow) {
  const deviceId = `${textIn(manufacturer)} ${textIn(model)}`.trim().slice(0, 200) || undefined
  return { deviceType: deviceIn(type), deviceId }
}

const noDevice = deviceOf({})

const ROWS_PER_BATCH = 1000

async function* readHealthConnect(file: ExportFile, options: ReadOptions): AsyncGenerator<RecordBatch> {
  const tables = await openSqliteTables(file)
  try {
    const frame = createOrigins(tables)
    const reads = tablesRead.filter(({ table }) => tables.has(table))
    if (reads.length === 0) throw new UsageProblem(`read ${file.name}: it is a database, and not one of Health Connect`)
    for (const [index, read] of reads.entries()) {
      const bytesRead = Math.round((file.sizeBytes * index) / reads.length)
      const { recordsOf } = declareRows(unknownOrigin, { ...read, file: read.table, frame })
      let records: HealthRecord[] = []
      let number = 0
      for (const row of tables.rows(read)) {
        number += 1
        for (const record of recordsOf(row, number, options)) records.push(record)
        if (records.length < ROWS_PER_BATCH) continue
        yield { records, bytesRead, counted: read.table }
        records = []
      }
      yield { records, bytesRead, counted: read.table }
    }
    yield { records: [], bytesRead: file.sizeBytes, counted: 'row' }
  } finally {
    await tables.close()
  }
}

/** Health Connect: the database of its export, whose columns have another order on every device. */
export const healthConnect: HealthFormat = {
  name: 'health-connect',
  title: 'Health Connect',
  vendor: 'health-connect',
  files: 'the zip of its export, or the database in it',
  checked: 'files of our own writer; its tables against Android’s sources',
  years: 'none, for no published file was read',
  mapping: [
    ...tablesRead.flatMap((read) => declareRows(unknownOrigin, { ...read, file: read.table }).mapping),
    ...leftOutRows([
      ['heart_rate_record_table', 'the parent of its samples'],
      ['any other table', 'nothing is derived from it'],
    ]),
  ],
  detects: isSqlite,
  read: readHealthConnect,
}
