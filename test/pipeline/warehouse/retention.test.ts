import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { HOUR } from '../../../src/base/time/units.ts'
import { deleteOldRows, retentionsOf } from '../../../src/pipeline/warehouse/retention.ts'
import { recordPage } from '../../support/record-orders.ts'
import { test, type Warehouse } from '../../support/test-warehouse.ts'

const retentions = retentionsOf({ runsKeptDays: 90 })
const never = new AbortController().signal
const slot = new Date('2026-03-02T03:00:00Z')
const order = (profileId: string) => ({ profileId, job: 'sync-profile', params: {} })

function retentionOf(subject: string) {
  const retention = retentions.find((other) => other.subject === subject)
  if (!retention) throw new Error(`no retention of ${subject}`)
  return retention
}

const deleteAll = ({ pool }: Warehouse, subject: string) => deleteOldRows(pool, retentionOf(subject), never)

/** Inserts rows of these names and ages, as `values` of the two columns. */
const insert = (table: string, columns: string, values: string) =>
  `insert into vitalsync.${table} (${columns}) ${values}`
const minutesAround = (days: number) =>
  `values ('kept', now() - interval '${days} days' + interval '1 minute'), ('old', now() - interval '${days} days' - interval '1 minute')`
const daysAround = (days: number) => `select name, 'scores', (now() at time zone 'UTC')::date - age
  from (values ('kept', ${days}), ('old', ${days + 1})) as r(name, age)`

/** By subject, how a row that is kept and one that is not are inserted, and where their names are. */
const agedRows: Record<string, { readonly insert: string; readonly name: string; readonly table: string }> = {
  'runs that ended, with their slots and orders': {
    insert: insert('runs', 'state, kind, ended_at', `select 'done', * from (${minutesAround(90)}) as r`),
    name: 'kind',
    table: 'runs',
  },
  'tokens that expired': {
    insert: insert('tokens', 'account, expires_at', minutesAround(90)),
    name: 'account',
    table: 'tokens',
  },
  'counts of lateness': {
    insert: insert(
      'lateness',
      'account, stream, observed_on, bin, seen, came, changed',
      `select r.*, 3, 1, 0, 0 from (${daysAround(60)}) as r`,
    ),
    name: 'account',
    table: 'lateness',
  },
  'counts of types': {
    insert: insert('drift_types', 'type, stream, read_on, records', `select r.*, 1 from (${daysAround(90)}) as r`),
    name: 'type',
    table: 'drift_types',
  },
  'silent differences': {
    insert: insert(
      'silent_differences',
      'profile_id, stream, records, late_ms, account, found_at',
      `select $1::int8, 'scores', 1, 1, * from (${minutesAround(90)}) as r`,
    ),
    name: 'account',
    table: 'silent_differences',
  },
  'differences that a verification found': {
    insert: insert(
      'differences',
      'profile_id, stream, span, found_at, cause, missing_here, differing, missing_upstream',
      `select $1::int8, case when n > 10000 then 'old' else 'kept' end, tstzrange(d, d + interval '1 second'), d, 'lost-here', 1, 0, 0
       from (select n, timestamptz '2026-01-01' - n * interval '1 minute' as d from generate_series(1, 12003) as n) as r`,
    ),
    name: 'stream',
    table: 'differences',
  },
  'counts of verified windows': {
    insert: insert(
      'verified_windows',
      'stream, verified_on',
      `select name, day from (${daysAround(400)}) as r(name, stream, day)`,
    ),
    name: 'stream',
    table: 'verified_windows',
  },
  'heartbeats of workers that were killed': {
    insert: insert(
      'workers',
      'id, queue, seen_at, troubles',
      `select gen_random_uuid(), r.*, '[]' from (${minutesAround(1)}) as r`,
    ),
    name: 'queue',
    table: 'workers',
  },
  'changes of silence': {
    insert: insert('silence_events', 'profile_id, subject, at', `select $1::int8, * from (${minutesAround(400)}) as r`),
    name: 'subject',
    table: 'silence_events',
  },
  'the audit': {
    insert: insert('audit', 'role, action, who, at', `select '', '', * from (${minutesAround(400)}) as r`),
    name: 'who',
    table: 'audit',
  },
}

test('each retention is tested', () => {
  expect(Object.keys(agedRows)).toEqual(retentions.map(({ subject }) => subject))
})

