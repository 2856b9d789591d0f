import { Writable } from 'node:stream'
import type pg from 'pg'
import { expect } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { DAY, MINUTE, SECOND } from '../../src/base/time/units.ts'
import {
  createApiKey,
  ensureAccount,
  findAccountId,
  findApiKey,
  listApiKeys,
  revokeApiKey,
} from '../../src/service/store/credentials/api-keys.ts'
import {
  deleteOldTokens,
  findTokenOwner,
  issueAccountToken,
  issueProfileToken,
  revokeTokens,
  rotateRefreshToken,
} from '../../src/service/store/credentials/issued-tokens.ts'
import { hashSecret } from '../../src/service/store/credentials/secrets.ts'
import { openTokenCache } from '../../src/service/store/credentials/token-cache.ts'
import { createProfile, deleteProfiles } from '../../src/service/store/service-profiles.ts'
import { test as base, soon } from '../support/fixtures.ts'
import { countLockWaiters, rowsFrom } from '../support/lock-waiters.ts'
import { openTestPool } from '../support/test-pool.ts'
import { connect } from '../support/test-warehouse.ts'

const nowMs = Date.parse('2026-03-10T12:00:00Z')
const nowAt = new Date(nowMs)
const earlier = new Date(nowMs - DAY)
const lifetimeSeconds = 3600

type Secret = { readonly label: string; readonly secret: string }

/** Tokens of two accounts: by the account's keys, and for each profile by each key and by none. `ada a1` is one family. */
async function fillCredentials(pool: pg.Pool) {
  const accounts = {
    a: await ensureAccount(pool, { name: 'a', nowAt }),
    b: await ensureAccount(pool, { name: 'b', nowAt }),
  }
  const keyOf = async (account: 'a' | 'b') =>
    (await createApiKey(pool, { accountId: accounts[account], kind: 'client', label: 'test', nowAt })).publicId
  const keys: Record<string, string> = { a1: await keyOf('a'), a2: await keyOf('a'), b1: await keyOf('b') }
  const profiles: Record<string, string> = {}
  const secrets: Secret[] = []
  const refresh: Record<string, string> = {}
  const accountOf = (key: string) => accounts[key.startsWith('b') ? 'b' : 'a']
  for (const [key, keyId] of Object.entries(keys)) {
    const secret = await issueAccountToken(pool, { accountId: accountOf(key), keyId, nowMs, lifetimeSeconds })
    secrets.push({ label: key, secret })
  }
  for (const [externalId, ownKeys] of [
    ['ada', ['a1', 'a2', 'none']],
    ['bob', ['a1', 'none']],
    ['eve', ['b1']],
  ] as const) {
    const accountId = accountOf(ownKeys[0])
    const profileId = (await createProfile(pool, { accountId, externalId, nowAt })) ?? ''
    profiles[externalId] = profileId
    for (const key of ownKeys) {
      const grant = { accountId, profileId, readOnly: false, nowMs, lifetimeSeconds, keyId: keys[key] }
      const issued = await issueProfileToken(pool, grant)
      const label = `${externalId} ${key}`
      secrets.push({ label, secret: issued?.profileToken ?? '' })
      secrets.push({ label: `${label} refresh`, secret: issued?.refreshToken ?? '' })
      refresh[label] = issued?.refreshToken ?? ''
    }
  }
  const rotate = (label: string, ask: { profile?: string; atMs?: number } = {}) => {
    const profileId = profiles[ask.profile ?? label.slice(0, 3)] ?? ''
    const request = { refreshToken: refresh[label] ?? '', accountId: accounts.a, profileId }
    return rotateRefreshToken(pool, { ...request, nowMs: ask.atMs ?? nowMs, lifetimeSeconds })
  }
  /** The labels of the tokens that were revoked now. */
  const revoked = async () => {
    const { rows } = await pool.query<{ hash: string }>(
      `select encode(token_hash, 'hex') as hash from service.tokens where revoked_at = $1
       union all select encode(token_hash, 'hex') from service.refresh_tokens where revoked_at = $1`,
      [nowAt],
    )
    const hashes = new Set(rows.map(({ hash }) => hash))
    return secrets.filter(({ secret }) => hashes.has(hashSecret(secret).toString('hex'))).map(({ label }) => label)
  }
  return { accounts, keys, profiles, secrets, rotate, revoked }
}

