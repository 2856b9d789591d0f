import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect } from 'vitest'
import { pulledStreams } from '../../config/streams.ts'
import { markedAsOwn } from '../../src/base/connections/own-server.ts'
import { readMigrations } from '../../src/base/engines/compare-migrations.ts'
import { migrateWarehouse, migrationsFolder } from '../../src/operations/migrate-warehouse.ts'
import { test } from '../support/fixtures.ts'
import { copySources } from '../support/next-version.ts'
import { runProgram, settingsFor, startProgram } from '../support/run-program.ts'
import { openAsCommand, openTestPool } from '../support/test-pool.ts'

test('a warehouse that lacks any migration of this version is refused', async ({ warehouseUrl, database }) => {
  await openAsCommand(warehouseUrl)
  await expect(openAsCommand(database)).rejects.toThrow(/older than this version/)

  const names = (await readMigrations(migrationsFolder)).map(({ name }) => name)
  const client = new pg.Client({ connectionString: warehouseUrl })
  await client.connect()
  const list = async (change: string, value: string | undefined) => client.query(change, [value])
  for (const name of [names.at(-1), names.at(2)]) {
    await list('delete from vitalsync.migrations where name = $1', name)
    await expect(openAsCommand(warehouseUrl), name).rejects.toThrow(/older than this version/)
    await list(`insert into vitalsync.migrations (name, checksum) values ($1, '')`, name)
  }
  await list(`insert into vitalsync.migrations (name, checksum) values ($1, '')`, '9999-of-a-newer-version.sql')
  await openAsCommand(warehouseUrl)

  await list(`insert into vitalsync.migrations (name, checksum) values ($1, '')`, '9999-changed-keys.breaking.sql')
  await expect(openAsCommand(warehouseUrl)).rejects.toThrow(/cannot work on them \(9999-changed-keys\.breaking\.sql\)/)
  await client.end()
})

test('on tables of a newer version that breaks this one, commands that only read work, and others refuse', async ({
  warehouseUrl,
}) => {
  const env = settingsFor(warehouseUrl)
  const codeOf = async (words: readonly string[]) => (await runProgram(words, { cwd: '/tmp', env })).code
  expect(await codeOf(['migrate'])).toBe(0)
  expect(await codeOf(['profiles', 'add', 'ada', '--from', '2026-02-01'])).toBe(0)
  const pool = openTestPool(warehouseUrl, 1)
  await pool.query(`alter table vitalsync.profiles add column note text;
    insert into vitalsync.migrations (name, checksum) values ('9999-notes.breaking.sql', '')`)
  await pool.end()
  const sql = ['sql', 'select * from warehouse.days limit 1']
  const why = 'why --profile ada --date 2026-03-01 --stream scores'
  const lists = ['runs', 'gaps', 'failures list', 'quarantine list', 'drift list', 'columns list', 'profiles list']
  const others = ['status', 'plan', 'explain settle', 'profiles show ada', 'export --stream scores --format csv']

  const reading = [sql, ...[why, ...lists, ...others].map((words) => words.split(' '))]
  const codes = await Promise.all(reading.map(async (words) => [words, await codeOf(words)]))
  expect(codes).toEqual(reading.map((words) => [words, 0]))
  for (const words of [['sync'], ['profiles', 'add', 'bob'], ['migrate']])
    expect([words, await codeOf(words)]).toEqual([words, 2])
})

test('migrate --check lists what is missing, changes nothing, and ends with 1 where the former version must stop', async ({
  warehouseUrl,
  database,
  onTestFinished,
}) => {
  const { folder, entry: copied, close } = await copySources()
  onTestFinished(close)
  const check = (url: string, entry = copied) =>
    runProgram(['migrate', '--check'], { cwd: '/tmp', env: { DATABASE_URL: url }, entry })
  const add = (name: string) => writeFile(join(folder, 'src/pipeline/warehouse/migrations', name), 'select 1')

  expect(await check(warehouseUrl)).toMatchObject({ code: 0, stdout: 'No migration is missing.\n' })
  await add('9000-notes.sql')
  const added = await check(warehouseUrl)
  expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/9000-notes\.sql\n.* works beside them/) })
  await add('9001-keys.breaking.sql')
  const breaking = await check(warehouseUrl)
  expect(breaking).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/cannot work beside 9001-keys\.breaking\.sql/),
  })
  expect(await check(database)).toMatchObject({ code: 0, stdout: expect.stringContaining('0001-profiles.sql') })
  expect(await check(database)).toMatchObject({ stdout: expect.stringContaining('0001-profiles.sql') })
})

test.for(['worker', 'schedule'])(
  '%s on a database without the tables ends and names the command that makes them',
  async (word, { database }) => {
    const env = settingsFor(database)

    const ended = await runProgram([word], { cwd: '/tmp', env })

    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('vitalsync migrate') })
    expect(ended.stderr).not.toContain('ready')
  },
)

test('a command brings the Postgres of the data folder up to date', async ({ database }) => {
  await openAsCommand(markedAsOwn(database))

  await openAsCommand(database)
})

test('a command that finds all tables waits for nobody who migrates, and migrates nothing', async ({
  warehouseUrl,
}) => {
  const migrating = new pg.Client({ connectionString: warehouseUrl })
  await migrating.connect()
  await migrating.query(`select pg_advisory_lock(hashtextextended('vitalsync migrate vitalsync', 0))`)

  await openAsCommand(markedAsOwn(warehouseUrl))

  await migrating.end()
})

test('the command migrate that waits for a lock says after five seconds who holds it', async ({ warehouseUrl }) => {
  const holder = new pg.Client({ connectionString: warehouseUrl, application_name: 'the holder' })
  await holder.connect()
  const turn = `select pg_backend_pid() as pid, pg_advisory_lock(hashtextextended('vitalsync migrate vitalsync', 0))`
  const { rows } = await holder.query(turn)
  const startedAtMs = performance.now()
  const migrate = startProgram(['migrate'], { cwd: '/tmp', env: settingsFor(warehouseUrl) })

  const [said] = await migrate.said(/Waiting for a lock that session \d+.*/)
  const tookMs = performance.now() - startedAtMs
  await holder.end()
  expect(said).toContain(`session ${rows[0]?.pid} of role`)
  expect(said).toContain('application "the holder"')
  expect(tookMs).toBeGreaterThan(5000)
  expect(tookMs).toBeLessThan(10_000)
  expect(await migrate.ended).toMatchObject({ code: 0 })
})

test('the settle times of the catalogue stand in the warehouse, and migrating writes them again', async ({
  warehouseUrl,
}) => {
  const client = new pg.Client({ connectionString: warehouseUrl })
  await client.connect()
  const stored = async () => {
    const { rows } = await client.query('select stream, settle_ms from vitalsync.day_streams')
    return new Map(rows.map(({ stream, settle_ms }) => [stream, settle_ms]))
  }
  const ofCatalogue = new Map(pulledStreams.map(({ name, settleMs }) => [name, settleMs]))
  expect(await stored()).toEqual(ofCatalogue)

  await client.query('update vitalsync.day_streams set settle_ms = 1')
  await migrateWarehouse(warehouseUrl, () => undefined)
  expect(await stored()).toEqual(ofCatalogue)
  await client.end()
})

test('a warehouse that lacks nothing is migrated without a write', async ({ warehouseUrl }) => {
  const client = new pg.Client({ connectionString: warehouseUrl })
  await client.connect()
  await client.query('begin; lock vitalsync.day_streams in exclusive mode')

  const migrated = await migrateWarehouse(warehouseUrl, () => undefined)
  await client.end()

  expect(migrated.applied).toEqual([])
})
