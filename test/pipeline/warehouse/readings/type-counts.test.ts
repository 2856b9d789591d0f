import { expect } from 'vitest'
import { NO_DRIFT } from '../../../../src/pipeline/warehouse/readings/reading-drift.ts'
import { openReadingWriter } from '../../../../src/pipeline/warehouse/readings/reading-writer.ts'
import { toRecordRows } from '../../../../src/pipeline/warehouse/readings/record-rows.ts'
import { TypeCounts } from '../../../../src/pipeline/warehouse/readings/type-counts.ts'
import { openTestPool } from '../../../support/test-pool.ts'
import { march, marchMs, scoreRecord, scoresReading, settle, test } from '../../../support/test-warehouse.ts'

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

test('what a reading stored is counted, whether it is believed or not; of an erased person nothing is', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  await warehouse.profiles.erase(bob)
  const counted: string[] = []
  const writer = openReadingWriter({
    pool: warehouse.pool,
    ...{ now: Date.now, rowsPerCommit: 1000, commitsAtOnce: 2, settle, account: 'test' },
    belief: { goneShareMax: 0.5, spacingMs: 100 },
    drift: {
      examinerOf: () => undefined,
      isSettled: () => false,
      countTypes: (readings) => counted.push(...readings.map(({ profileId }) => profileId)),
    },
  })
  const store = (profileId: string, laterMs: number, days: readonly number[]) => {
    const records = days.map((day) => scoreRecord({ scoreDateTime: march(day) }))
    return writer.store(scoresReading({ profileId, sentAtMs: warehouse.startedAtMs + laterMs, records }))
  }

  expect(await store(ada, 0, [1, 2])).toMatchObject({ outcome: 'stored' })
  expect(await store(ada, 10, [3])).toMatchObject({ outcome: 'suspicious', written: 1 })
  expect(await store(bob, 0, [1])).toMatchObject({ outcome: 'erased' })

  await writer.close()
  expect(counted).toEqual([ada, ada])
  // A reading that is not believed lacks records, and is no evidence of how late upstream is.
  expect(await warehouse.rows('select 1 from vitalsync.lateness')).toEqual([])
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
