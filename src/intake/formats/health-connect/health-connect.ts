import { UsageProblem } from '../../../base/errors.ts'
import type {
  ExportFile,
  HealthFormat,
  HealthRecord,
  MappingRow,
  RecordBatch,
  SourceInstant,
} from '../export-format.ts'
import type { MeasureName } from '../measures.ts'
import type { SourceRow } from '../small-files.ts'
import {
  type DraftFrame,
  faultOf,
  isEmpty,
  lastingRecord,
  type MeasureColumn,
  numberIn,
  recordsOfColumns,
  textIn,
} from '../source-values.ts'
import { deviceIn, exerciseIn, methodIn, stageIn, stagesByNumber } from './health-connect-types.ts'
import { isSqlite, openSqliteTables, type SqliteTables } from './sqlite-tables.ts'

type Measured = { readonly table: string; readonly columns: readonly MeasureColumn[] }

const one = (table: string, from: string, to: MeasureName, unit: string): Measured => ({
  table: `${table}_record_table`,
  columns: [{ from, to, unit }],
})

/** Grams, small calories, percentages from 0 to 100, watts. */
const moments: readonly Measured[] = [
  one('weight', 'weight', 'weight', 'g'),
  one('height', 'height', 'height', 'm'),
  one('body_fat', 'percentage', 'body_fat', 'percent'),
  one('lean_body_mass', 'mass', 'lean_body_mass', 'g'),
  one('bone_mass', 'mass', 'bone_mass', 'g'),
  one('body_water_mass', 'body_water_mass', 'body_water_mass', 'g'),
  one('basal_metabolic_rate', 'basal_metabolic_rate', 'basal_metabolic_rate', 'W'),
  one('resting_heart_rate', 'beats_per_minute', 'resting_heart_rate', 'bpm'),
  one('heart_rate_variability_rmssd', 'heart_rate_variability_millis', 'heart_rate_variability_rmssd', 'ms'),
  one('oxygen_saturation', 'percentage', 'oxygen_saturation', 'percent'),
  one('respiratory_rate', 'rate', 'respiratory_rate', 'breath/min'),
  one('vo2_max', 'vo2_milliliters_per_minute_kilogram', 'vo2_max', 'mL/kg/min'),
  one('blood_glucose', 'level', 'blood_glucose', 'mmol/L'),
  one('body_temperature', 'temperature', 'body_temperature', 'degC'),
  one('basal_body_temperature', 'temperature', 'basal_body_temperature', 'degC'),
  {
    table: 'blood_pressure_record_table',
    columns: [
      { from: 'systolic', to: 'blood_pressure_systolic', unit: 'mmHg' },
      { from: 'diastolic', to: 'blood_pressure_diastolic', unit: 'mmHg' },
    ],
  },
]

const intervals: readonly Measured[] = [
  one('steps', 'count', 'steps', 'count'),
  one('floors_climbed', 'floors', 'floors_climbed', 'count'),
  one('active_calories_burned', 'energy', 'active_energy_burned', 'cal'),
  one('total_calories_burned', 'energy', 'total_energy_burned', 'cal'),
]

const beat: MeasureColumn = { from: 'beats_per_minute', to: 'heart_rate', unit: 'bpm' }

const originColumns = ['uuid', 'app_info_id', 'device_info_id', 'recording_method', 'last_modified_time']
const momentColumns = [...originColumns, 'time', 'zone_offset']
const intervalColumns = [...originColumns, 'start_time', 'end_time', 'start_zone_offset', 'end_zone_offset']
const parentColumns = ['app_info_id', 'device_info_id', 'recording_method', 'last_modified_time', 'start_zone_offset']
const parentKeys = ['parent_key', 'parent_id']

/** A read of one table: its rows, and what is made of each. */
type TableRead = {
  readonly table: string
  readonly rows: () => Iterable<SourceRow>
  readonly recordsOf: (row: SourceRow, place: string) => readonly HealthRecord[]
}

type OriginOf = (row: SourceRow) => Omit<DraftFrame, 'start' | 'end'>

