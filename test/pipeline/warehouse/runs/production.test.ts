import { expect } from 'vitest'
import { soon } from '../../../support/fixtures.ts'
import { countLockWaiters } from '../../../support/lock-waiters.ts'
import { recordPage, takeProduction } from '../../../support/record-orders.ts'
import { connect, test } from '../../../support/test-warehouse.ts'

const order = (profileId: string) => ({ profileId, job: 'sync-profile', params: {} })

test('a run has one producer, and one whose lease ended records nothing more', async ({ warehouse }) => {
  const { runs, rows } = warehouse
  const run = await runs.create('nightly', {})
  const taken = await Promise.all([1, 2, 3].map(() => runs.takeProduction(run.id)))
  const [former, ...others] = taken.filter((production) => production !== undefined)
  if (!former) throw new Error('nobody has taken the run')
  expect(others).toEqual([])
  expect(await runs.recordOrders(former, { orders: [order('1')], afterId: '1' })).toBe(true)

  const expire = () => rows(`update vitalsync.runs set held_until = now() - interval '1 ms'`)
  await expire()
  await runs.renewProduction(former)
  expect(await runs.takeProduction(run.id)).toBeUndefined()
  await expire()
  expect(await runs.takeProduction(run.id)).toMatchObject({ runId: run.id, afterId: '1', enqueuedTo: '0' })

  expect(await runs.recordOrders(former, { orders: [order('2')], afterId: '2' })).toBe(false)
  await runs.releaseProduction(former, '1')
  expect(await runs.endProduction(former)).toBe(false)
  expect(await runs.takeProduction(run.id)).toBeUndefined()
  expect(await rows('select profile_id from vitalsync.orders')).toEqual([{ profile_id: '1' }])
  expect(await runs.get(run.id)).toMatchObject({ enqueued: 1, enqueuedAll: false, afterId: '1' })
})

test('a producer shows life for its run alone, and a former one for none', async ({ warehouse }) => {
  const { runs, rows } = warehouse
  const [run, other] = [await runs.create('nightly', {}), await runs.create('nightly', {})]
  const former = await takeProduction(runs, run.id)
  await rows(`update vitalsync.runs set held_until = '2026-03-01'`)
  const held = await takeProduction(runs, run.id)
  await rows(`update vitalsync.runs set held_until = '2026-03-01', touched_at = '2026-03-01'`)
  const living = () => rows(`select id from vitalsync.runs where touched_at > '2026-03-01'`)
  const leased = () => rows(`select id from vitalsync.runs where held_until > '2026-03-01'`)

  await runs.renewProduction(former)
  expect([await living(), await leased()]).toEqual([[], []])
  await runs.renewProduction(held)

  expect([await living(), await leased()]).toEqual([[{ id: run.id }], [{ id: run.id }]])
  expect((await runs.listUnproduced(60_000)).map(({ id }) => id)).toEqual([other.id])
})

test('a run that was given back is taken from where it was left, and recording a page renews the lease', async ({
  warehouse,
}) => {
  const { runs, rows } = warehouse
  const run = await runs.create('nightly', {})
  await recordPage(runs, run.id, [order('1'), order('2')])
  const production = await takeProduction(runs, run.id)
  expect(production).toMatchObject({ afterId: '2', enqueuedTo: '2' })
  await rows(`update vitalsync.runs set held_until = now() + interval '1 second', touched_at = '2026-03-01'`)

  expect(await runs.recordOrders(production, { orders: [order('2'), order('3')], afterId: '3' })).toBe(true)

  expect(
    await rows(`select held_until > now() + interval '5 seconds' as held, touched_at > '2026-03-01' as alive,
    after_id, enqueued_to, enqueued from vitalsync.runs`),
  ).toEqual([{ held: true, alive: true, after_id: '3', enqueued_to: '2', enqueued: '3' }])
  const uncertain = await runs.listUncertainOrders({ ...production, afterId: '3' }, '2', 10)
  expect(uncertain.orders).toMatchObject([{ profileId: '3' }])
  expect((await runs.listUncertainOrders({ ...production, afterId: '2' }, '1', 10)).orders).toMatchObject([
    { profileId: '2' },
  ])
})

test('a run that is enqueued in full is taken by nobody, and one of nobody ends with that', async ({ warehouse }) => {
  const { runs } = warehouse
  const [empty, run] = [await runs.create('sync', { profileIds: [] }), await runs.create('nightly', {})]
  await recordPage(runs, run.id, [order('1')])
  for (const { id } of [empty, run]) {
    expect(await runs.endProduction(await takeProduction(runs, id))).toBe(true)
    expect(await runs.takeProduction(id)).toBeUndefined()
  }

  const ended = { state: 'done', endedAt: expect.any(Date) }
  expect(await runs.get(empty.id)).toMatchObject({ ...ended, enqueued: 0, enqueuedAll: true })
  expect(await runs.get(run.id)).toMatchObject({ state: 'running', enqueued: 1, enqueuedAll: true })
})

