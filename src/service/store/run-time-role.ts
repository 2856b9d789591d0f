import pg from 'pg'
import { withTransaction } from './pool.ts'

/**
 * The statements that give a role what a running service needs and nothing else: it reads and writes its rows, but it
 * makes no accounts and no keys, changes no table, and sees no other schema. Run by the tables' owner after every
 * migration; running them again changes nothing.
 */
export function runTimeRights(role: string): string[] {
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

export async function grantRunTimeRights(pool: pg.Pool, role: string): Promise<void> {
  await withTransaction(pool, async (tx) => {
    for (const statement of runTimeRights(role)) await tx.query(statement)
  })
}
