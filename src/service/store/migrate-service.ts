import { applyMigrations } from '../../base/engines/apply-migrations.ts'

const migrationsFolder = new URL('./migrations/', import.meta.url)

/** Brings the Profile Service's tables up to this version. Safe with any number of processes at once. */
export async function migrateService(databaseUrl: string): Promise<void> {
  await applyMigrations({ databaseUrl, folder: migrationsFolder, schema: 'service' })
}
