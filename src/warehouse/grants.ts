import { type Pool, transaction } from './pool.ts'

/** The role for analysts: reads the public views and nothing else. Made by whoever administers the server. */
export const READER_ROLE = 'vitalsync_reader'

/** Lets the reader role see the public views, where the role exists. Safe to run after every migration, by several at once. */
export async function grantReading(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query('select 1 from pg_roles where rolname = $1', [READER_ROLE])
  if (rows.length === 0) return false
  return transaction(pool, async (tx) => {
    // Two grants on one table at once are an error to Postgres, however alike they are.
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('vitalsync grants', 0))`)
    await tx.query(`grant usage on schema warehouse to ${READER_ROLE}`)
    await tx.query(`grant select on all tables in schema warehouse to ${READER_ROLE}`)
    return true
  })
}