for (const [subject, { insert: statement, name, table }] of Object.entries(agedRows)) {
  test(`rows that are kept no longer are deleted, and no younger ones: ${subject}`, async ({ warehouse }) => {
    const { rows, pool } = warehouse
    const [ada = ''] = await warehouse.addProfiles('ada')
    await rows(statement, statement.includes('$1') ? [ada] : [])
    const counts = () =>
      rows(`select ${name} as name, count(*)::int as n from vitalsync.${table} group by 1 order by 1`)
    const [kept, old] = await counts()
    expect([kept?.['name'], old?.['name']]).toEqual(['kept', 'old'])

    // Two workers begin at the same moment.
    const deleted = await Promise.all([1, 2].map(() => deleteOldRows(pool, retentionOf(subject), never)))

    expect(deleted.reduce((sum, n) => sum + n, 0)).toBe(old?.['n'])
    expect(await counts()).toEqual([kept])
    expect(await deleteAll(warehouse, subject)).toBe(0)
  })
}

test('rows are deleted in portions, until the worker closes', async ({ warehouse }) => {
  await warehouse.rows(`insert into vitalsync.audit (who, role, action, at)
    select '', '', '', now() - interval '500 days' - n * interval '1 second' from generate_series(1, 2500) as n`)
  const audit = retentionOf('the audit')

  expect(await deleteOldRows(warehouse.pool, audit, AbortSignal.abort())).toBe(1000)
  expect(await deleteOldRows(warehouse.pool, audit, never)).toBe(1500)
})

const endedRuns = 'runs that ended, with their slots and orders'

test('runs that ended long ago are deleted, except running ones and the newest slot of a schedule', async ({
  warehouse,
}) => {
  const { runs, rows } = warehouse
  const hours = (count: number) => new Date(slot.getTime() + count * HOUR)
  const ids: string[] = []
  for (let index = 0; index < 4; index += 1) ids.push((await runs.claimSlot('nightly', hours(index)))?.id ?? '')
  const [oldest = '', old = '', fresh = '', newest = ''] = ids
  const other = await runs.create('sync', {})
  const running = await runs.create('sync', {})
  for (const id of [...ids, other.id]) await runs.end(id, 'done')
  await rows(`update vitalsync.runs set ended_at = now() - interval '91 days' where id <> $1 and id <> $2`, [
    fresh,
    running.id,
  ])
  await rows(`insert into vitalsync.tokens (account, expires_at) values
    ('old', now() - interval '91 days'), ('fresh', now() - interval '1 day'), ('unused', null)`)

  expect(await deleteAll(warehouse, endedRuns)).toBe(4)
  expect(await deleteAll(warehouse, 'tokens that expired')).toBe(1)

  expect((await runs.listNewest(10)).map(({ id }) => id)).toEqual([running.id, fresh])
  expect(await runs.lastSlot('nightly')).toEqual(hours(3))
  expect(await rows('select run_id from vitalsync.slots order by slot_at')).toEqual([
    { run_id: fresh },
    { run_id: null },
  ])
  expect(await rows('select account from vitalsync.tokens order by 1')).toEqual([
    { account: 'fresh' },
    { account: 'unused' },
  ])
  expect(await runs.claimSlot('nightly', hours(3))).toBeUndefined()
  expect([oldest, old, newest]).not.toContain('')
  expect(await deleteAll(warehouse, endedRuns)).toBe(0)
})

test('a running run keeps its orders when ended runs are deleted, and each schedule its newest slot', async ({
  warehouse,
}) => {
  const { runs, rows } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const hours = (count: number) => new Date(slot.getTime() + count * HOUR)
  const old = await runs.claimSlot('nightly', slot)
  await runs.end(old?.id ?? '', 'done')
  await rows(`update vitalsync.runs set ended_at = now() - interval '91 days'`)
  const running = await runs.claimSlot('sweep', hours(-1))
  await recordPage(runs, running?.id ?? '', [order(ada)])
  await rows(
    `insert into vitalsync.tokens (account, expires_at, lease_until) values
       ('leased', now() - interval '92 days', now() + interval '1 hour'), ('free', now() - interval '91 days', null)`,
  )

  expect(await deleteAll(warehouse, endedRuns)).toBe(1)
  expect(await deleteAll(warehouse, 'tokens that expired')).toBe(1)

  expect(await rows('select account from vitalsync.tokens')).toEqual([{ account: 'leased' }])
  expect((await runs.listOpenOrders(running?.id ?? '', '0', 10)).orders).toMatchObject([{ profileId: ada }])
  expect(await rows('select schedule, run_id from vitalsync.slots order by 1')).toEqual([
    { schedule: 'nightly', run_id: null },
    { schedule: 'sweep', run_id: running?.id },
  ])
})

test('docs/how-to/operating.md says what is deleted, and after how long', async () => {
  const text = await readFile(new URL('../../../docs/how-to/operating.md', import.meta.url), 'utf8')
  const [section = ''] = (text.split('## Retention')[1] ?? '').split('\n## ')
  const [, , ...table] = section.split('\n').filter((line) => line.startsWith('|'))

  expect(table.map((line) => line.split(' | ').slice(0, 2).join(' | '))).toEqual(
    retentions.map(({ subject, kept }) => `| ${subject} | ${kept}`),
  )
})
