import { type Finding, note, well, wrong } from '../../../base/connections/finding.ts'
import { answersAsPostgres } from '../../../base/connections/probe-server.ts'
import { isOutage } from '../../../base/postgres/postgres-errors.ts'
import { hashRangeOf } from '../../fleet/hash-ranges.ts'
import type { Pool, Tx } from '../postgres/warehouse-pool.ts'
import { listTablePlaces, readShardCount } from './distributed-tables.ts'

type Node = { readonly name: string; readonly hasShards: boolean; readonly answers: boolean }

type ListedNode = Omit<Node, 'answers'> & {
  readonly host: string
  readonly port: number
  readonly isCoordinator: boolean
  readonly isActive: boolean
}

/**
 * Every node that the coordinator knows, itself included. A node answers to this process and to the coordinator. The coordinator waits for
 * a node that is silent until its statement has taken too long, so it is asked only where all answer to this process.
 */
export async function listNodes(db: Pool | Tx): Promise<Node[]> {
  const { rows } = await db.query<ListedNode>(
    `select n.nodename || ':' || n.nodeport as name, n.nodename as host, n.nodeport as port, n.shouldhaveshards as "hasShards",
       n.groupid = 0 as "isCoordinator", n.isactive as "isActive"
     from pg_dist_node n where n.noderole = 'primary' order by n.groupid`,
  )
  const away = await Promise.all(rows.map(async (node) => !(node.isCoordinator || (await answersInTime(node)))))
  const nodes = away.some(Boolean) ? undefined : await listAnsweringNodes(db)
  return rows.map(({ name, hasShards, isCoordinator, isActive }, index) => {
    const answers = isCoordinator || (isActive && !away[index] && nodes?.has(name) !== false)
    return { name, hasShards, answers }
  })
}

/** A busy node may miss one question. */
const answersInTime = async (node: ListedNode): Promise<boolean> =>
  (await answersAsPostgres(node)) || answersAsPostgres(node)

async function listAnsweringNodes(db: Pool | Tx): Promise<Set<string>> {
  const { rows } = await db.query<{ name: string }>(
    `select nodename || ':' || nodeport as name from run_command_on_workers('select 1') where success`,
  )
  return new Set(rows.map(({ name }) => name))
}

const subject = 'citus'

/** Nothing on a plain Postgres. `expected`: as WAREHOUSE_SHARDS says. */
export async function examineDistribution(pool: Pool, expected: number): Promise<Finding[]> {
  const shards = await readShardCount(pool)
  if (shards === undefined) return []
  const whole = (await listTablePlaces(pool)).filter(({ is }) => is === 'whole')
  return [
    ...nodeFindings(await listNodes(pool), shards),
    ...(whole.length === 0
      ? []
      : [
          wrong(
            subject,
            `${whole.length} tables are not divided yet: ${whole.map(({ table }) => table).join(', ')}`,
            'The division was stopped. Go on with it: vitalsync migrate --distribute.',
          ),
        ]),
    ...(shards === expected ? await placementFindings(pool, shards) : [countFinding(shards, expected)]),
    ...(await rebalanceFindings(pool)),
  ]
}

function nodeFindings(nodes: readonly Node[], shards: number): Finding[] {
  const away = nodes.filter(({ answers }) => !answers)
  if (away.length === 0) {
    const holding = nodes.filter(({ hasShards }) => hasShards).length
    return [well(subject, `all ${nodes.length} nodes answer; ${shards} shards on ${holding} of them`)]
  }
  return [
    wrong(
      subject,
      `of ${nodes.length} nodes ${away.length === 1 ? 'one does' : `${away.length} do`} not answer: ${away.map(({ name }) => name).join(', ')}`,
      'The people of its shards wait until it is back; everybody else is synced.',
    ),
  ]
}

const countFinding = (shards: number, expected: number): Finding =>
  wrong(
    subject,
    `the warehouse has ${shards} shards, and WAREHOUSE_SHARDS is ${expected}`,
    `Set WAREHOUSE_SHARDS=${shards} for every process: a group that spans two shards is refused or slow.`,
  )

/** Ids from the whole range: of each of the first people, and of people who may come. */
const PROBED_IDS = Array.from({ length: 400 }, (_, index) =>
  String(index < 300 ? index + 1 : 7 ** (index % 18) + index),
)

/** The bucket that a process computes must be the shard in which Citus keeps the profile. */
async function placementFindings(pool: Pool, shards: number): Promise<Finding[]> {
  const { rows } = await pool.query<{ id: string; place: number }>(
    `with shards as (
       select shardid, row_number() over (order by shardminvalue::int4)::int - 1 as place
       from pg_dist_shard where logicalrelid = 'vitalsync.profiles'::regclass
     )
     select i.id::text as id, s.place from unnest($1::int8[]) as i(id)
     join shards s on s.shardid = get_shard_id_for_distribution_column('vitalsync.profiles', i.id)`,
    [PROBED_IDS],
  )
  const odd = rows.filter(({ id, place }) => hashRangeOf(id, shards) !== place)
  if (odd.length === 0 && rows.length === PROBED_IDS.length)
    return [well(subject, 'each bucket of profiles is one shard')]
  return [
    wrong(
      subject,
      `of ${PROBED_IDS.length} ids ${odd.length} lie in another shard than in the bucket of their number`,
      'A shard was split, or the ranges were cut otherwise than evenly: divide the tables anew, as docs/how-to/citus.md says.',
    ),
  ]
}

async function rebalanceFindings(pool: Pool): Promise<Finding[]> {
  if (!(await isBackgroundJobOpen(pool)) && !(await isMoveUnderWay(pool))) return []
  const text = 'shards are being moved: the people of a shard wait for a moment when it changes its node'
  return [note(subject, text, 'select * from citus_rebalance_status();')]
}

/** As `citus_rebalance_start` makes one. A job waits while a node is away, and tries again. */
async function isBackgroundJobOpen(pool: Pool): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select from pg_dist_background_job where state in ('scheduled', 'running', 'failing', 'cancelling') limit 1`,
  )
  return rowCount === 1
}

/**
 * Also true for a move that a session makes without a job. Citus asks the nodes of each move how much they have, and no node
 * without a move: so a node that does not answer means a move, too.
 */
const isMoveUnderWay = (pool: Pool): Promise<boolean> =>
  pool.query('select from get_rebalance_progress() limit 1').then(
    ({ rowCount }) => rowCount === 1,
    (error: unknown) => {
      if (!isOutage(error)) throw error
      return true
    },
  )