test('nothing is recorded for a run that was stopped', async ({ warehouse }) => {
  const { runs, rows } = warehouse
  const run = await runs.create('nightly', {})
  const production = await takeProduction(runs, run.id)
  await runs.end(run.id, 'stopped')

  expect(await runs.recordOrders(production, { orders: [order('1')], afterId: '1' })).toBe(false)
  expect(await runs.endProduction(production)).toBe(false)
  await runs.releaseProduction(production, '1')
  expect(await rows('select enqueued_to from vitalsync.runs')).toEqual([{ enqueued_to: '0' }])
  expect(await rows('select from vitalsync.orders')).toEqual([])
  expect(await runs.get(run.id)).toMatchObject({ state: 'stopped', enqueued: 0, enqueuedAll: false })
  await rows(`update vitalsync.runs set held_until = '2026-03-01', touched_at = '2026-03-01'`)
  await runs.renewProduction(production)
  // Its lease has ended, too.
  expect(await runs.takeProduction(run.id)).toBeUndefined()
  expect(await rows(`select from vitalsync.runs where held_until > '2026-03-01' or touched_at > '2026-03-01'`)).toEqual(
    [],
  )
})

test('a page that waits while its run is stopped is not recorded', async ({ warehouse, warehouseUrl }) => {
  const { runs, rows } = warehouse
  const run = await runs.create('nightly', {})
  const production = await takeProduction(runs, run.id)
  const stopping = await connect(warehouseUrl)
  await stopping.query('begin')
  await stopping.query(`update vitalsync.runs set state = 'stopped' where id = $1`, [run.id])

  const recording = runs.recordOrders(production, { orders: [order('1')], afterId: '1' })
  await expect.poll(() => countLockWaiters(rows), soon).toBe(1)
  await stopping.query('commit')

  expect(await recording).toBe(false)
  expect(await rows('select from vitalsync.orders')).toEqual([])
  await stopping.end()
})

test('a run that ends keeps no order that its producer was recording, and has ended when its orders are gone', async ({
  warehouse,
  warehouseUrl,
}) => {
  const { runs, rows } = warehouse
  const run = await runs.create('nightly', {})
  await recordPage(runs, run.id, [order('1')])
  const producer = await connect(warehouseUrl)
  const waiters = () => countLockWaiters(rows)
  await producer.query('begin')
  await producer.query('select from vitalsync.runs where id = $1 for update', [run.id])
  await producer.query(
    `insert into vitalsync.orders (run_id, profile_id, job, scope) values ($1, 2, 'sync-profile', '')`,
    [run.id],
  )

  const ending = runs.end(run.id, 'stopped')
  await expect.poll(waiters, soon).toBe(1)
  await producer.query('commit')
  await ending
  expect((await runs.listOpenOrders(run.id, '0', 10)).orders).toEqual([])

  const other = await runs.create('nightly', {})
  await recordPage(runs, other.id, [order('1')])
  await producer.query('begin')
  await producer.query('select from vitalsync.orders where run_id = $1 for update', [other.id])
  let hasEnded = false
  const endingOther = runs.end(other.id, 'stopped').then(() => {
    hasEnded = true
  })
  await expect.poll(waiters, soon).toBe(1)
  expect(hasEnded).toBe(false)
  await producer.query('commit')
  await endingOther
  await producer.end()
})

test('a run that ends keeps its first end, and leaves orders of other runs alone', async ({ warehouse }) => {
  const { runs } = warehouse
  const [run, other] = [await runs.create('sync', {}), await runs.create('sync', {})]
  await recordPage(runs, run.id, [order('1')])
  await recordPage(runs, other.id, [order('1')])

  await runs.end(run.id, 'stopped')
  await runs.end(run.id, 'failed')

  expect(await runs.get(run.id)).toMatchObject({ state: 'stopped' })
  expect((await runs.listOpenOrders(run.id, '0', 10)).orders).toEqual([])
  expect((await runs.listOpenOrders(other.id, '0', 10)).orders).toMatchObject([{ profileId: '1' }])
  expect(await runs.takeProduction(other.id)).toMatchObject({ runId: other.id })
  expect(await runs.get(other.id)).toMatchObject({ state: 'running' })
})
