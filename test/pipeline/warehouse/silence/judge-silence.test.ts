import { expect } from 'vitest'
import { catalogue } from '../../../../config/streams.ts'
import type { LogKind } from '../../../../src/base/contract/log-evidence.ts'
import { DAY, HOUR } from '../../../../src/base/time/units.ts'
import { silenceStates } from '../../../../src/pipeline/ledger/silence.ts'
import { createOutbox } from '../../../../src/pipeline/warehouse/outbox/outbox.ts'
import { judgeSilence } from '../../../../src/pipeline/warehouse/silence/judge-silence.ts'
import {
  countSilent,
  listSilenceEvents,
  listSilenceGroups,
  listSilent,
} from '../../../../src/pipeline/warehouse/silence/list-silence.ts'
import { test, type Warehouse } from '../../../support/test-warehouse.ts'

/** The habits count whole hours. */
const nowMs = Date.now()

/** Hands in a log of each kind as of `daysAgo`. */
async function handIn(
  { pool }: Warehouse,
  profileId: string,
  { daysAgo, kinds = ['steps'], delayDays = 0 }: { daysAgo: number; kinds?: readonly LogKind[]; delayDays?: number },
): Promise<void> {
  const atMs = nowMs - daysAgo * DAY
  const outbox = createOutbox({ pool, catalogue, firstReadingMs: HOUR, now: () => atMs })
  await outbox.add(
    kinds.map((kind) => ({
      ...{ profileId, stream: 'data-logs', itemKey: `${kind}-${daysAgo}`, body: '{}' },
      ...{ startAtMs: atMs - 2 * HOUR - delayDays * DAY, endAtMs: atMs - HOUR - delayDays * DAY },
      evidence: { kind, offsetMinutes: 0, device: 'watch', isTimed: true },
    })),
  )
}

async function handInDaily(warehouse: Warehouse, profileId: string, { from, to }: { from: number; to: number }) {
  for (let daysAgo = from; daysAgo >= to; daysAgo -= 1) await handIn(warehouse, profileId, { daysAgo })
}

const statesOf = ({ rows }: Warehouse) =>
  rows('select external_id, kind, state from warehouse.silence where state is not null order by 1, 2')

const all = { sinceHours: undefined, unusual: undefined, limit: 10 }

test('a person who is silent for longer than usual is noticed once, and heard of again', async ({ warehouse }) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob', 'carl')
  await handInDaily(warehouse, ada, { from: 24, to: 4 })
  await handInDaily(warehouse, bob, { from: 20.5, to: 0.5 })

  await judgeSilence(warehouse.pool)
  await judgeSilence(warehouse.pool)

  expect(await statesOf(warehouse)).toEqual([{ external_id: 'ada', kind: 'all', state: 'all_stopped' }])
  expect(await listSilent(warehouse.pool, all)).toMatchObject([
    {
      ...{ profileId: ada, externalId: 'ada', kind: 'all', state: 'all_stopped', lastKinds: ['steps'] },
      ...{ device: 'watch', silentHours: 96, usualHours: 24, longHours: 24, unusual: 1 },
    },
  ])
  const [row] = await warehouse.rows(
    `select unusual, usual_interval::text as usual, extract(epoch from silent_for)::int / 3600 as silent from warehouse.silence
     where external_id = 'bob' and kind = 'all'`,
  )
  expect(row).toEqual({ unusual: 0, usual: '24:00:00', silent: 12 })
  expect(await countSilent(warehouse.pool)).toEqual(
    silenceStates.map((kind) => ({ kind, count: kind === 'all_stopped' ? 1 : 0 })),
  )

  await handIn(warehouse, ada, { daysAgo: 0 })
  await judgeSilence(warehouse.pool)

  expect(await statesOf(warehouse)).toEqual([])
  expect(await listSilenceEvents(warehouse.pool, HOUR)).toMatchObject([
    { externalId: 'ada', kind: 'all', from: null, to: 'all_stopped' },
    { externalId: 'ada', kind: 'all', from: 'all_stopped', to: null },
  ])
})

test('nobody is called silent whose logs are not yet taken in', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await handInDaily(warehouse, ada, { from: 24, to: 4 })
  await judgeSilence(warehouse.pool)
  await warehouse.rows('update vitalsync.silence set state = null')
  await handIn(warehouse, ada, { daysAgo: 0 })
  const holder = await warehouse.pool.connect()
  await holder.query('begin')
  await holder.query('select from vitalsync.profiles for update')

  await judgeSilence(warehouse.pool)

  expect(await statesOf(warehouse)).toEqual([])
  await holder.query('commit')
  holder.release()
})

test('a kind that stops is noticed while others come, and the order of the uploads does not matter', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const days = Array.from({ length: 25 }, (_, index) => index + 1)
  const kindsOf = (daysAgo: number): LogKind[] => (daysAgo > 4 ? ['steps', 'sleep'] : ['steps'])
  for (const daysAgo of days.toReversed()) await handIn(warehouse, ada, { daysAgo, kinds: kindsOf(daysAgo) })
  await judgeSilence(warehouse.pool)
  for (const daysAgo of days) {
    await handIn(warehouse, bob, { daysAgo, kinds: kindsOf(daysAgo) })
    await judgeSilence(warehouse.pool)
  }

  expect(await statesOf(warehouse)).toEqual([
    { external_id: 'ada', kind: 'sleep', state: 'kind_stopped' },
    { external_id: 'bob', kind: 'sleep', state: 'kind_stopped' },
  ])
  const differing = await warehouse.rows(
    `select from vitalsync.silence a full join vitalsync.silence b on b.subject = a.subject and b.profile_id = $2
     where a.profile_id = $1 and (a.intervals, a.long_hours, a.state) is distinct from (b.intervals, b.long_hours, b.state)`,
    [ada, bob],
  )
  expect(differing).toEqual([])
})

