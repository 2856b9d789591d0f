import { expect, vi } from 'vitest'
import { catalogue } from '../../../../config/streams.ts'
import { HOUR, MINUTE } from '../../../../src/base/time/units.ts'
import { createProfiles } from '../../../../src/pipeline/warehouse/profiles/stored-profiles.ts'
import { soon } from '../../../support/fixtures.ts'
import { countLockWaiters } from '../../../support/lock-waiters.ts'
import { recordPage } from '../../../support/record-orders.ts'
import { connect, endedJob, march, scoreRecord, scoresReading, test } from '../../../support/test-warehouse.ts'

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

  for (let afterId = '0'; seen.length <= people.length; ) {
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
  expect(await profiles.erasedAmong(['ada@example.org', 'bob'])).toEqual(new Set(['ada@example.org']))
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
  await rows('create table vitalsync.held_up (name_id bigint references vitalsync.names on delete cascade)')
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

test('the first two erasures at once share one key, by which both are known again', async ({
  warehouse,
  warehouseUrl,
}) => {
  const { profiles, rows } = warehouse
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  await rows('create table vitalsync.held_up (name_id bigint references vitalsync.names on delete cascade)')
  const other = await connect(warehouseUrl)
  await other.query('begin; lock vitalsync.held_up in access exclusive mode')
  const erasing = [profiles.erase(ada)]
  await expect.poll(() => countLockWaiters(rows), soon).toBe(1)
  erasing.push(profiles.erase(bob))
  await expect.poll(() => countLockWaiters(rows), soon).toBe(2)

  await other.query('commit')
  await Promise.all(erasing)

  expect(await profiles.erasedAmong(['ada', 'bob', 'eve'])).toEqual(new Set(['ada', 'bob']))
  await other.end()
})

test('an erasure with a TOKEN_KEY that does not open the key of the hashes fails, and leaves that key', async ({
  warehouse,
}) => {
  const { profiles, pool } = warehouse
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  await profiles.erase(ada)
  const others = createProfiles({ pool, catalogue, tokenKeys: [Buffer.alloc(32, 9)] })

  await expect(others.erase(bob)).rejects.toThrow('TOKEN_KEY does not open')

  expect(await profiles.findId('bob')).toEqual({ profileId: bob })
  expect(await profiles.erasedAmong(['ada'])).toEqual(new Set(['ada']))
})

/** Rows of a profile that no reading, push or refusal of a test leaves; `later`: of a version to come. */
const rowsOfOthers = [
  `vitalsync.silent_differences (account, profile_id, stream, found_at, records, late_ms) values ('account', $1, 'scores', now(), 1, 1)`,
  `vitalsync.differences (profile_id, stream, span, found_at, cause, missing_here, differing, missing_upstream)
   values ($1, 'scores', tstzrange(now(), null), now(), 'lost-here', 1, 0, 0)`,
  `vitalsync.drift_people (profile_id, stream, what, path, detail, records, first_seen_at, last_seen_at)
   values ($1, 'scores', 'new-field', 'a', '', 1, now(), now())`,
  `vitalsync.silence (profile_id, subject, last_at) values ($1, 'a', now())`,
  `vitalsync.silence_events (profile_id, subject, at) values ($1, 'a', now())`,
  'vitalsync.later values ($1)',
  'study.answers values ($1)',
]

test('an erasure takes the rows of one profile alone, in every table', async ({ warehouse }) => {
  const { profiles, writer, outbox, ledger, rows, startedAtMs: sentAtMs } = warehouse
  await rows('create table vitalsync.later (profile_id bigint)')
  // A table of somebody else, in a schema of theirs.
  await rows('create schema study create table answers (profile_id bigint)')
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  for (const profileId of [ada, bob]) {
    const invalid = [{ path: '', reason: 'odd', raw: '{}' }]
    const reading = { profileId, invalid, tag: '"1"' }
    const record = scoreRecord({ scoreDateTime: march(2) })
    await writer.store(scoresReading({ ...reading, sentAtMs, records: [record] }))
    await writer.store(scoresReading({ ...reading, sentAtMs: sentAtMs + 1, records: [{ ...record, value: 1 }] }))
    // A tag is held for a reading without faults.
    const same = { ...reading, invalid: [], sentAtMs: sentAtMs + 2, records: [{ ...record, value: 1 }] }
    await writer.store(scoresReading(same))
    await outbox.add([{ profileId, stream: 'data-logs', itemKey: 'a', body: '{}', startAtMs: 0, endAtMs: 0 }])
    const refusal = { window: { startMs: 0, endMs: 1 }, status: 400, reason: 'no' }
    await ledger.recordRefusal({ profileId, stream: 'scores', ...refusal })
    await ledger.recordFailed(endedJob(profileId), { reason: 'no', hint: undefined })
    await rows(`insert into vitalsync.tokens (account, profile_id) values ('account', $1)`, [profileId])
    for (const row of rowsOfOthers) await rows(`insert into ${row}`, [profileId])
  }
  const tables = await rows(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.columns join information_schema.tables
       using (table_schema, table_name) where column_name = 'profile_id' and table_schema = 'vitalsync' and table_type = 'BASE TABLE'`,
  )
  const countsOf = async (profileId: string) => {
    const counts: Record<string, unknown> = {}
    for (const { name } of tables) {
      const [row] = await rows(`select count(*)::int as n from ${name} where profile_id = $1`, [profileId])
      counts[String(name)] = row?.['n']
    }
    return counts
  }
  const before = await countsOf(bob)

  const removed = await profiles.erase(ada)
  const counts = removed.flatMap(({ table, rows }) => (rows === 0 ? [] : [[`vitalsync.${table}`, rows]]))
  const own = Object.entries(before).filter(([, rows]) => rows !== 0)
  expect(Object.fromEntries(counts)).toEqual(
    Object.fromEntries([...own, ['vitalsync.profiles', 1], ['vitalsync.names', 1]]),
  )

  expect(await countsOf(bob)).toEqual(before)
  expect(Object.values(before).filter((n) => n !== 0).length).toBeGreaterThanOrEqual(16)
  expect(Object.values(await countsOf(ada)).filter((n) => n !== 0)).toEqual([])
  expect(await rows('select profile_id from study.answers order by 1')).toEqual([
    { profile_id: ada },
    { profile_id: bob },
  ])
  expect(await profiles.list('0', 10)).toEqual({ ids: [bob], lastId: bob })
  expect(await profiles.findId('bob')).toEqual({ profileId: bob })
  expect(await profiles.erasedAmong(['bob'])).toEqual(new Set())
})

test('a reading that is stored while its profile is erased leaves no record', async ({ warehouse, warehouseUrl }) => {
  const { profiles, writer, rows, startedAtMs: sentAtMs } = warehouse
  const [ada = '', bob = ''] = await warehouse.addNeighbours(2)
  await writer.store(scoresReading({ profileId: bob, sentAtMs, records: [scoreRecord({ scoreDateTime: march(2) })] }))
  const reading = await connect(warehouseUrl)
  await reading.query('begin')
  await reading.query('select from vitalsync.ledger where profile_id = $1 for update', [ada])
  await reading.query(
    `insert into vitalsync.scores select (jsonb_populate_record(s, jsonb_build_object('profile_id', $1::int8))).*
     from vitalsync.scores s where profile_id = $2`,
    [ada, bob],
  )
  const erasing = profiles.erase(ada)
  await expect.poll(() => countLockWaiters(rows), soon).toBe(1)
  await reading.query('commit')
  await erasing

  expect(await rows('select profile_id from vitalsync.scores')).toEqual([{ profile_id: bob }])
  await reading.end()
})

test('while an erasure is under way its person is not registered, and another erasure finds nobody', async ({
  warehouse,
  warehouseUrl,
}) => {
  const { profiles, rows } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const other = await connect(warehouseUrl)
  await other.query('begin')
  await other.query('select from vitalsync.ledger where profile_id = $1 for update', [ada])
  const erasing = profiles.erase(ada)
  await expect.poll(() => countLockWaiters(rows), soon).toBe(1)
  const [again, registering] = [profiles.erase(ada), profiles.beginRegistration(ada, MINUTE)]
  await expect.poll(() => countLockWaiters(rows), soon).toBe(3)
  await other.query('commit')

  expect((await erasing).find(({ table }) => table === 'names')).toEqual({ table: 'names', rows: 1 })
  expect(await again).toEqual([])
  expect(await registering).toBe(false)
  await other.end()
})

test('an erasure waits for nobody who holds the rows of another person', async ({ warehouse, warehouseUrl }) => {
  const { profiles } = warehouse
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const other = await connect(warehouseUrl)
  await other.query('begin')
  await other.query('select from vitalsync.profiles where id = $1 for update', [bob])

  expect(await profiles.erase(ada)).toContainEqual({ table: 'profiles', rows: 1 })
  await other.end()
})

test('a person whose hash is there already can be erased', async ({ warehouse }) => {
  const { profiles, rows } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  await profiles.erase(ada)
  // As after a restore of the people alone.
  const hashes = 'select digest from vitalsync.tombstones'
  const before = await rows(hashes)
  await rows(`insert into vitalsync.names (external_id) values ('ada')`)
  const [{ id } = {}] = await rows('select id from vitalsync.names')

  expect(await profiles.erase(String(id))).toContainEqual({ table: 'names', rows: 1 })
  expect(await rows(hashes)).toEqual(before)
})

test('an erasure leaves in the audit that somebody looked, and not at whom', async ({ warehouse }) => {
  const { profiles, rows } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  await rows(`insert into vitalsync.audit (who, role, action, profile_id) values ('ops', 'viewer', 'looked', $1)`, [
    ada,
  ])

  await profiles.erase(ada)

  expect(await rows('select who, action, profile_id from vitalsync.audit')).toEqual([
    { who: 'ops', action: 'looked', profile_id: null },
  ])
})

test('an erasure that fails leaves all as it was', async ({ warehouse }) => {
  const { profiles, runs, rows } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const run = await runs.create('sync', {})
  await recordPage(runs, run.id, [{ profileId: ada, job: 'sync-profile', params: {} }])
  const state = async () => [
    await runs.listOrdersOf(ada),
    await runs.get(run.id),
    await rows('select stream from vitalsync.ledger order by stream'),
    await rows('select from vitalsync.tombstones'),
    await profiles.findId('ada'),
  ]
  const before = await state()
  await rows(`create function keep_name() returns trigger language plpgsql as $$ begin raise 'kept'; end $$`)
  await rows('create trigger keep_name before delete on vitalsync.names for each row execute function keep_name()')

  await expect(profiles.erase(ada)).rejects.toThrow('kept')

  expect(await state()).toEqual(before)
})

test('a registration lasts by the clock of the database, until the profile is active', async ({ warehouse }) => {
  const { profiles } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const leftMinutes = async () => Math.round((await profiles.registrationLeftMs(ada)) / MINUTE)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + HOUR })

  await profiles.beginRegistration(ada, 20 * MINUTE)
  expect(await leftMinutes()).toBe(20)
  vi.useRealTimers()
  expect(await leftMinutes()).toBe(20)
  await profiles.setState(ada, 'active')
  expect(await leftMinutes()).toBe(0)
})

test('lists leave out profiles that are gone, not due, or finished since', async ({ warehouse }) => {
  const { profiles, rows } = warehouse
  const ids = await warehouse.addProfiles('a', 'b', 'c', 'd', 'e', 'f')
  const [gone = '', late = '', due = '', fresh = '', never = '', alsoDue = ''] = ids
  const slotAt = new Date('2026-03-02T03:00:00Z')
  const dueIds = [gone, due, alsoDue]
  await rows('update vitalsync.profiles set due_at = $2 where id = any($1)', [dueIds, new Date('2026-03-01')])
  await rows(`update vitalsync.profiles set due_at = now() + interval '1 hour' where not (id = any($1))`, [dueIds])
  // An update moves a row behind the others.
  await rows('update vitalsync.profiles set finished_at = $2 where id = $1', [fresh, slotAt])
  await rows(`update vitalsync.profiles set finished_at = $2 where id = any($1)`, [
    [gone, late, due],
    new Date('2026-03-01'),
  ])
  expect(await profiles.setState(gone, 'gone')).toBe(true)

  expect((await profiles.listDue('0', 10)).ids).toEqual([due, alsoDue])
  expect((await profiles.listDue(due, 10)).ids).toEqual([alsoDue])
  expect((await profiles.listUnfinishedSince(slotAt, '0', 10)).ids).toEqual([late, due, never, alsoDue])
  expect((await profiles.listUnfinishedSince(slotAt, late, 10)).ids).toEqual([due, never, alsoDue])
  expect((await profiles.list('0', 10)).ids).toEqual([late, due, fresh, never, alsoDue])
  expect((await profiles.list('0', 10, [gone, never, late])).ids).toEqual([late, never])
  expect((await profiles.list(late, 10, [gone, never, late])).ids).toEqual([never])
})

test('a profile that is gone is neither registered nor active again, and no other profile changes', async ({
  warehouse,
}) => {
  const { profiles, rows } = warehouse
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const leaseMs = 3_600_000
  expect(await profiles.beginRegistration(ada, leaseMs)).toBe(true)

  expect(await profiles.registrationLeftMs(ada)).toBeGreaterThan(leaseMs / 2)
  expect(await profiles.registrationLeftMs(bob)).toBe(0)
  await profiles.beginRegistration(bob, leaseMs)
  await profiles.endRegistration(ada)
  expect(await profiles.registrationLeftMs(ada)).toBe(0)
  expect(await profiles.registrationLeftMs(bob)).toBeGreaterThan(0)
  expect(await profiles.setState(ada, 'gone')).toBe(true)
  expect(await profiles.setState(ada, 'active')).toBe(false)
  expect(await profiles.beginRegistration(ada, leaseMs)).toBe(false)
  expect(await profiles.setState(ada, 'gone')).toBe(true)
  expect(await rows('select state from vitalsync.profiles order by id')).toEqual([
    { state: 'gone' },
    { state: 'active' },
  ])
})
