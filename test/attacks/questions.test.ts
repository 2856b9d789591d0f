import pg from 'pg'
import { expect } from 'vitest'
import { isOutage } from '../../src/base/postgres/postgres-errors.ts'
import { readQuestionsRole } from '../../src/base/postgres/reading-role.ts'
import { migrateWarehouse } from '../../src/operations/migrate-warehouse.ts'
import type { Pool } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { type QuestionSource, readQuery } from '../../src/pipeline/warehouse/reports/read-query.ts'
import { createReader } from '../../src/pipeline/warehouse/reports/reader-role.ts'
import { isDistributed } from '../support/distributed-warehouse.ts'
import { connect, test } from '../support/test-warehouse.ts'

const key = Buffer.alloc(32, 7)
const limits = {
  timeoutMs: 20_000,
  rowsAtOnce: 1001,
  bytesMax: 8 * 1024 * 1024,
  parsesJson: true,
  signal: new AbortController().signal,
}

/** All rows of an answer. */
async function ask(source: QuestionSource, text: string, changes: Partial<typeof limits> = {}) {
  const rows: unknown[][] = []
  for await (const portion of readQuery(source, { text, ...limits, ...changes }))
    rows.push(...portion.rows.map((row) => [...row]))
  return rows
}

async function openQuestions(pool: Pool, databaseUrl: string): Promise<QuestionSource> {
  await migrateWarehouse(databaseUrl, () => undefined, key)
  return { pool, databaseUrl, keys: [key] }
}

const denied = /permission denied|must be (a )?superuser|must have privileges/
const noQuery = /syntax error at or near/
const unknown = /does not exist/

/** Statements that a person who may only look can send, and the answer of Postgres. */
const tries: ReadonlyArray<readonly [sql: string, refusal: RegExp]> = [
  // Another role, or its rights.
  [`select set_config('role','none',true), query_to_xml('select * from vitalsync.secrets',true,true,'')`, denied],
  [`select set_config('role', rolname, true) from pg_roles where rolsuper`, denied],
  [`select set_config('session_authorization', rolname, true) from pg_roles where rolsuper`, denied],
  [`select query_to_xml('set role none', true, true, '')`, /not allowed in a non-volatile function/],
  [`select query_to_xml('select * from pg_authid', true, true, '')`, denied],
  ['set role none', noQuery],
  ['reset role', noQuery],
  ['set session authorization default', noQuery],
  ['set session characteristics as transaction read write', noQuery],
  [`alter role current_user password 'mine'`, noQuery],
  ['select 1; reset role', /multiple commands/],
  ['select 1; commit; drop table vitalsync.runs', /multiple commands/],
  // Tables behind the views.
  ...['secrets', 'tokens', 'profiles', 'audit', 'tombstones', 'budget_lines'].map(
    (table) => [`select * from vitalsync.${table}`, denied] as const,
  ),
  [`select vitalsync.exchange_budget_line('', '{}', 0)`, denied],
  ['select * from warehouse.audit', denied],
  [`select table_to_xml('warehouse.audit', true, true, '')`, denied],
  ['select * from pg_shadow', denied],
  // Changes.
  [`do $$ begin perform pg_sleep(0); exception when query_canceled then null; end $$`, noQuery],
  ['with gone as (delete from warehouse.runs returning 1) select * from gone', /data-modifying/],
  ['select * into temp kept from warehouse.days', /INTO/],
  ['create temp table mine ()', noQuery],
  ['lock table warehouse.days', noQuery],
  ['select * from warehouse.runs for update', denied],
  [`select nextval('vitalsync.runs_id_seq')`, denied],
  ['explain analyze select 1', noQuery],
  // Other sessions, the server and its files.
  [`select pg_terminate_backend(pid) from pg_stat_activity where usename <> current_user`, denied],
  [`select pg_cancel_backend(pid) from pg_stat_activity where usename <> current_user`, denied],
  [`select set_config('temp_file_limit', '-1', false)`, denied],
  [`select pg_read_file('/etc/passwd')`, denied],
  [`select pg_ls_dir('/')`, denied],
  [`select lo_import('/etc/passwd')`, denied],
  [`select lo_export(1, '/tmp/mine')`, denied],
  [`copy (select 1) to program 'id'`, noQuery],
  [`select * from dblink('dbname=postgres', 'select 1') as t (a int)`, unknown],
  ['select pg_reload_conf()', denied],
  ['select pg_switch_wal()', denied],
  ['listen jobs', noQuery],
  [`notify jobs`, noQuery],
]

test('a question reads the views, and every other try is refused', { timeout: 120_000 }, async ({
  warehouse,
  warehouseUrl,
}) => {
  const source = await openQuestions(warehouse.pool, warehouseUrl)
  await warehouse.addProfiles('ada')

  for (const [sql, refusal] of tries) await expect(ask(source, sql), sql).rejects.toThrow(refusal)

  const { role } = await readQuestionsRole(warehouse.pool)
  expect(await ask(source, 'select current_user, session_user')).toEqual([[role, role]])
  expect(await ask(source, `select 1 from pg_auth_members where member = '${role}'::regrole`)).toEqual([])
  const shown = `select distinct query from pg_stat_activity where usename <> current_user and query <> ''`
  expect(await ask(source, shown)).toEqual([['<insufficient privilege>']])
  expect(await ask(source, 'table warehouse.runs')).toEqual([])
  expect(await warehouse.rows('select 1 from vitalsync.profiles')).toHaveLength(1)
})

