import { expect } from 'vitest'
import { Rejected } from '../../src/errors.ts'
import { soon } from '../support/fixtures.ts'
import { connect, march, reading, score, test } from '../support/warehouse.ts'

const good = [score({ scoreDateTime: march(1) }), score({ scoreDateTime: march(3) })]

const poisons = {
  'the character U+0000': `{"type":"sleep","scoreDateTime":"${march(2)}","note":"a\\u0000b"}`,
  'the character U+0000 in a column': `{"type":"sleep","scoreDateTime":"${march(2)}","state":"a\\u0000b"}`,
  'half a character': `{"type":"sleep","scoreDateTime":"${march(2)}","note":"\\ud800"}`,
  'a number beyond all bounds': `{"type":"sleep","scoreDateTime":"${march(2)}","value":1e200000}`,
  'endless nesting': `{"type":"sleep","scoreDateTime":"${march(2)}","deep":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
  'a name of ten thousand letters': `{"type":"${'x'.repeat(10_000)}","scoreDateTime":"${march(2)}"}`,
  'no name': `{"scoreDateTime":"${march(2)}"}`,
  'a day in the year 99999': '{"type":"sleep","scoreDateTime":"99999-01-01T00:00:00Z"}',
}

test('a record that nobody can store costs neither its neighbours nor other people anything', async ({ warehouse }) => {
  const whole = await warehouse.people('ada')
  const poisoned = await warehouse.people(...Object.keys(poisons))
  const { writer, rows, startedAtMs: sentAtMs } = warehouse
  const raws = Object.values(poisons)

  const stored = await Promise.all([
    writer.store(reading({ profileId: whole[0] ?? '', sentAtMs, records: good })),
    ...poisoned.map((profileId, index) => {
      const request = reading({ profileId, sentAtMs, records: good })
      const raw = raws[index] ?? ''
      return writer.store({ ...request, records: [...request.records, { raw, fields: JSON.parse(raw) }] })
    }),
  ])

  expect(stored.map(({ written, odd }) => [written, odd])).toEqual([[2, 0], ...raws.map(() => [2, 1])])
  const aside = await rows('select profile_id, direction, body, reason, times from vitalsync.quarantine order by 1')
  const asExpected = poisoned.map((profile_id, index) => ({ profile_id, body: raws[index], times: 1 }))
  asExpected.sort((a, b) => Number(a.profile_id) - Number(b.profile_id))
  expect(aside).toMatchObject(asExpected.map((row) => ({ ...row, direction: 'pull' })))
  for (const row of aside) expect(String(row['reason'])).not.toMatch(/xxx|ud800|99999|1e200/)
  for (const id of poisoned) expect(await warehouse.covered(id, 'scores')).toContain('2026-03-05')
})

test('seen again, what was set aside only counts up', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.people('ada')
  const { writer, rows, startedAtMs } = warehouse
  const odd = [
    { path: 'type', reason: 'missing', raw: '{"a":1}' },
    { path: 'type', reason: 'missing', raw: '{"a":1}' },
  ]

  for (const later of [0, 10]) {
    await writer.store(reading({ profileId: ada, sentAtMs: startedAtMs + later, records: [], odd }))
  }

  expect(await rows('select times from vitalsync.quarantine')).toEqual([{ times: 2 }])
})

test('a reading that Postgres refuses for no record of it stores nothing and covers nothing; its neighbours are stored', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.people('ada', 'bob')
  const { writer, rows, startedAtMs: sentAtMs } = warehouse
  await rows('alter table vitalsync.scores add constraint refuse check (value < 0.6)')
  const refused = reading({ profileId: ada, sentAtMs, records: [score({ scoreDateTime: march(2), value: 0.7 })] })

  const [mine, theirs] = await Promise.allSettled([
    writer.store(refused),
    writer.store(reading({ profileId: bob, sentAtMs, records: good })),
  ])

  expect(mine).toMatchObject({ status: 'rejected', reason: expect.any(Rejected) })
  expect(theirs).toMatchObject({ status: 'fulfilled', value: { written: 2 } })
  expect(await warehouse.covered(ada, 'scores')).toBe('{}')
})

test('a deadlock is resolved by beginning again', async ({ warehouse, warehouseUrl }) => {
  const people = await warehouse.people('ada', 'bob')
  const [ada = '', bob = ''] = people
  const { writer, rows, startedAtMs: sentAtMs } = warehouse
  const other = await connect(warehouseUrl)
  const lock = (id: string) => other.query('select 1 from vitalsync.ledger where profile_id = $1 for update', [id])
  await other.query(`set deadlock_timeout = '10s'; begin`)
  await lock(bob)

  // The writer locks ada and waits for bob; then we ask for ada: Postgres ends the writer's transaction.
  const storing = Promise.all(people.map((profileId) => writer.store(reading({ profileId, sentAtMs, records: good }))))
  await expect
    .poll(
      () => rows(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`),
      soon,
    )
    .toHaveLength(1)
  await lock(ada)
  await other.query('commit')

  expect(await storing).toMatchObject([{ written: 2 }, { written: 2 }])
  await other.end()
})
