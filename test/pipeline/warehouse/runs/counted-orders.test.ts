import { expect } from 'vitest'
import { noCounts } from '../../../../src/pipeline/transfer/order.ts'
import { transaction } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { countEnded } from '../../../../src/pipeline/warehouse/runs/open-orders.ts'
import { soon } from '../../../support/fixtures.ts'
import { countLockWaiters } from '../../../support/lock-waiters.ts'
import { endProduction, recordPage } from '../../../support/record-orders.ts'
import { connect, endedJob, test } from '../../../support/test-warehouse.ts'

const order = (profileId: string, job = 'sync-profile') => ({ profileId, job, params: {} })

test('a job counts its requests and rows for its own run alone', async ({ warehouse }) => {
  const { runs, ledger } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const own = await runs.create('sync', {})
  const other = await runs.create('sync', {})
  for (const { id } of [own, other]) {
    await recordPage(runs, id, [order(ada)])
    await endProduction(runs, id)
  }

  await ledger.recordFinished(
    endedJob(ada, {
      runId: own.id,
      counts: { ...noCounts, refused: 1, requests: 2, rowsRead: 3, rowsWritten: 4, unchanged: 5 },
    }),
  )

  const counts = { done: 1, failed: 0, state: 'done', endedAt: expect.any(Date) }
  expect(await runs.get(own.id)).toMatchObject({
    ...counts,
    refused: 1,
    requests: 2,
    rowsRead: 3,
    rowsWritten: 4,
    unchanged: 5,
  })
  expect(await runs.get(other.id)).toMatchObject({
    ...counts,
    refused: 0,
    requests: 0,
    rowsRead: 0,
    rowsWritten: 0,
    unchanged: 0,
  })
})

test('jobs of one person that end together count each for its run, and end each its own failure', async ({
  warehouse,
}) => {
  const { runs, ledger, rows } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const [first, second] = [await runs.create('sync', {}), await runs.create('sync', {})]
  const jobs = ['sync-profile', 'backfill-profile']
  for (const job of jobs) await ledger.recordFailed(endedJob(ada, { job }), { reason: 'no', hint: undefined })
  const finish = (runId: string, job: string, requests: number) =>
    ledger.recordFinished(endedJob(ada, { runId, job, counts: { ...noCounts, requests } }))

  await Promise.all([
    finish(first.id, 'sync-profile', 2),
    finish(second.id, 'sync-profile', 3),
    finish(second.id, 'backfill-profile', 4),
  ])

  expect(await runs.get(first.id)).toMatchObject({ requests: 2 })
  expect(await runs.get(second.id)).toMatchObject({ requests: 7 })
  expect(await rows('select 1 from vitalsync.failures')).toEqual([])
})

test('a job ends no order of other jobs or profiles, none that came after it began, and no run with more to come', async ({
  warehouse,
}) => {
  const { pool, runs } = warehouse
  const [ada = '', bob = '', eve = ''] = await warehouse.addNeighbours(3)
  const run = await runs.create('sync', {})
  const other = await runs.create('backfill', {})
  await recordPage(runs, run.id, [order(ada), order(bob), order(eve)])
  await recordPage(runs, other.id, [order(ada, 'backfill-profile'), order(bob)])
  await endProduction(runs, run.id)
  const partly = await runs.create('sync', {})
  await recordPage(runs, partly.id, [order(ada)])
  const orderedAtMs = Date.parse('2026-03-02T03:00:00Z')
  await warehouse.rows('update vitalsync.orders set ordered_at = $1', [new Date(orderedAtMs)])

  // Ada's job and Bob's end in one statement, of a third run. Bob's began before he was ordered, Ada's at that instant.
  const ended = [endedJob(ada, { begunAtMs: orderedAtMs }), endedJob(bob, { begunAtMs: orderedAtMs - 1 })]
  await transaction(pool, (tx) => countEnded(tx, ended, 'done'))

  expect((await runs.listOpenOrders(run.id, '0', 10)).orders.map(({ profileId }) => Number(profileId))).toEqual(
    [bob, eve].map(Number).toSorted((a, b) => a - b),
  )
  expect((await runs.listOpenOrders(other.id, '0', 10)).orders).toHaveLength(2)
  const running = { state: 'running', endedAt: null }
  expect(await runs.get(run.id)).toMatchObject({ ...running, done: 1 })
  expect(await runs.get(other.id)).toMatchObject({ ...running, done: 0 })
  expect(await runs.get(partly.id)).toMatchObject({ ...running, done: 1 })
})

