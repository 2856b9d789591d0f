import { chmod, chown, lchown, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as base, expect } from 'vitest'
import { describeConfig, readConfig } from '../../config/env.ts'
import { variables } from '../../config/variables.ts'
import { describeError } from '../../src/app/cli/describe-error.ts'
import { closestWord } from '../../src/base/text/closest-word.ts'
import { runProgram } from '../support/run-program.ts'

const test = base.extend<{ folder: string }>({
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-config-'))
    await use(folder)
    await rm(folder, { recursive: true, force: true })
  },
})

/** Wrong values for each variable. */
const wrong: Record<string, string[]> = {
  DATABASE_URL: ['mysql://root@localhost/x', 'localhost:5432'],
  QUEUE_URL: ['http://localhost:6379', 'localhost'],
  QUEUE_PARTS: ['0', '65', 'many'],
  UPSTREAM_URL: ['staging', 'ftp://example.com', 'https://user:word@example.com', 'https://:word@example.com'],
  UPSTREAM_SANDBOX_URL: ['sandbox.example.com', 'https://sandbox.example.com/?key=word'],
  TOKEN_KEY: ['short', 'x'.repeat(64), `${'0'.repeat(64)},short`, Array(3).fill('0'.repeat(64)).join(',')],
  SANDBOX_SECRET: ['fifteen letters'],
  SANDBOX_NAMES: ['service:8080', 'http://service', 'service,', 'a b'],
  PORT: ['http', '65536', '-1', '80.5'],
  METRICS_PORT: ['http', '65536', '-1'],
  METRICS_HOST: ['127.0.0.1:9090', 'every one', 'http://localhost'],
  TRUSTED_PROXIES: ['proxy.example.com', '10.0.0.0/33', '10.0.0.0/0', '10.0.0.1;10.0.0.2'],
  REQUESTS_PER_MINUTE: ['0', 'many'],
  REFUSED_LOGINS_PER_MINUTE: ['0', '1.5'],
  REFUSED_TOKENS_PER_MINUTE: ['0', '-1'],
  HELD_BODIES_MB: ['1', '65537', '64MB'],
  KEPT_ANSWERS_MB: ['-1', '65537', '64MB'],
  DERIVE_THREADS: ['0', '257', 'all'],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['localhost:4318', 'grpc://localhost', 'http://user:word@localhost'],
  OTEL_EXPORTER_OTLP_HEADERS: ['authorization', 'a=b,c', 'a=%zz', 'a=%ff'],
  OTEL_TRACES_SAMPLER: ['jaeger_remote', '0.1'],
  OTEL_TRACES_SAMPLER_ARG: ['2', 'always_on'],
  DASHBOARD_PORT: ['http', '65536'],
  DASHBOARD_HOST: ['127.0.0.1:8360', 'http://localhost'],
  DASHBOARD_TRUSTED_HEADER: ['x forwarded', 'x:y'],
  LOG_LEVEL: ['verbose'],
  LOG_FORMAT: ['text'],
  NIGHTLY_CRON: ['3 o’clock', '0 3 * *'],
  SWEEP_CRON: ['* * * * * *'],
  SCHEDULE_TIME_ZONE: ['Berlin', 'GMT+25'],
  RUNS_KEPT_DAYS: ['1', '3661', 'ever'],
  HISTORY_DAYS: ['0', '1e3', 'two'],
  REREAD_SECONDS: ['-1', '30;300', '1,2,3,4,5,6,7,8,9,10,11'],
  SETTLE_MIN_SECONDS: ['-1', '31536001'],
  SETTLE_MAX_SECONDS: ['-1', '31536001'],
  CONCURRENCY: ['0', '1001'],
  WINDOWS_AT_ONCE: ['0', '101'],
  GONE_PERCENT_MAX: ['-1', '101', '5.5'],
  SECOND_READING_SECONDS: ['-1', '601'],
  BACKLOG_MAX: ['99', '1000001'],
  WAREHOUSE_SHARDS: ['0', '1025'],
  BUDGET_PER_SECOND: ['0'],
  BUDGET_IN_FLIGHT: ['0', '10001'],
  SENTINEL_SHARE: ['1.5', '-0.1', '1 %', 'some'],
  DRAIN_SECONDS: ['0', '3601'],
  STATEMENT_SECONDS: ['0', '601'],
}
/** Any text is a valid path or credential. A credential is wrong only when another is missing, which is tested below. */
const anyText = [
  'VITALSYNC_HOME',
  'VITALSYNC_DATA',
  'UPSTREAM_CLIENT_ID',
  'UPSTREAM_CLIENT_SECRET',
  'OTEL_SERVICE_NAME',
  'DASHBOARD_PASSWORD_FILE',
  'CONSOLE_PASSWORD_FILE',
  'DASHBOARD_ACTORS',
]

