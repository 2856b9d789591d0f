import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { DAY, SECOND } from '../../../base/time/units.ts'
import { type Queryable, withTransaction } from '../service-pool.ts'
import { createSecret, hashSecret, matchesHash } from './secrets.ts'

/** The account or profile that a token belongs to. `expiresAtMs` is compared with the service's clock at every use. */
export type TokenOwner = {
  readonly kind: 'account' | 'profile'
  readonly accountId: string
  readonly profileId: string | undefined
  readonly readOnly: boolean
  readonly expiresAtMs: number
  /** The key that the token descends from. */
  readonly keyId: string | undefined
}

type TokenRow = Omit<TokenOwner, 'profileId' | 'keyId'> & {
  readonly hash: Buffer
  readonly profileId: string | null
  readonly keyId: string | null
}

export async function issueAccountToken(
  db: Queryable,
  token: { accountId: string; keyId: string; nowMs: number; lifetimeSeconds: number },
): Promise<string> {
  const secret = createSecret()
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
      new Date(token.nowMs + token.lifetimeSeconds * SECOND),
    ],
  })
  return secret
}

type ProfileTokenGrant = {
  accountId: string
  profileId: string
  readOnly: boolean
  nowMs: number
  lifetimeSeconds: number
  /** The key of the caller: the tokens end with it. */
  keyId: string | undefined
  /** The tokens that descend from one issue. Absent: a new family. */
  family?: { id: string; endsAt: Date }
}

const refreshLifetimeMs = 30 * DAY
/** However often it is refreshed, a family ends. */
const familyLifetimeMs = 90 * DAY

type IssuedTokens = { profileToken: string; refreshToken: string }

/** Undefined when the profile does not exist, or is deleted meanwhile. */
export async function issueProfileToken(db: Queryable, grant: ProfileTokenGrant): Promise<IssuedTokens | undefined> {
  const issued = { profileToken: createSecret(), refreshToken: createSecret() }
  const family = grant.family ?? { id: randomUUID(), endsAt: new Date(grant.nowMs + familyLifetimeMs) }
  const endsAt = (lifetimeMs: number) => new Date(Math.min(grant.nowMs + lifetimeMs, family.endsAt.getTime()))
  const { rowCount } = await db.query({
    name: 'issue-profile-token',
    text: `with owner as (
             select profile_id from service.profiles where profile_id = $4::uuid for key share
           ), refresh as (
             insert into service.refresh_tokens
               (token_hash, profile_id, family, read_only, issued_at, expires_at, key_id, family_ends_at, lifetime_seconds)
             select $2::bytea, profile_id, $5::uuid, $6::boolean, $7::timestamptz, $9::timestamptz, $10, $11::timestamptz, $12::int
             from owner)
           insert into service.tokens
             (token_hash, kind, account_id, profile_id, family, read_only, issued_at, expires_at, key_id)
           select $1::bytea, 'profile', $3::uuid, profile_id, $5::uuid, $6::boolean, $7::timestamptz, $8::timestamptz, $10
           from owner`,
    values: [
      hashSecret(issued.profileToken),
      hashSecret(issued.refreshToken),
      grant.accountId,
      grant.profileId,
      family.id,
      grant.readOnly,
      new Date(grant.nowMs),
      endsAt(grant.lifetimeSeconds * SECOND),
      endsAt(refreshLifetimeMs),
      grant.keyId ?? null,
      family.endsAt,
      grant.lifetimeSeconds,
    ],
  })
  return rowCount === 1 ? issued : undefined
}

/**
 * Looks a token up, expired tokens included: the caller decides what expiry means. A revoked token is not found, and a
 * token of a revoked key is not found either: it may have been inserted while the key was being revoked.
 */
export async function findTokenOwner(db: Queryable, secret: string): Promise<TokenOwner | undefined> {
  const { rows } = await db.query<TokenRow>({
    name: 'find-token',
    text: `select t.token_hash as hash, t.kind, t.account_id as "accountId", t.profile_id as "profileId", t.read_only as "readOnly",
             (extract(epoch from t.expires_at) * 1000)::float8 as "expiresAtMs", t.key_id as "keyId"
           from service.tokens t left join service.api_keys k on k.public_id = t.key_id
           where t.token_hash = $1 and t.revoked_at is null and k.revoked_at is null`,
    values: [hashSecret(secret)],
  })
  const [row] = rows
  if (!row || !matchesHash(secret, row.hash)) return undefined
  const { hash, profileId, keyId, ...owner } = row
  return { ...owner, profileId: profileId ?? undefined, keyId: keyId ?? undefined }
}

