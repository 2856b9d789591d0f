import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { hashSecret, makeSecret, matchesHash } from '../secrets.ts'
import { type Queryable, withTransaction } from './pool.ts'

/** Who a token speaks for. `expiresAtMs` is compared with the service's clock at every use. */
export type Identity = {
  readonly kind: 'account' | 'profile'
  readonly accountId: string
  readonly profileId: string | undefined
  readonly readOnly: boolean
  readonly expiresAtMs: number
}

type TokenRow = {
  token_hash: Buffer
  kind: 'account' | 'profile'
  account_id: string
  profile_id: string | null
  read_only: boolean
  expires_at: Date
}

export async function issueAccountToken(
  db: Queryable,
  token: { accountId: string; keyId: string; nowMs: number; lifetimeSeconds: number },
): Promise<string> {
  const secret = makeSecret()
  await db.query({
    name: 'issue-account-token',
    text: `insert into service.tokens (token_hash, kind, account_id, key_id, family, issued_at, expires_at)
           values ($1, 'account', $2, $3, $4, $5, $6)`,
    values: [
      hashSecret(secret),
      token.accountId,
      token.keyId,
      randomUUID(),
      new Date(token.nowMs),
      new Date(token.nowMs + token.lifetimeSeconds * 1000),
    ],
  })
  return secret
}

export type NewProfileToken = {
  accountId: string
  profileId: string
  readOnly: boolean
  nowMs: number
  lifetimeSeconds: number
  /** Absent: a family of its own. */
  family?: string
}

const REFRESH_LIFETIME_MS = 30 * 86_400_000

export type IssuedTokens = { profileToken: string; refreshToken: string }

/** Undefined when the profile is gone, or goes meanwhile. */
export async function issueProfileToken(db: Queryable, token: NewProfileToken): Promise<IssuedTokens | undefined> {
  const issued = { profileToken: makeSecret(), refreshToken: makeSecret() }
  const family = token.family ?? randomUUID()
  const { rowCount } = await db.query({
    name: 'issue-profile-token',
    text: `with owner as (
             select profile_id from service.profiles where profile_id = $4::uuid for key share
           ), refresh as (
             insert into service.refresh_tokens (token_hash, profile_id, family, read_only, issued_at, expires_at)
             select $2::bytea, profile_id, $5::uuid, $6::boolean, $7::timestamptz, $9::timestamptz from owner)
           insert into service.tokens
             (token_hash, kind, account_id, profile_id, family, read_only, issued_at, expires_at)
           select $1::bytea, 'profile', $3::uuid, profile_id, $5::uuid, $6::boolean, $7::timestamptz, $8::timestamptz
           from owner`,
    values: [
      hashSecret(issued.profileToken),
      hashSecret(issued.refreshToken),
      token.accountId,
      token.profileId,
      family,
      token.readOnly,
      new Date(token.nowMs),
      new Date(token.nowMs + token.lifetimeSeconds * 1000),
      new Date(token.nowMs + REFRESH_LIFETIME_MS),
    ],
  })
  return rowCount === 1 ? issued : undefined
}

/**
 * Looks a token up, expired ones included: whoever asks decides what expiry means. Revoked ones are not found, nor those
 * of a revoked key: one may have been on its way into the table while its key was revoked.
 */
export async function findToken(db: Queryable, secret: string): Promise<Identity | undefined> {
  const { rows } = await db.query<TokenRow>({
    name: 'find-token',
    text: `select t.token_hash, t.kind, t.account_id, t.profile_id, t.read_only, t.expires_at
           from service.tokens t left join service.api_keys k on k.public_id = t.key_id
           where t.token_hash = $1 and t.revoked_at is null and k.revoked_at is null`,
    values: [hashSecret(secret)],
  })
  const row = rows[0]
  if (!row || !matchesHash(secret, row.token_hash)) return undefined
  return {
    kind: row.kind,
    accountId: row.account_id,
    profileId: row.profile_id ?? undefined,
    readOnly: row.read_only,
    expiresAtMs: row.expires_at.getTime(),
  }
}

type RefreshRow = { family: string; read_only: boolean; expires_at: Date; spent_at: Date | null }

/**
 * Spends a refresh token for a new pair. Of any number of callers with one refresh token exactly one succeeds; each
 * other one revokes the whole family, because two holders of one token mean that one of them stole it.
 */
export async function rotateRefreshToken(
  pool: pg.Pool,
  ask: { refreshToken: string; accountId: string; profileId: string; nowMs: number; lifetimeSeconds: number },
): Promise<IssuedTokens | 'refused' | 'revoked'> {
  const now = new Date(ask.nowMs)
  return withTransaction(pool, async (tx) => {
    const hash = hashSecret(ask.refreshToken)
    // The profile's row first, as an erasure does: else each could hold what the other one waits for.
    await tx.query('select from service.profiles where profile_id = $1 for key share', [ask.profileId])
    const { rows } = await tx.query<RefreshRow>(
      `select family, read_only, expires_at, spent_at from service.refresh_tokens
       where token_hash = $1 and profile_id = $2 and revoked_at is null for update`,
      [hash, ask.profileId],
    )
    const found = rows[0]
    if (!found) return 'refused'
    if (found.spent_at) {
      await revokeFamily(tx, found.family, now)
      return 'revoked'
    }
    if (found.expires_at.getTime() <= ask.nowMs) return 'refused'
    await tx.query('update service.refresh_tokens set spent_at = $2 where token_hash = $1', [hash, now])
    const issued = await issueProfileToken(tx, { ...ask, family: found.family, readOnly: found.read_only })
    return issued ?? 'refused'
  })
}

async function revokeFamily(tx: Queryable, family: string, now: Date): Promise<void> {
  await tx.query('update service.tokens set revoked_at = $2 where family = $1 and revoked_at is null', [family, now])
  await tx.query('update service.refresh_tokens set revoked_at = $2 where family = $1 and revoked_at is null', [
    family,
    now,
  ])
  await tx.query('notify service_revocations')
}

/** Revokes every token of an account or of a profile, as a breach or a test of the fleet's manners calls for. */
export async function revokeTokens(
  db: Queryable,
  of: { accountId?: string; profileId?: string; kind?: 'account' | 'profile'; now: Date },
): Promise<number> {
  const { rowCount } = await db.query(
    `update service.tokens set revoked_at = $1
     where revoked_at is null and ($2::uuid is null or account_id = $2) and ($3::uuid is null or profile_id = $3)
       and ($4::text is null or kind = $4)`,
    [of.now, of.accountId ?? null, of.profileId ?? null, of.kind ?? null],
  )
  await db.query('notify service_revocations')
  return rowCount ?? 0
}

/** Forgets tokens that nobody can use any more; expired profile tokens stay while they may still open a refresh. */
export async function forgetOldTokens(db: Queryable, nowMs: number): Promise<void> {
  const longAgo = new Date(nowMs - REFRESH_LIFETIME_MS)
  await db.query(`delete from service.tokens where expires_at < $1`, [longAgo])
  await db.query('delete from service.refresh_tokens where expires_at < $1', [longAgo])
}
