import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject } from 'vitest'
import type { Finding } from '../../../src/base/connections/finding.ts'
import { freePort } from '../../../src/base/engines/embedded-postgres.ts'
import { transaction } from '../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createKeyring } from '../../../src/pipeline/warehouse/seals/keyring.ts'
import { readOrMakeTombstoneKey } from '../../../src/pipeline/warehouse/seals/tombstone-key.ts'
import { createPostgresTokenStore } from '../../../src/pipeline/warehouse/tokens/token-store.ts'
import { test as base } from '../../support/fixtures.ts'
import { needProgram } from '../../support/programs.ts'
import { startRedis } from '../../support/redis-server.ts'
import { runProgram } from '../../support/run-program.ts'
import { openTestPool } from '../../support/test-pool.ts'

type Report = { code: number | null; findings: Finding[]; text: string }
type Ask = (env: Record<string, string>) => Promise<Report>
type StartRedis = (...words: string[]) => Promise<string>
/** Answers every request alike, with the headers that the test gives. */
type Answer = (status: number, headers?: Record<string, string>) => Promise<string>

const test = base.extend<{ folder: string; doctor: Ask; redisWith: StartRedis; answering: Answer; roleUrl: string }>({
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-doctor-'))
    await use(folder)
    await rm(folder, { recursive: true, force: true })
  },
  doctor: async ({ folder }, use) =>
    use(async (env) => {
      const { code, stdout, stderr } = await runProgram(['doctor', '--json'], { cwd: folder, env })
      expect(stderr).toBe('')
      return { code, text: stdout, findings: JSON.parse(stdout).findings }
    }),
  redisWith: async ({ folder, skip }, use) => {
    needProgram(skip, 'redis-server')
    const started: Array<() => Promise<void>> = []
    await use(async (...settings) => {
      const redis = await startRedis(folder, await freePort(), ...settings)
      started.push(redis.kill)
      return redis.url
    })
    for (const kill of started) await kill()
  },
  answering: async ({}, use) => {
    const servers: Server[] = []
    await use(async (status, headers = {}) => {
      const server = createServer((_, response) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end('{}')
      })
      servers.push(server)
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const address = server.address()
      return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
    })
    for (const server of servers) server.close().closeAllConnections()
  },
  /** The address of the test's migrated warehouse, for a role without further privileges. */
  roleUrl: async ({ warehouseUrl }, use) => {
    const role = `plain_${randomBytes(6).toString('hex')}`
    await withAdmin(async (admin) => {
      await admin.query(`create role ${role} login password 'plain'`)
      await admin.query(`grant pg_read_all_data to ${role}`)
    })
    const url = new URL(warehouseUrl)
    url.username = role
    url.password = 'plain'
    await use(url.href)
    await withAdmin((admin) => admin.query(`drop role ${role}`))
  },
})

const timeout = 300_000

async function withAdmin<T>(work: (admin: pg.Client) => Promise<T>, url = inject('databaseUrl')): Promise<T> {
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  return work(admin).finally(() => admin.end())
}

const of = (findings: Finding[], subject: string) => findings.filter((finding) => finding.subject === subject)
const wrongs = (findings: Finding[]) => findings.filter(({ state }) => state === 'wrong').map(({ text }) => text)
const key = () => randomBytes(32).toString('base64')

test('without any address there is nothing to mend', { timeout }, async ({ doctor }) => {
  const { code, findings } = await doctor({})
  expect(code).toBe(0)
  expect(findings.map(({ state }) => state)).toEqual(['well', 'note', 'note', 'note'])
})

test('a wrong setting is reported with exit code 2, and with the value in force', { timeout }, async ({ doctor }) => {
  const { code, findings, text } = await doctor({
    PORT: 'x',
    TOKEN_KEY: 'marker',
    DATABASE_URL: 'postgres://u:marker@h/d',
  })
  expect(code).toBe(2)
  expect(findings).toMatchObject([{ subject: 'configuration', state: 'wrong' }])
  expect(text).not.toContain('marker')
})

test('nothing that answers: exit code 3, each engine by name', { timeout }, async ({ doctor }) => {
  const [a, b, c] = [await freePort(), await freePort(), await freePort()]
  const { code, findings } = await doctor({
    DATABASE_URL: `postgres://u:p@127.0.0.1:${a}/d`,
    QUEUE_URL: `redis://127.0.0.1:${b}`,
    UPSTREAM_URL: `http://127.0.0.1:${c}`,
    UPSTREAM_CLIENT_ID: 'x',
    UPSTREAM_CLIENT_SECRET: 'x',
  })
  expect(code).toBe(3)
  const lost = findings.filter(({ state }) => state === 'unreachable')
  expect(lost.map(({ subject }) => subject)).toEqual(['warehouse', 'queue', 'upstream'])
  for (const { hint } of lost) expect(hint).not.toBe('')
})

