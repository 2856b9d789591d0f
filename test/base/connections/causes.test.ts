import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject } from 'vitest'
import { describeError } from '../../../src/app/cli/describe-error.ts'
import {
  type ConnectionCause,
  connectionCauseOf,
  connectionCauses,
  connectionHint,
} from '../../../src/base/connections/causes.ts'
import type { Finding } from '../../../src/base/connections/finding.ts'
import { freePort } from '../../../src/base/engines/embedded-postgres.ts'
import { examinePostgres } from '../../../src/base/engines/examine-postgres.ts'
import { requireDirectConnection } from '../../../src/base/postgres/direct-connection.ts'
import { migrateWarehouse } from '../../../src/operations/migrate-warehouse.ts'
import { openQueueEngine } from '../../../src/pipeline/queue/engine.ts'
import { examineRedis } from '../../../src/pipeline/queue/examine-redis.ts'
import { examineUpstream } from '../../../src/pipeline/upstream/examine-upstream.ts'
import { openWarehousePool } from '../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { test as base } from '../../support/fixtures.ts'
import { needProgram } from '../../support/programs.ts'
import { startRedis } from '../../support/redis-server.ts'
import { runProgram } from '../../support/run-program.ts'
import { openAsCommand } from '../../support/test-pool.ts'
import { openTestUpstream } from '../../support/test-upstream.ts'
import {
  fullBacklog,
  hangUp,
  oldPostgres,
  oldRedis,
  silence,
  untrusted,
  type WrongServer,
  webServer,
} from './wrong-servers.ts'

const timeout = 300_000
const secret = 'secret-of-the-test'
/** The words of the libraries, which are for no person. */
const foreign =
  /maxRetriesPerRequest|SASL|SECURITY WARNING|ECONN|ENOTFOUND|EAI_|E[A-Z]{5,}|UND_ERR|Connection terminated|Protocol error|secret-of-the-test/

type Keep = <S extends WrongServer | undefined>(server: Promise<S>) => Promise<S>

const test = base.extend<{ keep: Keep; ownRedis: (...words: string[]) => Promise<string> }>({
  keep: async ({}, use) => {
    const servers: WrongServer[] = []
    await use(async (opening) => {
      const server = await opening
      if (server) servers.push(server)
      return server
    })
    for (const server of servers) await server.close()
  },
  ownRedis: async ({ skip }, use) => {
    needProgram(skip, 'redis-server')
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-causes-'))
    const started: Array<() => Promise<void>> = []
    await use(async (...settings) => {
      const redis = await startRedis(folder, await freePort(), ...settings)
      started.push(redis.kill)
      return new URL(redis.url).host
    })
    for (const kill of started) await kill()
    await rm(folder, { recursive: true, force: true })
  },
})

type Told = { text: string; hint: string | undefined; code: number }
const told = (work: Promise<unknown>): Promise<Told> =>
  work.then(
    () => ({ text: 'nothing is wrong', hint: undefined, code: 0 }),
    (error: unknown) => describeError(error),
  )

/** A command and the doctor say the same cause, its next step, and the address without its secrets. */
function expectCause(
  cause: ConnectionCause,
  { text, hint, code }: Told,
  { findings, at }: { findings: Finding[]; at: string },
) {
  const { words, code: expected } = connectionCauses[cause]
  const [finding] = findings.filter(({ state }) => state === 'wrong' || state === 'unreachable')
  const variable = ['DATABASE_URL', 'QUEUE_URL', 'UPSTREAM_URL'].find((name) => hint?.includes(name)) ?? ''
  expect([text, code]).toEqual([expect.stringContaining(cause === 'wrong-kind' ? 'answers there' : words), expected])
  expect(hint).toBe(connectionHint(cause, variable))
  expect(text).toContain(at)
  expect(finding).toMatchObject({ state: expected === 2 ? 'wrong' : 'unreachable', hint: expect.any(String) })
  expect(finding?.text).toContain(cause === 'wrong-kind' ? 'answers there' : words)
  expect(JSON.stringify([text, hint, finding])).not.toMatch(foreign)
}

const postgresAt = (at: string, query = '') => `postgres://role:${secret}@${at}/base${query}`

async function expectPostgres(cause: ConnectionCause, url: string): Promise<void> {
  const said = await told(openAsCommand(url))
  const findings = await examinePostgres({ subject: 'warehouse', databaseUrl: url, variable: 'DATABASE_URL' })
  expectCause(cause, said, { findings, at: new URL(url).host })
}

