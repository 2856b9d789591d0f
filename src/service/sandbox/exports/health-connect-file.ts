import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UsageProblem } from '../../../base/errors.ts'
import { MINUTE } from '../../../base/time/units.ts'
import { byExercise, byStage, nightsOf, ofType, sessionsOf, type TimedLog, type ZipPart } from './timed-logs.ts'

/** The table and column of a measure, and what a value of ours is multiplied by: grams and small calories. */
const moments: Readonly<Record<string, readonly [table: string, column: string, scale: number]>> = {
  weight: ['weight', 'weight', 1000],
  body_fat: ['body_fat', 'percentage', 1],
  resting_heart_rate: ['resting_heart_rate', 'beats_per_minute', 1],
  heart_rate_variability_rmssd: ['heart_rate_variability_rmssd', 'heart_rate_variability_millis', 1],
  oxygen_saturation: ['oxygen_saturation', 'percentage', 100],
  respiratory_rate: ['respiratory_rate', 'rate', 1],
  vo2_max: ['vo2_max', 'vo2_milliliters_per_minute_kilogram', 1],
}
const intervals: typeof moments = {
  steps: ['steps', 'count', 1],
  floors_climbed: ['floors_climbed', 'floors', 1],
  active_energy_burned: ['active_calories_burned', 'energy', 1000],
}
const stages = byStage({ awake: 1, light: 4, deep: 5, rem: 6 })
const exercises = byExercise({ running: 33, strength_training: 45, cycling: 4, swimming: 49, yoga: 57 })
const devices: Readonly<Record<string, number>> = { watch: 1, phone: 2, scale: 3 }

const origin =
  'row_id integer primary key autoincrement, uuid blob not null unique, last_modified_time integer, device_info_id integer, app_info_id integer, recording_method integer'
const momentForm = `${origin}, time integer, zone_offset integer`
const intervalForm = `${origin}, start_time integer, start_zone_offset integer, end_time integer, end_zone_offset integer`

type Insert = (table: string, fields: Readonly<Record<string, string | number | Uint8Array>>) => number

/** The logs of a person as Health Connect exports them: a database in a zip. */
export async function healthConnectFiles(timed: readonly TimedLog[]): Promise<ZipPart[]> {
  const { DatabaseSync } = await import('node:sqlite').catch((cause: unknown) => {
    throw new UsageProblem('write people as health-connect: a database needs Node 22.13 or newer', { cause })
  })
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-people-'))
  try {
    const path = join(folder, 'health_connect_export.db')
    const database = new DatabaseSync(path)
    database.exec(`pragma journal_mode = memory; pragma synchronous = off; begin; ${schema}`)
    write(timed, (table, fields) => {
      const names = Object.keys(fields)
      const sql = `insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`
      return Number(database.prepare(sql).run(...Object.values(fields)).lastInsertRowid)
    })
    database.exec('commit')
    database.close()
    return [{ name: 'health_connect_export.db', data: await readFile(path) }]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const tableOf = (form: string) => (table: string, column: string) =>
  `create table ${table}_record_table (${form}${column === '' ? '' : `, ${column} real`});`

const schema = [
  'create table application_info_table (row_id integer primary key, package_name text not null unique, app_name text);',
  'create table device_info_table (row_id integer primary key, manufacturer text, model text, device_type integer);',
  ...Object.values(moments).map(([table, column]) => tableOf(momentForm)(table, column)),
  ...Object.values(intervals).map(([table, column]) => tableOf(intervalForm)(table, column)),
  tableOf(intervalForm)('heart_rate', ''),
  'create table heart_rate_record_series_table (parent_key integer, beats_per_minute integer, epoch_millis integer);',
  tableOf(intervalForm)('sleep_session', ''),
  'create table sleep_stages_table (parent_key integer not null, stage_start_time integer, stage_end_time integer, stage_type integer);',
  tableOf(intervalForm)('exercise_session', 'exercise_type'),
].join('\n')

function write(timed: readonly TimedLog[], insert: Insert): void {
  const sources = [...new Set(timed.map(({ log }) => `${log.source}|${log.deviceType}`))]
  const originOf = ({ log, endMs }: TimedLog) => {
    const id = sources.indexOf(`${log.source}|${log.deviceType}`) + 1
    const method = log.recordingMethod === 'actively_recorded' ? 1 : 2
    const uuid = Buffer.from(log.id.replaceAll('-', ''), 'hex')
    return { uuid, last_modified_time: endMs, device_info_id: id, app_info_id: id, recording_method: method }
  }
  for (const [index, source] of sources.entries()) {
    const [name = '', device = ''] = source.split('|')
    insert('application_info_table', { row_id: index + 1, package_name: name, app_name: name })
    insert('device_info_table', {
      row_id: index + 1,
      manufacturer: 'Example',
      model: device,
      device_type: devices[device] ?? 0,
    })
  }
  const spanOf = (sample: TimedLog) => ({ ...originOf(sample), ...intervalFields(sample) })
  for (const sample of timed) {
    const [table, column, scale] = moments[sample.log.dataType] ?? intervals[sample.log.dataType] ?? []
    if (table === undefined || column === undefined || scale === undefined) continue
    const when = moments[sample.log.dataType] ? { ...originOf(sample), ...momentFields(sample) } : spanOf(sample)
    insert(`${table}_record_table`, { ...when, [column]: Number((sample.log.value * scale).toFixed(4)) })
  }
  writeSessions(timed, spanOf, insert)
}

function writeSessions(
  timed: readonly TimedLog[],
  spanOf: (sample: TimedLog) => Readonly<Record<string, number | Uint8Array>>,
  insert: Insert,
): void {
  for (const { night, stages: nightStages } of nightsOf(timed)) {
    const parent = insert('sleep_session_record_table', spanOf(night))
    for (const { log, startMs, endMs } of nightStages)
      insert('sleep_stages_table', {
        parent_key: parent,
        stage_start_time: startMs,
        stage_end_time: endMs,
        stage_type: stages[log.dataType] ?? 0,
      })
  }
  for (const sample of ofType(timed, 'heart_rate')) {
    const parent = insert('heart_rate_record_table', spanOf(sample))
    insert('heart_rate_record_series_table', {
      parent_key: parent,
      beats_per_minute: sample.log.value,
      epoch_millis: sample.startMs,
    })
  }
  for (const sample of sessionsOf(timed))
    insert('exercise_session_record_table', { ...spanOf(sample), exercise_type: exercises[sample.log.dataType] ?? 58 })
}

const offsetSeconds = ({ wallShiftMs }: TimedLog) => (wallShiftMs / MINUTE) * 60
const momentFields = (sample: TimedLog) => ({ time: sample.startMs, zone_offset: offsetSeconds(sample) })
const intervalFields = (sample: TimedLog) => ({
  start_time: sample.startMs,
  start_zone_offset: offsetSeconds(sample),
  end_time: sample.endMs,
  end_zone_offset: offsetSeconds(sample),
})