test('a kind without logs within the days of a habit is no longer silent, and the change is an event', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  for (let daysAgo = 30; daysAgo >= 1; daysAgo -= 1)
    await handIn(warehouse, ada, { daysAgo, kinds: daysAgo > 20 ? ['steps', 'sleep'] : ['steps'] })
  await judgeSilence(warehouse.pool)
  expect(await statesOf(warehouse)).toEqual([{ external_id: 'ada', kind: 'sleep', state: 'kind_stopped' }])
  await warehouse.rows(
    `update vitalsync.log_days set local_date = local_date - 70, last_at = last_at - interval '70 days' where kind = 'sleep'`,
  )
  await warehouse.rows('update vitalsync.profiles set uploaded = true')

  await judgeSilence(warehouse.pool)

  expect(await warehouse.rows('select kind from warehouse.silence order by 1')).toEqual([
    { kind: 'all' },
    { kind: 'steps' },
  ])
  expect(await listSilenceEvents(warehouse.pool, HOUR)).toMatchObject([
    { kind: 'sleep', to: 'kind_stopped' },
    { kind: 'sleep', from: 'kind_stopped', to: null },
  ])
})

test('logs that come later from week to week are noticed, by the first that came of each day', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  for (let day = 4; day < 32; day += 1) {
    const delayDays = 4 - Math.floor((day - 4) / 7)
    await handIn(warehouse, ada, { daysAgo: day - delayDays, delayDays })
    await handIn(warehouse, ada, { daysAgo: 0, kinds: ['heart'], delayDays: day })
  }

  await judgeSilence(warehouse.pool)

  expect(await statesOf(warehouse)).toContainEqual({ external_id: 'ada', kind: 'all', state: 'later_and_later' })
})

test('who hands in logs is judged once a day, and at once where a silence may begin or end', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await handInDaily(warehouse, ada, { from: 24, to: 0 })
  await judgeSilence(warehouse.pool)
  const isJudged = async () => {
    await warehouse.rows('update vitalsync.profiles set uploaded = true')
    await judgeSilence(warehouse.pool)
    return (await warehouse.rows('select from vitalsync.profiles where uploaded')).length === 0
  }

  expect(await isJudged()).toBe(false)
  for (const change of [
    `last_at = last_at - interval '1 day'`,
    `silent_from = now() where subject = 'steps'`,
    `state = 'kind_stopped' where subject = 'steps'`,
  ]) {
    await warehouse.rows(`update vitalsync.silence set ${change}`)
    expect(await isJudged(), change).toBe(true)
    expect(await isJudged(), change).toBe(false)
  }
})

test('a person whom upstream does not answer is noticed only while others are read', async ({ warehouse }) => {
  const ids = await warehouse.addProfiles('ada', 'bob', 'carl')
  await warehouse.rows(
    `update vitalsync.ledger set read_at = now() - interval '80 hours' where profile_id = any($1::int8[]) and stream = 'scores'`,
    [ids],
  )
  const expectStates = async (people: readonly string[]) => {
    await judgeSilence(warehouse.pool)
    const state = { kind: 'upstream', state: 'upstream_stopped' }
    expect(await statesOf(warehouse)).toEqual(people.map((external_id) => ({ external_id, ...state })))
  }
  const read = (ofThem: readonly (string | undefined)[]) =>
    warehouse.rows('update vitalsync.ledger set read_at = now() where profile_id = any($1::int8[])', [ofThem])

  await expectStates([])
  await read(ids.slice(1))
  await expectStates(['ada'])
  expect(await listSilent(warehouse.pool, all)).toMatchObject([{ kind: 'upstream', silentHours: 80, unusual: null }])
  await read(ids.slice(0, 1))
  await expectStates([])
})

test('the list is filtered, the most unusual first, and groups say who fell silent together', async ({ warehouse }) => {
  const [ada = '', bob = '', carl = ''] = await warehouse.addProfiles('ada', 'bob', 'carl')
  await handInDaily(warehouse, ada, { from: 24, to: 4 })
  await handInDaily(warehouse, bob, { from: 28, to: 8 })
  await handIn(warehouse, carl, { daysAgo: 9 })
  await warehouse.rows(
    `insert into vitalsync.device_information (profile_id, device_model, digest, read_at, first_seen_at, changed_at, body)
     select id, 'model x', 0, now(), now(), now(), '{"appVersion": "2.1"}' from unnest($1::int8[]) id`,
    [[ada, bob]],
  )
  await judgeSilence(warehouse.pool)
  const names = async (filter: object) =>
    (await listSilent(warehouse.pool, { ...all, ...filter })).map(({ externalId }) => externalId)

  expect(await names({})).toEqual(['bob', 'ada', 'carl'])
  expect(await names({ limit: 1 })).toEqual(['bob'])
  expect(await names({ sinceHours: 7 * 24 })).toEqual(['bob', 'carl'])
  expect(await names({ unusual: 0.99 })).toEqual(['bob', 'ada'])
  expect(await names({ state: 'kind_stopped' })).toEqual([])
  const groups = await listSilenceGroups(warehouse.pool)
  expect(groups.map(({ by, people, silent }) => [by, people, silent])).toEqual([
    ...[1, 1, 1].map((silent) => ['day', 1, silent]),
    ['device', 3, 3],
    ['model', 2, 2],
    ['app', 2, 2],
  ])
})
