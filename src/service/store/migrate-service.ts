import pg from 'pg'
import { applyMigrations } from '../../base/engines/apply-migrations.ts'
import { withTransaction } from './service-pool.ts'

const migrationsFolder = new URL('./migrations/', import.meta.url)

/** Brings the Profile Service's tables up to this version. Safe with any number of processes at once. */
export async function migrateService(databaseUrl: string): Promise<void> {
  await applyMigrations({ databaseUrl, folder: migrationsFolder, schema: 'service' })
}

/**
 * The statements that grant a role the privileges of a running service and no others: the role reads and writes rows, but
 * it cannot create accounts or keys, change a table, or see another schema. The owner of the tables runs the statements
 * after every migration; running them again changes nothing.
 */
function runtimePrivilegeStatements(role: string): string[] {
  const name = pg.escapeIdentifier(role)
  return [
    `grant usage on schema service to ${name}`,
    `revoke create on schema service from ${name}`,
    `grant select, insert, update, delete on all tables in schema service to ${name}`,
    `revoke insert, update, delete on service.accounts, service.api_keys from ${name}`,
    `revoke all on service.migrations from ${name}`,
    `grant usage on all sequences in schema service to ${name}`,
  ]
}

export async function grantRuntimePrivileges(pool: pg.Pool, role: string): Promise<void> {
  await withTransaction(pool, async (tx) => {
    for (const statement of runtimePrivilegeStatements(role)) await tx.query(statement)
  })
}
