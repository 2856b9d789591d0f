import { UsageProblem } from '../base/errors.ts'
import { logSecurity } from '../service/http/security-log.ts'
import {
  type ApiKeyKind,
  type CreatedApiKey,
  createApiKey,
  ensureAccount,
  findAccountId,
  type ListedApiKey,
  listApiKeys,
  revokeApiKey,
} from '../service/store/credentials/api-keys.ts'
import { revokeTokens } from '../service/store/credentials/issued-tokens.ts'
import { grantRuntimePrivileges, migrateService } from '../service/store/migrate-service.ts'
import { createServicePool, type ServicePool } from '../service/store/service-pool.ts'
import { findProfileId } from '../service/store/service-profiles.ts'
import { readSourcePriority, setSourcePriority } from '../service/store/source-priority.ts'
import type { ServiceDatabase } from './service-database.ts'

/**
 * The secret is returned now and never again. An account that does not exist is created, and so are missing tables: keys
 * may be created before the first start of the service.
 */
export async function addServiceKey(
  database: ServiceDatabase,
  { account, kind, label }: { account: string; kind: ApiKeyKind; label: string },
): Promise<CreatedApiKey> {
  const { databaseUrl, nowAt } = database
  await migrateService(databaseUrl)
  return withServicePool(database, async (pool) => {
    const accountId = await ensureAccount(pool, { name: account, nowAt })
    const key = await createApiKey(pool, { accountId, kind, label, nowAt })
    logSecurity(database.log, 'key made', { accountId, keyId: key.publicId })
    return key
  })
}

export const readServiceKeys = (database: ServiceDatabase): Promise<ListedApiKey[]> =>
  withServicePool(database, listApiKeys)

/** Ends the key and every token that was issued for it, in every running service, at once. */
export async function endServiceKey(database: ServiceDatabase, publicId: string): Promise<void> {
  const isRevoked = await withServicePool(database, (pool) => revokeApiKey(pool, { publicId, nowAt: database.nowAt }))
  if (isRevoked) return logSecurity(database.log, 'key revoked', { keyId: publicId })
  throw new UsageProblem(`revoke key ${publicId}: there is no such key, or it was revoked before`, {
    hint: 'List the keys with `vitalsync service keys list`.',
  })
}

type SourcePriority = { sources: readonly string[]; profiles: number }

/** The order in which an account's sources are preferred. Without `sources` the order is only read. */
export async function setOrReadSourcePriority(
  database: ServiceDatabase,
  { account, sources }: { account: string; sources: readonly string[] | undefined },
): Promise<SourcePriority> {
  const { nowAt } = database
  const priority = await withServicePool(database, async (pool): Promise<SourcePriority | undefined> => {
    if (sources) {
      const set = await setSourcePriority(pool, { account, sources, nowAt })
      return set && { sources, profiles: set.profiles }
    }
    const known = await readSourcePriority(pool, account)
    return known && { sources: known, profiles: 0 }
  })
  if (priority) return priority
  throw new UsageProblem(`set sources of account ${account}: there is no such account`, {
    hint: 'List the accounts with `vitalsync service keys list`.',
  })
}

/** Revokes all tokens of an account, or of one of its profiles. Returns how many. */
export async function endTokens(
  database: ServiceDatabase,
  { account, externalId }: { account: string; externalId: string | undefined },
): Promise<number> {
  const revoked = await withServicePool(database, async (pool) => {
    const accountId = await findAccountId(pool, account)
    if (accountId === undefined) return undefined
    const profileId = externalId && (await findProfileId(pool, { accountId, externalId }))
    if (externalId !== undefined && !profileId) return undefined
    const count = await revokeTokens(pool, profileId ? { profileId } : { accountId }, database.nowAt)
    logSecurity(database.log, 'tokens revoked', { accountId, ...(profileId && { profileIds: [profileId] }), count })
    return count
  })
  if (typeof revoked === 'number') return revoked
  throw new UsageProblem('revoke tokens: there is no such account, or it has no such profile', {
    hint: 'List the accounts with `vitalsync service keys list`.',
  })
}

/** Gives a role the privileges that a running service needs, and no more. */
export const grantServicePrivileges = (database: ServiceDatabase, role: string): Promise<void> =>
  withServicePool(database, (pool) => grantRuntimePrivileges(pool, role))

/** A pool on the service's database for the time of one command. */
export async function withServicePool<T>(
  { databaseUrl, log }: ServiceDatabase,
  work: (pool: ServicePool) => Promise<T>,
): Promise<T> {
  const pool = createServicePool({ databaseUrl, connectionsMax: 1, statementTimeoutMs: 20_000, log })
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}
