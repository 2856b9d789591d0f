import type pg from 'pg'
import { expect } from 'vitest'
import { inTransaction, openPostgresPool } from '../../../src/base/postgres/postgres-pool.ts'
import { test as base } from '../../support/fixtures.ts'

/** `pool` has one connection, so that the next statement shows what became of it; `others` see what is committed. */
const test = base.extend<{ pool: pg.Pool; others: pg.Pool }>({
  pool: ({ database }, use) => withPool(database, use),
  others: async ({ database }, use) =>
    withPool(database, async (pool) => {
      await pool.query('create table notes (text text)')
      await use(pool)
    }),
})

async function withPool(databaseUrl: string, use: (pool: pg.Pool) => Promise<void>): Promise<void> {
  const pool = openPostgresPool({ databaseUrl, connectionsMax: 1, name: 'test', statementTimeoutMs: 10_000 })
  pool.on('error', () => undefined)
  await use(pool)
  await pool.end()
}

const notesIn = async (pool: pg.Pool) => (await pool.query<{ text: string }>('select text from notes')).rows
const pidOf = async (db: Pick<pg.Pool, 'query'>) =>
  (await db.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid

test('a transaction commits what its work did, and returns what its work returned', async ({ pool, others }) => {
  const client = await pool.connect()
  const done = await inTransaction(client, async () => {
    await client.query(`insert into notes values ('kept')`)
    return 'done'
  })

  expect(done).toBe('done')
  expect(await notesIn(others)).toEqual([{ text: 'kept' }])
})

test('a transaction whose work fails leaves nothing, and its connection to the next', async ({ pool, others }) => {
  const client = await pool.connect()
  const pid = await pidOf(client)
  const failing = inTransaction(client, async () => {
    await client.query(`insert into notes values ('lost')`)
    throw new Error('no')
  })

  await expect(failing).rejects.toThrow('no')
  expect(await notesIn(others)).toEqual([])
  expect(await pidOf(pool)).toBe(pid)
})

test('a transaction whose connection dies gives the pool no dead connection', async ({ pool, others }) => {
  const client = await pool.connect()
  const pid = await pidOf(client)
  const dying = inTransaction(client, async () => {
    await client.query(`insert into notes values ('lost')`)
    await client.query('select pg_terminate_backend(pg_backend_pid())')
  })

  await expect(dying).rejects.toThrow()
  expect(await notesIn(others)).toEqual([])
  expect(await pidOf(pool)).not.toBe(pid)
})

test('a transaction that cannot begin gives its connection back', async ({ pool, others }) => {
  const client = await pool.connect()
  const begin = () => client.query('begin isolation level unknown')

  await expect(inTransaction(client, async () => 'done', { begin })).rejects.toThrow('syntax error')
  expect(await notesIn(others)).toEqual([])
})
