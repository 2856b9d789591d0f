import type { Pool } from '../postgres/warehouse-pool.ts'

export type TableSizes = {
  readonly databaseBytes: number
  /** With their indexes, the largest first. */
  readonly tables: ReadonlyArray<{ readonly table: string; readonly bytes: number }>
}

/** The space of the warehouse on the disk: the sizes of its files. No row is read. */
export async function readTableSizes(pool: Pool): Promise<TableSizes> {
  const { rows } = await pool.query<{ table: string; bytes: number }>(
    `select relname as "table", pg_total_relation_size(oid)::float8 as bytes from pg_class
     where relnamespace = 'vitalsync'::regnamespace and relkind in ('r', 'p') order by bytes desc, relname`,
  )
  const { rows: whole } = await pool.query<{ bytes: number }>(
    'select pg_database_size(current_database())::float8 as bytes',
  )
  return { databaseBytes: whole[0]?.bytes ?? 0, tables: rows }
}
