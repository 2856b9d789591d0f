import { expect } from 'vitest'
import { pulledStreams } from '../../../../config/streams.ts'
import { type Span, totalMs, union } from '../../../../src/base/time/spans.ts'
import { DAY, HOUR } from '../../../../src/base/time/units.ts'
import { createProfileBuckets } from '../../../../src/pipeline/fleet/profile-buckets.ts'
import { atShard, type Shard } from '../../../../src/pipeline/warehouse/postgres/shard.ts'
import { NodeUnreachable, ShardMoved } from '../../../../src/pipeline/warehouse/postgres/sql-errors.ts'
import type { Pool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import {
  drawCoveredWindows,
  listDrawnProfiles,
  listDrawnWindows,
  sampleCoveredWindows,
} from '../../../../src/pipeline/warehouse/verification/covered-windows.ts'
import { isDistributed } from '../../../support/distributed-warehouse.ts'
import { insertPeople, peopleNames } from '../../../support/insert-people.ts'
import { streamByName } from '../../../support/stream-by-name.ts'
import { marchMs, test, type Warehouse } from '../../../support/test-warehouse.ts'

const all = 100_000
const scores = streamByName('scores')

async function cover(warehouse: Warehouse, profileId: string, stream: string, spans: readonly Span[]): Promise<void> {
  const text = spans.map((span) => `[${new Date(span.startMs).toISOString()},${new Date(span.endMs).toISOString()})`)
  await warehouse.rows('update vitalsync.ledger set covered = $3 where profile_id = $1 and stream = $2', [
    profileId,
    stream,
    `{${text.join(',')}}`,
  ])
}

const days = (from: number, count: number): Span => ({
  startMs: marchMs(1) + from * DAY,
  endMs: marchMs(1) + (from + count) * DAY,
})

test('every covered day lies in one window, no window is longer than one request, and a snapshot has one', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const spans = [days(0, 3), { startMs: days(10, 0).startMs + HOUR, endMs: days(200, 0).startMs - HOUR }]
  await cover(warehouse, ada, 'scores', spans)
  await cover(warehouse, bob, 'trends', [days(0, 400)])
  await cover(warehouse, bob, 'demographics', [days(0, 4), days(7, 400)])
  await warehouse.addProfiles('eve')
  const source = { pool: warehouse.pool, streams: pulledStreams }

  const windows = await sampleCoveredWindows(source, { count: all, seed: '1', ids: undefined })

  const of = (name: string) => windows.filter(({ stream }) => stream.name === name).map(({ window }) => window)
  expect(union(of('scores'))).toEqual(union(spans))
  expect(totalMs(of('scores'))).toBe(totalMs(spans))
  expect(union(of('trends'))).toEqual([days(0, 400)])
  expect(of('demographics')).toEqual([{ startMs: days(0, 0).startMs, endMs: days(407, 0).startMs }])
  for (const { window, stream } of windows.filter(({ stream }) => stream.kind === 'windowed'))
    expect(window.endMs - window.startMs).toBeLessThanOrEqual(stream.windowMs)
})

test('a sample asked for is a sample drawn, of the asked profiles, and the same seed draws the same', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  for (const profileId of [ada, bob]) await cover(warehouse, profileId, 'scores', [days(0, 3500)])
  const source = { pool: warehouse.pool, streams: [scores] }
  const draw = (seed: string, count: number, ids?: string[]) => sampleCoveredWindows(source, { count, seed, ids })

  expect(await draw('7', 60)).toHaveLength(60)
  expect(await draw('7', 60)).toEqual(await draw('7', 60))
  expect(await draw('8', 60)).not.toEqual(await draw('7', 60))
  const ofBob = await draw('7', 60, [bob])
  expect(ofBob).toHaveLength(60)
  expect(new Set(ofBob.map(({ profileId }) => profileId))).toEqual(new Set([bob]))
  expect((await draw('7', all, [bob])).length).toBeLessThan(110)
})

