import { expect } from 'vitest'
import { DAY, HOUR } from '../../../../src/base/time/units.ts'
import { quarantineOf } from '../../../../src/operations/open-quarantine.ts'
import { itemsOf, type OutboxItem, type Parcel } from '../../../../src/pipeline/transfer/parcel.ts'
import { openRehearsal } from '../../../../src/pipeline/warehouse/outbox/rehearsal.ts'
import { soon } from '../../../support/fixtures.ts'
import { countLockWaiters } from '../../../support/lock-waiters.ts'
import { recordPage } from '../../../support/record-orders.ts'
import { streamByName } from '../../../support/stream-by-name.ts'
import {
  connect,
  march,
  marchMs,
  scoreRecord,
  scoresReading,
  test,
  type Warehouse,
} from '../../../support/test-warehouse.ts'

const log = (profileId: string, key: string, day: number, more: object = {}): OutboxItem => ({
  profileId,
  stream: 'data-logs',
  itemKey: key,
  body: JSON.stringify({ id: key, startDateTime: march(day), ...more }),
  startAtMs: marchMs(day),
  endAtMs: marchMs(day) + HOUR,
})
const demographics = (profileId: string, body: object, mode: 'patch' | 'put' = 'patch'): OutboxItem => ({
  profileId,
  stream: 'demographics',
  itemKey: 'demographics',
  body: JSON.stringify(body),
  mode,
  startAtMs: 0,
  endAtMs: 0,
})

type Place = { warehouse: Warehouse; profileId: string; stream?: string }

async function waitingOf({ warehouse, profileId, stream = 'data-logs' }: Place): Promise<readonly Parcel[]> {
  return (await warehouse.outbox.readWaiting(profileId, stream)).parcels
}
async function textsOf(place: Place): Promise<string[]> {
  return (await waitingOf(place)).flatMap(itemsOf).map(({ body }) => body)
}
async function sendAll({ warehouse, profileId, stream = 'data-logs' }: Place): Promise<void> {
  await warehouse.outbox.markSent({ profileId, stream, parcels: await waitingOf({ warehouse, profileId, stream }) })
}

test('waiting items come oldest end first, and an item that comes again in the same form changes nothing', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox } = warehouse
  const items = [log(ada, 'late', 5), log(ada, 'early', 2), log(ada, 'middle', 3)]

  expect(await outbox.add(items)).toEqual({ accepted: 3, duplicate: 0 })
  expect(await outbox.add(items.slice(1))).toEqual({ accepted: 0, duplicate: 2 })
  expect(await outbox.add([log(ada, 'earliest', 1)])).toEqual({ accepted: 1, duplicate: 0 })

  const texts = await textsOf({ warehouse, profileId: ada })
  expect(texts.map((text) => JSON.parse(text).id)).toEqual(['earliest', 'early', 'middle', 'late'])
})

test('addMissing leaves an item that came before in its form', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox } = warehouse
  await outbox.add([log(ada, 'a', 2, { value: 7 }), log(ada, 'b', 3)])

  expect(await outbox.addMissing([log(ada, 'a', 2), log(ada, 'b', 3), log(ada, 'c', 4)])).toEqual({
    accepted: 1,
    duplicate: 2,
  })
  expect(await textsOf({ warehouse, profileId: ada })).toEqual(
    [log(ada, 'a', 2, { value: 7 }), log(ada, 'b', 3), log(ada, 'c', 4)].map(({ body }) => body),
  )
})

test('a form that its source changed earlier replaces none that it changed later, sent or waiting, in one call or many', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox } = warehouse
  const form = (key: string, modifiedMs: number | undefined, value: number) => ({
    ...log(ada, key, 2, { value }),
    modifiedMs,
  })
  const place = { warehouse, profileId: ada }
  const rehearsal = await openRehearsal({ pool: warehouse.pool, onlyMissing: false })
  await using _closing = { [Symbol.asyncDispose]: rehearsal.close }
  const [newer, older, undated] = [form('a', 20, 10_050), form('a', 10, 5000), form('a', undefined, 7)]
  const add = async (...items: OutboxItem[]) => {
    const rehearsed = await rehearsal.add(items)
    const counts = await outbox.add(items)
    expect(rehearsed).toEqual(counts)
    return counts
  }

  expect(await add(newer, older)).toEqual({ accepted: 1, duplicate: 1 })
  expect(await add(older)).toEqual({ accepted: 0, duplicate: 1 })
  expect(await textsOf(place)).toEqual([newer.body])
  await sendAll(place)
  expect(await add(older)).toEqual({ accepted: 0, duplicate: 1 })
  expect(await textsOf(place)).toEqual([])
  expect(await add(form('a', 20, 1))).toEqual({ accepted: 1, duplicate: 0 })
  expect(await add(undated)).toEqual({ accepted: 1, duplicate: 0 })
  expect(await add(older)).toEqual({ accepted: 1, duplicate: 0 })
  expect(await textsOf(place)).toEqual([older.body])
})

