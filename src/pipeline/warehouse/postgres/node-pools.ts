import type pg from 'pg'
import { answersAsPostgres } from '../../../base/connections/probe-server.ts'
import { destroyConnection } from '../../../base/postgres/silent-server.ts'
import { SECOND } from '../../../base/time/units.ts'
import { createProfileBuckets } from '../../fleet/profile-buckets.ts'
import type { Shard } from './shard.ts'
import { describeOutage, isConnectionLost, isTooLong, NodeUnreachable, ShardMoved } from './sql-errors.ts'
import { openWarehousePool, type Pool, transaction, type WarehousePoolOptions } from './warehouse-pool.ts'

/** A node of the warehouse, by host and port. */
type NodeName = string

/** The node and the shard of a bucket. */
export type BucketPlace = { readonly node: NodeName; readonly shard: Shard }

type NodePoolsOptions = WarehousePoolOptions & {
  /** The place of each bucket, in order; undefined where the warehouse is not divided. */
  readonly readPlaces: () => Promise<readonly BucketPlace[] | undefined>
  readonly now: () => number
  /** Called when a node stops answering, and when it answers again; not for each statement that fails. */
  readonly onNode: (node: NodeName, trouble: string | undefined) => void
  readonly probeEveryMs?: number
}

/** How long a node that did not answer is left alone: statements for it fail at once, and hold nobody else up. */
const REST_MS = 5 * SECOND
/** How often to probe a node that has unanswered queries. */
const PROBE_EVERY_MS = 3 * SECOND
/** After how many unanswered probes in a row it counts as silent: a busy node may miss one. */
const SILENT_PROBES_MAX = 2
/** For how many of its shards the connections to a node keep plans: more would fill its memory. */
const SHARDS_WITH_PLANS_MAX = 16
/** Shards move seldom, and a transaction at a node that had the shard before fails: then the places are read at once. */
const PLACES_KEPT_MS = 60 * SECOND
/** The coordinator serves all nodes: fewer and larger statements leave it more time. A job takes this much longer a few times. */
const GATHER_MS = 25
/** How often to ask the coordinator at most, while it does not say where a shard has moved. */
const MOVE_READ_EVERY_MS = SECOND

/**
 * The warehouse with a pool for each of its nodes, opened when it is first needed. At the node that has the rows, a transaction
 * needs no two-phase commit, is planned by Postgres alone, and errors come as Postgres gives them. A warehouse that is one database
 * stays as it is.
 */
export async function joinNodes(
  pool: Pool,
  options: NodePoolsOptions,
): Promise<{ pool: Pool; close(): Promise<void> }> {
  const places = await options.readPlaces()
  if (places === undefined) return { pool, close: async () => undefined }
  let readAtMs = options.now()
  let readForMoveAtMs = Number.NEGATIVE_INFINITY
  let isMoved = false
  const nodes = new Map<NodeName, Pool>()

  const refreshPlaces = () => {
    const nowMs = options.now()
    if (nowMs < (isMoved ? readForMoveAtMs + MOVE_READ_EVERY_MS : readAtMs + PLACES_KEPT_MS)) return
    readAtMs = nowMs
    if (isMoved) readForMoveAtMs = nowMs
    // While the coordinator is away the places that were known last are as good as any.
    void options.readPlaces().then(
      (fresh) => {
        isMoved = false
        if (fresh) shards = shardsAt(fresh)
      },
      () => undefined,
    )
  }
  const poolOf = (node: NodeName): Pool => {
    const known = nodes.get(node) ?? openNodePool(node, options)
    nodes.set(node, known)
    return known
  }
  const shardAt = ({ node, shard }: BucketPlace): Pool => {
    const nodePool = poolOf(node)
    const shardPool: Pool = delegate(nodePool, {
      query: (statement, values) => transaction(shardPool, (tx) => tx.query(statement, values)),
      of: () => shardPool,
      shard,
      buckets: createProfileBuckets(1),
      failure: (cause) => {
        isMoved ||= cause instanceof ShardMoved
        return nodePool.failure(cause)
      },
    })
    return shardPool
  }
  const shardsAt = (all: readonly BucketPlace[]): Pool[] => {
    const planned = [...Map.groupBy(all, ({ node }) => node).values()].flatMap((its) =>
      its.slice(0, SHARDS_WITH_PLANS_MAX),
    )
    return all.map((place) =>
      shardAt(planned.includes(place) ? place : { node: place.node, shard: { ...place.shard, isPlannedAnew: true } }),
    )
  }
  let shards = shardsAt(places)
  const joined: Pool = delegate(pool, {
    gatherMs: GATHER_MS,
    servers: () => [pool, ...nodes.values()],
    of(profileId) {
      refreshPlaces()
      return shards[pool.buckets.of(profileId)] ?? joined
    },
    shardOf({ firstHash, lastHash }) {
      refreshPlaces()
      return shards.find((_, bucket) => {
        const own = pool.buckets.hashesOf(bucket)
        return own.firstHash === firstHash && own.lastHash === lastHash
      })
    },
  })
  return { pool: joined, close: async () => void (await Promise.all([...nodes.values()].map((node) => node.end()))) }
}

