import { expect } from 'vitest'
import type { OutboxItem } from '../../src/warehouse/outbox.ts'
import { DAY, HOUR } from '../../src/window.ts'
import { streamOf } from '../support/streams.ts'
import { march, marchMs, reading, score, test } from '../support/warehouse.ts'

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
const states = 'select item_key, state, revision, body from vitalsync.outbox order by item_key'

test('what waits comes oldest end first, and what comes again in the same form changes nothing', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.people('ada')
  const { outbox } = warehouse
  const items = [log(ada, 'late', 5), log(ada, 'early', 2), log(ada, 'middle', 3)]

  expect(await outbox.add(items)).toEqual({ accepted: 3, duplicate: 0 })
  expect(await outbox.add(items.slice(1))).toEqual({ accepted: 0, duplicate: 2 })

  const waiting = await outbox.waiting(ada, 'data-logs', 2)
  expect(waiting.map(({ body }) => JSON.parse(body).id)).toEqual(['early', 'middle'])
})

test('an item that was replaced while its former text was on its way still waits', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.people('ada')
  const { outbox, rows } = warehouse
  await outbox.add([log(ada, 'a', 2), log(ada, 'b', 2)])
  const sending = await outbox.waiting(ada, 'data-logs', 10)

  await outbox.add([log(ada, 'a', 2, { value: 7 })])
  await outbox.sent(ada, 'data-logs', sending)

  expect(await rows(states)).toEqual([
    { item_key: 'a', state: 'waiting', revision: 2, body: log(ada, 'a', 2, { value: 7 }).body },
    { item_key: 'b', state: 'sent', revision: 1, body: null },
  ])
})

test('what was sent is remembered: the same again is a duplicate, another text is sent again', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.people('ada')
  const { outbox } = warehouse
  await outbox.add([log(ada, 'a', 2)])
  await outbox.sent(ada, 'data-logs', await outbox.waiting(ada, 'data-logs', 10))

  expect(await outbox.add([log(ada, 'a', 2)])).toEqual({ accepted: 0, duplicate: 1 })
  expect(await outbox.add([log(ada, 'a', 2, { value: 7 })])).toEqual({ accepted: 1, duplicate: 0 })
  expect(await outbox.waiting(ada, 'data-logs', 10)).toHaveLength(1)
})

test('the push checkpoint never passes what still waits', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.people('ada')
  const { outbox, rows } = warehouse
  const checkpoint = async () => {
    const [row] = await rows(`select checkpoint from warehouse.coverage where stream = 'data-logs'`)
    return row?.['checkpoint']
  }
  await outbox.add([log(ada, 'a', 2), log(ada, 'b', 3), log(ada, 'c', 9)])
  const [a, b, c] = await outbox.waiting(ada, 'data-logs', 10)
  if (!a || !b || !c) throw new Error('three items wait')

  await outbox.sent(ada, 'data-logs', [a, c])
  expect(await checkpoint()).toEqual(new Date(marchMs(3) + HOUR))
  await outbox.sent(ada, 'data-logs', [b])
  expect(await checkpoint()).toEqual(new Date(marchMs(9) + HOUR))

  await outbox.add([log(ada, 'older', 1), log(ada, 'newer', 12)])
  const [older, newer] = await outbox.waiting(ada, 'data-logs', 10)
  if (!older || !newer) throw new Error('two items wait')
  await outbox.sent(ada, 'data-logs', [newer])
  expect(await checkpoint()).toEqual(new Date(marchMs(1) + HOUR))
})

test('what upstream refuses is in quarantine with its reason, once', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.people('ada')
  const { outbox, rows } = warehouse
  const same = { ...log(ada, 'b', 2), body: log(ada, 'a', 2).body }
  await outbox.add([log(ada, 'a', 2), same])
  const waiting = await outbox.waiting(ada, 'data-logs', 10)

  await outbox.refused(
    ada,
    'data-logs',
    waiting.map((item) => ({ ...item, reason: 'too heavy', path: '[0]' })),
  )

  expect(await outbox.waiting(ada, 'data-logs', 10)).toEqual([])
  expect(await rows('select direction, reason, body, times from vitalsync.quarantine')).toEqual([
    { direction: 'push', reason: 'too heavy', body: same.body, times: 1 },
  ])
})

