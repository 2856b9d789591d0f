import pg from 'pg'
import { expect } from 'vitest'
import { createProfileBuckets } from '../../../../src/pipeline/fleet/profile-buckets.ts'
import { joinNodes } from '../../../../src/pipeline/warehouse/postgres/node-pools.ts'
import { statementAtShard } from '../../../../src/pipeline/warehouse/postgres/shard.ts'
import { endSilentSessions } from '../../../../src/pipeline/warehouse/postgres/silent-sessions.ts'
import { isNodeOutage } from '../../../../src/pipeline/warehouse/postgres/sql-errors.ts'
import { openWarehousePool, transaction } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { failureOutcomeOf } from '../../../../src/pipeline/work/outcome.ts'
import { soon, test } from '../../../support/fixtures.ts'
import { imitateNode } from '../../../support/shard-catalog.ts'
import { startSilentProxy } from '../../../support/silent-proxy.ts'

const buckets = createProfileBuckets(2)
const [ada = '', bob = ''] = [0, 1].map((bucket) => {
  for (let id = 1; ; id += 1) if (buckets.of(String(id)) === bucket) return String(id)
})

/** Two addresses of one Postgres, which may go away one by one, as nodes of a warehouse with two buckets. */
const withNodes = test.extend<{ nodes: Awaited<ReturnType<typeof openNodes>> }>({
  nodes: async ({ database }, use) => {
    const nodes = await openNodes(database)
    await use(nodes)
    await nodes.close()
  },
})

async function openNodes(databaseUrl: string) {
  const proxies = [await startSilentProxy(databaseUrl), await startSilentProxy(databaseUrl)] as const
  const options = { databaseUrl, connectionsMax: 2, name: 'test', bucketCount: 2 }
  const coordinator = openWarehousePool(options)
  const told: Array<[string, boolean]> = []
  let nowMs = 0
  const hosts = proxies.map(({ url }) => new URL(url).host)
  const places = hosts.map((node, index) => ({ node, shard: { id: String(index + 1), tables: {} } }))
  await imitateNode(
    coordinator,
    places.map(({ shard }) => shard),
  )
  const { pool, close } = await joinNodes(coordinator, {
    ...options,
    readPlaces: async () => places,
    now: () => nowMs,
    probeEveryMs: 100,
    onNode: (node, trouble) => told.push([node, trouble !== undefined]),
  })
  return {
    pool,
    told,
    hosts,
    proxies,
    pass: (ms: number) => {
      nowMs += ms
    },
    async close() {
      await close()
      await coordinator.end()
      for (const proxy of proxies) await proxy.close()
    },
  }
}

/** A process that is frozen after it has begun a COPY. */
class SilentCopy extends pg.Query {
  handleCopyInResponse() {
    // neither rows nor an end: the driver would send an error
  }
}

const lockAll = 'select pg_advisory_xact_lock(1)'
const ask = (pool: Awaited<ReturnType<typeof openNodes>>['pool'], profileId: string) =>
  transaction(pool.of(profileId), async (tx) => (await tx.query('select 1 as one')).rows)

withNodes(
  'a node that is away fails its own people at once, is reported once, and is asked again later',
  async ({ nodes }) => {
    const { pool, told, hosts, proxies, pass } = nodes
    expect(await ask(pool, ada)).toEqual([{ one: 1 }])
    expect(await ask(pool, bob)).toEqual([{ one: 1 }])

    proxies[0].redirect('postgres://127.0.0.1:1')
    proxies[0].dropAll()
    const failures = await Promise.all(
      Array.from({ length: 20 }, () => ask(pool, ada).catch((error: unknown) => error)),
    )
    const later = await pool
      .of(ada)
      .query('select 1')
      .catch((error: unknown) => error)

    for (const failure of [...failures, later]) {
      expect(isNodeOutage(failure)).toBe(true)
      expect(failureOutcomeOf(failure, { isLast: true, isClosing: false, mayWait: true })).toMatchObject({
        action: 'delay',
      })
    }
    expect(told).toEqual([[hosts[0], true]])
    expect(await ask(pool, bob)).toEqual([{ one: 1 }])

    proxies[0].redirect(proxies[1].url)
    await expect(ask(pool, ada)).rejects.toThrow(`reach node ${hosts[0]} of the warehouse`)
    pass(5000)
    expect(await ask(pool, ada)).toEqual([{ one: 1 }])
    expect(told).toEqual([
      [hosts[0], true],
      [hosts[0], false],
    ])
  },
)