const NAMED_MAX = 10_000

/** The app and the device of a record, which are in tables of their own. */
function createOrigins(tables: SqliteTables): OriginOf {
  const byId = (table: string, columns: readonly string[]) => {
    const named = new Map<number, SourceRow>()
    for (const row of tables.rows({ table, columns: ['row_id', ...columns] })) {
      if (named.size >= NAMED_MAX) break
      named.set(numberIn(row['row_id']), row)
    }
    return named
  }
  const apps = byId('application_info_table', ['package_name'])
  const devices = byId('device_info_table', ['manufacturer', 'model', 'device_type'])
  return (row) => {
    const device = devices.get(numberIn(row['device_info_id'])) ?? {}
    const deviceId = [device['manufacturer'], device['model']].map(textIn).join(' ').trim()
    const modifiedMs = numberIn(row['last_modified_time'])
    return {
      source: textIn(apps.get(numberIn(row['app_info_id']))?.['package_name']) || 'unknown',
      deviceType: deviceIn(device['device_type']),
      recordingMethod: methodIn(row['recording_method']),
      ...(deviceId === '' ? {} : { deviceId: deviceId.slice(0, 200) }),
      ...(Number.isNaN(modifiedMs) ? {} : { modifiedMs }),
      ...(row['uuid'] instanceof Uint8Array ? { ownId: Buffer.from(row['uuid']).toString('hex') } : {}),
    }
  }
}

/** Offsets are seconds; a record without one is placed by UTC, or by --time-zone. */
function instantOf(atMs: unknown, offsetSeconds: unknown): SourceInstant | undefined {
  const at = numberIn(atMs)
  const seconds = isEmpty(offsetSeconds) ? 0 : numberIn(offsetSeconds)
  if (Number.isNaN(at) || !(Math.abs(seconds) <= 14 * 3600)) return undefined
  return { atMs: at, offsetMinutes: Math.round(seconds / 60) }
}

const badTime = 'a record whose time or offset is none'

function readsOf(tables: SqliteTables, originOf: OriginOf): TableRead[] {
  const columnReads = (measured: readonly Measured[], shared: readonly string[], spanOf: SpanOf): TableRead[] =>
    measured.map(({ table, columns }) => ({
      table,
      rows: () => tables.rows({ table, columns: [...shared, ...columns.map(({ from }) => from)] }),
      recordsOf(row, place) {
        const span = spanOf(row)
        if (!span) return faultOf(place, badTime, {})
        return recordsOfColumns(columns, { row, place, frame: { ...originOf(row), ...span } })
      },
    }))
  return [
    ...columnReads(moments, momentColumns, momentOf),
    ...columnReads(intervals, intervalColumns, intervalOf),
    ...childReads(tables, originOf),
    ...sessionReads(tables, originOf),
  ]
}

type SpanOf = (row: SourceRow) => { readonly start: SourceInstant; readonly end: SourceInstant } | undefined

const momentOf: SpanOf = (row) => {
  const at = instantOf(row['time'], row['zone_offset'])
  return at && { start: at, end: at }
}

const intervalOf: SpanOf = (row) => {
  const start = instantOf(row['start_time'], row['start_zone_offset'])
  const end = instantOf(row['end_time'], row['end_zone_offset'] ?? row['start_zone_offset'])
  return start && end && { start, end }
}

/** Samples and stages belong to a parent, which has the offset, the app and the device of them. */
function childReads(tables: SqliteTables, originOf: OriginOf): TableRead[] {
  const childRows = (table: string, columns: readonly string[], parent: string) => () =>
    tables.rows({ table, columns, parent: { table: parent, keys: parentKeys, columns: parentColumns } })
  const beats = 'heart_rate_record_series_table'
  const stages = 'sleep_stages_table'
  return [
    {
      table: beats,
      rows: childRows(beats, ['epoch_millis', beat.from], 'heart_rate_record_table'),
      recordsOf(row, place) {
        const at = instantOf(row['epoch_millis'], row['start_zone_offset'])
        if (!at) return faultOf(place, badTime, {})
        return recordsOfColumns([beat], { row, place, frame: { ...originOf(row), start: at, end: at } })
      },
    },
    {
      table: stages,
      rows: childRows(stages, ['stage_start_time', 'stage_end_time', 'stage_type'], 'sleep_session_record_table'),
      recordsOf(row, place) {
        const stage = stageIn(row['stage_type'])
        const start = instantOf(row['stage_start_time'], row['start_zone_offset'])
        const end = instantOf(row['stage_end_time'], row['start_zone_offset'])
        if (!stage || !start || !end) return faultOf(place, 'a stage whose type or times are none', {})
        return [lastingRecord(place, stage, { ...originOf(row), start, end })]
      },
    },
  ]
}