test('an item that was replaced while its former text was on its way still waits', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox } = warehouse
  await outbox.add([log(ada, 'a', 2), log(ada, 'b', 2)])
  const sending = await waitingOf({ warehouse, profileId: ada })

  await outbox.add([log(ada, 'a', 2, { value: 7 })])
  await outbox.markSent({ profileId: ada, stream: 'data-logs', parcels: sending })

  expect(await textsOf({ warehouse, profileId: ada })).toEqual([log(ada, 'a', 2, { value: 7 }).body])
})

test('of an item that is replaced before it was sent only the newer form waits, wherever its end lies', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox, rows } = warehouse
  await outbox.add([log(ada, 'a', 9), log(ada, 'b', 10), log(ada, 'c', 11)])

  await outbox.add([log(ada, 'a', 2, { value: 7 })])
  await outbox.add([log(ada, 'c', 3, { value: 8 }), log(ada, 'b', 10)])

  const waiting = [log(ada, 'a', 2, { value: 7 }), log(ada, 'c', 3, { value: 8 }), log(ada, 'b', 10)]
  expect(await textsOf({ warehouse, profileId: ada })).toEqual(waiting.map(({ body }) => body))
  expect(await rows('select sum(waiting)::int as n from vitalsync.parcels')).toEqual([{ n: 3 }])
  await outbox.add([log(ada, 'b', 1, { value: 9 })])
  expect(await rows('select waiting from vitalsync.parcels')).toEqual([{ waiting: 1 }, { waiting: 1 }, { waiting: 1 }])
})

test('sent items are remembered: the same text is a duplicate, another text is sent again', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox } = warehouse
  await outbox.add([log(ada, 'a', 2)])
  await sendAll({ warehouse, profileId: ada })

  expect(await outbox.add([log(ada, 'a', 2)])).toEqual({ accepted: 0, duplicate: 1 })
  expect(await textsOf({ warehouse, profileId: ada })).toEqual([])
  expect(await outbox.add([log(ada, 'a', 2, { value: 7 })])).toEqual({ accepted: 1, duplicate: 0 })
  expect(await textsOf({ warehouse, profileId: ada })).toHaveLength(1)
})

test('imports of the same at once take it in once', async ({ warehouse, warehouseUrl }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const items = Array.from({ length: 200 }, (_, index) => log(ada, `log-${index}`, 1 + (index % 20)))

  // All of them are under way, whatever they wait for, before one of them can store anything.
  const blocker = await connect(warehouseUrl)
  await blocker.query('begin; lock vitalsync.parcels in exclusive mode')
  const adding = Promise.all(Array.from({ length: 4 }, () => warehouse.outbox.add(items)))
  await expect.poll(() => countLockWaiters(warehouse.rows), soon).toBe(4)
  await blocker.end()
  const counts = await adding

  expect(counts.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(200)
  expect(new Set(await textsOf({ warehouse, profileId: ada })).size).toBe(200)
  expect(await warehouse.rows('select sum(waiting)::int as n from vitalsync.parcels')).toEqual([{ n: 200 }])
})

test('partial demographics that wait say together what they say one after the other', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox } = warehouse
  const place = { warehouse, profileId: ada, stream: 'demographics' } as const

  const counts = [
    await outbox.add([demographics(ada, { age: 40, gender: 'Female' })]),
    await outbox.add([demographics(ada, { country: 'NZ' }), demographics(ada, { age: 41 })]),
    await outbox.add([demographics(ada, { age: 41 })]),
  ]
  expect(counts.map(({ accepted }) => accepted)).toEqual([1, 2, 0])
  const together = await waitingOf(place)
  expect(together.map(({ body, mode }) => [JSON.parse(body), mode])).toEqual([
    [{ age: 41, gender: 'Female', country: 'NZ' }, 'patch'],
  ])

  await outbox.add([demographics(ada, { age: 50 }, 'put')])
  await outbox.add([demographics(ada, { locale: 'Urban', age: null })])
  const replacing = await waitingOf(place)
  expect(replacing.map(({ body, mode }) => [JSON.parse(body), mode])).toEqual([[{ age: null, locale: 'Urban' }, 'put']])

  await sendAll(place)
  await outbox.add([demographics(ada, { education: 'x' })])
  expect(await textsOf(place)).toEqual(['{"education":"x"}'])
})

