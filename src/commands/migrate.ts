import { migrate } from '../engines/migrate.ts'
import { grantReading } from '../warehouse/grants.ts'
import { openPool } from '../warehouse/pool.ts'

export const migrationsFolder = new URL('../warehouse/migrations/', import.meta.url)

/** Brings a warehouse up to this version, and lets the reader role see what is new. Safe with any number at once. */
export async function migrateWarehouse(databaseUrl: string): Promise<{ applied: string[]; readerGranted: boolean }> {
  const { applied } = await migrate({ databaseUrl, folder: migrationsFolder, schema: 'vitalsync' })
  const pool = openPool({ databaseUrl, connectionsMax: 1, name: 'vitalsync migrate' })
  try {
    return { applied, readerGranted: await grantReading(pool) }
  } finally {
    await pool.end()
  }
}
