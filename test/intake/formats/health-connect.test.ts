import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { healthConnect } from '../../../src/intake/formats/health-connect/health-connect.ts'
import { fileOf, importInto, importOne } from '../../support/health-files.ts'

const options = { formats: [healthConnect] }
const at = Date.parse('2026-07-01T22:30:00Z')
const apps = `create table application_info_table (row_id integer primary key, package_name text);
  insert into application_info_table values (1, 'com.example.watch'), (2, 'com.example.scale');
  create table device_info_table (row_id integer primary key, manufacturer text, model text, device_type integer);
  insert into device_info_table values (1, 'Example', 'Watch 2', 1);`

async function databaseOf(sql: string, before = '') {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-test-'))
  const database = new DatabaseSync(join(folder, 'any.db'))
  database.exec(before)
  database.exec(`${apps}${sql}`)
  database.close()
  const bytes = await readFile(join(folder, 'any.db'))
  await rm(folder, { recursive: true })
  return fileOf('health_connect_export.db', bytes)
}
const weights = (columns: string, values: string) =>
  `create table weight_record_table (${columns}); insert into weight_record_table values ${values};`

test('columns are found by their names, in whatever order a device has them; grams are grams, offsets are seconds', async () => {
  const orders = [
    weights('uuid blob, time integer, zone_offset integer, weight real, app_info_id', `(x'01', ${at}, 7200, 72500, 2)`),
    weights('weight real, app_info_id, zone_offset integer, uuid blob, time integer', `(72500, 2, 7200, x'01', ${at})`),
  ]
  const outbox = new Map<string, string>()
  for (const sql of orders) await importInto(outbox, [await databaseOf(sql)], options)
  const { logs } = await importInto(outbox, [], options)

  expect(logs).toHaveLength(1)
  expect(logs[0]).toMatchObject({
    dataType: 'weight',
    value: 72.5,
    source: 'com.example.scale',
    startDateTime: '2026-07-02T00:30:00+02:00',
  })
})

test('energy is in small calories, percentages are from 0 to 100, and basal metabolism is in watts', async () => {
  const { logs, rejects } = await importOne(
    await databaseOf(`
      create table active_calories_burned_record_table (start_time, end_time, start_zone_offset, end_zone_offset, energy);
      insert into active_calories_burned_record_table values (${at}, ${at + 600_000}, 0, 0, 41500);
      create table oxygen_saturation_record_table (time, zone_offset, percentage);
      insert into oxygen_saturation_record_table values (${at}, 0, 97), (${at + 1}, 0, 0.97);
      create table basal_metabolic_rate_record_table (time, zone_offset, basal_metabolic_rate);
      insert into basal_metabolic_rate_record_table values (${at}, 0, 80);`),
    options,
  )

  expect(logs.map(({ dataType, value, unit }) => [dataType, value, unit])).toEqual([
    ['basal_metabolic_rate', 1652.0076, 'kcal/day'],
    ['oxygen_saturation', 97, 'percent'],
    ['active_energy_burned', 41.5, 'kcal'],
  ])
  expect(rejects.map(({ place, reason }) => [place, reason])).toEqual([
    ['oxygen_saturation_record_table 2', 'oxygen_saturation lies outside 50 to 100'],
  ])
})

test('a parent does not count beside its samples and stages; these have its offset, its app and its device', async () => {
  const { logs } = await importOne(
    await databaseOf(`
      create table heart_rate_record_table (row_id integer primary key, uuid blob, app_info_id, device_info_id, start_time, end_time, start_zone_offset, end_zone_offset, recording_method);
      insert into heart_rate_record_table values (7, x'aa', 1, 1, ${at}, ${at + 60_000}, 19800, 19800, 2);
      create table heart_rate_record_series_table (parent_key, epoch_millis, beats_per_minute);
      insert into heart_rate_record_series_table values (7, ${at}, 61), (7, ${at + 60_000}, 62), (8, ${at}, 63);`),
    options,
  )

  expect(
    logs.map(({ value, startDateTime, source, deviceType }) => [value, startDateTime, source, deviceType]),
  ).toEqual([
    [61, '2026-07-02T04:00:00+05:30', 'com.example.watch', 'watch'],
    [62, '2026-07-02T04:01:00+05:30', 'com.example.watch', 'watch'],
  ])
  expect(logs[0]).toMatchObject({ deviceId: 'Example Watch 2', recordingMethod: 'automatically_recorded' })
})

