import { expect } from 'vitest'
import { DAY, HOUR } from '../../../../src/base/time/units.ts'
import { JOB_FORM, noCounts } from '../../../../src/pipeline/transfer/order.ts'
import { createLiveWorkers } from '../../../../src/pipeline/warehouse/runs/live-workers.ts'
import { endProduction, recordPage } from '../../../support/record-orders.ts'
import { endedJob, test } from '../../../support/test-warehouse.ts'

const slot = new Date('2026-03-02T03:00:00Z')
const order = (profileId: string) => ({ profileId, job: 'sync-profile', params: {} })

test('a slot is claimed once, however many schedulers try', async ({ warehouse }) => {
  const { runs } = warehouse

  const claimed = await Promise.all(Array.from({ length: 8 }, () => runs.claimSlot('nightly', slot)))

  expect(claimed.filter((run) => run !== undefined)).toHaveLength(1)
  expect(await runs.claimSlot('sweep', slot)).toBeDefined()
  expect(await runs.lastSlot('nightly')).toEqual(slot)
  expect(await warehouse.rows('select kind, state from warehouse.runs order by kind')).toEqual([
    { kind: 'nightly', state: 'running' },
    { kind: 'sweep', state: 'running' },
  ])
})

test('the last slot of a schedule is its latest, in whatever order slots were claimed, and each keeps its run', async ({
  warehouse,
}) => {
  const { runs, rows } = warehouse
  const before = new Date(slot.getTime() - DAY)
  const ids = [(await runs.claimSlot('nightly', slot))?.id, (await runs.claimSlot('nightly', before))?.id]
  for (const at of [slot, new Date(slot.getTime() + HOUR)]) await runs.claimSlot('sweep', at)

  expect(await runs.lastSlot('nightly')).toEqual(slot)
  expect(await runs.lastSlot('sentinel')).toBeUndefined()
  const slots = `select slot_at as at, run_id as run from vitalsync.slots where schedule = 'nightly' order by slot_at desc`
  expect(await rows(slots)).toEqual([
    { at: slot, run: ids[0] },
    { at: before, run: ids[1] },
  ])
})

test('a run is the same whether it was just made, was taken, or is asked for', async ({ warehouse }) => {
  const { runs, rows } = warehouse
  const made = await runs.create('sync', { a: 1 })
  expect(await runs.get(made.id)).toEqual(made)
  const claimed = await runs.claimSlot('nightly', slot, { b: 2 })
  expect(await runs.get(claimed?.id ?? '')).toEqual(claimed)

  await rows(
    `update vitalsync.runs set enqueued_all = true, started_at = now() - interval '3 hours', ended_at = now() - interval '2 hours',
       touched_at = '2026-03-01', state = 'done', after_id = 1, enqueued = 2, done = 3, failed = 4, refused = 5, requests = 6,
       unchanged = 7, rows_read = 8, rows_written = 9, items_pushed = 10, items_pushed_elsewhere = 11 where id = $1`,
    [claimed?.id],
  )
  const [taken] = await runs.takeUnwatched(60_000)
  expect(taken).toMatchObject({
    id: claimed?.id,
    afterId: '1',
    enqueued: 2,
    done: 3,
    failed: 4,
    refused: 5,
    requests: 6,
  })
  expect(await runs.get(claimed?.id ?? '')).toEqual(taken)
})

test('the newest run of each kind is found, however many runs of other kinds there were since', async ({
  warehouse,
}) => {
  const { runs } = warehouse
  await runs.claimSlot('nightly', new Date(slot.getTime() - DAY))
  const nightly = await runs.claimSlot('nightly', slot)
  for (let hour = 1; hour < 9; hour += 1) await runs.claimSlot('sweep', new Date(slot.getTime() + hour * HOUR))
  const sync = await runs.create('sync', {})

  const newest = await runs.listNewestOfKinds()

  expect(newest.map(({ kind }) => kind)).toEqual(['sync', 'sweep', 'nightly'])
  expect([newest[0]?.id, newest[2]?.id]).toEqual([sync.id, nightly?.id])
})

test('a run ends with the last of its jobs, each counted once however often it is done', async ({ warehouse }) => {
  const { runs, ledger } = warehouse
  const [ada = '', bob = '', eve = ''] = await warehouse.addProfiles('ada', 'bob', 'eve')
  const run = await runs.create('sync', {})
  const end = (profileId: string) =>
    ledger.recordFinished(endedJob(profileId, { runId: run.id, counts: { ...noCounts, rowsRead: 7 } }))

  await recordPage(runs, run.id, [order(ada), order(bob)])
  await Promise.all([end(ada), end(bob)])
  await end(ada)
  expect(await runs.get(run.id)).toMatchObject({ state: 'running', enqueued: 2, done: 2 })
  await recordPage(runs, run.id, [order(eve)])
  await endProduction(runs, run.id)
  expect((await runs.get(run.id))?.state).toBe('running')
  await ledger.recordFailed(endedJob(eve, { runId: run.id }), { reason: 'no', hint: undefined })

  expect(await runs.get(run.id)).toMatchObject({ state: 'done', enqueued: 3, done: 2, failed: 1, rowsRead: 21 })
})

