import { expect } from 'vitest'
import { HOUR, MINUTE } from '../../../../src/base/time/units.ts'
import { ITEMS_PER_BATCH_MAX, itemsOf, type OutboxItem } from '../../../../src/pipeline/transfer/parcel.ts'
import { marchMs, test } from '../../../support/test-warehouse.ts'

const DAY_ONE = marchMs(1)

const log = (profileId: string, key: string, more: Partial<OutboxItem> = {}): OutboxItem => ({
  ...{ profileId, stream: 'data-logs', itemKey: key, body: JSON.stringify({ id: key }) },
  ...{ startAtMs: DAY_ONE, endAtMs: DAY_ONE + HOUR },
  ...more,
})

/** How many items of one profile are read at a time. */
const ITEMS_READ_MAX = 900
const BYTES_READ_MAX = 1_500_000

test('more may wait where as many items or bytes were read as are read at a time', async ({ warehouse }) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const { outbox } = warehouse
  const logs = (profileId: string, from: number, count: number) =>
    Array.from({ length: count }, (_, index) => log(profileId, `log-${from + index}`))
  await outbox.add(logs(ada, 0, ITEMS_READ_MAX - 1))
  expect(await outbox.readWaiting(ada, 'data-logs')).toMatchObject({ more: false })

  await outbox.add(logs(ada, ITEMS_READ_MAX, 1))
  const full = await outbox.readWaiting(ada, 'data-logs')
  expect(full).toMatchObject({ more: true })
  await outbox.add(logs(ada, ITEMS_READ_MAX + 1, 1))
  expect(await outbox.readWaiting(ada, 'data-logs')).toEqual(full)

  const large = (key: string, bytes: number) => log(bob, key, { body: `"${'x'.repeat(bytes - 2)}"` })
  await outbox.add([large('a', BYTES_READ_MAX - 1)])
  expect(await outbox.readWaiting(bob, 'data-logs')).toMatchObject({ more: false })
  await outbox.add([large('a', BYTES_READ_MAX)])
  const heavy = await outbox.readWaiting(bob, 'data-logs')
  expect(heavy).toMatchObject({ more: true })
  await outbox.add([log(bob, 'b')])
  expect(await outbox.readWaiting(bob, 'data-logs')).toEqual(heavy)
})

test('of more parcels than are read at a time the oldest are read', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox, rows } = warehouse
  await outbox.add([log(ada, 'a')])
  await rows(
    `insert into vitalsync.parcels (id, profile_id, stream, mode, start_at, first_end_at, last_end_at, sizes, body)
     select id + n, profile_id, stream, mode, start_at, first_end_at - n * interval '1 minute',
       last_end_at - n * interval '1 minute', sizes, body
     from vitalsync.parcels, generate_series(1, $1) n`,
    [ITEMS_READ_MAX],
  )

  const { parcels } = await outbox.readWaiting(ada, 'data-logs')

  const newestFirst = parcels.map(({ endAtMs }) => endAtMs).toReversed()
  expect(newestFirst).toEqual(Array.from({ length: ITEMS_READ_MAX }, (_, n) => DAY_ONE + HOUR - (n + 1) * MINUTE))
})

test('an item replaces none that has its key in another stream', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox } = warehouse
  const items = ['data-logs', 'demographics'].map((stream) => log(ada, 'a', { stream }))
  for (const item of items) await outbox.add([item])

  for (const { stream, body } of items)
    expect((await outbox.readWaiting(ada, stream)).parcels).toMatchObject([{ body, waiting: 1 }])
})

test('items are packed by their ends, whenever they began', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox } = warehouse
  const count = ITEMS_PER_BATCH_MAX + 1
  // The later an item begins, the earlier it ends: by their starts, the last to end would come first.
  await outbox.add(
    Array.from({ length: count }, (_, index) =>
      log(ada, `log-${index}`, {
        startAtMs: DAY_ONE + index * MINUTE,
        endAtMs: DAY_ONE + (2 * count - index) * MINUTE,
      }),
    ),
  )

  const { parcels } = await outbox.readWaiting(ada, 'data-logs')

  expect(parcels.flatMap(itemsOf).map(({ body }) => JSON.parse(body).id)).toEqual(
    Array.from({ length: count }, (_, index) => `log-${count - 1 - index}`),
  )
  // The span that a parcel touches begins with the first of its items.
  expect(parcels[0]?.startAtMs).toBe(DAY_ONE + MINUTE)
  expect(parcels.at(-1)?.endAtMs).toBe(DAY_ONE + 2 * count * MINUTE)
  expect(parcels[0]?.endAtMs).toBeLessThan(parcels.at(-1)?.endAtMs ?? 0)
})

test('a parcel that two workers mark counts once as pushed by its run', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox, runs } = warehouse
  const run = await runs.create('sync', {})
  await outbox.add([log(ada, 'a'), log(ada, 'b')])
  const { parcels } = await outbox.readWaiting(ada, 'data-logs')

  for (let worker = 1; worker <= 2; worker += 1)
    await outbox.markSent({ profileId: ada, stream: 'data-logs', parcels }, run.id)

  expect(await runs.get(run.id)).toMatchObject({ itemsPushed: 2 })
})

test('items come out of their parcel by their bytes, whatever stands in them', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const items = ['é', '😀', 'a'].map((note, index) => log(ada, `item-${index}`, { body: JSON.stringify({ note }) }))
  await warehouse.outbox.add(items)

  const { parcels } = await warehouse.outbox.readWaiting(ada, 'data-logs')
  expect(parcels.flatMap(itemsOf).map(({ body }) => body)).toEqual(items.map(({ body }) => body))
})
