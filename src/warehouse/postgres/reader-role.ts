import { type Pool, transaction } from './warehouse-pool.ts'

/** The role for analysts: reads the public views and nothing else. An administrator of the server creates it. */
export const READER_ROLE = 'vitalsync_reader'

/**
 * Lets the reader role read the public views, where the role exists. Safe to run after every migration, by several
 * processes at once.
 */
export async function grantReaderRole(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query('select 1 from pg_roles where rolname = $1', [READER_ROLE])
  if (rows.length === 0) return false
  return transaction(pool, async (tx) => {
    // Postgres fails one of two concurrent grants on a table, even when they are the same.
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('vitalsync grants', 0))`)
    await tx.query(`grant usage on schema warehouse to ${READER_ROLE}`)
    await tx.query(`grant select on all tables in schema warehouse to ${READER_ROLE}`)
    return true
  })
}
