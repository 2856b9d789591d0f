import { randomUUID } from 'node:crypto'
import { hashSecret, makePublicId, makeSecret, matchesHash } from '../secrets.ts'
import type { Queryable } from './pool.ts'

export type KeyKind = 'client' | 'app'
export type MadeKey = { publicId: string; secret: string }
export type ListedKey = {
  publicId: string
  kind: KeyKind
  account: string
  label: string
  createdAt: Date
  revokedAt: Date | null
}

/** Finds the account of this name, or makes it. Safe to run twice, or twice at once. */
export async function ensureAccount(db: Queryable, account: { name: string; now: Date }): Promise<string> {
  await db.query(
    'insert into service.accounts (account_id, name, created_at) values ($1, $2, $3) on conflict (name) do nothing',
    [randomUUID(), account.name, account.now],
  )
  const { rows } = await db.query<{ account_id: string }>('select account_id from service.accounts where name = $1', [
    account.name,
  ])
  const found = rows[0]
  if (!found) throw new Error(`find account ${account.name}: it was removed while it was made`)
  return found.account_id
}

/** The secret is in the answer and nowhere else: only its hash is kept. */
export async function createKey(
  db: Queryable,
  key: { accountId: string; kind: KeyKind; label: string; now: Date },
): Promise<MadeKey> {
  const made = { publicId: makePublicId(), secret: makeSecret() }
  await db.query(
    `insert into service.api_keys (public_id, account_id, kind, secret_hash, label, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [made.publicId, key.accountId, key.kind, hashSecret(made.secret), key.label, key.now],
  )
  return made
}

export async function listKeys(db: Queryable): Promise<ListedKey[]> {
  const { rows } = await db.query<ListedKey>(
    `select k.public_id as "publicId", k.kind, a.name as account, k.label,
            k.created_at as "createdAt", k.revoked_at as "revokedAt"
     from service.api_keys k join service.accounts a using (account_id) order by k.created_at, k.public_id`,
  )
  return rows
}

/** Takes the key and every token that was had by it. False when there is no such key, or it was revoked before. */
export async function revokeKey(db: Queryable, key: { publicId: string; now: Date }): Promise<boolean> {
  const { rowCount } = await db.query(
    'update service.api_keys set revoked_at = $2 where public_id = $1 and revoked_at is null',
    [key.publicId, key.now],
  )
  await db.query('update service.tokens set revoked_at = $2 where key_id = $1 and revoked_at is null', [
    key.publicId,
    key.now,
  ])
  await db.query(`notify service_revocations`)
  return rowCount === 1
}

/** The account that a key opens, or undefined when id or secret is wrong or the key was revoked. */
export async function openKey(
  db: Queryable,
  key: { kind: KeyKind; publicId: string; secret: string },
): Promise<string | undefined> {
  const { rows } = await db.query<{ account_id: string; secret_hash: Buffer }>({
    name: 'open-key',
    text: `select account_id, secret_hash from service.api_keys
           where public_id = $1 and kind = $2 and revoked_at is null`,
    values: [key.publicId, key.kind],
  })
  const found = rows[0]
  return matchesHash(key.secret, found?.secret_hash) ? found?.account_id : undefined
}