test('two updates of one person that come at once wait as one', async ({ warehouse, warehouseUrl }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const other = await connect(warehouseUrl)
  await other.query('begin')
  await other.query('select from vitalsync.profiles where id = $1 for update', [ada])
  const adding = [{ age: 40 }, { gender: 'Female' }].map((body) => warehouse.outbox.add([demographics(ada, body)]))
  await expect.poll(() => countLockWaiters(warehouse.rows), soon).toBe(2)

  await other.query('commit')
  await Promise.all(adding)

  const [text = ''] = await textsOf({ warehouse, profileId: ada, stream: 'demographics' })
  expect(JSON.parse(text)).toEqual({ age: 40, gender: 'Female' })
  await other.end()
})

test('an update that replaces what a waiting one of the same fields would have changed counts as a change', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox } = warehouse
  await outbox.add([demographics(ada, { age: 40 })])

  expect(await outbox.add([demographics(ada, { age: 40 }, 'put')])).toMatchObject({ accepted: 1 })
  expect(await outbox.add([demographics(ada, { age: 40 }, 'put')])).toMatchObject({ accepted: 0 })

  expect(await waitingOf({ warehouse, profileId: ada, stream: 'demographics' })).toMatchObject([{ mode: 'put' }])
})

test('the push checkpoint never passes what still waits', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox, rows } = warehouse
  const checkpoint = async () => {
    const [row] = await rows(`select checkpoint from warehouse.coverage where stream = 'data-logs'`)
    return row?.['checkpoint']
  }
  const put = (...items: OutboxItem[]) =>
    items.reduce((before, item) => before.then(async () => void (await outbox.add([item]))), Promise.resolve())
  const send = (...parcels: Parcel[]) => outbox.markSent({ profileId: ada, stream: 'data-logs', parcels })
  await put(log(ada, 'a', 2), log(ada, 'b', 3), log(ada, 'c', 9))
  const [a, b, c] = await waitingOf({ warehouse, profileId: ada })
  if (!a || !b || !c) throw new Error('three parcels wait')

  await send(a, c)
  expect(await checkpoint()).toEqual(new Date(marchMs(3) + HOUR))
  await send(b)
  expect(await checkpoint()).toEqual(new Date(marchMs(9) + HOUR))

  await put(log(ada, 'older', 1), log(ada, 'newer', 12))
  const [older, newer] = await waitingOf({ warehouse, profileId: ada })
  if (!older || !newer) throw new Error('two parcels wait')
  await send(newer)
  expect(await checkpoint()).toEqual(new Date(marchMs(1) + HOUR))
})

test('an item that upstream refuses is in quarantine with its reason, once, and waits again when it is replayed', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox, rows, pool } = warehouse
  await outbox.add([log(ada, 'a', 2), log(ada, 'b', 3), log(ada, 'c', 4)])
  const parcels = await waitingOf({ warehouse, profileId: ada })
  const bad = parcels.flatMap(itemsOf).filter(({ place }) => place < 2)
  const refuse = () =>
    outbox.quarantineRefused(
      { profileId: ada, stream: 'data-logs', parcels },
      bad.map((piece) => ({ ...piece, reason: 'too heavy', path: '[0]' })),
    )

  await refuse()
  await refuse()

  expect(await textsOf({ warehouse, profileId: ada })).toEqual([log(ada, 'c', 4).body])
  expect(await rows('select direction, reason, body, times from vitalsync.quarantine order by body')).toEqual(
    ['a', 'b'].map((key, index) => ({
      direction: 'push',
      reason: 'too heavy',
      body: log(ada, key, 2 + index).body,
      times: 1,
    })),
  )
  expect(await outbox.add([log(ada, 'a', 2)])).toEqual({ accepted: 0, duplicate: 1 })

  // An item that came in again is not overtaken by its former form.
  await outbox.add([log(ada, 'b', 3, { value: 7 })])
  await quarantineOf(pool).replay({ direction: 'push' })
  const texts = [log(ada, 'a', 2), log(ada, 'b', 3, { value: 7 }), log(ada, 'c', 4)].map(({ body }) => body)
  expect((await textsOf({ warehouse, profileId: ada })).sort()).toEqual(texts.sort())
  await outbox.add([log(ada, 'a', 2, { value: 8 })])
  expect(await textsOf({ warehouse, profileId: ada })).toHaveLength(3)
})