const test = base.extend<{ pool: pg.Pool }>({
  pool: async ({ serviceUrl }, use) => {
    // A statement that waits for a lock of nobody's here fails, and does not hang.
    const pool = openTestPool(`${serviceUrl}?options=-c%20lock_timeout%3D30s`, 4)
    await use(pool)
    await pool.end()
  },
})

type Filled = Awaited<ReturnType<typeof fillCredentials>>

const both = (...labels: string[]) => labels.flatMap((label) => [label, `${label} refresh`])
const revocations: Array<[string, (pool: pg.Pool, filled: Filled) => Promise<unknown>, unknown, readonly string[]]> = [
  [
    'a key',
    (pool, { keys }) => revokeApiKey(pool, { publicId: keys['a1'] ?? '', nowAt }),
    true,
    ['a1', ...both('ada a1', 'bob a1')],
  ],
  [
    'an account',
    (pool, { accounts }) => revokeTokens(pool, { accountId: accounts.a }, nowAt),
    7,
    ['a1', 'a2', ...both('ada a1', 'ada a2', 'ada none', 'bob a1', 'bob none')],
  ],
  [
    'a profile',
    (pool, { profiles }) => revokeTokens(pool, { profileId: profiles['ada'] ?? '' }, nowAt),
    3,
    both('ada a1', 'ada a2', 'ada none'),
  ],
  [
    'a family, whose refresh token was spent before',
    async (_, { rotate }) => [await rotate('ada a1'), await rotate('ada a1')].at(-1),
    'revoked',
    both('ada a1'),
  ],
]

test.for(revocations)('to revoke %s ends its tokens, and no other', async ([, revoke, answer, labels], { pool }) => {
  const filled = await fillCredentials(pool)

  expect(await revoke(pool, filled)).toEqual(answer)

  expect(await filled.revoked()).toEqual(labels)
})

test.for(revocations)('to revoke %s leaves the instant at which a token ended before', async ([, revoke], { pool }) => {
  const filled = await fillCredentials(pool)
  // Its second use finds a refresh token only while it is not revoked.
  expect(await filled.rotate('ada a1')).toMatchObject({ lifetimeSeconds })
  await pool.query('update service.tokens set revoked_at = $1', [earlier])
  await pool.query('update service.refresh_tokens set revoked_at = $1 where spent_at is null', [earlier])

  await revoke(pool, filled)

  expect((await filled.revoked()).filter((label) => label !== 'ada a1 refresh')).toEqual([])
  const { rows } = await pool.query('select from service.refresh_tokens where spent_at is null and revoked_at <> $1', [
    earlier,
  ])
  expect(rows).toEqual([])
})

test('a key is revoked once, and an unknown one never', async ({ pool }) => {
  const { keys } = await fillCredentials(pool)
  const publicId = keys['a1'] ?? ''

  expect(await revokeApiKey(pool, { publicId, nowAt: earlier })).toBe(true)
  expect(await revokeApiKey(pool, { publicId, nowAt })).toBe(false)
  expect(await revokeApiKey(pool, { publicId: 'nobody', nowAt })).toBe(false)

  const ended = (await listApiKeys(pool)).map(({ publicId: id, revokedAt }) => [id === publicId, revokedAt])
  expect(ended.filter(([, revokedAt]) => revokedAt !== null)).toEqual([[true, earlier]])
})

test('keys are listed from the oldest on, and found by their kind until they are revoked', async ({ pool }) => {
  const accountId = await ensureAccount(pool, { name: 'a', nowAt })
  const made = []
  for (const [kind, at] of [
    ['client', nowAt],
    ['app', earlier],
    ['app', nowAt],
  ] as const)
    made.push((await createApiKey(pool, { accountId, kind, label: '', nowAt: at })).publicId)
  const [client = '', old = '', app = ''] = made

  expect((await listApiKeys(pool)).map(({ publicId }) => publicId)).toEqual([old, ...[client, app].toSorted()])
  expect(await findApiKey(pool, { kind: 'client', publicId: client })).toMatchObject({ accountId })
  expect(await findApiKey(pool, { kind: 'app', publicId: client })).toBeUndefined()
  await revokeApiKey(pool, { publicId: client, nowAt })
  expect(await findApiKey(pool, { kind: 'client', publicId: client })).toBeUndefined()
  expect(await findApiKey(pool, { kind: 'app', publicId: app })).toMatchObject({ accountId })
})

