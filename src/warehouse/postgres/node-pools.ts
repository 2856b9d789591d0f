import { SECOND } from '../../time/units.ts'
import { describeOutage, isConnectionLost, NodeUnreachable } from './sql-errors.ts'
import { openWarehousePool, type Pool, type WarehousePoolOptions } from './warehouse-pool.ts'

/** A node of the warehouse, by host and port. */
type NodeName = string

type NodePoolsOptions = WarehousePoolOptions & {
  /** The node of each bucket, in order; undefined where the warehouse is not divided. */
  readonly readPlaces: () => Promise<readonly NodeName[] | undefined>
  readonly now: () => number
  /** Called when a node stops answering, and when it answers again; not for each statement that fails. */
  readonly onNode: (node: NodeName, trouble: string | undefined) => void
}

/** A node that did not answer is left alone for so long: what asks for it fails at once, and holds nobody else up. */
const REST_MS = 5 * SECOND
/** Shards move seldom, and a node passes on what has moved away. */
const PLACES_KEPT_MS = 60 * SECOND

/**
 * The warehouse with a pool for each of its nodes, opened when it is first needed. At the node that has the rows, a transaction
 * needs no two-phase commit, and errors come as Postgres gives them. A warehouse that is one database stays as it is.
 */
export async function joinNodes(
  pool: Pool,
  options: NodePoolsOptions,
): Promise<{ pool: Pool; close(): Promise<void> }> {
  let places = await options.readPlaces()
  if (places === undefined) return { pool, close: async () => undefined }
  let readAtMs = options.now()
  const nodes = new Map<NodeName, Pool>()

  const refreshPlaces = () => {
    if (options.now() < readAtMs + PLACES_KEPT_MS) return
    readAtMs = options.now()
    // While the coordinator is away the places that were known last are as good as any.
    void options.readPlaces().then(
      (fresh) => {
        places = fresh ?? places
      },
      () => undefined,
    )
  }
  const poolOf = (node: NodeName): Pool => {
    const known = nodes.get(node) ?? openNodePool(node, options)
    nodes.set(node, known)
    return known
  }
  const joined: Pool = delegate(pool, {
    of(profileId) {
      refreshPlaces()
      const node = places?.[pool.buckets.of(profileId)]
      return node === undefined ? joined : poolOf(node)
    },
  })
  const close = async () => void (await Promise.all([...nodes.values()].map((node) => node.end())))
  return { pool: joined, close }
}

/** The same pool with some methods of its own. */
const delegate = (pool: Pool, own: Partial<Pick<Pool, 'query' | 'connect' | 'of' | 'failure'>>): Pool => ({
  query: pool.query.bind(pool),
  connect: pool.connect.bind(pool),
  on: pool.on.bind(pool),
  end: () => pool.end(),
  of: pool.of,
  failure: pool.failure,
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
  const message = `reach node ${node} of the warehouse: it does not answer`
  let restsUntilMs = 0
  let isAway = false

  const failure = (cause: unknown): unknown => {
    if (!isConnectionLost(cause) || cause instanceof NodeUnreachable) return cause
    restsUntilMs = options.now() + REST_MS
    if (!isAway) options.onNode(node, describeOutage(cause))
    isAway = true
    return new NodeUnreachable(message, { cause, hint: 'The people of the other nodes are worked on meanwhile.' })
  }
  const guarded = async <R>(ask: () => Promise<R>): Promise<R> => {
    if (options.now() < restsUntilMs) throw new NodeUnreachable(message)
    const answer = await ask().catch((cause: unknown) => {
      throw failure(cause)
    })
    if (isAway) options.onNode(node, undefined)
    isAway = false
    return answer
  }
  const guardedPool = delegate(pool, {
    query: (statement, values) => guarded(() => pool.query(statement, values)),
    connect: (() => guarded(() => pool.connect())) as Pool['connect'],
    of: () => guardedPool,
    failure,
  })
  return guardedPool
}

/** The address of the coordinator with host and port of the node: user, password and database are the same everywhere. */
function addressOf(node: NodeName, databaseUrl: string): string {
  const url = new URL(databaseUrl)
  const colon = node.lastIndexOf(':')
  url.hostname = node.slice(0, colon)
  url.port = node.slice(colon + 1)
  return url.href
}