test('items that are refused again say so in their row, with the newest reason, and equal texts are one', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const { outbox, rows, pool } = warehouse
  const twins = ['a', 'twin of a'].map((itemKey) => ({ ...log(ada, 'a', 2), itemKey }))
  await outbox.add([...twins, log(ada, 'b', 3), log(bob, 'a', 2)])
  const refuse = async (reason: string) => {
    const parcels = await waitingOf({ warehouse, profileId: ada })
    const pieces = parcels.flatMap(itemsOf).filter(({ body }) => body === log(ada, 'a', 2).body)
    const refused = pieces.map((piece) => ({ ...piece, reason, path: '[0]' }))
    await outbox.quarantineRefused({ profileId: ada, stream: 'data-logs', parcels }, refused)
  }

  await refuse('too heavy')
  await quarantineOf(pool).replay({ direction: 'push' })
  await rows(
    `insert into vitalsync.quarantine
    (profile_id, stream, direction, digest, path, reason, body, mode, start_at, end_at, first_seen_at, last_seen_at)
    select $1, 'data-logs', 'push', digest, '', 'as before', '{}', 'patch', now(), now(), '2026-03-01', '2026-03-01'
    from vitalsync.items where profile_id = $1 and item_key = 'a'`,
    [ada],
  )
  await refuse('too heavy still')

  expect(
    await rows(`select profile_id, reason, times, last_seen_at > '2026-03-01' as again from vitalsync.quarantine`),
  ).toEqual([{ profile_id: ada, reason: 'too heavy still', times: 2, again: true }])
  expect(await textsOf({ warehouse, profileId: ada })).toEqual([log(ada, 'b', 3).body])
  expect(await textsOf({ warehouse, profileId: bob })).toEqual([log(bob, 'a', 2).body])
})

test('what waits is read by profile and stream', async ({ warehouse }) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  await warehouse.outbox.add([log(ada, 'a', 2), log(bob, 'b', 2), demographics(ada, { age: 40 })])
  const read = (profileId: string, stream: string) => textsOf({ warehouse, profileId, stream })

  // Those that come while the first is read are read together.
  const texts = await Promise.all([read(bob, 'data-logs'), read(ada, 'demographics'), read(ada, 'data-logs')])
  expect(texts).toEqual([[log(bob, 'b', 2).body], ['{"age":40}'], [log(ada, 'a', 2).body]])
  expect(await read(bob, 'demographics')).toEqual([])
})

test('the last snapshot is that of the profile, while upstream has one', async ({ warehouse }) => {
  const people = await warehouse.addProfiles('ada', 'bob', 'cyd')
  const { outbox, writer, rows, startedAtMs } = warehouse
  for (const [index, profileId] of people.entries()) {
    const person = { profileId, stream: streamByName('demographics'), window: { startMs: 0, endMs: startedAtMs } }
    await writer.store(scoresReading({ ...person, sentAtMs: startedAtMs, records: [{ age: 40 + index }] }))
  }
  await rows('update vitalsync.demographics set gone_at = now() where profile_id = $1', [people[2]])

  const snapshots = await Promise.all(people.map((profileId) => outbox.lastSnapshot(profileId, 'demographics')))
  expect(snapshots).toEqual([{ age: 40 }, { age: 41 }, undefined])
})

test('a replay adds no second copy of an item that came in again meanwhile', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox, pool } = warehouse
  await outbox.add([log(ada, 'a', 2)])
  const parcels = await waitingOf({ warehouse, profileId: ada })
  const pieces = parcels.flatMap(itemsOf).map((piece) => ({ ...piece, reason: 'no', path: '' }))
  await outbox.quarantineRefused({ profileId: ada, stream: 'data-logs', parcels }, pieces)
  await outbox.add([log(ada, 'a', 2, { value: 7 })])
  await outbox.add([log(ada, 'a', 2)])

  await quarantineOf(pool).replay({ direction: 'push' })

  expect(await textsOf({ warehouse, profileId: ada })).toEqual([log(ada, 'a', 2).body])
})

