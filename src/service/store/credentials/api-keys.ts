import { randomUUID } from 'node:crypto'
import type { Queryable } from '../service-pool.ts'
import { createPublicId, createSecret, hashSecret } from './secrets.ts'

export type ApiKeyKind = 'client' | 'app'
export type CreatedApiKey = { publicId: string; secret: string }
export type ListedApiKey = {
  publicId: string
  kind: ApiKeyKind
  account: string
  label: string
  createdAt: Date
  revokedAt: Date | null
}

type NewAccount = {
  name: string
  nowAt: Date
  /** Absent: a random id. The sandbox passes an id, because the ids of its profiles and records follow from it. */
  accountId?: string
}

/**
 * Finds the account of this name, or creates it. Safe to run twice, or twice at once: where both pass the same id, the second
 * may meet the key of the id before that of the name.
 */
export async function ensureAccount(db: Queryable, account: NewAccount): Promise<string> {
  await db.query(
    'insert into service.accounts (account_id, name, created_at) values ($1, $2, $3) on conflict do nothing',
    [account.accountId ?? randomUUID(), account.name, account.nowAt],
  )
  const accountId = await findAccountId(db, account.name)
  if (accountId === undefined) throw new Error(`find account ${account.name}: it was deleted just after it was created`)
  return accountId
}

export async function findAccountId(db: Queryable, name: string): Promise<string | undefined> {
  const { rows } = await db.query<{ account_id: string }>('select account_id from service.accounts where name = $1', [
    name,
  ])
  return rows[0]?.account_id
}

/** The name of the account, where there is one alone: that of a sandbox, for example. */
export async function findOnlyAccount(db: Queryable): Promise<string | undefined> {
  const { rows } = await db.query<{ name: string }>('select name from service.accounts limit 2')
  return rows.length === 1 ? rows[0]?.name : undefined
}

/** Returns the secret, which exists nowhere else: the database stores only its hash. */
export async function createApiKey(
  db: Queryable,
  key: { accountId: string; kind: ApiKeyKind; label: string; nowAt: Date },
): Promise<CreatedApiKey> {
  const made = { publicId: createPublicId(), secret: createSecret() }
  await db.query(
    `insert into service.api_keys (public_id, account_id, kind, secret_hash, label, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [made.publicId, key.accountId, key.kind, hashSecret(made.secret), key.label, key.nowAt],
  )
  return made
}

export async function listApiKeys(db: Queryable): Promise<ListedApiKey[]> {
  const { rows } = await db.query<ListedApiKey>(
    `select k.public_id as "publicId", k.kind, a.name as account, k.label,
            k.created_at as "createdAt", k.revoked_at as "revokedAt"
     from service.api_keys k join service.accounts a using (account_id) order by k.created_at, k.public_id`,
  )
  return rows
}

/** Revokes the key and every token that descends from it, those of profiles included. False when no such key exists, or it was revoked before. */
export async function revokeApiKey(db: Queryable, key: { publicId: string; nowAt: Date }): Promise<boolean> {
  const { rowCount } = await db.query(
    'update service.api_keys set revoked_at = $2 where public_id = $1 and revoked_at is null',
    [key.publicId, key.nowAt],
  )
  await db.query('update service.tokens set revoked_at = $2 where key_id = $1 and revoked_at is null', [
    key.publicId,
    key.nowAt,
  ])
  await db.query('update service.refresh_tokens set revoked_at = $2 where key_id = $1 and revoked_at is null', [
    key.publicId,
    key.nowAt,
  ])
  await db.query(`notify service_revocations`)
  return rowCount === 1
}

/** Undefined when there is no such key, or it was revoked. */
export async function findApiKey(
  db: Queryable,
  key: { kind: ApiKeyKind; publicId: string },
): Promise<{ accountId: string; secretHash: Buffer } | undefined> {
  const { rows } = await db.query<{ accountId: string; secretHash: Buffer }>({
    name: 'find-key',
    text: `select account_id as "accountId", secret_hash as "secretHash" from service.api_keys
           where public_id = $1 and kind = $2 and revoked_at is null`,
    values: [key.publicId, key.kind],
  })
  return rows[0]
}
