import type { Pool } from './pool.ts'

/** The role for analysts: reads the public views and nothing else. Made by whoever administers the server. */
export const READER_ROLE = 'vitalsync_reader'

/** Lets the reader role see the public views, where the role exists. Safe to run after every migration. */
export async function grantReading(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query('select 1 from pg_roles where rolname = $1', [READER_ROLE])
  if (rows.length === 0) return false
  await pool.query(`grant usage on schema warehouse to ${READER_ROLE}`)
  await pool.query(`grant select on all tables in schema warehouse to ${READER_ROLE}`)
  return true
}
