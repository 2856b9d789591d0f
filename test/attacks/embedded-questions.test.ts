import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { test as base, expect } from 'vitest'
import { type LocalEngines, startLocalEngines } from '../../src/base/engines/local-engines.ts'
import { migrateWarehouse } from '../../src/operations/migrate-warehouse.ts'
import type { Pool } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { readQuery } from '../../src/pipeline/warehouse/reports/read-query.ts'
import { openTestPool } from '../support/test-pool.ts'

type World = {
  engines: LocalEngines
  restart(): Promise<void>
  pool: Pool
  ask(text: string): Promise<unknown>
  /** The memory of a session that has just begun, in bytes, as the system counts it. */
  sessionMemory(): Promise<number>
  /** Runs a statement as the role of the printed line for psql, which logs in without vitalsync. */
  asReader(database: string, text: string): Promise<unknown>
}

const test = base.extend<{ world: World }>({
  /** The Postgres of `npm start`, with its roles and tables. */
  world: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync questions-'))
    await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
    const engines = await startLocalEngines(folder)
    let running = engines
    const { databaseUrl, tokenKey } = engines
    await migrateWarehouse(databaseUrl, () => undefined)
    const pool = openTestPool(databaseUrl)
    const source = { pool, databaseUrl, keys: [tokenKey] }
    const { signal } = new AbortController()
    const question = { timeoutMs: 60_000, rowsAtOnce: 1001, bytesMax: 8 * 1024 * 1024, parsesJson: false, signal }
    await use({
      engines,
      async restart() {
        await running.close()
        running = await startLocalEngines(folder)
      },
      pool,
      ask: async (text) => (await readQuery(source, { text, ...question }).next()).value?.rows,
      async sessionMemory() {
        const text = 'select pg_backend_pid() from generate_series(1, 2)'
        const answer = readQuery(source, { text, ...question, rowsAtOnce: 1 })
        const { value } = await answer.next()
        const status = await readFile(`/proc/${value?.rows[0]?.[0]}/status`, 'utf8')
        await answer.return(undefined)
        return Number(/VmSize:\s+(\d+)/.exec(status)?.[1]) * 1024
      },
      async asReader(database, text) {
        const [host, port, , user, password] = (await readFile(join(folder, 'pgpass'), 'utf8')).trim().split(':')
        const reader = new pg.Client({ host, port: Number(port), user, password, database })
        await reader.connect()
        return reader.query(text).finally(() => reader.end())
      },
    })
    await pool.end()
    await running.close()
    await rm(folder, { recursive: true, force: true })
  },
})

const denied = /permission denied for function/

test('the line for psql that a start prints can be pasted, also where the folder has a space in its name', async ({
  world: { engines },
}) => {
  const [assignment = ''] = engines.psqlLine.split(' psql ')
  const { stdout } = await promisify(execFile)('sh', ['-c', `${assignment} sh -c 'cat "$PGPASSFILE"'`])

  expect(stdout).toMatch(/^127\.0\.0\.1:\d+:vitalsync:/)
})

test('a question of the embedded Postgres takes no lock, no memory of others and no session of others', {
  timeout: 120_000,
}, async ({ world: { pool, ask } }) => {
  // Each of these filled the lock table of the whole server, or the log, or ended the question of somebody else.
  for (const sql of [
    'select count(pg_advisory_lock(n)) from generate_series(1, 30000) n',
    'select count(pg_try_advisory_lock_shared(n)) from generate_series(1, 30000) n',
    'select pg_advisory_xact_lock(1, 2)',
    `select pg_logical_emit_message(false, 'mine', 'words')`,
    'select count(pg_export_snapshot()) from generate_series(1, 2)',
    'select pg_terminate_backend(pid) from pg_stat_activity where usename = current_user',
    'select pg_cancel_backend(pid) from pg_stat_activity where usename = current_user',
  ])
    await expect(ask(sql), sql).rejects.toThrow(denied)
  const values = ['x', 'y', 'z'].map((letter) => `repeat('${letter}', 1000000000)`)
  await expect(ask(`select ${values.join(', ')}`)).rejects.toThrow(/out of memory/)
  // A query within a query (`query_to_xml`) had eight parallel workers, each with memory of its own.
  const workers = `set_config('max_worker_processes', '8', false)`
  expect(await ask(`select current_setting('max_worker_processes')`)).toEqual([['2']])
  await expect(ask(`select ${workers}`)).rejects.toThrow(/cannot be changed without restarting the server/)

  expect(await ask('select 1')).toEqual([[1]])
  const { rows } = await pool.query('select pg_try_advisory_lock(1) as taken, pg_cancel_backend(0) as cancelled')
  expect(rows).toEqual([{ taken: true, cancelled: false }])
})