withNodes('a node that is silent is given up long before its statements time out', async ({ nodes }) => {
  const { pool, told, hosts, proxies, pass } = nodes
  await Promise.all([ask(pool, ada), ask(pool, ada)])
  proxies[0].silence('to-server', 'to-client')
  const beganAtMs = performance.now()

  const failures = await Promise.all(
    [ask(pool, ada), ask(pool, ada)].map((one) => one.catch((error: unknown) => error)),
  )

  expect(performance.now() - beganAtMs).toBeLessThan(20_000)
  expect(failures.map(isNodeOutage)).toEqual([true, true])
  expect(told).toEqual([[hosts[0], true]])
  // After the rest one waits whether the node is back, and nobody else.
  pass(5000)
  const [one, other] = [ask(pool, ada), ask(pool, ada)].map((asked) => asked.catch((error: unknown) => error))
  expect(await Promise.race([one?.then(() => 'who tries'), other?.then(() => 'the other')])).toBe('the other')
  proxies[0].restore()
  proxies[0].dropAll()
  expect(await one).toEqual([{ one: 1 }])
  expect(await ask(pool, ada)).toEqual([{ one: 1 }])
  expect(told).toEqual([
    [hosts[0], true],
    [hosts[0], false],
  ])
})

withNodes(
  'a lock that is taken at a node holds up its own people, and the node is not taken for away',
  async ({ nodes }) => {
    const { pool, told } = nodes
    await transaction(pool.of(ada), async (holder) => {
      await holder.query(lockAll)
      const failure = await transaction(pool.of(bob), async (tx) => {
        await tx.query("set local lock_timeout = '100ms'")
        await tx.query(lockAll)
      }).catch((error: unknown) => error)

      expect(isNodeOutage(failure)).toBe(true)
      expect(failureOutcomeOf(failure, { isLast: true, isClosing: false, mayWait: true })).toMatchObject({
        action: 'delay',
      })
    })
    expect(await ask(pool, bob)).toEqual([{ one: 1 }])
    expect(told).toEqual([])
  },
)

withNodes('a session that is frozen in the middle of a COPY is ended at its node', async ({ nodes }) => {
  const { pool } = nodes
  await ask(pool, ada)
  const [, node] = pool.servers()
  expect(pool.servers()).toHaveLength(3)
  const holder = await pool.of(ada).connect()
  holder.on('error', () => undefined)
  await holder.query('begin; create temporary table here (at int)')
  await holder.query(lockAll)
  const copying = Promise.withResolvers<unknown>()
  holder.query(new SilentCopy('copy here from stdin', copying.resolve))
  const waiting = transaction(pool.of(bob), async (tx) => (await tx.query(lockAll)).command)

  await expect.poll(() => endSilentSessions({ servers: () => (node ? [node] : []) }), soon).toBe(1)

  expect(await waiting).toBe('SELECT')
  expect(await copying.promise).toBeInstanceOf(Error)
  holder.release(true)
})

withNodes('a node that dies within a transaction is one that is away', async ({ nodes }) => {
  const { pool, proxies } = nodes
  const failure = await transaction(pool.of(ada), async (tx) => {
    proxies[0].redirect('postgres://127.0.0.1:1')
    proxies[0].dropAll()
    await tx.query('select 1')
  }).catch((error: unknown) => error)

  expect(isNodeOutage(failure)).toBe(true)
})

test('connections keep plans for some shards of a node alone', async ({ database }) => {
  const options = { databaseUrl: database, connectionsMax: 1, name: 'test', bucketCount: 40 }
  const coordinator = openWarehousePool(options)
  const place = (bucket: number) => ({
    node: `127.0.0.1:${1 + (bucket % 2)}`,
    shard: { id: String(bucket), tables: {} },
  })
  const { pool, close } = await joinNodes(coordinator, {
    ...options,
    readPlaces: async () => Array.from({ length: 40 }, (_, bucket) => place(bucket)),
    now: () => 0,
    onNode: () => undefined,
  })
  const shards = Array.from({ length: 40 }, (_, bucket) => pool.shardOf(pool.buckets.hashesOf(bucket))?.shard)
  await close()
  await coordinator.end()

  const names = shards.map((shard) => shard && statementAtShard(shard, { name: 'ask', text: 'select 1' }).name)
  expect(names).toEqual(shards.map((_, bucket) => (bucket < 32 ? `ask ${bucket}` : undefined)))
})

withNodes('an error of a statement at a node is the statement’s own', async ({ nodes }) => {
  const failure = await transaction(nodes.pool.of(ada), (tx) => tx.query('select 1 / 0')).catch(
    (error: unknown) => error,
  )

  expect(isNodeOutage(failure)).toBe(false)
  expect(failure).toMatchObject({ code: '22012' })
  expect(nodes.told).toEqual([])
})
