import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto'
import { NotThere, UsageProblem } from '../errors.ts'
import type { Breaker, Lease, LeaseAnswer, NewToken, Shelved, Token, TokenName, TokenShelf } from '../tokens.ts'
import { type Pool, sqlState } from './pool.ts'

type Row = {
  generation: string
  sealed: Buffer | null
  issued_ms: number | null
  expires_ms: number | null
  refresh_taken: number
  proven: boolean
  unproven_before: number
  broken_reason: string | null
  broken_until_ms: number | null
  broken_now: boolean
  broken_openings: number
}

const columns = `generation, sealed, refresh_taken, proven, unproven_before, broken_reason, broken_openings,
  extract(epoch from issued_at)::float8 * 1000 as issued_ms,
  extract(epoch from expires_at)::float8 * 1000 as expires_ms,
  extract(epoch from broken_until)::float8 * 1000 as broken_until_ms,
  coalesce(broken_until > clock_timestamp(), false) as broken_now`

/**
 * The shelf in Postgres. Secrets lie there sealed with `key`, each bound to its row and generation: copied to another
 * row, or kept from an older one, they open no more. What does not open counts as no token and is renewed, so a new key
 * costs one renewal each and nothing else. Every method is one statement; the database's clock times the leases.
 */
export function openTokenShelf({ pool, key }: { pool: Pool; key: Buffer }): TokenShelf {
  if (key.length !== 32) {
    throw new UsageProblem(`open token shelf: the key has ${key.length} bytes, not 32`, {
      hint: 'Set TOKEN_KEY to 32 random bytes, for example from `openssl rand -base64 32`.',
    })
  }
  return {
    read: (name) => readShelf({ pool, key }, name),
    lease: (name, ask) => takeLease({ pool, key }, name, ask),
    store: (name, lease, token) => storeToken({ pool, key }, { name, lease, token }),
    async release(name, lease) {
      await pool.query(
        `update vitalsync.tokens set lease_holder = null, lease_until = null
         where ${rowOf(name)} and lease_holder = $3`,
        [...keyOf(name), lease.holder],
      )
    },
    async prove(name, generation) {
      await pool.query(
        `update vitalsync.tokens set proven = true, broken_reason = null, broken_until = null, broken_openings = 0
         where ${rowOf(name)} and generation = $3 and not proven`,
        [...keyOf(name), generation],
      )
    },
    async trip(name, { generation, breaker }) {
      await pool.query(
        `update vitalsync.tokens set broken_reason = $4, broken_until = to_timestamp($5::float8 / 1000),
           broken_openings = $6, lease_holder = null, lease_until = null
         where ${rowOf(name)} and generation <= $3`,
        [...keyOf(name), generation, breaker.reason, breaker.untilMs, breaker.openings],
      )
    },
    async erase(profileId) {
      await pool.query('delete from vitalsync.tokens where profile_id = $1', [profileId])
    },
  }
}

/** Tries the key on tokens that are kept, the newest first. Tables that are not there yet hold none. */
export async function examineTokens({ pool, key }: Opened): Promise<{ tried: number; opened: number }> {
  const { rows } = await pool
    .query<{ account: string; profile_id: string | null; generation: string; sealed: Buffer }>(
      `select account, profile_id::text, generation, sealed from vitalsync.tokens
       where sealed is not null order by issued_at desc limit ${EXAMINED_MAX}`,
    )
    .catch((cause: unknown) => {
      if (sqlState(cause) === UNDEFINED_TABLE) return { rows: [] }
      throw cause
    })
  const opened = rows.filter(({ account, profile_id, generation, sealed }) => {
    const name = { account, profileId: profile_id ?? undefined }
    return open(key, aadOf(name, Number(generation)), sealed) !== undefined
  })
  return { tried: rows.length, opened: opened.length }
}

const EXAMINED_MAX = 100
const UNDEFINED_TABLE = '42P01'

type Opened = { pool: Pool; key: Buffer }

async function readShelf({ pool, key }: Opened, name: TokenName): Promise<Shelved> {
  const { rows } = await pool.query<Row>(`select ${columns} from vitalsync.tokens where ${rowOf(name)}`, keyOf(name))
  const [row] = rows
  if (row === undefined)
    return { generation: 0, token: undefined, breaker: undefined, proven: false, unprovenBefore: 0 }
  return {
    generation: Number(row.generation),
    token: tokenOf(key, { name, row, refreshable: row.refresh_taken === 0 }),
    breaker: breakerOf(row),
    proven: row.proven,
    unprovenBefore: row.unproven_before,
  }
}