test('Postgres: the commands and the doctor report each cause alike', { timeout }, async ({
  keep,
  ownRedis,
  warehouseUrl,
}) => {
  const at = ({ port }: WrongServer) => `127.0.0.1:${port}`
  // At once: most of the time goes into waiting for servers that say nothing.
  const cases: Array<[ConnectionCause, string]> = [
    ['refused', `127.0.0.1:${await freePort()}`],
    ['silent', at(await keep(silence()))],
    ['timeout', at(await keep(fullBacklog()))],
    ['cut', at(await keep(hangUp()))],
    ['wrong-kind', at(await keep(webServer()))],
    ['wrong-kind', await ownRedis()],
  ]
  await Promise.all(cases.map(([cause, address]) => expectPostgres(cause, postgresAt(address))))
  const old = await told(requireDirectConnection(postgresAt(at(await keep(oldPostgres()))), 'DATABASE_URL'))
  expect(old).toMatchObject({ text: expect.stringContaining('it is too old'), code: 2 })
  const server = new URL(warehouseUrl)
  await expectPostgres('no-tls', postgresAt(server.host, '?sslmode=verify-full'))
  const certificate = await keep(untrusted('as Postgres'))
  if (certificate) await expectPostgres('certificate', postgresAt(at(certificate), '?sslmode=verify-full'))
})

test('Postgres: a name that nobody knows', { timeout }, async () => {
  const { text, code } = await told(openAsCommand(postgresAt('no-such-host.invalid:5432')))

  expect(text).toMatch(/no-such-host\.invalid:5432\/base: (there is no host of this name|the name cannot be looked up)/)
  expect(code).toBe(3)
})

test('Postgres: what a real server refuses', { timeout }, async ({ database, warehouseUrl }) => {
  const role = `causes_${randomBytes(6).toString('hex')}`
  const admin = new pg.Client({ connectionString: inject('databaseUrl') })
  await admin.connect()
  const urlOf = (base: string, more: Partial<URL> = {}) =>
    Object.assign(new URL(base), { username: role, password: 'own', ...more }).href
  try {
    await admin.query(`create role ${role} login password 'own'`)
    await expectPostgres('credentials', urlOf(database, { password: 'secret-of-the-test' }))
    await expectPostgres('no-database', urlOf(database, { pathname: '/not_there' }))
    expect(await told(migrateWarehouse(urlOf(database), () => undefined))).toMatchObject({
      code: 2,
      hint: expect.stringMatching(/role that owns/),
    })
    await admin.query(`alter role ${role} connection limit 0`)
    await expectPostgres('full', urlOf(warehouseUrl))
    await admin.query(`alter role ${role} nologin`)
    await expectPostgres('not-let-in', urlOf(warehouseUrl))
    await admin.query(`alter database ${new URL(database).pathname.slice(1)} set default_transaction_read_only = on`)
    expect(await told(migrateWarehouse(database, () => undefined))).toMatchObject({
      text: expect.stringContaining(connectionCauses.standby.words),
      code: 3,
    })
  } finally {
    await admin.query(`drop role ${role}`)
    await admin.end()
  }
})

test('Postgres: a lock that is taken, and a statement that takes too long', { timeout }, async ({ warehouseUrl }) => {
  const pool = openWarehousePool({
    databaseUrl: warehouseUrl,
    connectionsMax: 3,
    name: 'test',
    statementTimeoutMs: 200,
  })
  const lock = 'lock table vitalsync.runs in exclusive mode'
  const holder = await pool.connect()
  try {
    await holder.query('begin')
    await holder.query(lock)
    const cases = { locked: `set statement_timeout = 0; begin; ${lock}`, slow: 'select pg_sleep(10)' } as const
    for (const cause of ['locked', 'slow'] as const) {
      const error = await pool.query(cases[cause]).catch((refused: unknown) => refused)
      const { words, code } = connectionCauses[cause]
      const said = { text: expect.stringContaining(words), hint: connectionHint(cause, 'DATABASE_URL'), code }
      expect(await describeError(error, { databaseUrl: warehouseUrl })).toMatchObject(said)
    }
  } finally {
    holder.release(true)
    await pool.end()
  }
})

async function expectRedis(cause: ConnectionCause, url: string): Promise<void> {
  const engine = await openQueueEngine(url)
  const said = await told(engine.requireUsable())
  await engine.close().catch(() => undefined) // it was never connected
  expectCause(cause, said, { findings: await examineRedis('queue', url), at: new URL(url).host })
}

test('Redis: the commands and the doctor report each cause alike', { timeout }, async ({
  keep,
  ownRedis,
  warehouseUrl,
}) => {
  const at = ({ port }: WrongServer) => `127.0.0.1:${port}`
  const guarded = await ownRedis('--requirepass', 'right')
  const plain = await ownRedis()
  const certificate = await keep(untrusted('at once'))
  const cases: Array<[ConnectionCause, string]> = [
    ['refused', `redis://127.0.0.1:${await freePort()}`],
    ['silent', `redis://${at(await keep(silence()))}`],
    ['cut', `redis://${at(await keep(hangUp()))}`],
    ['wrong-kind', `redis://${at(await keep(webServer()))}`],
    ['wrong-kind', `redis://${new URL(warehouseUrl).host}`],
    ['too-old', `redis://${at(await keep(oldRedis()))}`],
    ['credentials', `redis://${guarded}`],
    ['credentials', `redis://:${secret}@${guarded}`],
    ['no-tls', `rediss://${plain}`],
    ['standby', `redis://${await ownRedis('--replicaof', '127.0.0.1', plain.replace(/^.*:/, ''))}`],
    ...(certificate ? [['certificate', `rediss://${at(certificate)}`] as [ConnectionCause, string]] : []),
  ]
  await Promise.all(cases.map(([cause, url]) => expectRedis(cause, url)))
})