test('a refusal of an item that was replaced meanwhile has no effect', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox, rows } = warehouse
  await outbox.add([log(ada, 'a', 2), log(ada, 'b', 3)])
  const parcels = await waitingOf({ warehouse, profileId: ada })
  await outbox.add([log(ada, 'a', 2, { value: 7 })])

  const pieces = parcels.flatMap(itemsOf).map((piece) => ({ ...piece, reason: 'no', path: '' }))
  await outbox.quarantineRefused({ profileId: ada, stream: 'data-logs', parcels }, pieces)

  expect(await rows('select body from vitalsync.quarantine')).toEqual([{ body: log(ada, 'b', 3).body }])
  expect(await textsOf({ warehouse, profileId: ada })).toEqual([log(ada, 'a', 2, { value: 7 }).body])
})

test('pushed items make the windows that they touch due again, in the streams that they touch', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const { outbox, writer, ledger, startedAtMs } = warehouse
  const window = { startMs: startedAtMs - 100 * DAY, endMs: startedAtMs - 10 * DAY }
  for (const profileId of [ada, bob]) {
    for (const stream of [streamByName('scores'), streamByName('tags')]) {
      await writer.store(scoresReading({ profileId, stream, window, sentAtMs: startedAtMs, records: [] }))
    }
  }
  const due = async (profileId: string, stream: string, nowMs: number) => {
    const plan = await ledger.plan({ profileId, nowMs, streams: [stream], range: window })
    return plan?.due.map((dueWindow) => [dueWindow.window.startMs, dueWindow.window.endMs])
  }
  const pushed = { ...log(ada, 'a', 1), startAtMs: startedAtMs - 30 * DAY, endAtMs: startedAtMs - 30 * DAY + HOUR }
  await outbox.add([pushed])

  await sendAll({ warehouse, profileId: ada })

  expect(await due(ada, 'scores', Date.now())).toEqual([])
  const digested = Date.now() + HOUR + 1000
  const again = await due(ada, 'scores', digested)
  expect(again?.at(-1)?.[0]).toBe(startedAtMs - 36 * DAY)
  expect(again?.at(0)?.[1]).toBe(window.endMs)
  expect(await due(ada, 'tags', digested)).toEqual([])
  expect(await due(bob, 'scores', digested)).toEqual([])
})

test('a reading planned before a push may store, but not cover', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox, writer, rows, ledger, startedAtMs } = warehouse
  const before = await ledger.plan({ profileId: ada, nowMs: Date.now(), streams: ['scores'] })
  const generation = before?.due[0]?.generation ?? -1
  await outbox.add([log(ada, 'a', 2)])
  await sendAll({ warehouse, profileId: ada })

  const records = [scoreRecord({ scoreDateTime: march(2) })]
  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs, generation, records }))

  expect(await rows('select 1 from vitalsync.scores')).toHaveLength(1)
  expect(await warehouse.covered(ada, 'scores')).toBe('{}')
})

test('a change of who the person is makes everything due, and nothing may be covered before it is digested', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox, writer, startedAtMs } = warehouse
  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs, records: [] }))
  await outbox.add([demographics(ada, { age: 40 })])

  await sendAll({ warehouse, profileId: ada, stream: 'demographics' })
  expect(await warehouse.covered(ada, 'scores')).toBe('{}')

  await writer.store(scoresReading({ profileId: ada, sentAtMs: Date.now(), generation: 1, records: [] }))
  expect(await warehouse.covered(ada, 'scores')).toBe('{}')
})

test('an item that upstream has already is marked sent without touching a window', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox, writer, startedAtMs } = warehouse
  const person = { profileId: ada, stream: streamByName('demographics'), window: { startMs: 0, endMs: startedAtMs } }
  await writer.store(scoresReading({ ...person, sentAtMs: startedAtMs, records: [{ age: 40, gender: 'Female' }] }))
  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs, records: [] }))
  const covered = await warehouse.covered(ada, 'scores')
  await outbox.add([demographics(ada, { age: 40 })])

  const run = await warehouse.runs.create('sync', {})
  await recordPage(warehouse.runs, run.id, [{ profileId: ada, job: 'sync-profile', params: {} }])

  expect(await outbox.lastSnapshot(ada, 'demographics')).toEqual({ age: 40, gender: 'Female' })
  const place = { warehouse, profileId: ada, stream: 'demographics' } as const
  await outbox.markKnown({ ...place, parcels: await waitingOf(place) })

  expect(await waitingOf(place)).toEqual([])
  expect(await warehouse.covered(ada, 'scores')).toBe(covered)
  expect(await warehouse.runs.get(run.id)).toMatchObject({ itemsPushed: 0, itemsPushedElsewhere: 0 })
})