test('a question that has used up its memory and then needs a deep stack ends no session but its own', {
  timeout: 120_000,
}, async ({ world: { ask, sessionMemory } }) => {
  // A stack that may not grow ends the session by a signal, upon which the server ends all others.
  const sizeOfX = 1_030_000_000
  const sizeOfY = 2 * 1024 ** 3 - (await sessionMemory()) - sizeOfX - 1_000_000
  const repeated = (bytes: number) => `repeat(repeat('x', 1000), n * ${Math.floor(bytes / 1000)})`
  const values = `select n, ${repeated(sizeOfX)} as x, ${repeated(sizeOfY)} as y from generate_series(1, 1) n offset 0`
  const nested = `(repeat('[', n * 20000) || repeat(']', n * 20000))::json::text`
  const startedAt = await ask('select pg_postmaster_start_time(), min(backend_start) from pg_stat_activity')

  await ask(`select octet_length(x), octet_length(y), octet_length(${nested}) from (${values}) v`)

  expect(await ask('select pg_postmaster_start_time(), min(backend_start) from pg_stat_activity')).toEqual(startedAt)
})

test('a question of the embedded Postgres writes nothing into the log of the server', async ({
  world: { engines, ask, asReader },
}) => {
  // By the last words of its log a server that fails is explained: here by a disk that is full.
  await expect(ask(`select 'No space left'::int`)).rejects.toThrow(/invalid input syntax/)
  await expect(ask(`select set_config('log_min_messages', 'log', false)`)).rejects.toThrow(/permission denied/)
  await asReader('vitalsync', 'alter role current_user reset all')
  await asReader('vitalsync', `do $$ begin raise log 'No space left'; end $$`)

  const error = new Error('any')
  expect(await engines.faultOf(error)).toBe(error)
})

test('a reader of the embedded Postgres enters no other database, and stores nothing', async ({
  world: { asReader },
}) => {
  // There the same functions, temporary tables and large objects were open to it, and the lock table is one for all databases.
  for (const database of ['postgres', 'template1', 'vitalsync_queue', 'profile_service'])
    await expect(asReader(database, 'select 1'), database).rejects.toThrow(/permission denied for database/)
  for (const text of [
    `select lo_from_bytea(0, 'mine')`,
    'select lo_create(0)',
    'select lo_creat(0)',
    'create temp table mine ()',
    'create table public.mine ()',
    'create schema mine',
    'select pg_advisory_lock(1)',
  ])
    await expect(asReader('vitalsync', text), text).rejects.toThrow(/permission denied/)

  await asReader('vitalsync', 'select * from warehouse.days')
})

test('a reader who breaks its own login is let in again after the next start', { timeout: 120_000 }, async ({
  world: { asReader, restart },
}) => {
  await asReader('vitalsync', `alter role current_user set role = 'vitalsync'`)
  await asReader('vitalsync', `alter role current_user in database vitalsync set local_preload_libraries = 'none'`)
  await expect(asReader('vitalsync', 'select 1')).rejects.toThrow(/could not access file/)

  await restart()

  const asked = await asReader('vitalsync', 'show statement_timeout')
  expect(asked).toMatchObject({ rows: [{ statement_timeout: '10min' }] })
})
