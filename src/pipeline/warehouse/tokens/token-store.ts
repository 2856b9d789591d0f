import { randomUUID } from 'node:crypto'
import { NotThere } from '../../../base/errors.ts'
import { sqlState } from '../../../base/postgres/postgres-errors.ts'
import {
  type Breaker,
  type Lease,
  type LeaseResult,
  type NewToken,
  noTokenState,
  type Token,
  type TokenName,
  type TokenState,
  type TokenStore,
} from '../../fleet/tokens.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import { createKeyring, type Keyring, openToken, sealToken } from '../seals/keyring.ts'
import { openTokenRows, type TokenRow, type TokenRows } from './token-rows.ts'

/**
 * The token store in Postgres. Tokens are sealed with the first of the keys, each bound to its row and generation: bytes that
 * were copied to another row or restored from an older generation do not open. A token that no key opens counts as no token
 * and is renewed. Every method is one statement; leases expire by the clock of the database.
 */
export function createPostgresTokenStore({ pool, keys }: { pool: Pool; keys: readonly Buffer[] }): TokenStore {
  const keyring = createKeyring(keys)
  const rows = openTokenRows(pool)
  return {
    read: async (name) => tokenStateOf(keyring, name, await rows.read(name)),
    lease: (name, ask) => leaseToken({ rows, keyring }, name, ask),
    save: (name, lease, token) => saveToken({ rows, keyring }, { name, lease, token }),
    async release(name, lease) {
      await pool.query(
        `update vitalsync.tokens set lease_holder = null, lease_until = null
         where ${rowCondition(name)} and lease_holder = $3`,
        [...rowParameters(name), lease.holder],
      )
    },
    async markProven(name, generation) {
      await pool.query(
        `update vitalsync.tokens set proven = true, broken_reason = null, broken_until = null, broken_openings = 0
         where ${rowCondition(name)} and generation = $3 and not proven`,
        [...rowParameters(name), generation],
      )
    },
    async tripBreaker(name, { generation, breaker }) {
      await pool.query(
        `update vitalsync.tokens set broken_reason = $4, broken_until = to_timestamp($5::float8 / 1000),
           broken_openings = $6, lease_holder = null, lease_until = null
         where ${rowCondition(name)} and generation <= $3`,
        [...rowParameters(name), generation, breaker.reason, breaker.untilMs, breaker.openings],
      )
    },
    async eraseProfile(profileId) {
      await pool.query('delete from vitalsync.tokens where profile_id = $1', [profileId])
    },
  }
}

/** Tries the keys on stored tokens, the newest first; `current`: those that the first key sealed. A table that does not exist yet holds no tokens. */
export async function examineTokenKeys({ pool, keys }: { pool: Pool; keys: readonly Buffer[] }) {
  const keyring = createKeyring(keys)
  const { rows } = await pool
    .query<{ account: string; profile_id: string | null; generation: string; sealed: Buffer }>(
      `select account, profile_id::text, generation, sealed from vitalsync.tokens
       where sealed is not null order by issued_at desc limit ${TOKENS_EXAMINED_MAX}`,
    )
    .catch((cause: unknown) => {
      if (sqlState(cause) === UNDEFINED_TABLE) return { rows: [] }
      throw cause
    })
  const readable = rows.filter(({ account, profile_id, generation, sealed }) => {
    const name = { account, profileId: profile_id ?? undefined }
    return openToken(keyring, { name, generation: Number(generation) }, sealed) !== undefined
  })
  const current = rows.filter(({ sealed }) => keyring.isCurrent(sealed))
  return { tried: rows.length, readable: readable.length, current: current.length }
}

const TOKENS_EXAMINED_MAX = 100
const UNDEFINED_TABLE = '42P01'

type TokenStoreParts = { readonly rows: TokenRows; readonly keyring: Keyring }

function tokenStateOf(keyring: Keyring, name: TokenName, row: TokenRow | undefined): TokenState {
  if (row === undefined) return noTokenState
  return {
    generation: Number(row.generation),
    token: tokenOf(keyring, { name, row, refreshable: row.refresh_taken === 0 }),
    breaker: breakerOf(row),
    proven: row.proven,
    unprovenBefore: row.unproven_before,
  }
}

/** `refresh_taken` counts the leases of a generation: only the first holder may spend the refresh token. */
async function leaseToken(
  { rows, keyring }: TokenStoreParts,
  name: TokenName,
  { generation, leaseMs }: { generation: number; leaseMs: number },
): Promise<LeaseResult> {
  const holder = randomUUID()
  const mine = await rows.lease({ name, holder, leaseMs, generation })
  if (mine === 'erased') throw new NotThere('renew token: the profile was erased here', { removed: true })
  if (mine !== undefined) {
    const token = tokenOf(keyring, { name, row: mine, refreshable: mine.refresh_taken === 1 })
    return { kind: 'leased', lease: { holder, generation: Number(mine.generation), token } }
  }
  const row = await rows.read(name)
  const breaker = row && breakerOf(row)
  if (breaker !== undefined && row?.broken_now) return { kind: 'broken', breaker }
  const token = row && tokenOf(keyring, { name, row, refreshable: false })
  return token !== undefined && token.generation > generation ? { kind: 'newer', token } : { kind: 'busy' }
}

async function saveToken(
  { rows, keyring }: TokenStoreParts,
  { name, lease, token }: { name: TokenName; lease: Lease; token: NewToken },
): Promise<Token | undefined> {
  const generation = lease.generation + 1
  const isSaved = await rows.save({
    name,
    holder: lease.holder,
    leasedGeneration: lease.generation,
    sealed: sealToken(keyring, { name, generation }, { secret: token.secret, refreshSecret: token.refreshSecret }),
    issuedAtMs: token.issuedAtMs,
    expiresAtMs: token.expiresAtMs,
  })
  return isSaved ? { ...token, generation } : undefined
}

/** Two conditions, so that each can use the index. */
function rowCondition(name: TokenName): string {
  return name.profileId === undefined
    ? 'account = $1 and profile_id is null and $2::bigint is null'
    : 'account = $1 and profile_id = $2::bigint'
}

function rowParameters({ account, profileId }: TokenName): [string, string | null] {
  return [account, profileId ?? null]
}

function breakerOf(row: TokenRow): Breaker | undefined {
  if (row.broken_reason === null || row.broken_until_ms === null) return undefined
  return { reason: row.broken_reason, untilMs: row.broken_until_ms, openings: row.broken_openings }
}

function tokenOf(keyring: Keyring, from: { name: TokenName; row: TokenRow; refreshable: boolean }): Token | undefined {
  const { name, row, refreshable } = from
  if (row.sealed === null || row.issued_ms === null || row.expires_ms === null) return undefined
  const generation = Number(row.generation)
  const secrets = openToken(keyring, { name, generation }, row.sealed)
  if (secrets === undefined) return undefined
  return {
    generation,
    secret: secrets.secret,
    refreshSecret: refreshable ? secrets.refreshSecret : undefined,
    issuedAtMs: row.issued_ms,
    expiresAtMs: row.expires_ms,
  }
}
