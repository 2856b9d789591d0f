import { expect } from 'vitest'
import { march, openTestWriter, scoreRecord, scoresReading, test } from '../../../support/test-warehouse.ts'

const score = (day: number, value: number) => scoreRecord({ scoreDateTime: march(day, '06:00:00Z'), value })

test('a reading counts what it wrote: records that are new, changed or gone, and none that are equal', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const store = (laterMs: number, ...records: object[]) =>
    warehouse.writer.store(
      scoresReading({ profileId: ada, sentAtMs: warehouse.startedAtMs - 60_000 + laterMs, records }),
    )

  expect(await store(0, score(1, 0.1), score(2, 0.2), score(3, 0.3))).toMatchObject({ read: 3, written: 3 })
  expect(await store(10, score(1, 0.1), score(2, 0.9), score(4, 0.4))).toMatchObject({ read: 3, written: 3 })
  expect(await store(20, score(1, 0.1), score(2, 0.8), score(4, 0.4))).toMatchObject({ read: 3, written: 1 })
  expect(await store(30, score(1, 0.1), score(2, 0.8))).toMatchObject({ read: 2, written: 1 })
  expect(await store(40, score(1, 0.1), score(2, 0.8))).toMatchObject({ read: 2, written: 0 })
})

test('a writer closes after every reading that was handed in, also before its commit and while its text is tried', async ({
  warehouse,
}) => {
  const people = await warehouse.addProfiles('ada', 'bob')
  const odd = { ...score(1, 0.1), note: 'half a pair: \ud83d' }
  for (const [index, record] of [score(1, 0.1), odd].entries()) {
    const writer = openTestWriter(warehouse.pool)
    const events: string[] = []
    const reading = scoresReading({
      profileId: people[index] ?? '',
      sentAtMs: warehouse.startedAtMs,
      records: [record],
    })
    const stored = writer.store(reading).then(() => events.push('stored'))

    await writer.close()
    expect(events).toEqual(['stored'])
    await stored
  }
})

test('a writer closes after the commit that is under way', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const writer = openTestWriter(warehouse.pool)
  const events: string[] = []
  const blocker = await warehouse.pool.connect()
  await blocker.query('begin')
  await blocker.query('select from vitalsync.ledger where profile_id = $1 for update', [ada])

  const reading = scoresReading({ profileId: ada, sentAtMs: warehouse.startedAtMs, records: [score(1, 0.1)] })
  const stored = writer.store(reading).then(() => events.push('stored'))
  const waiting = () =>
    warehouse.rows(`select 1 from pg_stat_activity where wait_event_type = 'Lock'
    and datname = current_database()`)
  await expect.poll(waiting).toHaveLength(1)
  const closed = writer.close().then(() => events.push('closed'))
  for (let turn = 0; turn < 5; turn += 1) await warehouse.rows('select 1')
  expect(events).toEqual([])
  await blocker.query('commit')
  blocker.release()
  await Promise.all([stored, closed])

  expect(events).toEqual(['stored', 'closed'])
})
