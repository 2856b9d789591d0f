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
import type { SourceRow } from '../small-files.ts'
import { between, momentAt } from '../source-times.ts'
import { isEmpty, lastingRecord, numberIn, textIn } from '../source-values.ts'
import { deviceIn, exerciseIn, methodIn, stageIn, stagesByNumber } from './health-connect-types.ts'
import { isSqlite, openSqliteTables, type SqliteTables, type TableQuery } from './sqlite-tables.ts'

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
