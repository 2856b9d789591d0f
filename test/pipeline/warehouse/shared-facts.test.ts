import { setImmediate } from 'node:timers/promises'
import { expect } from 'vitest'
import { readSharedFacts } from '../../../src/pipeline/warehouse/reports/shared-facts.ts'
import { soon } from '../../support/fixtures.ts'
import { test } from '../../support/test-warehouse.ts'

const question = { name: 'test', maxAgeMs: 3_600_000 }

test('one of many processes queries, the others use the former facts meanwhile, and all read the answer', async ({
  warehouse: { pool },
}) => {
  let asked = 0
  const answer = Promise.withResolvers<unknown>()
  const ask = () => {
    asked += 1
    return answer.promise
  }
  const read = () => readSharedFacts(pool, { ...question, ask })
  const first = read()
  await expect.poll(() => asked, soon).toBe(1)

  const others = await Promise.all([read(), read(), read()])
  answer.resolve({ due: 7 })

  expect(others.map(({ facts }) => facts)).toEqual([null, null, null])
  expect(await first).toMatchObject({ facts: { due: 7 } })
  expect(await read()).toMatchObject({ facts: { due: 7 } })
  expect(asked).toBe(1)
})

test('facts are queried again when they are old, with the former facts at hand', async ({ warehouse: { pool } }) => {
  const ask = async (former: unknown) => ({ former })
  await readSharedFacts(pool, { ...question, maxAgeMs: 0, ask })
  await pool.query("update vitalsync.shared_facts set due_at = clock_timestamp() - interval '1 s'")

  const { facts, askedAtMs, nowMs } = await readSharedFacts(pool, { ...question, ask })

  expect(facts).toEqual({ former: { former: null } })
  expect(Math.abs(nowMs - (askedAtMs ?? 0))).toBeLessThan(60_000)
})

test('a failing query leaves the lease to the next process, a dead process keeps it until it expires', async ({
  warehouse: { pool },
}) => {
  const fail = () => readSharedFacts(pool, { ...question, ask: () => Promise.reject(new Error('no answer')) })
  await expect(fail()).rejects.toThrow('no answer')
  const dying = readSharedFacts(pool, { ...question, ask: () => new Promise(() => undefined) })
  dying.catch(() => undefined)
  const isLeased = async () =>
    (
      await pool.query<{ leased: boolean }>(
        'select leased_until > clock_timestamp() as leased from vitalsync.shared_facts',
      )
    ).rows[0]?.leased
  await expect.poll(isLeased, soon).toBe(true)
  await setImmediate()

  expect(await readSharedFacts(pool, { ...question, ask: async () => 'second' })).toMatchObject({ facts: null })
  await pool.query("update vitalsync.shared_facts set leased_until = clock_timestamp() - interval '1 s'")
  expect(await readSharedFacts(pool, { ...question, ask: async () => 'third' })).toMatchObject({ facts: 'third' })
})

test('a question that takes long is asked less often', async ({ warehouse: { pool } }) => {
  const startedAtMs = performance.now()
  const ask = async () => void (await pool.query('select pg_sleep(0.1)'))
  await readSharedFacts(pool, { name: 'long', maxAgeMs: 0, ask: async () => ({ asked: (await ask()) ?? true }) })
  const tookMs = performance.now() - startedAtMs

  const { rows } = await pool.query<{ rest: number }>(
    'select extract(epoch from due_at - asked_at)::float8 * 1000 as rest from vitalsync.shared_facts',
  )

  expect(rows[0]?.rest).toBeGreaterThanOrEqual(20 * 100)
  expect(rows[0]?.rest).toBeLessThanOrEqual(20 * tookMs + 1)
})
