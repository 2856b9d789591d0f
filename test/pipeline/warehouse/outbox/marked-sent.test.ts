import { expect } from 'vitest'
import { HOUR } from '../../../../src/base/time/units.ts'
import { itemsOf, type OutboxItem } from '../../../../src/pipeline/transfer/parcel.ts'
import { soon } from '../../../support/fixtures.ts'
import { countLockWaiters } from '../../../support/lock-waiters.ts'
import { scores } from '../../../support/stream-by-name.ts'
import { connect, marchMs, test, type Warehouse } from '../../../support/test-warehouse.ts'

const log = (profileId: string, day: number): OutboxItem => ({
  profileId,
  stream: 'data-logs',
  itemKey: `log-${day}`,
  body: JSON.stringify({ id: day }),
  startAtMs: marchMs(day),
  endAtMs: marchMs(day) + HOUR,
})

async function send({ outbox }: Warehouse, profileId: string, day: number): Promise<void> {
  await outbox.add([log(profileId, day)])
  const { parcels } = await outbox.readWaiting(profileId, 'data-logs')
  await outbox.markSent({ profileId, stream: 'data-logs', parcels })
}

const pushedTo = async ({ rows }: Warehouse) =>
  (await rows('select profile_id, pushed_to from vitalsync.ledger where pushed_to is not null order by 1')).map(
    (row) => [row['profile_id'], row['pushed_to']],
  )

test('the push checkpoint is the newest end that was sent, of that profile and stream alone', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addNeighbours(2)

  await send(warehouse, ada, 5)
  expect(await pushedTo(warehouse)).toEqual([[ada, new Date(marchMs(5) + HOUR)]])
  await send(warehouse, ada, 3)
  expect(await pushedTo(warehouse)).toEqual([[ada, new Date(marchMs(5) + HOUR)]])
  await send(warehouse, ada, 7)
  expect(await pushedTo(warehouse)).toEqual([[ada, new Date(marchMs(7) + HOUR)]])
})

test('pushes of several profiles at once move the checkpoint of each to its own newest end', async ({ warehouse }) => {
  const { outbox } = warehouse
  const [ada = '', bob = ''] = await warehouse.addNeighbours(2)
  await outbox.add([log(ada, 2), log(bob, 4)])
  const [adas, bobs] = await Promise.all([ada, bob].map((id) => outbox.readWaiting(id, 'data-logs')))

  await Promise.all([
    outbox.markSent({ profileId: ada, stream: 'data-logs', parcels: adas?.parcels ?? [] }),
    outbox.markSent({ profileId: bob, stream: 'data-logs', parcels: bobs?.parcels ?? [] }),
  ])

  expect(await pushedTo(warehouse)).toEqual([
    [ada, new Date(marchMs(2) + HOUR)],
    [bob, new Date(marchMs(4) + HOUR)],
  ])
})

test('pushes of one profile at once move its checkpoint to the newest end of all, in whatever order they come', async ({
  warehouse,
}) => {
  const { outbox } = warehouse
  const [ada = '', bob = ''] = await warehouse.addNeighbours(2)
  for (const profileId of [ada, bob]) for (const day of [2, 4]) await outbox.add([log(profileId, day)])
  const oldestFirst = async (profileId: string) =>
    (await outbox.readWaiting(profileId, 'data-logs')).parcels.map((parcel) => ({
      profileId,
      stream: 'data-logs',
      parcels: [parcel],
    }))
  const pushes = [...(await oldestFirst(ada)), ...(await oldestFirst(bob)).toReversed()]

  await Promise.all(pushes.map((push) => outbox.markSent(push)))

  const newest = new Date(marchMs(4) + HOUR)
  expect(pushes).toHaveLength(4)
  expect(await pushedTo(warehouse)).toEqual([
    [ada, newest],
    [bob, newest],
  ])
})

