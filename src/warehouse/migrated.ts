import { UsageProblem } from '../errors.ts'
import { openPool, unreachable } from './pool.ts'

/** The newest thing a migration brought: where it stands, so do the others, for they only go forward. */
const NEWEST = 'vitalsync.imports'

/** Refuses to work on a warehouse that was not brought up to this version. */
export async function requireMigrated(databaseUrl: string): Promise<void> {
  const pool = openPool({ databaseUrl, connectionsMax: 1, name: 'vitalsync command' })
  try {
    const { rows } = await pool
      .query<{ there: boolean }>('select to_regclass($1) is not null as there', [NEWEST])
      .catch((cause: unknown) => {
        throw unreachable(cause)
      })
    if (rows[0]?.there) return
    throw new UsageProblem('open warehouse: its tables are missing or older than this version', {
      hint: 'Bring it up to date first: vitalsync migrate.',
    })
  } finally {
    await pool.end()
  }
}
