import { takeTurn } from '../../../base/engines/lock-holders.ts'
import { UsageProblem } from '../../../base/errors.ts'
import { SECOND } from '../../../base/time/units.ts'
import { listAddedColumns } from '../added-columns.ts'
import { asTransaction, type Pool, type Tx, transaction } from '../postgres/warehouse-pool.ts'
import { WORKER_SILENT_MS } from '../runs/live-workers.ts'
import { hasCitus, listTablePlaces, readShardCount, type TablePlace } from './distributed-tables.ts'
import { listNodes } from './examine-distribution.ts'

export type Distribution = {
  readonly shards: number
  /** The tables that were moved now, in this order: none when all of it was done before. */
  readonly moved: readonly string[]
}

/**
 * Divides the tables of profiles among the nodes by the profile's id, into `shards` shards, and copies small tables to each node.
 * Each table is a transaction of its own. Stopped at any point, the next call does the rest.
 */
export async function distributeTables(
  pool: Pool,
  { shards, say }: { readonly shards: number; say(text: string): void },
): Promise<Distribution> {
  await requireNoAddedColumns(pool)
  await requireCluster(pool)
  return alone(pool, say, async (tx) => {
    const present = await readShardCount(tx)
    if (present !== undefined && present !== shards) {
      throw new UsageProblem(`distribute the warehouse: it has ${present} shards already, not ${shards}`, {
        hint: `Set WAREHOUSE_SHARDS=${present}, or change the number with all processes stopped: docs/how-to/citus.md.`,
      })
    }
    const places = await listTablePlaces(tx)
    if (places.some(({ is }) => is === 'whole')) await requireNoWorkers(tx)
    await forbidCompilation(tx)
    await copyFunctions(tx)
    if (present === undefined) await distributeProfiles(pool, places, shards)
    const moved = await moveTables(tx, places, say)
    return { shards, moved: present === undefined ? ['profiles', ...moved] : moved }
  })
}

/** Refuses where the extension is missing, the address is not the coordinator's, or no node can take shards. */
async function requireCluster(db: Pool | Tx): Promise<void> {
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

/** Columns that users added are filled by triggers, which Citus does not run on divided tables. */
async function requireNoAddedColumns(db: Pool): Promise<void> {
  const columns = await listAddedColumns(db)
  const [first] = columns
  if (first)
    throw new UsageProblem(
      `distribute the warehouse: ${columns.length} columns were added to its tables, and Citus does not fill them`,
      { hint: `Drop them, raw keeps their values: vitalsync columns drop ${first.stream} ${first.name}` },
    )
}

/** A worker that stores while its tables move would wait for each, and may find one divided and the next one whole. */
async function requireNoWorkers(db: Pool | Tx): Promise<void> {
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

/** After a migration: new tables go where the others are, and new foreign keys are made. Nothing to do on a plain Postgres but the keys. */
export async function placeNewTables(pool: Pool, say: (text: string) => void): Promise<void> {
  if ((await readShardCount(pool)) === undefined) {
    await addForeignKeys(pool)
    return
  }
  await alone(pool, say, async (tx) => {
    await copyFunctions(tx)
    await moveTables(tx, await listTablePlaces(tx), say)
  })
}

/** One process at a time, whichever connection holds the lock. */
async function alone<T>(pool: Pool, say: (text: string) => void, work: (tx: Tx) => Promise<T>): Promise<T> {
  const tx = asTransaction(await pool.connect(), pool)
  try {
    await takeTurn(tx, 'vitalsync distribute', { say })
    return await work(tx)
  } finally {
    tx.release(true) // the lock ends with the session
  }
}

/** A foreign key may not refer from a whole table to a divided one: the keys go, and come back when their tables have moved. */
async function distributeProfiles(pool: Pool, places: readonly TablePlace[], shards: number): Promise<void> {
  await transaction(pool, async (tx) => {
    for (const { table, hasKey } of places)
      if (hasKey) await tx.query(`alter table vitalsync.${table} drop constraint ${table}_profile_id_fkey`)
    await tx.query(
      `select create_distributed_table('vitalsync.profiles', 'id', colocate_with => 'none', shard_count => $1::int)`,
      [shards],
    )
  })
  await dropLocalRows(pool, 'profiles')
}

async function moveTables(tx: Tx, places: readonly TablePlace[], say: (text: string) => void): Promise<string[]> {
  const moved: string[] = []
  for (const { table, is, wanted } of places) {
    if (is === 'whole' && table !== 'profiles') {
      say(wanted === 'copied' ? `Copying ${table} to each node …` : `Dividing ${table} …`)
      await tx.query(
        wanted === 'copied'
          ? `select create_reference_table('vitalsync.${table}')`
          : `select create_distributed_table('vitalsync.${table}', 'profile_id', colocate_with => 'vitalsync.profiles')`,
      )
      moved.push(table)
    }
    await dropLocalRows(tx, table)
  }
  await addForeignKeys(tx)
  return moved
}

/** The local rows from before the copy to the nodes: nothing reads them again. */
async function dropLocalRows(db: Pool | Tx, table: string): Promise<void> {
  const { rows } = await db.query<{ bytes: string }>(`select pg_relation_size('vitalsync.${table}') as bytes`)
  if (rows[0]?.bytes !== '0')
    await db.query(`select truncate_local_data_after_distributing_table('vitalsync.${table}')`)
}

async function addForeignKeys(db: Pool | Tx): Promise<void> {
  for (const { table, hasKey, wantsKey } of await listTablePlaces(db)) {
    if (hasKey || !wantsKey) continue
    await db.query(
      `alter table vitalsync.${table} add constraint ${table}_profile_id_fkey
       foreign key (profile_id) references vitalsync.profiles on delete cascade`,
    )
  }
}

/** The functions of the views are called where the rows are. Citus copies functions that are created after the extension automatically. */
async function copyFunctions(tx: Tx): Promise<void> {
  await tx.query(
    `select create_distributed_function(p.oid::regprocedure) from pg_proc p
     where p.pronamespace = 'vitalsync'::regnamespace and p.provolatile = 'i' and not exists (
       select from pg_dist_object o where o.classid = 'pg_proc'::regclass and o.objid = p.oid)`,
  )
}

/**
 * The nodes answer in sessions of Citus, which take no setting from the session that asks. Each of them would compile its part of a
 * view for seconds (`jit`), which it then answers in a moment.
 */
async function forbidCompilation(tx: Tx): Promise<void> {
  const { rows } = await tx.query<{ name: string }>('select quote_ident(current_database()) as name')
  await tx.query(`alter database ${rows[0]?.name} set jit = off`).catch((cause: Error) => {
    throw new UsageProblem(`set jit = off for the database on each node: ${cause.message}`, {
      hint: 'The user must own the database on each node, as the user does who created it.',
      cause,
    })
  })
}