test('each covered day has the same chance, whether its profile has much or little covered', async ({ warehouse }) => {
  const [much = '', little = '', scattered = ''] = await warehouse.addProfiles('much', 'little', 'scattered')
  await cover(warehouse, much, 'scores', [days(0, 3500)])
  await cover(warehouse, little, 'scores', [days(0, 20)])
  await cover(
    warehouse,
    scattered,
    'scores',
    Array.from({ length: 40 }, (_, week) => days(week * 35, 7)),
  )
  const source = { pool: warehouse.pool, streams: [scores] }
  const existing = (await sampleCoveredWindows(source, { count: all, seed: '0', ids: undefined })).length
  const [seeds, count] = [300, 20]
  const daysDrawn = new Map([much, little, scattered].map((id) => [id, 0]))

  for (let seed = 0; seed < seeds; seed += 1) {
    for (const { profileId, window } of await sampleCoveredWindows(source, {
      count,
      seed: String(seed),
      ids: undefined,
    }))
      daysDrawn.set(profileId, (daysDrawn.get(profileId) ?? 0) + (window.endMs - window.startMs) / DAY)
  }

  const expected = (covered: number) => (covered * seeds * count) / existing
  expect(daysDrawn.get(much)).toBeGreaterThan(expected(3500) * 0.9)
  expect(daysDrawn.get(much)).toBeLessThan(expected(3500) * 1.1)
  expect(daysDrawn.get(scattered)).toBeGreaterThan(expected(280) * 0.85)
  expect(daysDrawn.get(scattered)).toBeLessThan(expected(280) * 1.15)
  expect(daysDrawn.get(little)).toBeGreaterThan(expected(20) * 0.6)
  expect(daysDrawn.get(little)).toBeLessThan(expected(20) * 1.4)
})

test('a draw names its profiles in pages, and of each the same windows as the sample', async ({ warehouse }) => {
  const names = Array.from({ length: 30 }, (_, index) => `person-${index}`)
  const ids = await warehouse.addProfiles(...names)
  for (const id of ids) await cover(warehouse, id, 'scores', [days(0, 100)])
  const source = { pool: warehouse.pool, streams: [scores] }
  const sample = await sampleCoveredWindows(source, { count: 12, seed: '5', ids: undefined })

  const { draw } = await drawCoveredWindows(source, { count: 12, seed: '5' })
  if (!draw) throw new Error('nothing was drawn')
  const drawn: string[] = []
  for (let afterId = '0'; ; ) {
    const page = await listDrawnProfiles(source, draw, { afterId, limit: 4 })
    drawn.push(...page.ids)
    if (page.ids.length < 4) break
    afterId = page.lastId
  }
  const windows = (await Promise.all(drawn.map((id) => listDrawnWindows(source, draw, id)))).flat()

  expect(new Set(drawn).size).toBe(drawn.length)
  const named = (one: { profileId: string; window: Span }) => `${one.profileId} ${one.window.startMs}`
  expect(windows.map(named).toSorted()).toEqual(sample.map(named).toSorted())
  expect(
    await drawCoveredWindows({ ...source, streams: [streamByName('tags')] }, { count: 3, seed: '5' }),
  ).toMatchObject({ draw: undefined, away: 0 })
})

test('a draw reaches the profiles of every statement', async ({ warehouse }) => {
  const [first = ''] = await warehouse.addProfiles('first')
  await insertPeople(warehouse.pool, peopleNames(20_001, 'between '))
  const [last = ''] = await warehouse.addProfiles('last')
  for (const id of [first, last]) await cover(warehouse, id, 'scores', [days(0, 100)])
  const source = { pool: warehouse.pool, streams: [scores] }

  const sample = await sampleCoveredWindows(source, { count: 3, seed: '1', ids: undefined })
  const { draw } = await drawCoveredWindows(source, { count: all, seed: '1' })
  const drawn = draw && (await listDrawnProfiles(source, draw, { afterId: '0', limit: 10 }))

  expect(sample).toHaveLength(3)
  const whole = await sampleCoveredWindows(source, { count: all, seed: '1', ids: undefined })
  expect(sample).toEqual(whole.slice(0, 3))
  expect(new Set(whole.map(({ profileId }) => profileId))).toEqual(new Set([first, last]))
  expect(drawn?.ids).toEqual([first, last])
})

const BUCKETS = 16

