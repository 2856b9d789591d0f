import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { createServicePool, READ_WAIT_MAX_MS, readsOf } from '../../src/service/store/service-pool.ts'
import { test } from '../support/fixtures.ts'

test('an answer that arrived while the process itself was busy is no silence of the database', async ({
  serviceUrl,
}) => {
  const log = createLog({ level: 'silent' })
  const limits = { connectionsMax: 1, statementTimeoutMs: READ_WAIT_MAX_MS }
  const pool = createServicePool({ databaseUrl: serviceUrl, log, ...limits })
  const reads = readsOf(pool)
  await reads.query('select')
  const asked = [reads.query('select 1 as n'), reads.query('select 2 as n')]
  await nextTurn()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, READ_WAIT_MAX_MS + 100)

  const answers = await Promise.allSettled(asked)

  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
  await pool.end()
})
