import { expect } from 'vitest'
import { DAY, MINUTE } from '../../src/base/time/units.ts'
import { storeDataLogs } from '../../src/service/store/data-logs.ts'
import { createServicePool, type ServicePool } from '../../src/service/store/service-pool.ts'
import { test } from '../support/fixtures.ts'
import { inputOf, log } from './derive/made-logs.ts'
import { createProfile, quiet } from './recompute/recompute-world.ts'

const nowAt = new Date('2026-11-20T12:00:00Z')
const BATCH = 90
const BATCHES = 12

/** Rows that statements of this connection looked at, those that they found by key and those that they passed on the way. */
async function rowsLookedAt(pool: ServicePool, table: string): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()')
  const { rows } = await pool.query<{ seen: number }>(
    `select (t.seq_tup_read + sum(i.idx_tup_read))::int as seen from pg_stat_user_tables t
     join pg_stat_user_indexes i using (relid) where t.relid = $1::regclass group by t.relid, t.seq_tup_read`,
    [table],
  )
  return rows[0]?.seen ?? Number.NaN
}

/** One connection, whose plans are made while the tables are empty, and no statistics of their rows. */
async function withEmptyService(databaseUrl: string, use: (pool: ServicePool) => Promise<void>): Promise<void> {
  const pool = createServicePool({ databaseUrl, log: quiet, connectionsMax: 1, statementTimeoutMs: 60_000 })
  try {
    await pool.query('alter table service.logs set (autovacuum_enabled = off)')
    await use(pool)
  } finally {
    await pool.end()
  }
}

test('an upload of logs looks only at the logs that it names, on a service that was empty just now', async ({
  serviceUrl,
}) => {
  await withEmptyService(serviceUrl, async (pool) => {
    const profileId = await createProfile(pool)
    for (let batch = 0; batch < BATCHES; batch += 1) {
      const logs = Array.from({ length: BATCH }, (_, place) => {
        const startMs = nowAt.getTime() - DAY + (batch * BATCH + place) * MINUTE
        return inputOf(log('steps', new Date(startMs).toISOString(), [1, 100]))
      })
      await storeDataLogs(pool, { profileId, logs, nowAt })
    }

    expect(await rowsLookedAt(pool, 'service.logs')).toBe(0)
  })
})