test('what was pushed makes the windows it touches due again, in the streams it touches', async ({ warehouse }) => {
  const [ada = '', bob = ''] = await warehouse.people('ada', 'bob')
  const { outbox, writer, ledger, startedAtMs } = warehouse
  const window = { from: startedAtMs - 100 * DAY, to: startedAtMs - 10 * DAY }
  for (const profileId of [ada, bob]) {
    for (const stream of [streamOf('scores'), streamOf('tags')]) {
      await writer.store(reading({ profileId, stream, window, sentAtMs: startedAtMs, records: [] }))
    }
  }
  const due = async (profileId: string, stream: string, nowMs: number) => {
    const plan = await ledger.plan({ profileId, nowMs, streams: [stream], range: window })
    return plan?.due.map((one) => [one.window.from, one.window.to])
  }
  const pushed = { ...log(ada, 'a', 1), startAtMs: startedAtMs - 30 * DAY, endAtMs: startedAtMs - 30 * DAY + HOUR }
  await outbox.add([pushed])

  await outbox.sent(ada, 'data-logs', await outbox.waiting(ada, 'data-logs', 10))

  expect(await due(ada, 'scores', Date.now())).toEqual([])
  const digested = Date.now() + HOUR + 1000
  const again = await due(ada, 'scores', digested)
  expect(again?.at(-1)?.[0]).toBe(startedAtMs - 32 * DAY)
  expect(again?.at(0)?.[1]).toBe(window.to)
  expect(await due(ada, 'tags', digested)).toEqual([])
  expect(await due(bob, 'scores', digested)).toEqual([])
})

test('a reading planned before a push may store, but not cover', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.people('ada')
  const { outbox, writer, rows, ledger, startedAtMs } = warehouse
  const before = await ledger.plan({ profileId: ada, nowMs: Date.now(), streams: ['scores'] })
  const generation = before?.due[0]?.generation ?? -1
  await outbox.add([log(ada, 'a', 2)])
  await outbox.sent(ada, 'data-logs', await outbox.waiting(ada, 'data-logs', 10))

  const records = [score({ scoreDateTime: march(2) })]
  await writer.store(reading({ profileId: ada, sentAtMs: startedAtMs, generation, records }))

  expect(await rows('select 1 from vitalsync.scores')).toHaveLength(1)
  expect(await warehouse.covered(ada, 'scores')).toBe('{}')
})

test('a change of who the person is makes everything due, and nothing may be covered before it is digested', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.people('ada')
  const { outbox, writer, startedAtMs } = warehouse
  await writer.store(reading({ profileId: ada, sentAtMs: startedAtMs, records: [] }))
  await outbox.add([demographics(ada, { age: 40 })])

  await outbox.sent(ada, 'demographics', await outbox.waiting(ada, 'demographics', 1))
  expect(await warehouse.covered(ada, 'scores')).toBe('{}')

  await writer.store(reading({ profileId: ada, sentAtMs: Date.now(), generation: 1, records: [] }))
  expect(await warehouse.covered(ada, 'scores')).toBe('{}')
})

test('what upstream has already is marked sent without touching anything', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.people('ada')
  const { outbox, writer, startedAtMs } = warehouse
  const person = { profileId: ada, stream: streamOf('demographics'), window: { from: 0, to: startedAtMs } }
  await writer.store(reading({ ...person, sentAtMs: startedAtMs, records: [{ age: 40, gender: 'Female' }] }))
  await writer.store(reading({ profileId: ada, sentAtMs: startedAtMs, records: [] }))
  const covered = await warehouse.covered(ada, 'scores')
  await outbox.add([demographics(ada, { age: 40 })])

  expect(await outbox.lastDemographics(ada)).toEqual({ age: 40, gender: 'Female' })
  await outbox.known(ada, 'demographics', await outbox.waiting(ada, 'demographics', 1))

  expect(await outbox.waiting(ada, 'demographics', 1)).toEqual([])
  expect(await warehouse.covered(ada, 'scores')).toBe(covered)
})
