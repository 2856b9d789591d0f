import { expect } from 'vitest'
import { soon } from '../../support/fixtures.ts'
import { countLockWaiters } from '../../support/lock-waiters.ts'
import { recordPage } from '../../support/record-orders.ts'
import { connect, endedJob, march, scoreRecord, scoresReading, test } from '../../support/test-warehouse.ts'

const wanted = { wantedFrom: new Date('2026-01-01T00:00:00Z'), state: 'active' } as const

test('people are taken in once, in any number of ways', async ({ warehouse }) => {
  const { profiles, rows } = warehouse

  expect(await profiles.add(['ada', 'bob', 'ada'], wanted)).toEqual({ added: 2, known: 0, erased: 0 })
  const both = await Promise.all([profiles.add(['bob', 'eve', 'zoe'], wanted), profiles.add(['zoe', 'eve'], wanted)])

  expect(both.reduce((sum, { added }) => sum + added, 0)).toBe(2)
  expect(await rows('select count(*)::int as n from vitalsync.profiles')).toEqual([{ n: 4 }])
  const [{ streams, people } = {}] = await rows(
    'select count(distinct stream)::int as streams, count(distinct profile_id)::int as people from vitalsync.ledger',
  )
  expect([streams, people]).toEqual([9, 4])
  expect(await rows('select id, external_id from vitalsync.profiles order by id')).toEqual(
    await rows('select id, external_id from vitalsync.names order by id'),
  )
})

test('pages by id neither skip nor repeat anybody', async ({ warehouse }) => {
  const { profiles } = warehouse
  const people = await warehouse.addProfiles(...Array.from({ length: 25 }, (_, index) => `person-${index}`))
  const seen: string[] = []

  for (let afterId = '0'; ; ) {
    const page = await profiles.list(afterId, 10)
    seen.push(...page.ids)
    afterId = page.lastId
    if (page.ids.length < 10) break
  }

  expect(seen).toEqual([...people].sort((a, b) => Number(a) - Number(b)))
})

test('of the erased nothing is left but a hash, and no import brings them back', async ({ warehouse }) => {
  const { profiles, writer, outbox, ledger, runs, rows, startedAtMs: sentAtMs } = warehouse
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada@example.org', 'bob')
  const run = await runs.create('sync', {})
  for (const profileId of [ada, bob]) {
    const odd = [{ path: '', reason: 'odd', raw: '{}' }]
    await writer.store(
      scoresReading({ profileId, sentAtMs, invalid: odd, records: [scoreRecord({ scoreDateTime: march(2) })] }),
    )
    await writer.store(
      scoresReading({
        profileId,
        sentAtMs: sentAtMs + 1,
        records: [scoreRecord({ scoreDateTime: march(2), value: 1 })],
      }),
    )
    const item = { profileId, stream: 'data-logs', itemKey: 'a', body: '{}', startAtMs: 0, endAtMs: 0 } as const
    await outbox.add([item])
    await ledger.recordRefusal({
      profileId,
      stream: 'scores',
      window: { startMs: 0, endMs: 1 },
      status: 400,
      reason: 'no',
    })
    await ledger.recordFailed(endedJob(profileId), { reason: 'no', hint: undefined })
    await recordPage(runs, run.id, [{ profileId, job: 'sync-profile', params: {} }])
  }

  const removed = await profiles.erase(ada)

  expect(removed.filter(({ rows }) => rows > 0).map(({ table }) => table)).toEqual(
    expect.arrayContaining([
      'ledger',
      'scores',
      'history',
      'quarantine',
      'refusals',
      'failures',
      'parcels',
      'items',
      'orders',
      'profiles',
    ]),
  )
  const tables = await rows(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.columns
     where column_name = 'profile_id' and table_schema = 'vitalsync'`,
  )
  expect(tables.length).toBeGreaterThan(12)
  for (const { name } of tables) {
    expect(await rows(`select 1 from ${name} where profile_id = $1`, [ada]), String(name)).toEqual([])
  }
  expect(await rows('select 1 from vitalsync.scores where profile_id = $1', [bob])).toHaveLength(1)
  expect(await profiles.isErased('ada@example.org')).toBe(true)
  expect(await profiles.add(['ada@example.org', 'eve'], wanted)).toEqual({ added: 1, known: 0, erased: 1 })
  expect(await profiles.findId('ada@example.org')).toBeUndefined()
  expect(await profiles.erase(ada)).toEqual([])
})

test('an import that meets an erasure under way does not bring the person back', async ({
  warehouse,
  warehouseUrl,
}) => {
  const { profiles, rows } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  await rows('create table vitalsync.held_up (profile_id bigint references vitalsync.names on delete cascade)')
  const other = await connect(warehouseUrl)
  // Holds up the erasure at its very last step, when the person's row is gone but nobody can see that yet.
  await other.query('begin; lock vitalsync.held_up in access exclusive mode')
  const erasing = profiles.erase(ada)
  const blocked = () => countLockWaiters(rows)
  await expect.poll(blocked, soon).toBe(1)

  const adding = profiles.add(['ada'], wanted)
  await expect.poll(blocked, soon).toBe(2)
  await other.query('commit')

  await erasing
  expect(await adding).toEqual({ added: 0, known: 0, erased: 1 })
  expect(await profiles.findId('ada')).toBeUndefined()
  await other.end()
})