test('an account is one, however often it is asked for, and is found by its name', async ({ pool }) => {
  const [a, b] = [await ensureAccount(pool, { name: 'a', nowAt }), await ensureAccount(pool, { name: 'b', nowAt })]

  expect(await Promise.all([1, 2, 3].map(() => ensureAccount(pool, { name: 'b', nowAt })))).toEqual([b, b, b])
  expect([await findAccountId(pool, 'a'), await findAccountId(pool, 'b')]).toEqual([a, b])
  expect(await findAccountId(pool, 'c')).toBeUndefined()
})

test('a token has the owner and the key that it was issued for', async ({ pool }) => {
  const { accounts, keys, profiles, secrets } = await fillCredentials(pool)

  for (const { label, secret } of secrets) {
    const [first = '', key = first, isRefresh] = label.split(' ')
    const owner = {
      kind: key === first ? 'account' : 'profile',
      accountId: accounts[label.includes('b1') ? 'b' : 'a'],
      profileId: profiles[first],
      keyId: keys[key],
    }
    const found = await findTokenOwner(pool, secret)
    if (isRefresh) expect(found).toBeUndefined()
    else expect(found, label).toMatchObject(owner)
  }
})

test('a token has no owner once it or its key is revoked', async ({ pool }) => {
  const { secrets } = await fillCredentials(pool)
  const owners = async () => {
    const found = await Promise.all(secrets.map(({ secret }) => findTokenOwner(pool, secret)))
    return found.flatMap((owner, index) => (owner ? (secrets[index]?.label ?? []) : []))
  }
  const ofNoKey = ['ada none', 'bob none']

  await pool.query('update service.api_keys set revoked_at = $1', [nowAt])
  expect(await owners()).toEqual(ofNoKey)
  await pool.query('update service.tokens set revoked_at = $1 where key_id is null', [nowAt])
  expect(await owners()).toEqual([])
})

test('a refresh token is spent for its own profile alone, while neither it nor its key is revoked', async ({
  pool,
}) => {
  const { keys, rotate } = await fillCredentials(pool)

  expect(await rotate('ada a1', { profile: 'bob' })).toBe('refused')
  expect(await rotate('ada a1')).toMatchObject({ lifetimeSeconds })
  // To spend one spends no other.
  expect(await rotate('ada none')).toMatchObject({ lifetimeSeconds })
  expect(await rotate('bob none', { atMs: nowMs + 30 * DAY - 1 })).toMatchObject({ lifetimeSeconds })
  expect(await rotate('bob a1', { atMs: nowMs + 30 * DAY })).toBe('refused')
  // As if it had been inserted while its key was being revoked.
  await pool.query('update service.api_keys set revoked_at = $2 where public_id = $1', [keys['a2'], nowAt])
  expect(await rotate('ada a2')).toBe('refused')
  await pool.query('update service.api_keys set revoked_at = null')
  await pool.query('update service.refresh_tokens set revoked_at = $1', [nowAt])
  expect(await rotate('ada a2')).toBe('refused')
})

/** Holds a lock while `work` is begun and waits for it, then runs `end` and commits. */
async function whileLocked(
  pool: pg.Pool,
  lock: { sql: string; values: unknown[]; waiting: number; end?: string },
  work: () => Promise<unknown>,
): Promise<unknown> {
  const holder = await pool.connect()
  await holder.query('begin')
  await holder.query(lock.sql, lock.values)
  const ended = work()
  await expect.poll(() => countLockWaiters(rowsFrom(pool)), soon).toBe(lock.waiting)
  if (lock.end) await holder.query(lock.end, lock.values)
  await holder.query('commit')
  holder.release()
  return ended
}