async function expectUpstream(cause: ConnectionCause, url: string): Promise<void> {
  const findings = await examineUpstream({
    subject: 'upstream',
    url,
    clientId: 'x',
    clientSecret: 'secret-of-the-test',
  })
  const [finding] = findings
  const { words, code } = connectionCauses[cause]
  expect(finding?.text).toContain(cause === 'wrong-kind' ? 'answers there' : words)
  expect(finding).toMatchObject({
    state: code === 2 ? 'wrong' : 'unreachable',
    hint: connectionHint(cause, 'UPSTREAM_URL'),
  })
  expect(finding?.text).toContain(new URL(url).host)
  expect(JSON.stringify(finding)).not.toMatch(foreign)
}

test('the Profile Service: each cause is reported', { timeout }, async ({ keep, warehouseUrl }) => {
  const at = ({ port }: WrongServer) => `127.0.0.1:${port}`
  const dead = `http://127.0.0.1:${await freePort()}`
  const certificate = await keep(untrusted('at once'))
  const cases: Array<[ConnectionCause, string]> = [
    ['refused', dead],
    ['silent', `http://${at(await keep(silence()))}`],
    ['cut', `http://${at(await keep(hangUp()))}`],
    ['wrong-kind', `http://${new URL(warehouseUrl).host}`],
    ['no-tls', `https://${at(await keep(webServer()))}`],
    ...(certificate ? [['certificate', `https://${at(certificate)}`] as [ConnectionCause, string]] : []),
  ]
  await Promise.all(cases.map(([cause, url]) => expectUpstream(cause, url)))
  const { upstream, close } = openTestUpstream({ url: dead })
  const said = await told(upstream.profile('ada', { lane: 'manual' }))
  await close()
  expect(said).toMatchObject({ text: expect.stringContaining('cannot be reached: nothing listens there'), code: 3 })
})

test('a command prints no text of a library, and its exit code says what must change', { timeout }, async ({
  warehouseUrl,
}) => {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-causes-'))
  const { host } = new URL(warehouseUrl)
  const run = (env: Record<string, string>) =>
    runProgram(['status'], { cwd: folder, env: { TOKEN_KEY: randomBytes(32).toString('base64'), ...env } })
  const noTls = await run({ DATABASE_URL: postgresAt(host, '?sslmode=require') })
  const noRedis = await run({ DATABASE_URL: warehouseUrl, QUEUE_URL: `redis://127.0.0.1:${await freePort()}` })
  await rm(folder, { recursive: true })

  expect([noTls.code, noTls.stderr]).toEqual([2, expect.stringContaining(connectionCauses['no-tls'].words)])
  expect(noTls.stderr.trim().split('\n')).toHaveLength(2)
  expect([noRedis.code, noRedis.stderr]).toEqual([3, expect.stringContaining('reach Redis at 127.0.0.1:')])
  expect(noTls.stderr + noRedis.stderr).not.toMatch(foreign)
})

test('the codes and words that no server here can be made to say', () => {
  const coded = (code: string, message = '') => Object.assign(new Error(message), { code })

  expect(connectionCauseOf(coded('EHOSTUNREACH'))).toBe('no-route')
  // Not provoked: the driver leaves the server waiting for a password, a minute long.
  expect(connectionCauseOf(new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'))).toBe(
    'credentials',
  )
  expect(connectionCauseOf(new AggregateError([coded('ENETUNREACH')]))).toBe('no-route')
  expect(connectionCauseOf(coded('28000', 'no pg_hba.conf entry for host "::1", no encryption'))).toBe('needs-tls')
  expect(connectionCauseOf(coded('57P03', 'the database system is starting up'))).toBe('starting')
  expect(connectionCauseOf(new Error('NOPERM this user has no permissions'))).toBe('no-rights')
  expect(connectionCauseOf(new Error('a thing nobody has foreseen'))).toBe('unknown')
})

test('the page lists every cause, with the words, the exit code and the next step of the program', async () => {
  const page = await readFile(new URL('../../../docs/reference/connections.md', import.meta.url), 'utf8')
  const rows = Object.entries(connectionCauses).map(
    ([name, { words, hint, code }]) =>
      `| ${name} | ${words} | ${code} | ${hint.replace('{variable}', 'the address')} |`,
  )

  expect(page.split('\n').filter((line) => /^\| [a-z-]+ \|/.test(line) && !line.startsWith('| cause'))).toEqual(rows)
})
