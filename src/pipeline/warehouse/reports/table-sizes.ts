import { readShardCount } from '../divided/distributed-tables.ts'
import { listNodes } from '../divided/examine-distribution.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

export type TableSizes = {
  readonly databaseBytes: number
  /** With their indexes, the largest first. */
  readonly tables: ReadonlyArray<{ readonly table: string; readonly bytes: number }>
}

/** The space of the warehouse on the disks of all nodes: the sizes of its files. No row is read. While a node is away, that of the coordinator alone. */
export async function readTableSizes(pool: Pool): Promise<TableSizes> {
  const isDivided =
    (await readShardCount(pool)) !== undefined && (await listNodes(pool)).every(({ answers }) => answers)
  const onNodes = `(select citus_total_relation_size(p.logicalrelid, false) from pg_dist_partition p where p.logicalrelid = oid)`
  const { rows } = await pool.query<{ table: string; bytes: number }>(
    `select relname as "table", coalesce(${isDivided ? onNodes : 'null'}, pg_total_relation_size(oid))::float8 as bytes from pg_class
     where relnamespace = 'vitalsync'::regnamespace and relkind in ('r', 'p') order by bytes desc, relname`,
  )
  const { rows: whole } = await pool.query<{ bytes: number }>(
    `select pg_database_size(current_database())::float8${isDivided ? nodesSize : ''} as bytes`,
  )
  return { databaseBytes: whole[0]?.bytes ?? 0, tables: rows }
}

const nodesSize = ` + (select coalesce(sum(result::float8), 0)
  from run_command_on_workers('select pg_database_size(current_database())') where success)`
