import { expect } from 'vitest'
import { isOutage } from '../../../../src/base/postgres/postgres-errors.ts'
import { createDivision } from '../../../../src/pipeline/warehouse/divided/division.ts'
import { PartialOutage } from '../../../../src/pipeline/warehouse/postgres/sql-errors.ts'
import { openWarehousePool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { distrustTags } from '../../../../src/pipeline/warehouse/verification/held-tags.ts'
import { isDistributed } from '../../../support/distributed-warehouse.ts'
import { scores } from '../../../support/stream-by-name.ts'
import { connect, test } from '../../../support/test-warehouse.ts'

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
