import { expect } from 'vitest'
import { catalogue } from '../../../../config/streams.ts'
import { openWarehousePool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../../../../src/pipeline/warehouse/profiles/stored-profiles.ts'
import type { RunBucket } from '../../../../src/pipeline/warehouse/runs/run-buckets.ts'
import { createRuns } from '../../../../src/pipeline/warehouse/runs/stored-runs.ts'
import { drawCoveredWindows } from '../../../../src/pipeline/warehouse/verification/covered-windows.ts'
import { insertPeople, peopleNames } from '../../../support/insert-people.ts'
import { endBuckets, recordPage } from '../../../support/record-orders.ts'
import { test as base } from '../../../support/test-warehouse.ts'

const BUCKETS = 4
const order = (profileId: string) => ({ profileId, job: 'sync-profile', params: {} })
const whole = { enqueuedTo: '0', restMs: 0 }

/** The same warehouse in four buckets. */
const test = base.extend<{ divided: ReturnType<typeof openDivided> }>({
  divided: async ({ warehouseUrl }, use) => {
    const divided = openDivided(warehouseUrl)
    await use(divided)
    await divided.pool.end()
  },
})

function openDivided(databaseUrl: string) {
  const pool = openWarehousePool({ databaseUrl, bucketCount: BUCKETS, connectionsMax: 8, name: 'test' })
  return {
    pool,
    runs: createRuns({ pool }),
    profiles: createProfiles({ pool, catalogue, tokenKeys: [Buffer.alloc(32, 7)] }),
  }
}

async function takeAll({ runs }: Pick<ReturnType<typeof openDivided>, 'runs'>, runId: string): Promise<RunBucket[]> {
  const taken: RunBucket[] = []
  while (taken.length <= BUCKETS) {
    const bucket = await runs.takeBucket(runId)
    if (bucket === undefined) return taken
    taken.push(bucket)
  }
  throw new Error(`take all buckets of run ${runId}: it has no end`)
}

test('the buckets of a run have each profile in one of their lists, whichever list it is', async ({
  warehouse,
  divided,
}) => {
  const { runs, profiles, pool } = divided
  await insertPeople(pool, peopleNames(300), { state: `'active'`, due_at: `now() - interval '1 hour'` })
  await warehouse.addProfiles('gone')
  await warehouse.rows(`update vitalsync.profiles set state = 'gone' where external_id = 'gone'`)
  await warehouse.rows(
    `insert into vitalsync.ledger (profile_id, stream, covered)
     select id, 'scores', '{[2026-03-01,2026-03-09)}' from vitalsync.profiles where state <> 'gone' and id % 3 = 0`,
  )
  const run = await runs.create('nightly', {})
  const buckets = await takeAll(divided, run.id)
  const { draw } = await drawCoveredWindows({ pool, streams: catalogue.pulled }, { count: 1000, seed: '1' })
  if (!draw) throw new Error('nothing was drawn')
  const sorted = (ids: readonly string[]) => ids.map(Number).toSorted((a, b) => a - b)
  const all = sorted((await profiles.list('0', 1000)).ids)

  const lists = buckets.map((bucket) => profiles.ofBucket(bucket))
  const joined = async (list: (one: (typeof lists)[number]) => Promise<{ ids: readonly string[] }>) =>
    sorted((await Promise.all(lists.map(async (one) => (await list(one)).ids))).flat())

  expect(buckets).toHaveLength(BUCKETS)
  expect(all).toHaveLength(300)
  expect(await joined((one) => one.list('0', 1000))).toEqual(all)
  expect(await joined((one) => one.listUnfinishedSince(new Date(), '0', 1000))).toEqual(all)
  expect(await joined((one) => one.listDue('0', 1000))).toEqual(all)
  expect(await joined((one) => one.listDrawn(draw, { afterId: '0', limit: 1000 }))).toEqual(
    all.filter((id) => id % 3 === 0),
  )
})

test('a run of named profiles has their buckets alone, and a run of nobody ends', async ({ divided }) => {
  const { runs, pool } = divided
  const [ada = '', bob = ''] = pool.buckets
    .split(
      Array.from({ length: 50 }, (_, index) => String(index + 1)),
      (id) => id,
    )
    .map((ids) => ids[0] ?? '')
  const named = await runs.create('sync', { profileIds: [ada, bob, ada] })
  expect(await takeAll(divided, named.id)).toEqual(
    [ada, bob]
      .map((id) => pool.buckets.hashesOf(pool.buckets.of(id)))
      .toSorted(byHash)
      .map((hashes) => expect.objectContaining(hashes)),
  )

  const empty = await runs.create('sync', { profileIds: [] })
  await endBuckets(runs, empty.id)
  expect(await runs.get(empty.id)).toMatchObject({ state: 'done', enqueued: 0 })
})

const byHash = (a: { firstHash: number }, b: { firstHash: number }) => a.firstHash - b.firstHash

test('a bucket has one holder, and one whose lease ended records nothing more', async ({ warehouse, divided }) => {
  const { runs } = divided
  const run = await runs.create('nightly', {})
  const taken = await Promise.all(Array.from({ length: 2 * BUCKETS }, () => runs.takeBucket(run.id)))
  const held = taken.filter((bucket) => bucket !== undefined)
  expect(new Set(held.map(({ firstHash }) => firstHash)).size).toBe(held.length)
  expect((await takeAll(divided, run.id)).length + held.length).toBe(BUCKETS)
  const [former] = held
  if (!former) throw new Error('no bucket was taken')
  expect(await runs.recordOrders(former, { orders: [order('1')], afterId: '1' })).toBe(true)

  await warehouse.rows(`update vitalsync.run_buckets set held_until = now() - interval '1 ms' where first_hash = $1`, [
    former.firstHash,
  ])
  await runs.renewBucket(former)
  expect(await runs.takeBucket(run.id)).toBeUndefined()
  await warehouse.rows(`update vitalsync.run_buckets set held_until = now() - interval '1 ms' where first_hash = $1`, [
    former.firstHash,
  ])
  const next = await runs.takeBucket(run.id)
  expect(next).toMatchObject({ firstHash: former.firstHash, afterId: '1', enqueuedTo: '0' })

  expect(await runs.recordOrders(former, { orders: [order('2')], afterId: '2' })).toBe(false)
  await runs.releaseBucket(former, whole)
  expect(await runs.endBucket(former)).toBe(false)
  expect(await runs.takeBucket(run.id)).toBeUndefined()
  expect(await warehouse.rows('select profile_id from vitalsync.orders')).toEqual([{ profile_id: '1' }])
  expect(await runs.get(run.id)).toMatchObject({ enqueued: 1, enqueuedAll: false })
})

test('the holder of a bucket shows life for its run alone, and its former holder for none', async ({
  warehouse,
  divided,
}) => {
  const { runs } = divided
  const [run, other] = [await runs.create('nightly', {}), await runs.create('nightly', {})]
  const former = await runs.takeBucket(run.id)
  if (!former) throw new Error('no bucket is free')
  await warehouse.rows(`update vitalsync.run_buckets set held_until = '2026-03-01', taken_at = '2026-03-01'`)
  const held = (await takeAll(divided, run.id)).find(({ firstHash }) => firstHash === former.firstHash)
  if (!held) throw new Error('the bucket was not taken again')
  await warehouse.rows(`update vitalsync.run_buckets set held_until = '2026-03-01'`)
  await warehouse.rows(`update vitalsync.runs set touched_at = '2026-03-01'`)
  const living = () => warehouse.rows(`select id from vitalsync.runs where touched_at > '2026-03-01'`)
  const leased = () => warehouse.rows(`select first_hash from vitalsync.run_buckets where held_until > '2026-03-01'`)

  await runs.renewBucket(former)
  expect([await living(), await leased()]).toEqual([[], []])
  await runs.renewBucket(held)

  expect([await living(), await leased()]).toEqual([[{ id: run.id }], [{ first_hash: held.firstHash }]])
  expect((await runs.listUnproduced(60_000)).map(({ id }) => id)).toEqual([other.id])
})

test('buckets take turns, and one that rests is left alone', async ({ divided }) => {
  const { runs } = divided
  const run = await runs.create('nightly', {})
  const turns: number[] = []
  for (let turn = 0; turn < 2 * BUCKETS; turn += 1) {
    const bucket = await runs.takeBucket(run.id)
    if (!bucket) throw new Error('no bucket is free')
    turns.push(bucket.firstHash)
    if (turn < 2 * BUCKETS - 1) await runs.releaseBucket(bucket, whole)
    else await runs.releaseBucket(bucket, { ...whole, restMs: 60_000 })
  }
  expect(turns.slice(0, BUCKETS)).toEqual(turns.slice(BUCKETS))
  expect(new Set(turns).size).toBe(BUCKETS)
  expect((await takeAll(divided, run.id)).map(({ firstHash }) => firstHash)).toEqual(turns.slice(0, BUCKETS - 1))
  expect(await runs.listTakeable()).toEqual([])
})

test('a run is enqueued in full with the last of its buckets, though all end at once', async ({ divided }) => {
  const { runs } = divided
  for (let times = 0; times < 5; times += 1) {
    const run = await runs.create('nightly', {})
    const buckets = await takeAll(divided, run.id)
    const ended = await Promise.all(buckets.map((bucket) => runs.endBucket(bucket)))
    expect(ended.filter((isLast) => isLast)).toHaveLength(1)
    expect(await runs.get(run.id)).toMatchObject({ enqueuedAll: true, state: 'done' })
  }
})

test('nothing is recorded for a run that was stopped', async ({ warehouse, divided }) => {
  const { runs } = divided
  const run = await runs.create('nightly', {})
  const bucket = await runs.takeBucket(run.id)
  if (!bucket) throw new Error('no bucket is free')
  await runs.end(run.id, 'stopped')

  expect(await runs.recordOrders(bucket, { orders: [order('1')], afterId: '1' })).toBe(false)
  expect(await runs.endBucket(bucket)).toBe(false)
  expect(await runs.takeBucket(run.id)).toBeUndefined()
  expect(await warehouse.rows('select from vitalsync.orders')).toEqual([])
  expect(await runs.get(run.id)).toMatchObject({ state: 'stopped', enqueued: 0, enqueuedAll: false })
})

test('a run that ends keeps its first end, and leaves orders and buckets of other runs alone', async ({ divided }) => {
  const { runs } = divided
  const [run, other] = [await runs.create('sync', {}), await runs.create('sync', {})]
  await recordPage(runs, run.id, [order('1')])
  await recordPage(runs, other.id, [order('1')])

  await runs.end(run.id, 'stopped')
  await runs.end(run.id, 'failed')

  expect(await runs.get(run.id)).toMatchObject({ state: 'stopped' })
  expect((await runs.listOpenOrders(run.id, '0', 10)).ids).toEqual([])
  expect((await runs.listOpenOrders(other.id, '0', 10)).ids).toEqual(['1'])
  expect(await takeAll(divided, other.id)).toHaveLength(BUCKETS)
  expect(await runs.get(other.id)).toMatchObject({ state: 'running' })
})