test('nothing that a question locks, writes or sets stays, and no word of it is sent', async ({
  warehouse,
  warehouseUrl,
}) => {
  const source = await openQuestions(warehouse.pool, warehouseUrl)
  const listener = await connect(warehouseUrl)
  const heard: unknown[] = []
  listener.on('notification', (message) => heard.push(message))
  await listener.query('listen jobs')

  await ask(source, 'select pg_advisory_lock(1)')
  await ask(source, `select pg_notify('jobs', 'mine')`)
  await ask(source, `select set_config('work_mem', '1GB', false)`)
  await ask(source, `select lo_from_bytea(4711, 'mine')`).catch(() => undefined) // refused from Postgres 16 on

  expect(await ask(source, 'show work_mem').catch(() => 'refused')).toBe('refused')
  expect(await ask(source, `select current_setting('work_mem')`)).toEqual([['32MB']])
  const locks = `select 1 from pg_locks where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())`
  await expect.poll(() => warehouse.rows(locks)).toEqual([])
  expect(await warehouse.rows('select 1 from pg_largeobject_metadata where oid = 4711')).toEqual([])
  await listener.query('select 1')
  expect(heard).toEqual([])
  await listener.end()
})

test('a question whose session the server ends in the moment of its answer ends no more than itself', async ({
  warehouse,
  warehouseUrl,
}) => {
  const source = await openQuestions(warehouse.pool, warehouseUrl)
  const briefly = (setting: string) => `select set_config('${setting}', '1', false)`

  // The end of the session comes between the answer and the end of the connection in about each second try.
  for (let tries = 0; tries < 20; tries++)
    await ask(source, briefly('idle_in_transaction_session_timeout')).catch(() => undefined)

  expect(await ask(source, 'select 1')).toEqual([[1]])
})

test('JSON that is nested deeply is answered as a text', async ({ warehouse, warehouseUrl }) => {
  const source = await openQuestions(warehouse.pool, warehouseUrl)
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

  const rows = await ask(source, `select '${nested(5000)}'::json, '${nested(5000)}'::jsonb, '{"a":[1]}'::json`)

  expect(JSON.parse(JSON.stringify(rows))).toEqual([[nested(5000), nested(5000), { a: [1] }]])
})

test('a question has its time, whatever it sets', async ({ warehouse, warehouseUrl }) => {
  const source = await openQuestions(warehouse.pool, warehouseUrl)
  const tooLong = /canceling statement due to statement timeout/
  const startedAtMs = performance.now()

  await expect(ask(source, 'select pg_sleep(60)', { timeoutMs: 300 })).rejects.toThrow(tooLong)
  const slowly = `select set_config('statement_timeout', '0', false), pg_sleep(0.1) from generate_series(1, 600)`
  await expect(ask(source, slowly, { timeoutMs: 300, rowsAtOnce: 1 })).rejects.toThrow(tooLong)
  const backtracking = String.raw`select repeat('a', 2000) ~ '^(a+)(a+)(a+)(a+)(a+)x?\1\2\3\4\5a$'`
  await expect(ask(source, backtracking, { timeoutMs: 300 })).rejects.toThrow(tooLong)

  expect(performance.now() - startedAtMs).toBeLessThan(30_000)
})

test('a question whose asker goes away ends at once, and its session within seconds', async ({
  warehouse,
  warehouseUrl,
}) => {
  const source = await openQuestions(warehouse.pool, warehouseUrl)
  const { role } = await readQuestionsRole(warehouse.pool)
  const sessions = () => warehouse.rows('select 1 from pg_stat_activity where usename = $1', [role])
  const asker = new AbortController()
  const asked = ask(source, 'select pg_sleep(600)', { timeoutMs: 600_000, signal: asker.signal })
  await expect.poll(sessions).toHaveLength(1)

  asker.abort(new Error('gone'))

  await expect(asked).rejects.toThrow('gone')
  await expect.poll(sessions, { timeout: 10_000 }).toEqual([])
  await expect(ask(source, 'select 1', { signal: asker.signal })).rejects.toThrow('gone')
})

