import { expect } from 'vitest'
import {
  openWarehousePool,
  type Pool,
  pipelined,
  queryByIndex,
  type Tx,
  transaction,
  transactionAtOnce,
} from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { test as base } from '../../../support/test-warehouse.ts'

/** A worker's pool: statements go out before those before them are answered. */
const test = base.extend<{ pool: Pool }>({
  pool: async ({ warehouseUrl, warehouse }, use) => {
    await warehouse.rows('create table notes (text text unique)')
    const pool = openWarehousePool({ databaseUrl: warehouseUrl, connectionsMax: 2, name: 'test', pipeline: true })
    await use(pool)
    await pool.end()
  },
})

const add = (text: string) => ({ text: 'insert into notes values ($1) returning text', values: [text] })

test('a commit that was sent behind its statements commits them', async ({ pool, warehouse }) => {
  const done = await transaction(pool, async (tx) => {
    await tx.commit([tx.query(add('a')), tx.query(add('b'))])
    return 'done'
  })

  expect(done).toBe('done')
  expect(await warehouse.rows('select text from notes order by 1')).toEqual([{ text: 'a' }, { text: 'b' }])
})

test('a commit that was sent behind a statement that fails commits nothing, and the statement says why', async ({
  pool,
  warehouse,
}) => {
  const failing = transaction(pool, async (tx) => {
    await tx.commit([tx.query(add('a')), tx.query(add('a')), tx.query(add('b'))])
  })

  await expect(failing).rejects.toThrow(/unique/)
  expect(await warehouse.rows('select text from notes')).toEqual([])
  expect(await queryByIndex(pool, add('c'))).toEqual([{ text: 'c' }])
})

const endless: { self?: object } = {}
endless.self = endless

test.for([
  ['by our own code', async () => Promise.reject(new Error('circular'))],
  ['by the driver', async (tx: Tx) => tx.query({ ...add('b'), values: [endless] })],
] as const)('a statement that cannot be encoded, %s, keeps the commit back', async ([, fail], { pool, warehouse }) => {
  const failing = transaction(pool, async (tx) => {
    await tx.commit([tx.query(add('a')), fail(tx), tx.query(add('c'))])
  })

  await expect(failing).rejects.toThrow('circular')
  expect(await warehouse.rows('select text from notes')).toEqual([])
})

test('a failure that the work does not await is not taken for a commit', async ({ pool, warehouse }) => {
  const careless = transaction(pool, async (tx) => {
    await tx.query(add('a'))
    await tx.query(add('a')).catch(() => undefined)
  })

  await expect(careless).rejects.toThrow('commit: Postgres answers ROLLBACK')
  expect(await warehouse.rows('select text from notes')).toEqual([])
})

test('no statement follows a commit', async ({ pool, warehouse }) => {
  const late = transaction(pool, async (tx) => {
    await tx.commit([tx.query(add('a'))])
    await tx.query(add('b'))
  })

  await expect(late).rejects.toThrow('the transaction has sent its commit')
  expect(await warehouse.rows('select text from notes')).toEqual([{ text: 'a' }])
})

test('a statement by index is planned by index, in a transaction of its own that leaves no setting behind', async ({
  pool,
}) => {
  const mode = { text: `select current_setting('plan_cache_mode') as mode, current_setting('enable_seqscan') as scan` }

  const [own, begun] = await Promise.all([
    queryByIndex(pool, mode),
    transactionAtOnce(pool, async (tx, started) => {
      const asked = tx.query(mode)
      await pipelined<unknown>([started, asked])
      return (await asked).rows
    }),
  ])

  expect([...own, ...begun]).toEqual(Array(2).fill({ mode: 'force_generic_plan', scan: 'off' }))
  const after = await Promise.all([pool.query(mode), pool.query(mode)])
  expect(after.flatMap(({ rows }) => rows)).toEqual(Array(2).fill({ mode: 'auto', scan: 'on' }))
})

test('a pool that does not pipeline sends one statement after the other, so that its driver does not warn', async ({
  warehouse,
  warehouseUrl,
  pool: _table,
}) => {
  const warnings: Error[] = []
  const warned = (warning: Error) => void warnings.push(warning)
  process.on('warning', warned)
  const pool = openWarehousePool({ databaseUrl: warehouseUrl, connectionsMax: 1, name: 'test' })

  expect(await queryByIndex(pool, add('a'))).toEqual([{ text: 'a' }])
  await transaction(pool, (tx) => tx.commit([tx.query(add('b')), tx.query(add('c'))]))

  await pool.end()
  process.off('warning', warned)
  expect(await warehouse.rows('select text from notes order by 1')).toHaveLength(3)
  expect(warnings).toEqual([])
})