test('a run counts the items of each parcel that its job pushed, however the parcels are numbered', async ({
  warehouse,
}) => {
  const { outbox, runs } = warehouse
  const [ada = '', bob = ''] = await warehouse.addNeighbours(2)
  const run = await runs.create('sync', {})
  await outbox.add([log(bob, 1)])
  await outbox.add([2, 3, 4, 5, 6].map((day) => log(ada, day)))
  const { parcels } = await outbox.readWaiting(ada, 'data-logs')

  await outbox.markSent({ profileId: ada, stream: 'data-logs', parcels }, run.id)
  await outbox.markSent({ profileId: ada, stream: 'data-logs', parcels }, run.id)

  expect(parcels).toHaveLength(1)
  expect(await runs.get(run.id)).toMatchObject({ itemsPushed: 5, itemsPushedElsewhere: 0 })
})

test('a push makes due again what it touches, of that profile alone', async ({ warehouse }) => {
  const [ada = '', bob = ''] = await warehouse.addNeighbours(2)
  await warehouse.rows(`update vitalsync.ledger set covered = '{[2026-02-01, 2026-04-01)}' where stream = 'scores'`)
  const before = await warehouse.covered(bob, 'scores')

  await send(warehouse, ada, 5)

  expect(await warehouse.covered(ada, 'scores')).not.toBe(before)
  expect(await warehouse.covered(bob, 'scores')).toBe(before)
  const touched = await warehouse.rows(
    `select profile_id, generation, touched_at is not null as touched from vitalsync.ledger
      where stream = $1 and profile_id = any($2) order by profile_id`,
    [scores.name, [ada, bob]],
  )
  expect(touched).toEqual([
    { profile_id: ada, generation: '1', touched: true },
    { profile_id: bob, generation: '0', touched: false },
  ])
  expect(
    await warehouse.rows(`select 1 from vitalsync.ledger where stream = 'demographics' and generation > 0`),
  ).toEqual([])
})

test('items that come make their profile due at once, and never later than it was', async ({ warehouse }) => {
  const { outbox, rows } = warehouse
  const [ada = '', bob = '', eve = ''] = await warehouse.addNeighbours(3)
  await rows(`update vitalsync.profiles set due_at = now() + interval '1 hour'`)
  await rows(`update vitalsync.profiles set due_at = '2026-03-01' where id = $1`, [bob])

  await outbox.add([log(ada, 2), log(bob, 2)])

  expect(
    await rows(
      'select id, due_at > now() as later, due_at = $1 as same from vitalsync.profiles where id = any($2) order by id',
      ['2026-03-01', [ada, bob, eve]],
    ),
  ).toEqual([
    { id: ada, later: false, same: false },
    { id: bob, later: false, same: true },
    { id: eve, later: true, same: false },
  ])
})

test('a profile is due when its items can be read, and not before', async ({ warehouse, warehouseUrl }) => {
  const { outbox, rows } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  await rows(`update vitalsync.profiles set due_at = now() + interval '1 hour'`)
  const isDue = () => rows('select due_at <= now() as due from vitalsync.profiles')
  const blocker = await connect(warehouseUrl)
  await blocker.query('begin; lock vitalsync.parcels in exclusive mode')
  const adding = outbox.add([log(ada, 2)])
  await expect.poll(() => countLockWaiters(rows), soon).toBe(1)
  expect(await isDue()).toEqual([{ due: false }])

  await blocker.end()
  await adding

  expect(await isDue()).toEqual([{ due: true }])
})

test('a refusal of an item whose parcel another worker has marked as sent meanwhile has no effect', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox, rows } = warehouse
  await outbox.add([log(ada, 2)])
  const { parcels } = await outbox.readWaiting(ada, 'data-logs')
  await outbox.markSent({ profileId: ada, stream: 'data-logs', parcels })

  const pieces = parcels.flatMap(itemsOf).map((piece) => ({ ...piece, reason: 'no', path: '' }))
  await outbox.quarantineRefused({ profileId: ada, stream: 'data-logs', parcels }, pieces)

  expect(await rows('select 1 from vitalsync.quarantine')).toEqual([])
})