test('a Redis without an append-only file that evicts is called both', { timeout }, async ({ doctor, redisWith }) => {
  const url = await redisWith('--appendonly', 'no', '--maxmemory-policy', 'allkeys-lru')
  const { code, findings } = await doctor({ QUEUE_URL: url })
  expect(code).toBe(1)
  expect(wrongs(of(findings, 'queue'))).toEqual([
    expect.stringContaining('no append-only file'),
    expect.stringContaining('maxmemory-policy is allkeys-lru'),
  ])
})

test('a Redis with nothing wrong is well', { timeout }, async ({ doctor, redisWith }) => {
  const url = await redisWith('--appendonly', 'yes', '--maxmemory-policy', 'noeviction')
  const { code, findings } = await doctor({ QUEUE_URL: url })
  expect(code).toBe(0)
  expect(of(findings, 'queue').map(({ state }) => state)).toEqual(['well', 'well', 'well', 'well'])
})

test('a Redis that wants a password says so', { timeout }, async ({ doctor, redisWith }) => {
  const url = await redisWith('--requirepass', 'secret')
  const { code, findings } = await doctor({ QUEUE_URL: url })
  expect(code).toBe(1)
  expect(of(findings, 'queue')).toMatchObject([
    { hint: expect.stringContaining('Correct user and password in QUEUE_URL') },
  ])
})

test('a superuser has too many rights, a plain role has not', { timeout }, async ({
  doctor,
  warehouseUrl,
  roleUrl,
}) => {
  const tokenKey = key()
  const asAdmin = await doctor({ DATABASE_URL: warehouseUrl, TOKEN_KEY: tokenKey })
  expect(asAdmin.code).toBe(1)
  expect(asAdmin.text).toMatch(/rights it does not need: superuser/)
  const asPlain = await doctor({ DATABASE_URL: roleUrl, TOKEN_KEY: tokenKey })
  expect(asPlain.text).not.toMatch(/rights it does not need/)
})

test('createrole is too much before Postgres 16, from where on it reaches only the roles that its holder made', {
  timeout,
}, async ({ doctor, roleUrl, warehouseUrl }) => {
  const pool = openTestPool(warehouseUrl, 1)
  await pool.query(`alter role ${new URL(roleUrl).username} createrole`)
  const { rows } = await pool.query<{ server_version_num: string }>('show server_version_num')
  await pool.end()

  const { text } = await doctor({ DATABASE_URL: roleUrl, TOKEN_KEY: key() })

  expect(text.includes('rights it does not need: createrole')).toBe(Number(rows[0]?.server_version_num) < 160_000)
})

test('synchronous_commit off is called what it is', { timeout }, async ({ doctor, roleUrl }) => {
  const { username } = new URL(roleUrl)
  await withAdmin((admin) => admin.query(`alter role ${username} set synchronous_commit = off`))
  const { findings } = await doctor({ DATABASE_URL: roleUrl, TOKEN_KEY: key() })
  expect(wrongs(of(findings, 'warehouse'))).toContainEqual(expect.stringContaining('synchronous_commit is off'))
})

test('an empty database wants migrating, a newer one a newer version', { timeout }, async ({
  doctor,
  database,
  warehouseUrl,
}) => {
  const empty = await doctor({ DATABASE_URL: database, TOKEN_KEY: key() })
  expect(empty.findings).toContainEqual(
    expect.objectContaining({ text: 'it has no tables yet', hint: 'Run: vitalsync migrate' }),
  )
  await withAdmin(
    (admin) => admin.query(`insert into vitalsync.migrations (name, checksum) values ('9999-later.sql', 'x')`),
    warehouseUrl,
  )
  const newer = await doctor({ DATABASE_URL: warehouseUrl, TOKEN_KEY: key() })
  expect(newer.text).toContain('its tables are of a newer version (9999-later.sql), and will do')
})

test('a token key that does not decrypt the stored tokens is reported, and the right key is well', { timeout }, async ({
  doctor,
  warehouseUrl,
}) => {
  const right = key()
  await withAdmin(async () => {
    const pool = openTestPool(warehouseUrl)
    const tokenStore = createPostgresTokenStore({ pool, keys: [Buffer.from(right, 'base64')] })
    const asked = await tokenStore.lease({ account: 'a' }, { generation: 0, leaseMs: 1000 })
    if (asked.kind === 'leased') {
      await tokenStore.save({ account: 'a' }, asked.lease, {
        secret: 's',
        issuedAtMs: Date.now(),
        expiresAtMs: Date.now() + 1e6,
      })
    }
    await pool.end()
  })
  const well = await doctor({ DATABASE_URL: warehouseUrl, TOKEN_KEY: right })
  expect(of(well.findings, 'token key')).toMatchObject([{ state: 'well', text: 'opens all of 1 stored tokens tried' }])
  const rotating = await doctor({ DATABASE_URL: warehouseUrl, TOKEN_KEY: `${key()},${right}` })
  expect(of(rotating.findings, 'token key')).toMatchObject([
    { state: 'well', text: 'opens all of 1 stored tokens tried; 1 are sealed with a former key' },
  ])
  const wrong = await doctor({ DATABASE_URL: warehouseUrl, TOKEN_KEY: key() })
  expect(of(wrong.findings, 'token key')).toMatchObject([{ state: 'wrong', text: 'opens 0 of 1 stored tokens tried' }])
  const none = await doctor({ DATABASE_URL: warehouseUrl })
  expect(of(none.findings, 'token key')).toMatchObject([{ state: 'wrong' }])
})

