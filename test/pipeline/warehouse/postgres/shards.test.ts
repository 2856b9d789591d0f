import { expect } from 'vitest'
import { catalogue } from '../../../../config/streams.ts'
import { HOUR } from '../../../../src/base/time/units.ts'
import { createProfileBuckets } from '../../../../src/pipeline/fleet/profile-buckets.ts'
import type { OutboxItem } from '../../../../src/pipeline/transfer/parcel.ts'
import { listTablePlaces } from '../../../../src/pipeline/warehouse/distribution/distributed-tables.ts'
import { createLedger } from '../../../../src/pipeline/warehouse/ledger/coverage-ledger.ts'
import { createOutbox } from '../../../../src/pipeline/warehouse/outbox/outbox.ts'
import { joinNodes } from '../../../../src/pipeline/warehouse/postgres/node-pools.ts'
import type { Shard } from '../../../../src/pipeline/warehouse/postgres/shard.ts'
import { ShardMoved } from '../../../../src/pipeline/warehouse/postgres/sql-errors.ts'
import { openWarehousePool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createBucketLists, createProfileLists } from '../../../../src/pipeline/warehouse/profiles/profile-lists.ts'
import { createProfiles } from '../../../../src/pipeline/warehouse/profiles/stored-profiles.ts'
import { openReadingWriter } from '../../../../src/pipeline/warehouse/readings/reading-writer.ts'
import { createRuns } from '../../../../src/pipeline/warehouse/runs/stored-runs.ts'
import { drawCoveredWindows } from '../../../../src/pipeline/warehouse/verification/covered-windows.ts'
import { template, within } from '../../../support/fixtures.ts'
import { imitateNode, moveAway } from '../../../support/shard-catalog.ts'
import { demographics } from '../../../support/stream-by-name.ts'
import { openTestPool } from '../../../support/test-pool.ts'
import {
  believing,
  endedJob,
  march,
  scoreRecord,
  scoresReading,
  settle,
  test,
  wantedFromMs,
} from '../../../support/test-warehouse.ts'

const buckets = createProfileBuckets(2)
const readingOptions = { now: Date.now, rowsPerCommit: 1000, commitsAtOnce: 2, settle, account: 'test' }

/**
 * A coordinator with the tables of the whole warehouse, and a node that has two shards of them under names of their own and nothing
 * else: a statement at the node that names a table of the whole warehouse fails, as there is none.
 */
const withShards = test.extend<{ shards: Awaited<ReturnType<typeof openShards>> }>({
  shards: async ({ warehouseUrl }, use) => {
    await within(await template('warehouse'), async (nodeUrl) => {
      const shards = await openShards(warehouseUrl, nodeUrl)
      await use(shards)
      await shards.close()
    })
  },
})

