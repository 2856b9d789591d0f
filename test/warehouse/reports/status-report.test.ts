import { expect } from 'vitest'
import { DAY, HOUR } from '../../../src/time/units.ts'
import { createReports } from '../../../src/warehouse/reports/status-report.ts'
import { streamByName } from '../../support/stream-by-name.ts'
import { scoresReading, test, wantedFromMs } from '../../support/test-warehouse.ts'

test('what was read and waits for a second reading counts as read, and not as covered', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox, writer, pool, rows, startedAtMs } = warehouse
  const stream = streamByName('tags')
  const window = { startMs: wantedFromMs, endMs: startedAtMs }
  const day = startedAtMs - 20 * DAY
  const read = (generation: number) =>
    writer.store(scoresReading({ profileId: ada, stream, window, generation, sentAtMs: Date.now(), records: [] }))
  const shares = async () => {
    const [report] = await createReports({ pool }).streamReports(['tags'])
    return [report?.coveredShare ?? 0, report?.readShare ?? 0]
  }
  await read(0)
  const [coveredBefore = 0, readBefore = 0] = await shares()
  expect(readBefore).toBeGreaterThan(0.99)
  await outbox.add([
    { profileId: ada, stream: 'tags', itemKey: 'a', body: '{}', startAtMs: day, endAtMs: day + 10 * DAY },
  ])
  const { parcels } = await outbox.readWaiting(ada, 'tags')
  await outbox.markSent({ profileId: ada, stream: 'tags', parcels })
  await rows("update vitalsync.ledger set touched_at = clock_timestamp() - $1::float8 * interval '1 ms'", [2 * HOUR])

  await read(1)

  const [covered = 0, readShare = 0] = await shares()
  expect(covered).toBeLessThan(coveredBefore)
  expect(readShare).toBeGreaterThan(0.99)
})