test('a token key that does not decrypt the key of the tombstones is reported', { timeout }, async ({
  doctor,
  warehouseUrl,
}) => {
  const right = key()
  const pool = openTestPool(warehouseUrl)
  await transaction(pool, async (tx) => {
    await readOrMakeTombstoneKey(tx, createKeyring([Buffer.from(right, 'base64')]))
    await tx.query(`insert into vitalsync.tombstones values ('\\x01', now())`)
  })
  await pool.end()
  const tombstoneKey = async (tokenKey: string) =>
    of((await doctor({ DATABASE_URL: warehouseUrl, TOKEN_KEY: tokenKey })).findings, 'tombstone key')
  expect(await tombstoneKey(right)).toMatchObject([{ state: 'well' }])
  expect(await tombstoneKey(`${key()},${right}`)).toMatchObject([
    { state: 'well', text: expect.stringContaining('with a former key') },
  ])
  expect(await tombstoneKey(key())).toMatchObject([{ state: 'wrong', text: expect.stringContaining('does not open') }])
})

test('connections that others can read are noted, here and by a worker as it starts', { timeout }, async ({
  doctor,
  folder,
  warehouseUrl,
}) => {
  const env = { DATABASE_URL: warehouseUrl, TOKEN_KEY: key(), ...upstream('http://upstream.invalid') }
  const { findings } = await doctor(env)
  expect(of(findings, 'upstream')).toContainEqual({
    subject: 'upstream',
    state: 'note',
    text: 'is reached on another machine without TLS',
    hint: 'Write https:// in UPSTREAM_URL.',
  })
  const { code, stdout, stderr } = await runProgram(['worker', '--drain'], { cwd: folder, env })
  expect(code).toBe(0)
  expect((stdout + stderr).split('without TLS')).toHaveLength(2)
})

test('a refused password and a missing database have different reports', { timeout }, async ({ doctor, roleUrl }) => {
  const wrongPassword = new URL(roleUrl)
  wrongPassword.password = 'other'
  expect((await doctor({ DATABASE_URL: wrongPassword.href, TOKEN_KEY: key() })).text).toContain(
    'it refuses user or password',
  )
  const noDatabase = new URL(roleUrl)
  noDatabase.pathname = '/not_there'
  expect((await doctor({ DATABASE_URL: noDatabase.href, TOKEN_KEY: key() })).text).toContain(
    'it has no database of this name',
  )
})

const upstream = (url: string) => ({ UPSTREAM_URL: url, UPSTREAM_CLIENT_ID: 'id', UPSTREAM_CLIENT_SECRET: 'marker' })

test('an upstream that refuses the credentials and a server that is no upstream have different reports', {
  timeout,
}, async ({ doctor, answering }) => {
  const refused = await doctor(upstream(await answering(401)))
  expect(refused.code).toBe(1)
  expect(of(refused.findings, 'upstream')[0]?.text).toBe('it refuses the credentials (401)')
  expect(refused.text).not.toContain('marker')
  const none = await doctor(upstream(await answering(404)))
  expect(of(none.findings, 'upstream')[0]?.text).toContain('no Profile Service')
  const down = await doctor(upstream(await answering(503)))
  expect(down.code).toBe(3)
})

test('an upstream whose clock is an hour off is reported', { timeout }, async ({ doctor, answering }) => {
  const date = new Date(Date.now() - 3_600_000).toUTCString()
  const { code, findings } = await doctor(upstream(await answering(200, { date })))
  expect(code).toBe(1)
  expect(wrongs(of(findings, 'upstream'))).toEqual([
    'it answers 200 without a token', // the stand-in's body is empty
    expect.stringMatching(/its clock is 3(599|6\d\d|7\d\d)\.\d s behind/),
  ])
})

test('for people, each fault stands with its remedy', { timeout }, async ({ folder, answering }) => {
  const env = upstream(await answering(401))
  const { stdout, code } = await runProgram(['doctor'], { cwd: folder, env })
  expect(code).toBe(1)
  expect(stdout).toMatch(/✗ upstream: it refuses the credentials \(401\)\n {4}→ Correct UPSTREAM_CLIENT_ID/)
  expect(stdout).toMatch(/One problem is to be fixed\.\n$/)
  expect(stdout).not.toContain('marker')
})
