import { UsageProblem } from '../errors.ts'
import type { Log } from '../log.ts'
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
import { readSourcePriority, setSourcePriority } from '../service/store/source-priority.ts'
import { migrateService } from './service.ts'

type KeysCommand = { databaseUrl: string; now: Date; log: Log }

/**
 * The secret is shown now and never again. The account is made when there is none of this name, and the tables where
 * there are none yet: keys may be made before the first start.
 */
export async function createServiceKey(
  command: KeysCommand & { account: string; kind: KeyKind; label: string },
): Promise<MadeKey> {
  await migrateService(command.databaseUrl)
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

/** Whose word counts first among an account's people. Without `sources` nothing is changed; it is shown. */
export async function serviceSources(
  command: KeysCommand & { account: string; sources: readonly string[] | undefined },
): Promise<{ sources: readonly string[]; profiles: number }> {
  const { account, sources, now } = command
  const done = await withPool(command, async (pool) => {
    if (sources) {
      const set = await setSourcePriority(pool, { account, sources, now })
      return set && { sources, profiles: set.profiles }
    }
    const known = await readSourcePriority(pool, account)
    return known && { sources: known, profiles: 0 }
  })
  if (done) return done
  throw new UsageProblem(`set sources of account ${account}: there is no such account`, {
    hint: 'List the accounts with `vitalsync service keys list`.',
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