/** The same warehouse, whose buckets can be asked alone. One server has a view of each in the place of the shards that Citus makes. */
async function openDivided({ pool, rows }: Warehouse): Promise<Pool> {
  if (isDistributed) return pool
  const buckets = createProfileBuckets(BUCKETS)
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    const { firstHash, lastHash } = buckets.hashesOf(bucket)
    for (const [table, id] of [
      ['profiles', 'id'],
      ['ledger', 'profile_id'],
    ])
      await rows(`create view vitalsync.${table}_${bucket} as
        select * from vitalsync.${table} where hashint8(${id}) between ${firstHash} and ${lastHash}`)
  }
  const numberOf = (firstHash: number) =>
    Array.from({ length: BUCKETS }, (_, bucket) => bucket).find((one) => buckets.hashesOf(one).firstHash === firstHash)
  return Object.assign(Object.create(pool), {
    buckets,
    shardOf({ firstHash }: { firstHash: number }) {
      const id = String(numberOf(firstHash))
      const shard: Shard = { id, tables: { profiles: `vitalsync.profiles_${id}`, ledger: `vitalsync.ledger_${id}` } }
      const query = (text: string, values: unknown[]) => pool.query(atShard(shard, text), values)
      return Object.assign(Object.create(pool), { query, shard })
    },
  })
}

/** The same with some buckets whose tables answer with an error. */
function withAway(pool: Pool, error: Error, isAway: (bucket: number) => boolean): Pool {
  const first = Array.from({ length: pool.buckets.count }, (_, bucket) => pool.buckets.hashesOf(bucket).firstHash)
  const away = Object.assign(Object.create(pool), { query: () => Promise.reject(error) })
  return Object.assign(Object.create(pool), {
    shardOf(hashes: { firstHash: number; lastHash: number }) {
      const shard = pool.shardOf(hashes)
      return shard && isAway(first.indexOf(hashes.firstHash)) ? away : shard
    },
  })
}

const unreachable = new NodeUnreachable('reach node a:1 of the warehouse: it does not answer')
const movedAway = new ShardMoved('reach people of the warehouse: their shard has moved')

test('a draw of a divided warehouse is that of the whole, and without the buckets that are away the share of the others', async ({
  warehouse,
}) => {
  const ids = await warehouse.addProfiles(...Array.from({ length: 60 }, (_, index) => `person-${index}`))
  for (const id of ids) await cover(warehouse, id, 'scores', [days(0, 100)])
  const streams = [scores]
  const divided = await openDivided(warehouse)
  const buckets = divided.buckets.count
  const whole = Object.assign(Object.create(warehouse.pool), { shardOf: () => undefined })
  const draw = (pool: Pool, count: number) => drawCoveredWindows({ pool, streams }, { count, seed: '5' })

  const ofWhole = await draw(whole, 40)
  expect(ofWhole).toMatchObject({ draw: { seed: '5' }, buckets: 1, away: 0 })
  expect(await draw(divided, 40)).toEqual({ ...ofWhole, buckets })
  expect((await draw(divided, all)).draw).toEqual((await draw(whole, all)).draw)

  const isAway = (bucket: number) => bucket % 4 === 1
  const readable = ids.filter((id) => !isAway(divided.buckets.of(id)))
  for (const error of [unreachable, movedAway]) {
    const drawn = await draw(withAway(divided, error, isAway), 40)
    expect(drawn).toMatchObject({ buckets, away: buckets / 4 })
    const windows = await Promise.all(
      readable.map((id) => listDrawnWindows({ pool: whole, streams }, drawn.draw ?? { seed: '', upTo: '0' }, id)),
    )
    expect(windows.flat()).toHaveLength(30)
  }
  const lost = (bucket: number) => bucket > 0
  const broken = new Error('syntax error')
  await expect(
    draw(
      withAway(divided, unreachable, () => true),
      40,
    ),
  ).rejects.toThrow(unreachable)
  await expect(draw(withAway(divided, broken, lost), 40)).rejects.toThrow(broken)
})

test('the windows of a bucket whose node goes away in the midst of its draw do not count', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await cover(warehouse, ada, 'scores', [days(0, 1000)])
  const buckets = createProfileBuckets(2)
  const { firstHash: hashOfAda } = buckets.hashesOf(buckets.of(ada))
  const draw = async (answers: number) => {
    let asked = 0
    const query = (text: string, values: unknown[]) =>
      asked++ < answers ? warehouse.pool.query(text, values) : Promise.reject(unreachable)
    const ofAda = Object.assign(Object.create(warehouse.pool), { query })
    const shardOf = ({ firstHash }: { firstHash: number }) => (firstHash === hashOfAda ? ofAda : undefined)
    const pool: Pool = Object.assign(Object.create(warehouse.pool), { buckets, shardOf })
    return drawCoveredWindows({ pool, streams: [scores] }, { count: 3, seed: '5' })
  }

  expect(await draw(2)).toEqual({ draw: undefined, buckets: 2, away: 1 })
  expect(await draw(3)).toMatchObject({ draw: { seed: '5' }, away: 0 })
})