test('a server that stops in mid question is an outage, and no fault of the query', async ({
  warehouse,
  warehouseUrl,
}) => {
  const source = await openQuestions(warehouse.pool, warehouseUrl)
  const { role } = await readQuestionsRole(warehouse.pool)
  const end = () => warehouse.rows('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role])
  const asked = ask(source, 'select pg_sleep(60)').catch((thrown: unknown) => thrown)
  await expect.poll(end).toHaveLength(1)

  expect(isOutage(await asked)).toBe(true)
})

test('an answer that is too large ends its connection: of many rows, of one value, of remarks', async ({
  warehouse,
  warehouseUrl,
}) => {
  const source = await openQuestions(warehouse.pool, warehouseUrl)
  const before = process.memoryUsage().rss

  for (const large of [
    `select repeat('x', 1000000) from generate_series(1, 900)`,
    `select repeat('x', 50000000)`,
    `select set_config('client_min_messages', 'debug5', false), query_to_xml('select 1', true, true, repeat('x', 9000000))`,
  ])
    await expect(ask(source, large), large).rejects.toThrow(/a portion of its rows is larger than 8/)

  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
})

test('an error that quotes megabytes is cut', async ({ warehouse, warehouseUrl }) => {
  const source = await openQuestions(warehouse.pool, warehouseUrl)

  const error = await ask(source, `select repeat('x', 7000000)::int`).catch((thrown: Error) => thrown)

  expect(String(error)).toMatch(/invalid input syntax for type integer: "x{900,1000} …$/)
})

test('the password follows from the key: a former key opens until the role has the new one, a foreign key never', async ({
  warehouse,
  warehouseUrl,
}) => {
  const source = await openQuestions(warehouse.pool, warehouseUrl)
  const next = Buffer.alloc(32, 8)

  await expect(ask({ ...source, keys: [next] }, 'select 1')).rejects.toThrow(/cannot log in: password authentication/)
  await expect(ask({ ...source, keys: [] }, 'select 1')).rejects.toThrow(/TOKEN_KEY is not set/)
  expect(await ask({ ...source, keys: [next, key] }, 'select 1')).toEqual([[1]])
  await migrateWarehouse(warehouseUrl, () => undefined, next)
  expect(await ask({ ...source, keys: [next, key] }, 'select 1')).toEqual([[1]])
  await expect(ask(source, 'select 1')).rejects.toThrow(/cannot log in: password authentication/)
})

test('a user who may not make roles is given the statements for an administrator, and questions wait for them', async ({
  warehouse,
  warehouseUrl,
}) => {
  const admin = await connect(warehouseUrl)
  const owner = `owner_${new URL(warehouseUrl).pathname.slice(-12)}`
  const database = new URL(warehouseUrl).pathname.slice(1)
  await admin.query(`create role ${owner} login password 'owner'`)
  await admin.query(`grant all on database ${database} to ${owner} with grant option`)
  for (const schema of ['vitalsync', 'warehouse']) {
    await admin.query(`grant all on schema ${schema} to ${owner} with grant option`)
    await admin.query(`grant all on all tables in schema ${schema} to ${owner} with grant option`)
  }
  const url = new URL(warehouseUrl)
  url.username = owner
  url.password = 'owner'
  const source = { pool: warehouse.pool, databaseUrl: url.href, keys: [key] }
  const said: string[] = []
  const migrate = () => migrateWarehouse(url.href, (text) => said.push(text), key)

  await migrate()
  expect(said.join('\n')).toContain('Let an administrator run:')
  expect(said.join('\n')).not.toContain("password 'owner")
  await expect(ask(source, 'select 1')).rejects.toThrow(/cannot log in/)

  for (const statement of said[0]?.match(/^ {2}.*;$/gm) ?? []) await admin.query(statement)
  said.length = 0
  await migrate()
  expect(said).toEqual([])
  expect(await ask(source, 'table warehouse.runs')).toEqual([])
  await admin.query(`drop owned by ${owner} cascade; drop role ${owner}`)
  await admin.end()
})

test('a role of an analyst inherits nothing, has few connections, and begins with limits', async ({
  warehouse: { pool, rows },
}) => {
  const role = `analyst_${process.pid}`
  expect(await createReader(pool, role)).toEqual({ created: true })

  expect(
    await rows('select rolinherit, rolconnlimit, rolcanlogin, rolconfig from pg_roles where rolname = $1', [role]),
  ).toEqual([
    {
      rolinherit: false,
      rolconnlimit: 8,
      rolcanlogin: isDistributed,
      rolconfig: [
        'statement_timeout=10min',
        'idle_in_transaction_session_timeout=10min',
        'work_mem=32MB',
        'temp_file_limit=4GB',
      ],
    },
  ])
  expect(await rows(`select 1 from pg_auth_members where $1::regrole in (roleid, member)`, [role])).toEqual([])
  await rows(`drop owned by ${role}`)
  await rows(`drop role ${role}`)
})

test('roles of two warehouses on one server are two, and neither reads the other', async ({
  warehouse,
  warehouseUrl,
  database,
}) => {
  const source = await openQuestions(warehouse.pool, warehouseUrl)
  await migrateWarehouse(database, () => undefined, key)
  const other = new pg.Pool({ connectionString: database })
  const names = [await readQuestionsRole(warehouse.pool), await readQuestionsRole(other)]
  await other.end()

  expect(new Set(names.map(({ role }) => role)).size).toBe(2)
  await expect(ask({ ...source, databaseUrl: database }, 'table warehouse.runs')).rejects.toThrow(denied)
})