function sessionReads(tables: SqliteTables, originOf: OriginOf): TableRead[] {
  const sessionOf = (
    table: string,
    more: readonly string[],
    nameOf: (row: SourceRow) => 'sleep_stage_in_bed' | ReturnType<typeof exerciseIn>,
  ): TableRead => ({
    table,
    rows: () => tables.rows({ table, columns: [...intervalColumns, ...more] }),
    recordsOf(row, place) {
      const span = intervalOf(row)
      if (!span) return faultOf(place, badTime, {})
      return [lastingRecord(place, nameOf(row), { ...originOf(row), ...span })]
    },
  })
  return [
    sessionOf('sleep_session_record_table', [], () => 'sleep_stage_in_bed'),
    sessionOf('exercise_session_record_table', ['exercise_type'], (row) => exerciseIn(row['exercise_type'])),
  ]
}

const ROWS_PER_BATCH = 1000

async function* readHealthConnect(file: ExportFile): AsyncGenerator<RecordBatch> {
  const tables = await openSqliteTables(file)
  try {
    const reads = readsOf(tables, createOrigins(tables)).filter(({ table }) => tables.has(table))
    if (reads.length === 0) throw new UsageProblem(`read ${file.name}: it is a database, and not one of Health Connect`)
    for (const [index, read] of reads.entries()) {
      const bytesRead = Math.round((file.sizeBytes * index) / reads.length)
      for (const records of batchesOf(read)) yield { records, bytesRead }
    }
    yield { records: [], bytesRead: file.sizeBytes }
  } finally {
    await tables.close()
  }
}

function* batchesOf({ table, rows, recordsOf }: TableRead): Generator<readonly HealthRecord[]> {
  let batch: HealthRecord[] = []
  let number = 0
  for (const row of rows()) {
    number += 1
    for (const record of recordsOf(row, `${table} ${number}`)) batch.push(record)
    if (batch.length < ROWS_PER_BATCH) continue
    yield batch
    batch = []
  }
  yield batch
}

const mapping: readonly MappingRow[] = [
  ...[...moments, ...intervals].flatMap(({ table, columns }) =>
    columns.map(({ from, to, unit }) => ({ from: `${table}, ${from}`, to, units: unit })),
  ),
  {
    from: 'heart_rate_record_series_table, beats_per_minute',
    to: beat.to,
    units: beat.unit,
    note: 'offset of its parent',
  },
  { from: 'sleep_session_record_table', to: 'sleep_stage_in_bed', units: 'from start to end' },
  ...stagesByNumber.map(({ number, name, stage }) => ({
    from: `sleep_stages_table, ${number} or ${name}`,
    to: stage,
    units: 'from start to end',
  })),
  { from: 'exercise_session_record_table', to: 'exercise_session_<type>', units: 'from start to end' },
  { from: 'heart_rate_record_table', note: 'the parent of its samples' },
  { from: 'any other table', note: 'nothing is derived from it' },
]

/** Health Connect: the database of its export, whose columns have another order on every device. */
export const healthConnect: HealthFormat = {
  name: 'health-connect',
  title: 'Health Connect',
  vendor: 'health-connect',
  files: 'the zip of its export, or the database in it',
  checked: 'files of our own writer; its tables against Android’s sources',
  mapping,
  detects: isSqlite,
  read: readHealthConnect,
}