const namesOfAll = describeConfig({}).map(({ name }) => name)

test('every variable has its wrong values in this test', () => {
  expect([...Object.keys(wrong), ...anyText].sort()).toEqual([...namesOfAll].sort())
})

for (const [name, values] of Object.entries(wrong)) {
  const namesIt = new RegExp(`\\b${name} (must|is|Invalid)`)

  test.for(values)(`${name}=%s is refused with exit code 2 and one message that names it`, async (value) => {
    const { text, hint, code } = await describeError(errorOf({ [name]: value }), {})
    expect({ text, hint, code }).toEqual({
      text: expect.stringMatching(/^read configuration: /),
      hint: expect.stringContaining('config/example.env'),
      code: 2,
    })
    expect(text).toMatch(namesIt)
  })
}

function errorOf(environment: Record<string, string>): Error | undefined {
  try {
    readConfig(environment)
    return undefined
  } catch (error) {
    return error as Error
  }
}

test('all faults are reported at once', async ({ folder }) => {
  const env = { PORT: 'x', LOG_LEVEL: 'loud', QUEU_URL: 'redis://localhost', HISTORY_DAYS: '0' }
  const ended = await runProgram(['worker'], { cwd: folder, env })
  expect([ended.code, ended.stdout]).toEqual([2, ''])
  expect(ended.stderr).toMatch(/^vitalsync: read configuration: /)
  expect(ended.stderr).toContain('config/example.env')
  expect(ended.stderr).not.toMatch(/^ +at /m)
  for (const name of ['PORT must', 'LOG_LEVEL', 'HISTORY_DAYS must', 'did you mean QUEUE_URL?']) {
    expect(ended.stderr).toContain(name)
  }
})

test('a setting in .env counts, and one of the shell wins over it', async ({ folder }) => {
  await writeFile(join(folder, '.env'), 'PORT=from-file\n')
  const env = { LOG_LEVEL: 'silent' }
  expect((await runProgram(['migrate'], { cwd: folder, env })).stderr).toContain('PORT must be a whole number')
  const over = await runProgram(['migrate'], { cwd: folder, env: { ...env, PORT: '0' } })
  expect(over.stderr).toContain('DATABASE_URL is not set')
})

test('a .env that another user made, links to, or may write to is not read', async ({ folder, skip }) => {
  if (process.getuid?.() !== 0) skip('needs root, who alone may give a file away')
  const file = join(folder, '.env')
  const read = async () => (await runProgram(['migrate'], { cwd: folder, env: { LOG_LEVEL: 'silent' } })).stderr
  await writeFile(file, 'PORT=from-file\n')
  await chmod(file, 0o646)
  expect(await read()).toMatch(/^vitalsync: read .*\.env: other users may write to it\n.*chmod o-w/s)

  await chmod(file, 0o600)
  await chown(file, 65_534, 65_534)
  expect(await read()).toMatch(/^vitalsync: read .*\.env: it belongs to another user\n/)

  await chown(file, 0, 0)
  await rename(file, join(folder, 'mine'))
  await symlink(join(folder, 'mine'), file)
  expect(await read()).toContain('PORT must be a whole number')
  await lchown(file, 65_534, 65_534)
  expect(await read()).toMatch(/^vitalsync: read .*\.env: it belongs to another user\n/)
})

test('an engine command without addresses names the missing variables, and the command that needs none', {
  timeout: 300_000,
}, async ({ folder }) => {
  const ended = await runProgram(['worker'], { cwd: folder })
  expect(ended.code).toBe(2)
  expect(ended.stderr).toContain('DATABASE_URL, UPSTREAM_URL, TOKEN_KEY not set')
  expect(ended.stderr).toContain('vitalsync up')
})

const faultsOf = (environment: Record<string, string>) => errorOf(environment)?.message ?? ''

test('a version ignores variables that it does not know, and a new variable is no slip of an older one', () => {
  expect(() => readConfig({ A_SETTING_OF_TOMORROW: '1' })).not.toThrow()

  const names = Object.keys(variables)
  const alike = names.filter(
    (name) =>
      closestWord(
        name,
        names.filter((other) => other !== name),
      ) !== undefined,
  )
  // These came in pairs. A later variable has a name that the version before does not take for a slip.
  expect(alike.toSorted()).toEqual([
    'DASHBOARD_HOST',
    'DASHBOARD_PORT',
    'METRICS_HOST',
    'METRICS_PORT',
    'SETTLE_MAX_SECONDS',
    'SETTLE_MIN_SECONDS',
  ])
})