type RefreshRow = {
  family: string
  read_only: boolean
  expires_at: Date
  spent_at: Date | null
  key_id: string | null
  family_ends_at: Date
  lifetime_seconds: number
}

/**
 * Spends a refresh token for a new pair. Exactly one of several callers with the same refresh token succeeds; each other
 * caller revokes the whole family, because two holders of one token mean that one of them stole it. The new tokens descend
 * from the same key, live no longer than the spent ones, and end with their family.
 */
export async function rotateRefreshToken(
  pool: pg.Pool,
  request: { refreshToken: string; accountId: string; profileId: string; nowMs: number; lifetimeSeconds: number },
): Promise<(IssuedTokens & { lifetimeSeconds: number }) | 'refused' | 'revoked'> {
  const nowAt = new Date(request.nowMs)
  return withTransaction(pool, async (tx) => {
    const hash = hashSecret(request.refreshToken)
    // Locks the profile's row first, as a deletion of the profile does; the other order could deadlock.
    await tx.query('select from service.profiles where profile_id = $1 for key share', [request.profileId])
    const { rows } = await tx.query<RefreshRow>(
      `select r.family, r.read_only, r.expires_at, r.spent_at, r.key_id, r.family_ends_at, r.lifetime_seconds
       from service.refresh_tokens r left join service.api_keys k on k.public_id = r.key_id
       where r.token_hash = $1 and r.profile_id = $2 and r.revoked_at is null and k.revoked_at is null for update of r`,
      [hash, request.profileId],
    )
    const found = rows[0]
    if (!found) return 'refused'
    if (found.spent_at) {
      await revokeFamily(tx, found.family, nowAt)
      return 'revoked'
    }
    if (found.expires_at.getTime() <= request.nowMs) return 'refused'
    await tx.query('update service.refresh_tokens set spent_at = $2 where token_hash = $1', [hash, nowAt])
    const endsAt = found.family_ends_at
    const leftSeconds = Math.ceil((endsAt.getTime() - request.nowMs) / SECOND)
    const lifetimeSeconds = Math.min(request.lifetimeSeconds, found.lifetime_seconds, leftSeconds)
    const issued = await issueProfileToken(tx, {
      ...request,
      lifetimeSeconds,
      keyId: found.key_id ?? undefined,
      family: { id: found.family, endsAt },
      readOnly: found.read_only,
    })
    return issued ? { ...issued, lifetimeSeconds } : 'refused'
  })
}

async function revokeFamily(tx: Queryable, family: string, nowAt: Date): Promise<void> {
  await tx.query('update service.tokens set revoked_at = $2 where family = $1 and revoked_at is null', [family, nowAt])
  await tx.query('update service.refresh_tokens set revoked_at = $2 where family = $1 and revoked_at is null', [
    family,
    nowAt,
  ])
  await tx.query('notify service_revocations')
}

/**
 * Revokes every token of an account, tokens of its profiles included, or of one profile; refresh tokens too. Returns how many
 * tokens there were that were no refresh tokens.
 */
export async function revokeTokens(
  db: Queryable,
  owner: { accountId: string } | { profileId: string },
  nowAt: Date,
): Promise<number> {
  const [column, id] = 'profileId' in owner ? ['profile_id', owner.profileId] : ['account_id', owner.accountId]
  const { rowCount } = await db.query(
    `update service.tokens set revoked_at = $1 where revoked_at is null and ${column} = $2`,
    [nowAt, id],
  )
  await db.query(
    `update service.refresh_tokens set revoked_at = $1 where revoked_at is null and ${
      'profileId' in owner
        ? 'profile_id = $2'
        : 'profile_id in (select profile_id from service.profiles where account_id = $2)'
    }`,
    [nowAt, id],
  )
  await db.query('notify service_revocations')
  return rowCount ?? 0
}

/** Deletes tokens that can no longer be used. An expired profile token stays while it may authenticate a refresh. */
export async function deleteOldTokens(db: Queryable, nowMs: number): Promise<void> {
  const uselessBeforeAt = new Date(nowMs - refreshLifetimeMs)
  await db.query(`delete from service.tokens where expires_at < $1`, [uselessBeforeAt])
  await db.query('delete from service.refresh_tokens where expires_at < $1', [uselessBeforeAt])
}
