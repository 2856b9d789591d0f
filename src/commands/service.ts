import { once } from 'node:events'
import { migrate } from '../engines/migrate.ts'
import { UsageProblem } from '../errors.ts'
import type { Log } from '../log.ts'
import { type Extension, type Service, startService } from '../service/server.ts'
import {
  createKey,
  ensureAccount,
  type KeyKind,
  type ListedKey,
  listKeys,
  type MadeKey,
  revokeKey,
} from '../service/store/keys.ts'
import { openPool, type Pool } from '../service/store/pool.ts'
import { grantRunTimeRights } from '../service/store/run-time-role.ts'

const migrations = new URL('../service/store/migrations/', import.meta.url)

export type ServiceCommand = {
  databaseUrl: string
  port: number
  host: string
  /** False where the service runs as a role that may not change tables: then somebody else migrates before. */
  migrateFirst: boolean
  extensions: readonly Extension[]
  log: Log
}

export async function migrateService(databaseUrl: string): Promise<{ applied: string[] }> {
  return migrate({ databaseUrl, folder: migrations, schema: 'service' })
}

/** Serves until `signal` is aborted, then answers what is in flight and ends. */
export async function runService(command: ServiceCommand, signal: AbortSignal): Promise<void> {
  const service = await openService(command)
  command.log.info({ url: service.url }, 'the Profile Service is ready')
  if (!signal.aborted) await once(signal, 'abort')
  await service.close()
}

export async function openService(command: ServiceCommand): Promise<Service> {
  const { databaseUrl, port, host, extensions, log } = command
  if (command.migrateFirst) await migrateService(databaseUrl)
  return startService({ databaseUrl, port, host, extensions, log })
}

type KeysCommand = { databaseUrl: string; now: Date; log: Log }

/** The secret is shown now and never again. The account is made when there is none of this name. */
export async function createServiceKey(
  command: KeysCommand & { account: string; kind: KeyKind; label: string },
): Promise<MadeKey> {
  return withPool(command, async (pool) => {
    const { now, kind, label } = command
    const accountId = await ensureAccount(pool, { name: command.account, now })
    return createKey(pool, { accountId, kind, label, now })
  })
}

export async function listServiceKeys(command: KeysCommand): Promise<ListedKey[]> {
  return withPool(command, listKeys)
}

/** Ends the key and every token that was had by it, in every running service, at once. */
export async function revokeServiceKey(command: KeysCommand & { publicId: string }): Promise<void> {
  const revoked = await withPool(command, (pool) => revokeKey(pool, command))
  if (revoked) return
  throw new UsageProblem(`revoke key ${command.publicId}: there is no such key, or it was revoked before`, {
    hint: 'List the keys with `vitalsync service keys list`.',
  })
}

/** Gives a role what a running service needs and nothing else. */
export async function grantServiceRights(command: KeysCommand & { role: string }): Promise<void> {
  await withPool(command, (pool) => grantRunTimeRights(pool, command.role))
}

async function withPool<T>(command: KeysCommand, work: (pool: Pool) => Promise<T>): Promise<T> {
  const { databaseUrl, log } = command
  const pool = openPool({ databaseUrl, connectionsMax: 1, statementTimeoutMs: 20_000, log })
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}