test('a job counts for every run that ordered the same before it began, and for no other', async ({ warehouse }) => {
  const { runs, ledger, rows } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const started: string[] = []
  for (let times = 0; times < 4; times += 1) started.push((await runs.create('sync', {})).id)
  const [own = '', before = '', after = '', other = ''] = started
  for (const id of [own, before, after]) await recordPage(runs, id, [order(ada)])
  await recordPage(runs, other, [{ ...order(ada), params: { from: 1 } }])
  for (const id of [own, before, after, other]) await endProduction(runs, id)
  await rows(`update vitalsync.orders set ordered_at = now() - interval '1 hour' where run_id <> $1`, [after])
  const begunAtMs = Date.now() - 60_000

  await ledger.recordFinished(endedJob(ada, { runId: own, begunAtMs }))

  const counted = await rows('select id, done::int, state from vitalsync.runs order by id')
  expect(counted).toEqual([
    { id: own, done: 1, state: 'done' },
    { id: before, done: 1, state: 'done' },
    { id: after, done: 0, state: 'running' },
    { id: other, done: 0, state: 'running' },
  ])
  expect((await runs.listOpenOrders(after, '0', 10)).orders).toMatchObject([{ profileId: ada }])
})

test('a run does not wait for a profile that is erased', async ({ warehouse }) => {
  const { runs, profiles } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const run = await runs.create('sync', {})
  await recordPage(runs, run.id, [order(ada)])
  await endProduction(runs, run.id)

  await profiles.erase(ada)

  expect(await runs.get(run.id)).toMatchObject({ state: 'done', done: 1, endedAt: expect.any(Date) })
})

test('a run that is ended takes its own open orders along, and ends once', async ({ warehouse }) => {
  const { runs } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const [ended = '', other = ''] = [(await runs.create('sync', {})).id, (await runs.create('sync', {})).id]
  for (const id of [ended, other]) await recordPage(runs, id, [order(ada)])

  await runs.end(ended, 'stopped')
  await runs.end(ended, 'done')

  expect(await runs.get(ended)).toMatchObject({ state: 'stopped' })
  expect((await runs.listOpenOrders(ended, '0', 10)).orders).toEqual([])
  expect((await runs.listOpenOrders(other, '0', 10)).orders).toMatchObject([{ profileId: ada }])
})

test('of a run that is unknown, or forgotten, nothing is recorded, and its jobs still end those of other runs', async ({
  warehouse,
}) => {
  const { runs, ledger, rows } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const [kept = '', forgotten = ''] = [(await runs.create('sync', {})).id, (await runs.create('sync', {})).id]
  await recordPage(runs, kept, [order(ada)])
  await endProduction(runs, kept)
  const production = await runs.takeProduction(forgotten)
  if (!production) throw new Error('the run was not taken')
  await rows('delete from vitalsync.runs where id = $1', [forgotten])

  expect(await runs.get(forgotten)).toBeUndefined()
  expect(await runs.takeProduction(forgotten)).toBeUndefined()
  expect(await runs.recordOrders(production, { orders: [order(ada)], afterId: ada })).toBe(false)
  expect(await runs.endProduction(production)).toBe(false)
  await runs.releaseProduction(production, ada)
  await runs.heartbeat(forgotten)
  await runs.end(forgotten, 'done')
  await ledger.recordFinished(endedJob(ada, { runId: forgotten, counts: { ...noCounts, requests: 5 } }))
  expect(await runs.get(kept)).toMatchObject({ state: 'done', done: 1, requests: 0 })
  expect((await runs.listNewest(10)).map(({ id }) => id)).toEqual([kept])
})

test('a run whose producer died is found, with the page it had reached', async ({ warehouse }) => {
  const { runs, rows } = warehouse
  const run = await runs.create('sync', {})
  await recordPage(runs, run.id, [order('3'), order('5')])

  expect(await runs.listUnproduced(60_000)).toEqual([])
  await rows(`update vitalsync.runs set touched_at = touched_at - interval '2 minutes'`)

  expect(await runs.listUnproduced(60_000)).toMatchObject([{ id: run.id }])
  expect(await rows('select after_id, enqueued_to from vitalsync.runs')).toEqual([{ after_id: '5', enqueued_to: '5' }])
  await endProduction(runs, run.id)
  expect([await runs.listUnproduced(60_000), await runs.listSilent(60_000)]).toEqual([[], []])
  await rows(`update vitalsync.runs set touched_at = touched_at - interval '2 minutes'`)
  expect(await runs.listSilent(60_000)).toMatchObject([{ id: run.id }])
})

