import { expect } from 'vitest'
import { NO_DRIFT } from '../../../../src/pipeline/warehouse/readings/reading-drift.ts'
import { toRecordRows } from '../../../../src/pipeline/warehouse/readings/record-rows.ts'
import { TypeCounts } from '../../../../src/pipeline/warehouse/readings/type-counts.ts'
import { openTestPool } from '../../../support/test-pool.ts'
import { march, marchMs, scoreRecord, scoresReading, test } from '../../../support/test-warehouse.ts'

/** A prepared reading of one score of each of these types. */
function readingOf(...types: string[]) {
  const records = types.map((type) => scoreRecord({ type, scoreDateTime: march(1) }))
  const { records: sources, ...reading } = scoresReading({ profileId: '1', sentAtMs: marchMs(6), records })
  const { rows } = toRecordRows(reading.stream, sources, Number.MAX_SAFE_INTEGER)
  return { ...reading, rows, drift: NO_DRIFT }
}

test('what could not be written while the database was away is written the next time, beside what came since', async ({
  warehouse,
  warehouseUrl,
}) => {
  const counts = new TypeCounts()
  const away = openTestPool(warehouseUrl)
  await away.end()
  counts.add(readingOf('sleep', 'activity'), 'type')
  await expect(counts.write(away)).rejects.toThrow('after calling end on the pool')
  counts.add(readingOf('sleep'), 'type')

  await counts.write(warehouse.pool)
  await counts.write(warehouse.pool)

  expect(await warehouse.rows('select type, records::int from warehouse.types_by_day order by type')).toEqual([
    { type: 'activity', records: 1 },
    { type: 'sleep', records: 2 },
  ])
})

test('the types beyond two hundred are counted together', async ({ warehouse }) => {
  const counts = new TypeCounts()
  counts.add(
    readingOf(
      ...Array.from({ length: 250 }, (_, n) => `kind_${String.fromCharCode(97 + (n % 26))}_${'x'.repeat(1 + n / 26)}`),
    ),
    'type',
  )

  await counts.write(warehouse.pool)

  const [row] = await warehouse.rows(
    `select count(*)::int as types, sum(records)::int as records from warehouse.types_by_day`,
  )
  expect(row).toEqual({ types: 201, records: 250 })
})
