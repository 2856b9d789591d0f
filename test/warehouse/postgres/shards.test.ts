import { expect } from 'vitest'
import { catalogue } from '../../../config/streams.ts'
import { createProfileBuckets } from '../../../src/fleet/profile-buckets.ts'
import { HOUR } from '../../../src/time/units.ts'
import type { OutboxItem } from '../../../src/transfer/parcel.ts'
import { listTablePlaces } from '../../../src/warehouse/distribution/distributed-tables.ts'
import { createLedger } from '../../../src/warehouse/ledger/coverage-ledger.ts'
import { createOutbox } from '../../../src/warehouse/outbox/outbox.ts'
import { joinNodes } from '../../../src/warehouse/postgres/node-pools.ts'
import type { Shard } from '../../../src/warehouse/postgres/shard.ts'
import { ShardMoved } from '../../../src/warehouse/postgres/sql-errors.ts'
import { openWarehousePool } from '../../../src/warehouse/postgres/warehouse-pool.ts'
import { createProfileLists } from '../../../src/warehouse/profiles/profile-lists.ts'
import { createProfiles } from '../../../src/warehouse/profiles/stored-profiles.ts'
import { openReadingWriter } from '../../../src/warehouse/readings/reading-writer.ts'
import { createRuns } from '../../../src/warehouse/runs/stored-runs.ts'
import { template, within } from '../../support/fixtures.ts'
import { imitateNode, moveAway } from '../../support/shard-catalog.ts'
import { openTestPool } from '../../support/test-pool.ts'
import {
  believing,
  endedJob,
  march,
  scoreRecord,
  scoresReading,
  settle,
  test,
  wantedFromMs,
} from '../../support/test-warehouse.ts'

const buckets = createProfileBuckets(2)

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
  const joined = await joinNodes(coordinator, {
    ...options,
    databaseUrl: nodeUrl,
    readPlaces: async () => {
      reads += 1
      return places
    },
    now: () => performance.now(),
    onNode: () => undefined,
  })
  const { pool } = joined
  const writer = openReadingWriter({
    pool,
    now: Date.now,
    rowsPerCommit: 1000,
    commitsAtOnce: 2,
    belief: believing,
    settle,
    account: 'test',
  })
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

const logOf = (profileId: string): OutboxItem => ({
  profileId,
  stream: 'data-logs',
  itemKey: `log of ${profileId}`,
  body: '{}',
  startAtMs: Date.parse(march(2)),
  endAtMs: Date.parse(march(3)),
})

withShards(
  'what is written to a shard that has moved away fails, and its place is asked for anew',
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
  },
)