test('slips and other tools’ words are answered with the right name', () => {
  for (const [slip, meant] of [
    ['QUEU_URL', 'QUEUE_URL'],
    ['DATABSE_URL', 'DATABASE_URL'],
    ['DATABASE_URLS', 'DATABASE_URL'],
    ['REDIS_URL', 'QUEUE_URL'],
    ['POSTGRES_URL', 'DATABASE_URL'],
    ['TOKENKEY', 'TOKEN_KEY'],
    ['UPSTREAM_CLIENT_SECRETT', 'UPSTREAM_CLIENT_SECRET'],
  ] as const) {
    expect(faultsOf({ [slip]: 'x' })).toContain(`${slip} is not known: did you mean ${meant}?`)
  }
})

test('a variable that only resembles one of ours is ignored', () => {
  expect(faultsOf({ OTEL_EXPORTER_OTLP_TIMEOUT: '500', OTEL_LOG_LEVEL: 'info' })).toBe('')
  expect(faultsOf({ PGPORT: '5432', HOST: 'x', PATH: '/bin', PWD: '/', HOME: '/', LANG: 'C', TZ: 'UTC' })).toBe('')
  expect(faultsOf({ REDIS_URL: 'redis://a', QUEUE_URL: 'redis://b' })).toBe('')
})

test('an upstream of one’s own needs its credentials, and a named one its address', () => {
  const faults = faultsOf({ UPSTREAM_URL: 'sandbox' })
  for (const name of ['UPSTREAM_CLIENT_ID', 'UPSTREAM_CLIENT_SECRET', 'UPSTREAM_SANDBOX_URL']) {
    expect(faults).toContain(`${name} is missing`)
  }
})

test('production is the sandbox’s address without its prefix', () => {
  const credentials = { UPSTREAM_CLIENT_ID: 'id', UPSTREAM_CLIENT_SECRET: 'secret' }
  const urlOf = (UPSTREAM_URL: string, UPSTREAM_SANDBOX_URL: string) =>
    readConfig({ UPSTREAM_URL, UPSTREAM_SANDBOX_URL, ...credentials }).upstream?.url

  expect(urlOf('production', 'https://sandbox.api.example.com')).toBe('https://api.example.com')
  expect(urlOf('production', 'https://sandbox-api.example.com/v')).toBe('https://api.example.com/v')
  expect(urlOf('sandbox', 'https://sandbox.api.example.com')).toBe('https://sandbox.api.example.com')
})

test('production by a sandbox address without the prefix is refused, for it would stay the sandbox', () => {
  const faults = (UPSTREAM_URL: string) => faultsOf({ UPSTREAM_URL, UPSTREAM_SANDBOX_URL: 'https://api.example.com' })

  expect(faults('production')).toContain('production would be the sandbox')
  expect(faults('sandbox')).not.toContain('production would be')
})

test('an empty variable counts as absent, and the configuration is frozen', () => {
  const config = readConfig({ QUEUE_URL: '', PORT: '  ' })
  expect(config).toMatchObject({ queueUrl: undefined, port: 0 })
  expect(Object.isFrozen(config) && Object.isFrozen(config.schedule) && Object.isFrozen(config.budget)).toBe(true)
})

test('no secret is ever described', () => {
  const secrets = {
    UPSTREAM_CLIENT_ID: 'marker-1',
    UPSTREAM_CLIENT_SECRET: 'marker-2',
    TOKEN_KEY: 'marker-5',
    DATABASE_URL: 'postgres://user:marker-6@host/db',
    QUEUE_URL: 'redis://:marker-7@host:6379,redis://user:marker-8@other:6379,user:marker-10@third',
    UPSTREAM_URL: 'https://user:marker-9@host',
    UPSTREAM_SANDBOX_URL: 'https://host/?password=marker-11',
  }
  expect(JSON.stringify(describeConfig(secrets))).not.toContain('marker')
})

test('config/example.env lists every variable as config/env.ts has it (npx vitest -u writes it again)', async () => {
  const rows = describeConfig({}).map(({ name, value, about }) => `# ${about}\n#${name}=${value}\n`)
  const head =
    '# Every variable there is, with what holds where none is set. Copy what you need to .env beside the checkout, or\n' +
    '# set it in the shell, which wins. `vitalsync doctor` prints what is in force.\n\n'
  await expect(head + rows.join('\n')).toMatchFileSnapshot('../../config/example.env')
})