test('a run that was stopped stays stopped, whatever ends after it', async ({ warehouse }) => {
  const { runs, ledger, profiles, rows } = warehouse
  const [ada = '', bob = ''] = await warehouse.addNeighbours(2)
  const stopped = await runs.create('sync', {})
  await recordPage(runs, stopped.id, [order(ada), order(bob)])
  await rows(`update vitalsync.runs set state = 'stopped', enqueued_all = true, enqueued = 1, ended_at = '2026-03-02'`)

  await ledger.recordFinished(endedJob(ada, { runId: stopped.id }))
  await profiles.erase(bob)

  expect(await runs.get(stopped.id)).toMatchObject({
    state: 'stopped',
    endedAt: new Date('2026-03-02T00:00:00Z'),
    done: 2,
  })
})

test('an erasure counts the open orders of that profile alone, and ends no run that others wait for', async ({
  warehouse,
}) => {
  const { runs, profiles } = warehouse
  const [ada = '', bob = ''] = await warehouse.addNeighbours(2)
  const both = await runs.create('sync', {})
  const partly = await runs.create('sync', {})
  const bobs = await runs.create('sync', {})
  await recordPage(runs, both.id, [order(ada), order(bob)])
  await recordPage(runs, partly.id, [order(ada)])
  await recordPage(runs, bobs.id, [order(bob)])
  for (const { id } of [both, bobs]) await endProduction(runs, id)

  await profiles.erase(ada)

  expect(await runs.get(both.id)).toMatchObject({ state: 'running', endedAt: null, done: 1 })
  expect(await runs.get(partly.id)).toMatchObject({ state: 'running', endedAt: null, done: 1 })
  expect(await runs.get(bobs.id)).toMatchObject({ state: 'running', endedAt: null, done: 0 })
  expect((await runs.listOpenOrders(both.id, '0', 10)).orders).toMatchObject([{ profileId: bob }])
})

test('jobs are counted while another session holds a run that they are not about', async ({
  warehouse,
  warehouseUrl,
}) => {
  const { runs, ledger } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const run = await runs.create('sync', {})
  const held = await runs.create('sync', {})
  await recordPage(runs, run.id, [order(ada)])
  await endProduction(runs, run.id)
  const holder = await connect(warehouseUrl)
  await holder.query('begin')
  await holder.query('select from vitalsync.runs where id = $1 for update', [held.id])

  await ledger.recordFinished(endedJob(ada, { runId: run.id }))

  expect(await runs.get(run.id)).toMatchObject({ state: 'done' })
  await holder.end()
})

test('jobs of the same runs that end together do not wait for each other in a circle', async ({
  warehouse,
  warehouseUrl,
}) => {
  const { pool, runs, rows } = warehouse
  const people = await warehouse.addNeighbours(2)
  const created = [await runs.create('sync', {}), await runs.create('sync', {})]
  const [earlier, later] = created.map(({ id }) => id)
  const ended = people.map((profileId, place) => endedJob(profileId, { runId: created[place]?.id ?? '' }))
  for (const { runId, profileId } of ended) await recordPage(runs, runId, [order(profileId)])
  const holder = await connect(warehouseUrl)
  const hold = (id = '') => holder.query('select from vitalsync.runs where id = $1 for update nowait', [id])
  await holder.query('begin')

  await hold(earlier)
  const counted = transaction(pool, (tx) => countEnded(tx, ended.toReversed(), 'done'))
  await expect.poll(() => countLockWaiters(rows), soon).toBe(1)
  await hold(later)
  await holder.query('rollback')
  await counted

  for (const { id } of created) expect(await runs.get(id)).toMatchObject({ done: 1 })
  await holder.end()
})

test('open orders are listed by id, each page from the profile after the last one', async ({ warehouse }) => {
  const { runs } = warehouse
  const ids = await warehouse.addNeighbours(5)
  const run = await runs.create('sync', {})
  const other = await runs.create('sync', {})
  await recordPage(
    runs,
    run.id,
    ids.toReversed().map((id) => order(id)),
  )
  await recordPage(runs, other.id, [order(ids[0] ?? '')])

  const first = await runs.listOpenOrders(run.id, '0', 2)
  const second = await runs.listOpenOrders(run.id, first.lastId, 2)
  const third = await runs.listOpenOrders(run.id, second.lastId, 2)

  expect([first, second, third].map(({ orders }) => orders.map(({ profileId }) => profileId))).toEqual([
    ids.slice(0, 2),
    ids.slice(2, 4),
    ids.slice(4),
  ])
})

test('equal orders of several runs are listed once', async ({ warehouse }) => {
  const { runs } = warehouse
  const [ada = '', bob = ''] = await warehouse.addNeighbours(2)
  for (const ordered of [order(ada), order(ada), order(bob, 'backfill-profile')])
    await recordPage(runs, (await runs.create('sync', {})).id, [ordered])

  expect(await runs.listOrdersOf(ada)).toEqual([order(ada)])
})