test('refreshed tokens keep their key, live no longer than the spent ones, and end with their family after ninety days', async ({
  pool,
}) => {
  const accountId = await ensureAccount(pool, { name: 'a', nowAt })
  const { publicId: keyId } = await createApiKey(pool, { accountId, kind: 'client', label: 'test', nowAt })
  const profileId = (await createProfile(pool, { accountId, externalId: 'ada', nowAt })) ?? ''
  const grant = { accountId, profileId, readOnly: false, nowMs, lifetimeSeconds: 600, keyId }
  let refreshToken = (await issueProfileToken(pool, grant))?.refreshToken ?? ''
  const [first, endMs] = [refreshToken, nowMs + 90 * DAY]
  const spend = (token: string, atMs: number) =>
    rotateRefreshToken(pool, { refreshToken: token, accountId, profileId, nowMs: atMs, lifetimeSeconds })

  for (const [atMs, seconds] of [
    [nowMs + 29 * DAY, 600],
    [nowMs + 58 * DAY, 600],
    [nowMs + 87 * DAY, 600],
    [endMs - 5 * MINUTE, 300],
  ] as const) {
    const issued = await spend(refreshToken, atMs)
    if (typeof issued === 'string') throw new Error(issued)
    expect(issued.lifetimeSeconds).toBe(seconds)
    expect(await findTokenOwner(pool, issued.profileToken)).toMatchObject({
      expiresAtMs: atMs + seconds * SECOND,
      keyId,
    })
    refreshToken = issued.refreshToken
  }
  expect(await spend(refreshToken, endMs)).toBe('refused')
  // A spent token is a theft also when it has expired since.
  expect(await spend(first, endMs)).toBe('revoked')
})

test('of two who spend one refresh token at once, one gets a pair and the family ends', async ({ pool }) => {
  const { rotate, revoked } = await fillCredentials(pool)
  const sql = 'select from service.refresh_tokens for update'

  const answers = await whileLocked(pool, { sql, values: [], waiting: 2 }, () =>
    Promise.all([rotate('ada a1'), rotate('ada a1')]),
  )

  expect(answers).toEqual(expect.arrayContaining(['revoked', expect.objectContaining({ lifetimeSeconds })]))
  expect(await revoked()).toEqual(both('ada a1'))
})

test('a profile that is being deleted gets no token, and neither waits for the other in a circle', async ({ pool }) => {
  const { accounts, profiles, rotate } = await fillCredentials(pool)
  const { ada: profileId = '', bob = '' } = profiles
  const row = { sql: 'select from service.profiles where profile_id = $1 for update', values: [profileId], waiting: 1 }
  const deletion = { ...row, end: 'delete from service.profiles where profile_id = $1' }
  const grant = { accountId: accounts.a, readOnly: false, nowMs, lifetimeSeconds, keyId: undefined }

  expect(await whileLocked(pool, deletion, () => rotate('ada a1'))).toBe('refused')
  const deleted = { ...deletion, values: [bob] }
  expect(await whileLocked(pool, deleted, () => issueProfileToken(pool, { ...grant, profileId: bob }))).toBeUndefined()
})

test('a refresh token is spent while another profile is being deleted', async ({ pool, serviceUrl }) => {
  const { profiles, rotate } = await fillCredentials(pool)
  const holder = await connect(serviceUrl)
  await holder.query('begin')
  await holder.query('select from service.profiles where profile_id = $1 for update', [profiles['eve']])

  expect(await rotate('ada a1')).toMatchObject({ lifetimeSeconds })
  await holder.end()
})

test.for(['account', 'profile', 'key', 'family', 'deleted profile'] as const)(
  'a token that ends by its %s is no more found by a process that has cached it',
  async (by, { pool, serviceUrl: databaseUrl }) => {
    const accountId = await ensureAccount(pool, { name: 'a', nowAt })
    const { publicId } = await createApiKey(pool, { accountId, kind: 'client', label: 'test', nowAt })
    const profileId = (await createProfile(pool, { accountId, externalId: 'ada', nowAt })) ?? ''
    const grant = { accountId, profileId, readOnly: false, nowMs, lifetimeSeconds, keyId: publicId }
    const issued = await issueProfileToken(pool, grant)
    const spent = { refreshToken: issued?.refreshToken ?? '', accountId, profileId, nowMs, lifetimeSeconds }
    const log = createLog({ level: 'silent' })
    const cache = await openTokenCache({ pool, databaseUrl, log, cachedMs: 10 * MINUTE })
    const find = () => cache.find(issued?.profileToken ?? '')
    if (by === 'family') await rotateRefreshToken(pool, spent)
    expect(await find()).toMatchObject({ profileId })
    const ends = {
      account: () => revokeTokens(pool, { accountId }, nowAt),
      profile: () => revokeTokens(pool, { profileId }, nowAt),
      key: () => revokeApiKey(pool, { publicId, nowAt }),
      family: () => rotateRefreshToken(pool, spent),
      'deleted profile': () => deleteProfiles(pool, { accountId, externalIds: ['ada'] }),
    }

    await ends[by]()

    await expect.poll(find, { ...soon, timeout: 10_000 }).toBeUndefined()
    await cache.close()
  },
)