/** Counting the leases of a generation tells its first holder, the only one who may spend the refresh token. */
async function takeLease(
  { pool, key }: Opened,
  name: TokenName,
  { generation, leaseMs }: { generation: number; leaseMs: number },
): Promise<LeaseAnswer> {
  const holder = randomUUID()
  const leased = await pool
    .query<Row>(
      `insert into vitalsync.tokens as t (account, profile_id, lease_holder, lease_until, refresh_taken)
       values ($1, $2, $3, clock_timestamp() + $4::float8 * interval '1 ms', 1)
       on conflict (account, profile_id) do update
         set lease_holder = excluded.lease_holder, lease_until = excluded.lease_until, refresh_taken = t.refresh_taken + 1
         where t.generation <= $5
           and (t.lease_until is null or t.lease_until <= clock_timestamp())
           and (t.broken_until is null or t.broken_until <= clock_timestamp())
       returning ${columns}`,
      [...keyOf(name), holder, leaseMs, generation],
    )
    .catch((cause: unknown) => {
      throw sqlState(cause) === FOREIGN_KEY ? erased(cause) : cause
    })
  const [mine] = leased.rows
  if (mine !== undefined) {
    const token = tokenOf(key, { name, row: mine, refreshable: mine.refresh_taken === 1 })
    return { kind: 'leased', lease: { holder, generation: Number(mine.generation), token } }
  }
  const { rows } = await pool.query<Row>(`select ${columns} from vitalsync.tokens where ${rowOf(name)}`, keyOf(name))
  const [row] = rows
  const breaker = row && breakerOf(row)
  if (breaker !== undefined && row?.broken_now) return { kind: 'broken', breaker }
  const token = row && tokenOf(key, { name, row, refreshable: false })
  return token !== undefined && token.generation > generation ? { kind: 'newer', token } : { kind: 'busy' }
}

async function storeToken(
  { pool, key }: Opened,
  { name, lease, token }: { name: TokenName; lease: Lease; token: NewToken },
): Promise<Token | undefined> {
  const generation = lease.generation + 1
  const { rowCount } = await pool.query(
    `update vitalsync.tokens set generation = $5, sealed = $6, issued_at = to_timestamp($7::float8 / 1000),
       expires_at = to_timestamp($8::float8 / 1000), refresh_taken = 0, proven = false,
       unproven_before = case when proven or generation = 0 then 0 else unproven_before + 1 end,
       lease_holder = null, lease_until = null
     where ${rowOf(name)} and lease_holder = $3 and generation = $4`,
    [
      ...keyOf(name),
      lease.holder,
      lease.generation,
      generation,
      seal(key, aadOf(name, generation), { secret: token.secret, refreshSecret: token.refreshSecret }),
      token.issuedAtMs,
      token.expiresAtMs,
    ],
  )
  return rowCount === 1 ? { ...token, generation } : undefined
}

const FOREIGN_KEY = '23503'

function erased(cause: unknown): NotThere {
  return new NotThere('renew token: the profile was erased here', { removed: true, cause })
}

/** Two texts, so that either can use the index. */
function rowOf(name: TokenName): string {
  return name.profileId === undefined
    ? 'account = $1 and profile_id is null and $2::bigint is null'
    : 'account = $1 and profile_id = $2::bigint'
}

function keyOf({ account, profileId }: TokenName): [string, string | null] {
  return [account, profileId ?? null]
}

function breakerOf(row: Row): Breaker | undefined {
  if (row.broken_reason === null || row.broken_until_ms === null) return undefined
  return { reason: row.broken_reason, untilMs: row.broken_until_ms, openings: row.broken_openings }
}

function tokenOf(key: Buffer, from: { name: TokenName; row: Row; refreshable: boolean }): Token | undefined {
  const { name, row, refreshable } = from
  if (row.sealed === null || row.issued_ms === null || row.expires_ms === null) return undefined
  const generation = Number(row.generation)
  const secrets = open(key, aadOf(name, generation), row.sealed)
  if (secrets === undefined) return undefined
  return {
    generation,
    secret: secrets.secret,
    refreshSecret: refreshable ? secrets.refreshSecret : undefined,
    issuedAtMs: row.issued_ms,
    expiresAtMs: row.expires_ms,
  }
}

type Secrets = { secret: string; refreshSecret?: string | undefined }

const FORM = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

function aadOf({ account, profileId = '' }: TokenName, generation: number): Buffer {
  return Buffer.from(`vitalsync.tokens|${account}|${profileId}|${generation}`)
}

/** One byte that names the form, nonce, tag, ciphertext. */
function seal(key: Buffer, aad: Buffer, secrets: Secrets): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(aad)
  const sealed = Buffer.concat([cipher.update(JSON.stringify(secrets), 'utf8'), cipher.final()])
  return Buffer.concat([Buffer.of(FORM), nonce, cipher.getAuthTag(), sealed])
}

function open(key: Buffer, aad: Buffer, sealed: Buffer): Secrets | undefined {
  if (sealed[0] !== FORM) return undefined
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES)
  const tag = sealed.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES)
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(aad)
    decipher.setAuthTag(tag)
    const text = Buffer.concat([decipher.update(sealed.subarray(1 + NONCE_BYTES + TAG_BYTES)), decipher.final()])
    return JSON.parse(text.toString('utf8')) as Secrets // we sealed it ourselves: the tag has just proven that
  } catch {
    return undefined
  }
}
