import { expect } from 'vitest'
import { createDivision } from '../../../../src/pipeline/warehouse/divided/division.ts'
import { isOutage, PartialOutage } from '../../../../src/pipeline/warehouse/postgres/sql-errors.ts'
import { openWarehousePool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { distrustTags } from '../../../../src/pipeline/warehouse/verification/held-tags.ts'
import { recordDifference } from '../../../../src/pipeline/warehouse/verification/stored-differences.ts'
import { isDistributed } from '../../../support/distributed-warehouse.ts'
import { scores } from '../../../support/stream-by-name.ts'
import { connect, marchMs, test } from '../../../support/test-warehouse.ts'

for (const [shards, whose] of [
  [1, 'an outage of the one Postgres'],
  [16, 'that of a node where the warehouse is divided, so that the job waits alone'],
] as const) {
  // A cluster has as many keys as its warehouse has shards.
  test.skipIf(isDistributed)(
    `a note of false tags that takes too long is ${whose}`,
    async ({ warehouse, warehouseUrl, onTestFinished }) => {
      const options = { databaseUrl: warehouseUrl, connectionsMax: 1, name: 'test', statementTimeoutMs: 200 }
      const pool = openWarehousePool({ ...options, division: createDivision(shards) })
      onTestFinished(() => pool.end())
      const blocker = await connect(warehouseUrl)
      await blocker.query('begin; lock vitalsync.false_tags in exclusive mode')

      const failure: unknown = await distrustTags(pool, { stream: scores }).catch((error: unknown) => error)
      await blocker.end()

      expect(isOutage(failure)).toBe(true)
      expect(failure instanceof PartialOutage).toBe(shards > 1)
      await distrustTags(pool, { stream: scores })
      expect(await warehouse.rows('select stream from vitalsync.false_tags')).toEqual([{ stream: 'scores' }])
    },
  )
}

test('a difference is recorded while another node is away, which keeps the oldest from being dropped', async ({
  warehouse,
}) => {
  const { pool, rows } = warehouse
  const [profileId = ''] = await warehouse.addProfiles('ada')
  const window = { profileId, stream: scores, window: { startMs: marchMs(1), endMs: marchMs(2) } }
  const counts = { missingHere: 1, differing: 0, missingUpstream: 0 }
  const record = (error: Error) => {
    const query = (...asked: Parameters<typeof pool.query>) =>
      String(asked[0]).includes('order by found_at') ? Promise.reject(error) : pool.query(...asked)
    const asking = Object.assign(Object.create(pool), { query })
    return recordDifference(asking, window, { cause: 'lost-here', counts })
  }

  await record(new PartialOutage('reach node a:1 of the warehouse: it does not answer'))
  expect(await rows('select missing_here from vitalsync.differences')).toEqual([{ missing_here: 1 }])
  await expect(record(new Error('syntax error'))).rejects.toThrow('syntax error')
})
