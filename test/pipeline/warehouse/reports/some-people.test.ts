import { expect } from 'vitest'
import { openWarehousePool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createCoverageMap } from '../../../../src/pipeline/warehouse/reports/coverage-map.ts'
import { readDayReports } from '../../../../src/pipeline/warehouse/reports/day-report.ts'
import { readPersonDays } from '../../../../src/pipeline/warehouse/reports/find-people.ts'
import { testDivision } from '../../../support/test-pool.ts'
import { test } from '../../../support/test-warehouse.ts'

const today = new Date().toISOString().slice(0, 10)

test('a question about some people does not collect the days of everybody in one place', async ({
  warehouse,
  warehouseUrl,
  onTestFinished,
}) => {
  const names = Array.from({ length: 20 }, (_, n) => `person-${n}`)
  const [profileId = ''] = await warehouse.addProfiles(...names)
  await warehouse.rows(`update vitalsync.ledger set covered = '{[2025-12-01,2026-02-01)}', read_at = now()`)
  const pool = openWarehousePool({
    databaseUrl: warehouseUrl,
    division: testDivision,
    connectionsMax: 1,
    name: 'test',
  })
  onTestFinished(() => pool.end())
  // One Postgres keeps it for nothing. For Citus it bounds the rows that are collected in a step: two months of everybody are more.
  await pool.query(`set citus.max_intermediate_result_size = '64kB'`)

  const selection = { stream: 'scores', sort: 'added', only: undefined, search: '' } as const
  const page = { from: 0, count: 5, lastDay: today, days: 30 }
  expect((await createCoverageMap({ pool }).read(selection, page)).rows).toHaveLength(5)
  expect(await readPersonDays(pool, { profileId, days: 30 })).not.toEqual([])
  expect(await readDayReports(pool, { profileId, localDate: today, streams: ['scores', 'tags'] })).toHaveLength(2)
})
