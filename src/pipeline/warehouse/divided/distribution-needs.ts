import { UsageProblem } from '../../../base/errors.ts'
import { SECOND } from '../../../base/time/units.ts'
import type { Pool, Tx } from '../postgres/warehouse-pool.ts'
import { WORKER_SILENT_MS } from '../runs/live-workers.ts'
import { hasCitus } from './distributed-tables.ts'
import { listNodes } from './examine-distribution.ts'

/** Refuses where the extension is missing, the address is not the coordinator's, or no node can take shards. */
export async function requireCluster(db: Pool | Tx): Promise<void> {
  if (!(await hasCitus(db))) {
    throw new UsageProblem('distribute the warehouse: the database has no extension citus', {
      hint: 'Install Citus on every node, set shared_preload_libraries = citus there, and run `create extension citus` in the database on each: docs/how-to/citus.md.',
    })
  }
  const nodes = await listNodes(db)
  if (!nodes.some(({ hasShards }) => hasShards)) {
    throw new UsageProblem('distribute the warehouse: no node is known that could take shards', {
      hint: "Name the nodes at the coordinator: select citus_set_coordinator_host('…'); select citus_add_node('…', 5432). See docs/how-to/citus.md.",
    })
  }
  const { rows } = await db.query<{ isCoordinator: boolean }>('select citus_is_coordinator() as "isCoordinator"')
  if (!rows[0]?.isCoordinator) {
    throw new UsageProblem('distribute the warehouse: DATABASE_URL is a worker node', {
      hint: 'Set DATABASE_URL to the coordinator.',
    })
  }
  const away = nodes.filter(({ answers }) => !answers)
  if (away.length > 0) {
    throw new UsageProblem(`distribute the warehouse: ${away.map(({ name }) => name).join(', ')} does not answer`, {
      hint: 'Every node must be there while tables are divided. Start it, or take it out: select citus_remove_node(…).',
    })
  }
}

/** A worker that stores while its tables move would wait for each, and may find one divided and the next one whole. */
export async function requireNoWorkers(db: Pool | Tx): Promise<void> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from vitalsync.workers
     where seen_at > clock_timestamp() - $1::float8 * interval '1 ms'`,
    [WORKER_SILENT_MS],
  )
  const count = rows[0]?.count ?? 0
  if (count === 0) return
  throw new UsageProblem(`distribute the warehouse: ${count} workers are at work`, {
    hint: `Stop all processes of vitalsync. One that was killed counts for ${WORKER_SILENT_MS / SECOND} s more.`,
  })
}