test('enumerated values are numbers, numbers as text, or names', async () => {
  const stage = (index: number, type: string) => `(1, ${at + index * 60_000}, ${at + (index + 1) * 60_000}, ${type})`
  const types = ['5', "'6'", "'STAGE_TYPE_LIGHT'", '7', '99']
  const { logs, rejects } = await importOne(
    await databaseOf(`
      create table sleep_session_record_table (row_id integer primary key, start_time, end_time, start_zone_offset, recording_method text);
      insert into sleep_session_record_table values (1, ${at}, ${at + 300_000}, 3600, '3');
      create table sleep_stages_table (parent_key, stage_start_time, stage_end_time, stage_type);
      insert into sleep_stages_table values ${types.map((type, index) => stage(index, type)).join(', ')};
      create table exercise_session_record_table (start_time, end_time, start_zone_offset, exercise_type);
      insert into exercise_session_record_table values (${at}, ${at + 60_000}, 0, '33'), (${at}, ${at + 60_000}, 0, 9999);`),
    options,
  )

  expect(logs.map(({ dataType }) => dataType)).toEqual([
    'sleep_stage_deep',
    'sleep_stage_rem',
    'sleep_stage_light',
    'sleep_stage_awake',
    'sleep_stage_in_bed',
    'exercise_session_running',
    'exercise_session_other',
  ])
  expect(logs[0]).toMatchObject({ recordingMethod: 'manual_entry' })
  expect(rejects.map(({ place }) => place)).toEqual(['sleep_stages_table 5'])
})

test('a record that a newer export moved and changed is the same log, by its own id', async () => {
  const weight = (grams: number, modifiedMs: number) =>
    weights(
      'uuid blob, time, zone_offset, weight, last_modified_time',
      `(x'01', ${modifiedMs}, 0, ${grams}, ${modifiedMs})`,
    )
  const outbox = new Map<string, string>()
  await importInto(outbox, [await databaseOf(weight(72_000, at))], options)
  const { logs } = await importInto(outbox, [await databaseOf(weight(71_000, at + 1000))], options)

  expect(logs.map(({ value, modifiedDateTime }) => [value, modifiedDateTime])).toEqual([
    [71, '2026-07-01T22:30:01.000Z'],
  ])
})

test('records whose identity is empty or no bytes are logs of their own', async () => {
  const sql = weights(
    'uuid, time, zone_offset, weight',
    `(x'', ${at}, 0, 72000), (x'', ${at + 1000}, 0, 72100), ('same', ${at + 2000}, 0, 72200), ('same', ${at + 3000}, 0, 72300)`,
  )

  expect((await importOne(await databaseOf(sql), options)).logs).toHaveLength(4)
})

test('views, virtual tables and computed columns, which run code of the database, are not read', async () => {
  const endless =
    'with recursive n(i) as (select 1 union all select i + 1 from n) select i as time, i as weight, 0 as zone_offset from n'
  const { logs, rejects } = await importOne(
    await databaseOf(`
      create view weight_record_table as ${endless};
      create virtual table steps_record_table using fts5(count, start_time, end_time);
      insert into steps_record_table values (5, ${at}, ${at + 60_000});
      create table height_record_table (time, zone_offset, height as (1.7), other);
      insert into height_record_table values (${at}, 0, 1);`),
    options,
  )

  expect(logs).toEqual([])
  expect(rejects).toEqual([])
})

test('a database in WAL mode is read, another database is none of ours, and a broken one costs its rest', async () => {
  const sql = weights('time, zone_offset, weight', `(${at}, 0, 72000)`)
  const wal = await importOne(await databaseOf(sql, 'pragma journal_mode = wal;'), options)
  const other = await importOne(await databaseOf('create table notes (text);'), options)
  const whole = await databaseOf(sql)
  const chunks: Buffer[] = []
  for await (const chunk of await whole.open()) chunks.push(chunk)
  const half = await importOne(fileOf('half.db', Buffer.concat(chunks).subarray(0, 5000)), options)

  expect(wal.logs).toHaveLength(1)
  expect(other.rejects.map(({ reason }) => reason)).toEqual([
    'read health_connect_export.db: it is a database, and not one of Health Connect',
  ])
  expect(half.rejects).toHaveLength(1)
})

test('the copy that SQLite reads is gone when the import ends, also of a broken file', async () => {
  const file = await databaseOf(weights('time, zone_offset, weight', `(${at}, 0, 72000)`))
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-test-'))
  vi.stubEnv('TMPDIR', folder)
  const whole = await importOne(file, options)
  const broken = await importOne(
    fileOf('broken.db', Buffer.from('SQLite format 3\u0000 and no more', 'latin1')),
    options,
  )
  const left = await readdir(folder)
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true })

  expect([whole.logs.length, broken.rejects.length, left]).toEqual([1, 1, []])
})

test('a session without stages is a time in bed, and what the person entered counts and is marked', async () => {
  const { logs } = await importOne(
    await databaseOf(`
      create table sleep_session_record_table (row_id integer primary key, start_time, end_time, start_zone_offset, recording_method);
      insert into sleep_session_record_table values
        (1, ${at}, ${at + 25_920_000}, 0, 2), (2, ${at + 86_400_000}, ${at + 112_320_000}, 0, 3);`),
    options,
  )

  expect(logs.map(({ dataType, value, recordingMethod }) => [dataType, value, recordingMethod])).toEqual([
    ['sleep_stage_in_bed', 432, 'automatically_recorded'],
    ['sleep_stage_in_bed', 432, 'manual_entry'],
  ])
})