/** The same pool with some methods of its own. */
const delegate = (
  pool: Pool,
  own: Partial<
    Pick<
      Pool,
      'query' | 'connect' | 'end' | 'of' | 'shardOf' | 'shard' | 'buckets' | 'servers' | 'gatherMs' | 'failure'
    >
  >,
): Pool => ({
  query: pool.query.bind(pool),
  connect: pool.connect.bind(pool),
  on: pool.on.bind(pool),
  end: () => pool.end(),
  of: pool.of,
  shardOf: pool.shardOf,
  shard: pool.shard,
  failure: pool.failure,
  servers: pool.servers,
  gatherMs: pool.gatherMs,
  buckets: pool.buckets,
  get totalCount() {
    return pool.totalCount
  },
  get idleCount() {
    return pool.idleCount
  },
  get waitingCount() {
    return pool.waitingCount
  },
  ...own,
})

/** A pool that fails at once for a while after its node did not answer. */
function openNodePool(node: NodeName, options: NodePoolsOptions): Pool {
  const pool = openWarehousePool({ ...options, databaseUrl: addressOf(node, options.databaseUrl) })
  const watch = watchForSilence(pool, node, options.probeEveryMs ?? PROBE_EVERY_MS)
  const message = `reach node ${node} of the warehouse: it does not answer`
  let restsUntilMs = 0
  let isAway = false
  let isTried = false

  const failure = (cause: unknown): unknown => {
    if (isTooLong(cause))
      return new NodeUnreachable(`work at node ${node} of the warehouse: ${describeOutage(cause)}`, { cause })
    if (!isConnectionLost(cause) || cause instanceof NodeUnreachable) return cause
    restsUntilMs = options.now() + REST_MS
    if (!isAway) options.onNode(node, describeOutage(cause))
    isAway = true
    return new NodeUnreachable(message, { cause, hint: 'The people of the other nodes are worked on meanwhile.' })
  }
  const guarded = async <R>(ask: () => Promise<R>): Promise<R> => {
    // After its rest one asks whether the node is back: if it is silent, the others need not wait for that.
    if (options.now() < restsUntilMs || (isAway && isTried)) throw new NodeUnreachable(message)
    isTried = true
    const answer = await ask()
      .catch((cause: unknown) => {
        throw failure(cause)
      })
      .finally(() => {
        isTried = false
      })
    if (isAway) options.onNode(node, undefined)
    isAway = false
    return answer
  }
  const guardedPool = delegate(pool, {
    query: (statement, values) => guarded(() => pool.query(statement, values)),
    connect: (() => guarded(() => pool.connect())) as Pool['connect'],
    end: () => {
      watch.close()
      return pool.end()
    },
    of: () => guardedPool,
    failure,
  })
  return guardedPool
}

/**
 * Closes the connections to a node that stops answering, even to a fresh TLS probe. By their own timeout alone a statement would
 * wait for twenty seconds and more, and with it the job slots that the people of the other nodes need.
 */
function watchForSilence(pool: Pool, node: NodeName, everyMs: number): { close(): void } {
  const open = new Set<pg.PoolClient>()
  pool.on('connect', (client) => open.add(client))
  pool.on('remove', (client) => open.delete(client))
  let silentProbes = 0
  let isProbed = false
  const probe = async () => {
    const isOwed = pool.totalCount > pool.idleCount
    const isThere = !isOwed || (await answersAsPostgres(hostAndPort(node)))
    silentProbes = isThere ? 0 : silentProbes + 1
    if (silentProbes < SILENT_PROBES_MAX) return
    for (const client of open) destroyConnection(client)
  }
  const timer = setInterval(() => {
    if (isProbed) return
    isProbed = true
    void probe().finally(() => {
      isProbed = false
    })
  }, everyMs)
  return { close: () => clearInterval(timer) }
}

/** The address of the coordinator with host and port of the node: user, password and database are the same everywhere. */
function addressOf(node: NodeName, databaseUrl: string): string {
  const url = new URL(databaseUrl)
  const { host, port } = hostAndPort(node)
  url.hostname = host
  url.port = String(port)
  return url.href
}

function hostAndPort(node: NodeName): { host: string; port: number } {
  const colon = node.lastIndexOf(':')
  return { host: node.slice(0, colon), port: Number(node.slice(colon + 1)) }
}
