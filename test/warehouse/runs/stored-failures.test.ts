import { expect } from 'vitest'
import { createFailures, type FailureFilter } from '../../../src/warehouse/runs/stored-failures.ts'
import { test, type Warehouse } from '../../support/test-warehouse.ts'

/** Two jobs and three refused windows of two people, from the oldest to the newest. One window lies before the wanted history. */
async function withFailures({ addNeighbours, rows, pool }: Warehouse) {
  const [ada = '', bob = ''] = await addNeighbours(2)
  await rows(`insert into vitalsync.failures (profile_id, job, reason, scope, first_at, last_at) values
    (${ada}, 'sync-profile', 'out of reach', '', '2026-03-01', '2026-03-01'),
    (${bob}, 'backfill-profile', '100 % lost', '[["from",1]]', '2026-03-01', '2026-03-02')`)
  await rows(`insert into vitalsync.refusals (profile_id, stream, span, status, reason, first_at, last_at, next_try_at) values
    (${ada}, 'scores', '[2020-03-01,2020-03-05)', 404, 'no such data', '2026-03-01', '2026-03-03', '2126-03-01'),
    (${ada}, 'scores', '[2026-03-01,2026-03-05)', 422, 'no such data', '2026-03-01', '2026-03-04', '2126-03-01'),
    (${bob}, 'trends', '[2026-03-01,2026-03-05)', 404, 'no such data', '2026-03-01', '2026-03-05', '2126-03-01')`)
  await rows(`update vitalsync.profiles set due_at = '2126-03-01'`)
  const failures = createFailures({ pool })
  const listed = async (filter: FailureFilter, limit = 10) =>
    (await failures.list(filter, limit)).map(({ subject, status }) => `${subject} ${status}`)
  return { ada, bob, failures, listed }
}

const newestFirst = ['trends 404', 'scores 422', 'scores 404', 'backfill-profile null', 'sync-profile null']

test('failures are listed from the newest on, of all or of those that a filter names', async ({ warehouse }) => {
  const { failures, listed } = await withFailures(warehouse)
  const [trends, , , , sync] = await failures.list({}, 10)

  expect(await listed({})).toEqual(newestFirst)
  expect(await listed({}, 2)).toEqual(newestFirst.slice(0, 2))
  expect(await listed({ ids: [sync?.id ?? '', trends?.id ?? ''] })).toEqual(['trends 404', 'sync-profile null'])
  expect(await listed({ reason: 'NO SUCH' })).toEqual(newestFirst.slice(0, 3))
  expect(await listed({ reason: '0 %' })).toEqual(['backfill-profile null'])
  expect(await listed({ reason: '%lost' })).toEqual([])
  expect(await listed({ profile: trends?.externalId ?? '' })).toEqual(['trends 404', 'backfill-profile null'])
})

test('failures of one cause have kind, subject, status and reason in common', async ({ warehouse }) => {
  const { listed } = await withFailures(warehouse)
  const causeOf = async (text: string) => {
    const [row] = await warehouse.rows('select md5($1) as cause', [text])
    return String(row?.['cause'])
  }

  expect(await listed({ cause: await causeOf('window scores 404 no such data') })).toEqual(['scores 404'])
  expect(await listed({ cause: await causeOf('job sync-profile 0 out of reach') })).toEqual(['sync-profile null'])
})

test('a retry makes the chosen windows due, and the profiles that a sweep can help', async ({ warehouse }) => {
  const { ada, bob, failures } = await withFailures(warehouse)
  const due = () =>
    warehouse.rows(`select profile_id, stream, lower(span) < '2021-01-01' as old from vitalsync.refusals
      where next_try_at <= now() order by 1, 2, 3`)
  const dueProfiles = () => warehouse.rows('select id from vitalsync.profiles where due_at <= now() order by 1')

  expect(await failures.retry({ reason: 'lost' })).toBe(0)
  expect([await due(), await dueProfiles()]).toEqual([[], []])
  const [trends] = await failures.list({}, 1)
  expect(await failures.retry({ ids: [trends?.id ?? ''] })).toBe(1)
  expect(await due()).toEqual([{ profile_id: bob, stream: 'trends', old: false }])
  expect(await dueProfiles()).toEqual([{ id: bob }])

  expect(await failures.retry({})).toBe(3)
  expect(await due()).toHaveLength(3)
  expect(await dueProfiles()).toEqual([{ id: ada }, { id: bob }])
})

test('what no sweep repeats comes as back-fills: failed ones, and windows before the wanted history', async ({
  warehouse,
}) => {
  const { ada, bob, failures } = await withFailures(warehouse)
  const range = { from: Date.parse('2020-03-01'), to: Date.parse('2020-03-05'), streams: ['scores'] }

  expect(await failures.listBackfills({})).toEqual([
    { params: range, profileIds: [ada], failures: 1 },
    { params: { from: 1 }, profileIds: [bob], failures: 1 },
  ])
  expect(await failures.listBackfills({ reason: 'lost' })).toEqual([
    { params: { from: 1 }, profileIds: [bob], failures: 1 },
  ])
})

test('discarded jobs are gone, and discarded windows stay and are never read again', async ({ warehouse }) => {
  const { failures, listed } = await withFailures(warehouse)

  expect(await failures.discard({ reason: 'lost' })).toBe(1)
  expect(await listed({})).toEqual(newestFirst.filter((one) => one !== 'backfill-profile null'))
  expect(await failures.discard({ ids: (await failures.list({}, 1)).map(({ id }) => id) })).toBe(1)

  const tries = (await failures.list({}, 10)).map(({ subject, nextTryAt }) => [subject, nextTryAt === null])
  expect(tries).toEqual([
    ['trends', true],
    ['scores', false],
    ['scores', false],
    ['sync-profile', false],
  ])
})
