import { expect } from 'vitest'
import { sqlState } from '../../../../src/base/postgres/postgres-errors.ts'
import { binaryRows } from '../../../../src/pipeline/warehouse/postgres/binary-format.ts'
import { type CopyCommand, copyRows } from '../../../../src/pipeline/warehouse/postgres/copy-rows.ts'
import { asTransaction, type Pool, pipelined } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { test } from '../../../support/test-warehouse.ts'

const rowsMax = 3000

/** Far more than the buffers of a socket hold. */
const many = (letter: string): string[] => Array.from({ length: rowsMax }, () => letter.repeat(2000))

const copyOf = (table: string, bodies: readonly string[]): CopyCommand => ({
  statement: `copy ${table} (body) from stdin (format binary)`,
  rows: binaryRows(bodies, [{ type: 'text', cell: (body) => body }]),
})

const connect = async (pool: Pool) => asTransaction(await pool.connect(), pool)

test('memory is not used again before Postgres has received its bytes', async ({ warehouse: { pool, rows } }) => {
  await rows('create table held (body text)')
  await rows('create table free (body text)')
  const [holder, waiter, other] = await Promise.all([connect(pool), connect(pool), connect(pool)])
  await holder.query('begin; lock table held in access exclusive mode')

  const waiting = copyRows(waiter, [copyOf('held', many('a'))])
  for (const letter of ['b', 'c', 'd']) await copyRows(other, [copyOf('free', many(letter))])
  await holder.query('rollback')
  await waiting
  for (const client of [holder, waiter, other]) client.release()

  expect(await rows(`select distinct left(body, 1) as letter from held`)).toEqual([{ letter: 'a' }])
  expect(await rows(`select left(body, 1) as letter, count(distinct body)::int as n from free group by 1`)).toEqual(
    expect.arrayContaining(['b', 'c', 'd'].map((letter) => ({ letter, n: 1 }))),
  )
})

test('of several tables the second fails: nothing is there, the reason is known, the connection goes on', async ({
  warehouse: { pool, rows },
}) => {
  await rows('create table fine (body text)')
  await rows(`create table picky (body text check (body <> 'bad'))`)
  const tx = await connect(pool)

  await tx.query('begin')
  const failed = copyRows(tx, [copyOf('fine', ['good']), copyOf('picky', ['bad']), copyOf('fine', many('e'))])
  const state = await failed.then(() => 'none', sqlState)
  await tx.query('rollback')
  await copyRows(tx, [copyOf('fine', ['after'])])
  tx.release()

  expect(state).toBe('23514')
  expect(await rows('select body from fine')).toEqual([{ body: 'after' }])
  expect(await rows('select body from picky')).toEqual([])
})

test('the error of pipelined statements is that of the first failing statement, not of those that fail because of it', async ({
  warehouse: { pool, rows },
}) => {
  await rows('create table sums (n int)')
  const tx = await connect(pool)
  await tx.query('begin')

  const fine = tx.query('insert into sums values (1)')
  const culprit = tx.query('insert into sums values (1 / 0)')
  const victim = tx.query({ name: 'sums', text: 'insert into sums values (2)' })
  // A statement with callers in between hears of a failure later than others do.
  const late = culprit.catch(async (error: unknown) => {
    await victim.catch(() => undefined)
    throw error
  })
  const sent = pipelined([fine, late, victim])
  const state = await sent.then(() => 'none', sqlState)
  await tx.query('rollback')
  await tx.query({ name: 'sums', text: 'insert into sums values (2)' })
  tx.release()

  expect(state).toBe('22012')
  expect(await rows('select n from sums')).toEqual([{ n: 2 }])
})