async function openShards(warehouseUrl: string, nodeUrl: string) {
  const node = openTestPool(nodeUrl)
  const places = await divideByHand(node, new URL(nodeUrl).host)
  const options = { connectionsMax: 2, name: 'test', pipeline: true, bucketCount: 2 }
  const coordinator = openWarehousePool({ ...options, databaseUrl: warehouseUrl })
  let reads = 0
  let isCoordinatorAway = false
  let nowMs = 0
  const joined = await joinNodes(coordinator, {
    ...options,
    databaseUrl: nodeUrl,
    readPlaces: async () => {
      reads += 1
      if (isCoordinatorAway) throw new Error('nothing listens there')
      return places
    },
    now: () => nowMs,
    onNode: () => undefined,
  })
  const { pool } = joined
  const writer = openReadingWriter({ ...readingOptions, pool, belief: believing })
  const rows = async (text: string) => (await node.query(text)).rows
  /** From the coordinator, where Citus would have put them into the shard. */
  const copyRows = async (bucket: number, table: string, profileId: string) => {
    const its = places[bucket]?.shard.tables[table]
    const { rows: copied } = await coordinator.query<{ row: string }>(
      `select to_jsonb(t)::text as row from vitalsync.${table} t where ${table === 'profiles' ? 'id' : 'profile_id'} = $1`,
      [profileId],
    )
    const { rows: columns } = await node.query<{ names: string }>(
      `select string_agg(attname, ', ') as names from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and attgenerated = '' and not attisdropped`,
      [its],
    )
    const names = columns[0]?.names
    for (const { row } of copied)
      await node.query(
        `insert into ${its} (${names}) overriding system value select ${names} from jsonb_populate_record(null::${its}, $1)`,
        [row],
      )
  }
  return {
    pool,
    node,
    rows,
    places,
    writer,
    placesRead: () => reads,
    loseCoordinator() {
      isCoordinatorAway = true
    },
    pass(ms: number) {
      nowMs += ms
    },
    ledger: createLedger({ pool, catalogue, firstReadingMs: HOUR }),
    outbox: createOutbox({ pool, catalogue, firstReadingMs: HOUR }),
    runs: createRuns({ pool }),
    /** Two people, one of each bucket, known to the coordinator and at the node. */
    async addPeople(): Promise<readonly [string, string]> {
      const profiles = createProfiles({ pool, catalogue, tokenKeys: [Buffer.alloc(32, 7)] })
      const names = Array.from({ length: 12 }, (_, index) => `person-${index}`)
      await profiles.add(names, { wantedFrom: new Date(wantedFromMs), state: 'active' })
      const { rows: ids } = await coordinator.query<{ id: string }>('select id from vitalsync.profiles order by id')
      const chosen = [0, 1].map((bucket) => ids.find(({ id }) => buckets.of(id) === bucket)?.id ?? '')
      await createOutbox({ pool: coordinator, catalogue, firstReadingMs: HOUR }).add(chosen.map(logOf))
      for (const [bucket, id] of chosen.entries())
        for (const table of ['profiles', 'ledger', 'items', 'parcels']) await copyRows(bucket, table, id)
      return [chosen[0] ?? '', chosen[1] ?? '']
    },
    async close() {
      await writer.close()
      await joined.close()
      await coordinator.end()
      await node.end()
    },
  }
}