test('a run of a newer version is left to it, and one of an older version becomes one of this', async ({
  warehouse,
}) => {
  const { runs, rows } = warehouse
  const [newer, silent, older] = [
    await runs.create('sync', {}),
    await runs.create('sync', {}),
    await runs.create('sync', {}),
  ]
  await rows(`update vitalsync.runs set form = $1, touched_at = touched_at - interval '2 minutes'`, [JOB_FORM + 1])
  await rows('update vitalsync.runs set enqueued_all = true where id = $1', [silent.id])
  await rows('update vitalsync.runs set form = 0 where id = $1', [older.id])

  expect(await runs.takeProduction(newer.id)).toBeUndefined()
  expect(await runs.listSilent(60_000)).toEqual([])
  expect(await runs.listUnproduced(60_000)).toMatchObject([{ id: older.id, form: 0 }])
  await runs.takeProduction(older.id)
  expect(await runs.get(older.id)).toMatchObject({ form: JOB_FORM })
})

test('only workers that read the jobs of this version count', async ({ warehouse }) => {
  const liveWorkers = createLiveWorkers(warehouse)
  for (const id of ['older', 'same', 'newer']) await liveWorkers.heartbeat(id, 'queue', [])
  await warehouse.rows(
    `update vitalsync.workers set form = case id when 'older' then $1::int else $2::int end where id <> 'same'`,
    [JOB_FORM - 1, JOB_FORM + 1],
  )

  expect(await liveWorkers.count('queue')).toBe(2)
})

test('the work left of a run is its open jobs, its profiles to come, and their items that wait to be pushed', async ({
  warehouse,
}) => {
  const { runs, outbox } = warehouse
  const [ada = '', bob = '', eve = ''] = await warehouse.addNeighbours(3)
  const log = (profileId: string, index: number) => ({
    profileId,
    stream: 'data-logs',
    itemKey: `log-${index}`,
    body: '{}',
    startAtMs: 0,
    endAtMs: index,
  })
  await outbox.add([log(ada, 1), log(bob, 1), log(bob, 2), log(eve, 1)])
  const run = await runs.create('sync', { profileIds: [ada, bob, eve] })
  await recordPage(runs, run.id, [order(bob)])
  const now = async () => (await runs.get(run.id)) ?? run

  expect(await runs.workLeft(await now())).toEqual({ jobs: 2, items: 3, itemsOfLongestJob: 2 })
  await endProduction(runs, run.id)
  expect(await runs.workLeft(await now())).toEqual({ jobs: 1, items: 2, itemsOfLongestJob: 2 })
})

test('the work left of a run is that of its own orders and profiles', async ({ warehouse }) => {
  const { runs, outbox, rows } = warehouse
  const [ada = '', bob = '', eve = '', gone = '', stranger = ''] = await warehouse.addNeighbours(5)
  for (const [profileId, count] of [
    [ada, 1],
    [bob, 2],
    [eve, 4],
    [gone, 8],
    [stranger, 16],
  ] as const)
    await outbox.add(
      Array.from({ length: count }, (_, index) => ({
        ...{ profileId, stream: 'data-logs', itemKey: `log-${index}` },
        ...{ body: '{}', startAtMs: 0, endAtMs: index },
      })),
    )
  await rows(`update vitalsync.profiles set state = 'gone' where id = $1`, [gone])
  const other = await runs.create('sync', {})
  await recordPage(runs, other.id, [order(ada)])
  const run = await runs.create('sync', { profileIds: [ada, bob, eve, gone] })
  const left = async () => runs.workLeft((await runs.get(run.id)) ?? run)

  await recordPage(runs, run.id, [order(bob)])
  expect(await left()).toEqual({ jobs: 2, items: 6, itemsOfLongestJob: 4 })
  await rows('delete from vitalsync.orders where profile_id = $1', [bob])
  expect(await left()).toEqual({ jobs: 1, items: 4, itemsOfLongestJob: 4 })
  await rows('delete from vitalsync.parcels')
  expect(await left()).toEqual({ jobs: 1, items: 0, itemsOfLongestJob: 0 })
  await rows('update vitalsync.runs set after_id = $2 where id = $1', [run.id, stranger])
  expect(await left()).toEqual({ jobs: 0, items: 0, itemsOfLongestJob: 0 })
})

test('the newest runs are listed first, of all kinds or of one', async ({ warehouse }) => {
  const { runs } = warehouse
  const ids: string[] = []
  for (const kind of ['sync', 'nightly', 'sync', 'sweep']) ids.push((await runs.create(kind, {})).id)
  const [first = '', , third = '', fourth = ''] = ids

  expect((await runs.listNewest(2)).map(({ id }) => id)).toEqual([fourth, third])
  expect((await runs.listNewest(10, 'sync')).map(({ id }) => id)).toEqual([third, first])
})