test('a lookup of a token that began before a revocation is not cached after it', async ({
  pool,
  serviceUrl: databaseUrl,
}) => {
  const accountId = await ensureAccount(pool, { name: 'a', nowAt })
  const profileId = (await createProfile(pool, { accountId, externalId: 'ada', nowAt })) ?? ''
  const grant = { accountId, profileId, readOnly: false, nowMs, lifetimeSeconds, keyId: undefined }
  const secret = (await issueProfileToken(pool, grant))?.profileToken ?? ''
  const answered = Promise.withResolvers<void>()
  let lookups = 0
  const query = async (...asked: Parameters<typeof pool.query>) => {
    lookups += 1
    await answered.promise
    return pool.query(...asked)
  }
  const slow = Object.assign(Object.create(pool), { query })
  const cache = await openTokenCache({ pool: slow, databaseUrl, log: createLog({ level: 'silent' }) })

  const found = cache.find(secret)
  cache.clear()
  answered.resolve()
  expect(await found).toMatchObject({ profileId })
  for (let times = 0; times < 2; times += 1) await cache.find(secret)

  expect(lookups).toBe(2)
  await cache.close()
})

test('a lookup of a token that began while no revocation was heard is not cached when they are heard again', async ({
  pool,
  serviceUrl: databaseUrl,
}) => {
  const { secrets } = await fillCredentials(pool)
  const [secret = '', other = ''] = secrets.map((token) => token.secret)
  const lines: string[] = []
  const destination = new Writable({ write: (chunk, _, done) => done(void lines.push(String(chunk))) })
  const answered = Promise.withResolvers<void>()
  let lookups = 0
  const query = async (...asked: Parameters<typeof pool.query>) => {
    lookups += 1
    const isFirst = lookups === 1
    const answer = await pool.query(...asked)
    if (isFirst) await answered.promise
    return answer
  }
  const slow = Object.assign(Object.create(pool), { query })
  const cache = await openTokenCache({ pool: slow, databaseUrl, log: createLog({ level: 'warn', destination }) })
  await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'vitalsync revocations' and datname = current_database()`)
  await expect.poll(() => lines.join(''), soon).toContain('lost the LISTEN connection')

  const found = cache.find(secret)
  const lookupsOf = async (token: string) => {
    const before = lookups
    await cache.find(token)
    return lookups - before
  }
  await expect.poll(() => lookupsOf(other), soon).toBe(0)
  answered.resolve()
  await found

  expect(await lookupsOf(secret)).toBe(1)
  await cache.close()
})

test('tokens are deleted when no refresh can need them any more', async ({ pool }) => {
  const { secrets } = await fillCredentials(pool)
  const count = async () => {
    const { rows } = await pool.query(
      'select (select count(*) from service.tokens)::int as tokens, (select count(*) from service.refresh_tokens)::int as refresh',
    )
    return [rows[0].tokens, rows[0].refresh]
  }
  const [tokens, refresh] = await count()
  expect(tokens + refresh).toBe(secrets.length)
  const tokensEndMs = nowMs + lifetimeSeconds * 1000 + 30 * DAY
  const refreshEndMs = nowMs + 60 * DAY

  for (const [atMs, left] of [
    [tokensEndMs, [tokens, refresh]],
    [tokensEndMs + 1, [0, refresh]],
    [refreshEndMs, [0, refresh]],
    [refreshEndMs + 1, [0, 0]],
  ] as const) {
    await deleteOldTokens(pool, atMs)
    expect(await count()).toEqual(left)
  }
})