/** Renames the tables of the whole warehouse to those of the first shard, copies them for the second, and drops all others. */
async function divideByHand(node: ReturnType<typeof openTestPool>, host: string) {
  const tables = await listTablePlaces(node)
  const { rows: others } = await node.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c where c.relkind = 'r' and c.relnamespace = 'vitalsync'::regnamespace
       and c.relname <> all($1)`,
    [tables.map(({ table }) => table)],
  )
  await node.query(`drop table ${others.map(({ name }) => name).join(', ')} cascade`)
  await loseIdentities(node)
  const shards: Shard[] = [1001, 1002].map((id) => ({
    id: String(id),
    tables: Object.fromEntries(
      tables.map(({ table, wanted }) => [table, `vitalsync.${table}_${wanted === 'copied' ? 1000 : id}`]),
    ),
  }))
  for (const { table, wanted } of tables) {
    await node.query(`alter table vitalsync.${table} rename to ${table}_${wanted === 'copied' ? 1000 : 1001}`)
    if (wanted === 'divided')
      await node.query(`create table vitalsync.${table}_1002 (like vitalsync.${table}_1001 including all)`)
  }
  await imitateNode(node, shards)
  return shards.map((shard) => ({ node: host, shard }))
}

/** As Citus makes shards: numbers come from the sequence of the whole table, and a row that is added without one fails. */
async function loseIdentities(node: ReturnType<typeof openTestPool>) {
  const { rows } = await node.query<{ table: string; column: string; sequence: string }>(
    `select attrelid::regclass::text as table, attname as column, pg_get_serial_sequence(attrelid::regclass::text, attname) as sequence
     from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relnamespace = 'vitalsync'::regnamespace and a.attidentity <> ''`,
  )
  for (const { table, column, sequence } of rows) {
    await node.query(`alter table ${table} alter column ${column} drop identity`)
    await node.query(`create sequence ${sequence}`)
  }
}

withShards(
  'readings, plans, failures, pushes and pages of a bucket are statements about its shard alone',
  async ({ shards }) => {
    const { writer, ledger, outbox, runs, pool, rows } = shards
    const people = await shards.addPeople()
    const run = await runs.create('sync', {})
    const sentAtMs = Date.now()

    // Twice each, so that both shards meet statements that their connection has prepared for the other.
    for (const value of [0.3, 0.4])
      for (const [index, profileId] of people.entries())
        await writer.store(
          scoresReading({
            profileId,
            sentAtMs: sentAtMs + value * 1000,
            tag: '"t"',
            invalid: value === 0.3 ? [{ path: 'value', reason: 'none', raw: '{}' }] : [],
            records: [scoreRecord({ scoreDateTime: march(2), value: value + index / 100 })],
          }),
        )
    for (const [index, { shard }] of shards.places.entries())
      expect(await rows(`select profile_id::text, tag from ${shard.tables['reading_tags']}`)).toEqual([
        { profile_id: people[index], tag: '"t"' },
      ])
    const plans = await Promise.all(
      people.map((profileId) => ledger.plan({ profileId, streams: ['scores'], nowMs: sentAtMs })),
    )
    for (const profileId of people) {
      await ledger.recordFailed(endedJob(profileId, { runId: run.id, job: 'pull' }), {
        reason: 'none',
        hint: undefined,
      })
      await ledger.recordFinished(endedJob(profileId, { runId: run.id }))
      const { parcels } = await outbox.readWaiting(profileId, 'data-logs')
      expect(parcels.map(({ id }) => id)).toHaveLength(1)
      await outbox.markSent({ profileId, stream: 'data-logs', parcels }, run.id)
    }
    const lists = [0, 1].map((bucket) => {
      const shard = pool.shardOf(buckets.hashesOf(bucket))
      return shard && createProfileLists(shard, catalogue.pulled)
    })
    const listed = await Promise.all(lists.map((one) => one?.list('0', 10)))

    expect(plans.map((plan) => plan?.profile.waiting.map(({ name }) => name))).toEqual([['data-logs'], ['data-logs']])
    expect(listed.map((page) => page?.ids)).toEqual(people.map((id) => [id]))
    for (const [index, { shard }] of shards.places.entries()) {
      const its = { profile_id: people[index] }
      const of = (table: string, columns = '') => rows(`select profile_id::text${columns} from ${shard.tables[table]}`)
      expect(await of('scores', ', value')).toEqual([{ ...its, value: 0.4 + index / 100 }])
      expect(await of('quarantine', ', times')).toEqual([{ ...its, times: 1 }])
      expect(await of('parcels')).toEqual([])
      expect(await of('history')).toEqual([its])
      expect(await of('failures', ', job')).toEqual([{ ...its, job: 'pull' }])
      expect(await rows(`select id::text from ${shard.tables['profiles']} where finished_at is not null`)).toEqual([
        { id: people[index] },
      ])
    }
  },
)

withShards(
  'doubts, tags, gone records, silent differences, snapshots and draws stay within a shard',
  async ({ shards }) => {
    const { pool, rows, places } = shards
    const people = await shards.addPeople()
    const belief = { goneShareMax: 0.5, spacingMs: 100 }
    const writer = openReadingWriter({ ...readingOptions, pool, belief })
    const sentAtMs = Date.now() - 1000
    const read = async (
      profileId: string,
      laterMs: number,
      more: Partial<Parameters<typeof scoresReading>[0]> = {},
    ) => {
      const reading = scoresReading({ profileId, sentAtMs: sentAtMs + laterMs, records: [], ...more })
      return (await writer.store(reading)).outcome
    }
    const records = [1, 2, 3].map((day) => scoreRecord({ scoreDateTime: march(day) }))
    const aged = (age: number) => ({ stream: demographics, records: [{ age }] })

    for (const profileId of people) {
      expect(await read(profileId, 0, { records, tag: '"a"' })).toBe('stored')
      expect(await read(profileId, 100, { tag: '"a"', unchanged: true })).toBe('stored')
      expect(await read(profileId, 200)).toBe('suspicious')
      expect(await read(profileId, 300)).toBe('stored')
      for (const age of [30, 31]) expect(await read(profileId, age, aged(age))).toBe('stored')
    }
    await writer.close()
    const streams = catalogue.pulled
    const { draw, away } = await drawCoveredWindows({ pool, streams }, { count: 1000, seed: '1' })
    if (!draw) throw new Error('nothing is covered')

    expect(away).toBe(0)
    for (const [bucket, profileId] of people.entries()) {
      const of = (table: string, columns: string) =>
        rows(`select ${columns} from ${places[bucket]?.shard.tables[table]}`)
      expect(await of('scores', `gone_at - changed_at = '0' as gone`)).toEqual(Array(3).fill({ gone: true }))
      expect(await of('history', 'stream')).toHaveLength(4)
      expect(await of('demographics', 'age, revision')).toEqual([{ age: 31, revision: 2 }])
      expect(await of('reading_tags', 'tag')).toEqual([])
      expect(await of('silent_differences', 'profile_id::text, records')).toEqual([
        { profile_id: profileId, records: 3 },
      ])
      const lists = createBucketLists(pool, streams, buckets.hashesOf(bucket))
      expect((await lists.listDrawn(draw, { afterId: '0', limit: 10 })).ids).toEqual([profileId])
    }
  },
)

const logOf = (profileId: string): OutboxItem => ({
  profileId,
  stream: 'data-logs',
  itemKey: `log of ${profileId}`,
  body: '{}',
  startAtMs: Date.parse(march(2)),
  endAtMs: Date.parse(march(3)),
})

withShards(
  'what is written to a shard that has moved away fails, and its place is asked for again',
  async ({ shards }) => {
    const { writer, node, places, rows } = shards
    const [ada, bob] = await shards.addPeople()
    const storeFor = (profileId: string) =>
      writer
        .store(
          scoresReading({
            profileId,
            sentAtMs: Date.now(),
            records: [scoreRecord({ scoreDateTime: march(2), value: 0.3 })],
          }),
        )
        .catch((error: unknown) => error)
    const [place] = places
    if (!place) throw new Error('there is no place')
    await moveAway(node, place.shard)
    const readsBefore = shards.placesRead()

    expect(await storeFor(ada)).toBeInstanceOf(ShardMoved)
    expect(await storeFor(bob)).toMatchObject({ outcome: 'stored' })

    expect(await rows(`select * from ${place.shard.tables['scores']}`)).toEqual([])
    expect(shards.placesRead()).toBe(readsBefore + 1)

    // Where they cannot be read, they are asked for again soon.
    shards.loseCoordinator()
    expect(await storeFor(ada)).toBeInstanceOf(ShardMoved)
    for (let tries = 0; tries < 3; tries++) {
      shards.pass(1000)
      expect(await storeFor(bob)).toMatchObject({ outcome: 'stored' })
      expect(shards.placesRead()).toBe(readsBefore + 2 + tries)
    }
  },
)

withShards('jobs that ended in several shards are counted for their run at the coordinator', async ({ shards }) => {
  const { ledger, pool, runs } = shards
  const people = await shards.addPeople()
  const run = await runs.create('sync', {})
  const ended = people.map((profileId) => endedJob(profileId, { runId: run.id }))
  await pool.query(
    `insert into vitalsync.orders (run_id, profile_id, job, scope) select $1, unnest($2::int8[]), $3, ''`,
    [run.id, people, ended[0]?.job],
  )
  await pool.query('update vitalsync.runs set enqueued = 2, enqueued_all = true where id = $1', [run.id])
  await Promise.all(ended.map((job) => ledger.recordFinished(job)))

  expect(await runs.get(run.id)).toMatchObject({ state: 'done', done: 2, failed: 0 })
  expect((await pool.query('select from vitalsync.orders')).rowCount).toBe(0)
  for (const [index, { shard }] of shards.places.entries())
    expect(
      await shards.rows(`select run_id::text, id::text from ${shard.tables['profiles']} where finished_at is not null`),
    ).toEqual([{ run_id: run.id, id: people[index] }])
})