test('requests per profile and per second come from the newest runs that are done', async ({ warehouse }) => {
  const { runs, rows } = warehouse
  await rows(`insert into vitalsync.runs (kind, state, done, requests, started_at, ended_at) values
    ('nightly', 'done', 10, 900, '2026-03-01 00:00Z', '2026-03-01 00:01Z'),
    ('nightly', 'done', 10, 200, '2026-03-02 00:00Z', '2026-03-02 00:01Z'),
    ('nightly', 'done', 0, 50, '2026-03-03 00:00Z', '2026-03-03 00:01Z'),
    ('nightly', 'stopped', 10, 7000, '2026-03-04 00:00Z', '2026-03-04 00:01Z'),
    ('sync', 'done', 1, 300, '2026-03-05 00:00Z', '2026-03-05 00:01Z'),
    ('sync', 'done', 1, 49, '2026-03-06 00:00Z', '2026-03-06 00:01Z')`)

  expect(await runs.requestsPerProfile('nightly')).toBe(20)
  expect(await runs.requestsPerProfile('backfill')).toBeUndefined()
  expect(await runs.measuredRequestRate()).toBeCloseTo((900 + 200 + 50 + 300) / (4 * 60))
  await rows(`insert into vitalsync.runs (kind, state, done, requests, started_at, ended_at)
    select 'sync', 'done', 1, 600, '2026-03-07 00:00Z', '2026-03-07 00:01Z' from generate_series(1, 5)`)
  expect(await runs.measuredRequestRate()).toBeCloseTo(10)
})

test('runs without a sign of life are listed by id: those not enqueued in full, and those whose jobs are missing', async ({
  warehouse,
}) => {
  const { runs, rows } = warehouse
  const ids: string[] = []
  for (let index = 0; index < 6; index += 1) ids.push((await runs.create('sync', {})).id)
  const [, , stopped = '', fresh = '', full = '', alsoFull = ''] = ids
  const [ended, busy] = [(await runs.create('sync', {})).id, (await runs.create('sync', {})).id]
  for (const id of [full, alsoFull, ended, busy])
    await rows('update vitalsync.runs set enqueued_all = true where id = $1', [id])
  await rows(`update vitalsync.runs set touched_at = touched_at - interval '2 minutes'`)
  await runs.end(stopped, 'stopped')
  await runs.end(ended, 'done')
  for (const id of [fresh, busy]) await runs.heartbeat(id)
  // An update moves a row behind the others.
  await rows('update vitalsync.runs set requests = 1 where id = $1', [ids[0]])
  await rows('update vitalsync.runs set requests = 1 where id = $1', [full])

  expect((await runs.listUnproduced(60_000)).map(({ id }) => id)).toEqual(ids.slice(0, 2))
  expect((await runs.listSilent(60_000)).map(({ id }) => id)).toEqual([full, alsoFull])
})

test('a sentinel finds the nightlies of the last day that are read in full and quiet, each once', async ({
  warehouse,
}) => {
  const { runs, rows } = warehouse
  const hourly = (hour: number) => new Date(slot.getTime() + hour * HOUR)
  const claim = async (hour: number) => (await runs.claimSlot('nightly', hourly(hour)))?.id ?? ''
  const ids: string[] = []
  for (let hour = 0; hour < 7; hour += 1) ids.push(await claim(hour))
  const [quiet = '', unread = '', stopped = '', yesterdays = '', watched = '', busy = '', failed = ''] = ids
  const swept = (await runs.claimSlot('sweep', hourly(9)))?.id
  const byHand = (await runs.create('nightly', {})).id
  await rows('update vitalsync.runs set enqueued_all = true where id <> $1', [unread])
  await rows(`update vitalsync.runs set started_at = now() - interval '25 hours' where id = $1`, [yesterdays])
  for (const [id, state] of [
    [stopped, 'stopped'],
    [failed, 'failed'],
  ])
    await rows('update vitalsync.runs set state = $2 where id = $1', [id, state])
  await runs.skipSlot({ schedule: 'sentinel', slotAt: hourly(4), runId: watched })
  // Several processes may skip one slot.
  for (let times = 0; times < 2; times += 1)
    await runs.skipSlot({ schedule: 'another', slotAt: hourly(0), runId: quiet })
  await rows(`update vitalsync.runs set touched_at = now() - interval '2 minutes' where id <> $1`, [busy])
  expect([swept, byHand]).not.toContain(undefined)

  expect(new Set((await runs.takeUnwatched(60_000)).map(({ id }) => id))).toEqual(new Set([quiet, failed]))
  expect(await runs.takeUnwatched(60_000)).toEqual([])
})
