/**
 * Fills the warehouse of a version with the work of a few people and a queue with jobs that wait, and keeps a dump of both for the test of
 * upgrades: fixtures/<version>.sql.gz. People, tokens and keys in it are made up.
 *
 *   npm run freeze                    of this version, before its release
 *   npm run freeze -- --from v0.1.0   of a tag
 *
 * Needs the Postgres of Debian: servers from that version on read its dump. The queue is the one in Postgres, where jobs are kept as rows;
 * a dump of Redis is bound to a version of Redis, and `npm run upgrade-check` upgrades a Redis that is at work.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { z } from 'zod'
import { type DebianPostgres, findDebianPostgres, startDebianPostgres } from '../../../support/debian-postgres.ts'
import { checkOut } from '../../../support/next-version.ts'
import { sources, startProgram } from '../../../support/run-program.ts'
import { daysAgo } from '../../../support/sample-scores.ts'
import { openTestPool } from '../../../support/test-pool.ts'

const run = promisify(execFile)
const POLL_MS = 200
const { values: options } = parseArgs({ options: { from: { type: 'string' } } })

const sandboxSchema = z.object({
  url: z.string(),
  clientId: z.string(),
  clientSecret: z.string(),
  controlUrl: z.string(),
  controlToken: z.string(),
})
type Sandbox = z.infer<typeof sandboxSchema>
type Place = { readonly entry: string; readonly folder: string; readonly postgres: DebianPostgres }

/** With as many days as archetypes and trends need. */
async function withSandbox(
  { entry, folder, postgres }: Place,
  use: (sandbox: Sandbox) => Promise<void>,
): Promise<void> {
  const words = ['sandbox', '--port', '0', '--profiles', '2', '--days', '40', '--seed', 'frozen', '--json']
  const service = startProgram(words, { cwd: folder, entry, env: { DATABASE_URL: postgres.url('service') } })
  try {
    const [line] = await service.said(/\{.*\}\n/)
    await use(sandboxSchema.parse(JSON.parse(line)))
  } finally {
    service.kill('SIGTERM')
    await service.ended
  }
}

async function fill({ entry, folder, postgres }: Place, sandbox: Sandbox): Promise<void> {
  const env = {
    DATABASE_URL: postgres.url('warehouse'),
    UPSTREAM_URL: sandbox.url,
    UPSTREAM_CLIENT_ID: sandbox.clientId,
    UPSTREAM_CLIENT_SECRET: sandbox.clientSecret,
    TOKEN_KEY: Buffer.alloc(32, 7).toString('base64'),
    HISTORY_DAYS: '8',
    REREAD_SECONDS: '0',
    SECOND_READING_SECONDS: '0',
    NIGHTLY_CRON: '* * * * *',
  }
  const start = (...words: string[]) => startProgram(words, { cwd: folder, entry, env })
  const ends = async (wanted: number, ...words: string[]) => {
    const { code, stdout, stderr } = await start(...words).ended
    if (code !== wanted) throw new Error(`${words.join(' ')} ended with ${code}: ${stdout}${stderr}`)
    console.log(`${words.join(' ')}: ${stdout.trim().split('\n')[0]}`)
  }
  const succeeds = (...words: string[]) => ends(0, ...words)
  const importLogs = async (...words: string[]) => {
    const file = join(folder, 'logs.ndjson')
    await writeFile(file, words.map((id) => `${JSON.stringify({ externalId: 'imported', id, ...walk })}\n`).join(''))
    await succeeds('import', 'data-logs', file, '--add-profiles')
  }
  await succeeds('migrate')
  await succeeds('profiles', 'discover')
  // Values that upstream changes later; then records that do not fit.
  await putFaults(sandbox, { name: 'revised', rate: 0.1, settings: { hours: 2000 } })
  await succeeds('sync')
  await importLogs('11111111-1111-4111-8111-111111111111')
  await putFaults(sandbox, { name: 'odd-records', rate: 0.02 }, { name: 'drift-new-field', rate: 1 })
  await ends(1, 'sync')
  await putFaults(sandbox)
  await succeeds('verify', '--sample', '100', '--mend')
  await succeeds('columns', 'add', 'scores', 'first_factor', '$.factors[0].name')
  await succeeds('profiles', 'add', 'withdrawn')
  await succeeds('profiles', 'erase', 'withdrawn', '--yes')
  await importLogs('22222222-2222-4222-8222-222222222222')
  // Jobs that wait for a worker.
  const scheduler = start('schedule')
  await scheduler.said(/is ready/)
  const pool = openTestPool(env.DATABASE_URL, 1)
  const enqueued = "select 1 from vitalsync.runs where kind = 'nightly' and enqueued_all"
  while ((await pool.query(enqueued)).rows.length === 0) await sleep(POLL_MS)
  await pool.end()
  scheduler.kill('SIGKILL')
  await scheduler.ended
}

const walk = {
  logType: 'activity',
  dataType: 'steps',
  value: 1200,
  unit: 'count',
  source: 'watch',
  recordingMethod: 'automatically_recorded',
  deviceType: 'watch',
  startDateTime: daysAgo(1, 36_000_000),
  endDateTime: daysAgo(1, 39_600_000),
}

async function putFaults({ controlUrl, controlToken }: Sandbox, ...faults: object[]): Promise<void> {
  const headers = { authorization: `Bearer ${controlToken}`, 'content-type': 'application/json' }
  const answer = await fetch(`${controlUrl}/faults`, { method: 'PUT', headers, body: JSON.stringify(faults) })
  if (!answer.ok) throw new Error(`the sandbox takes no faults: ${answer.status} ${await answer.text()}`)
}

/** Tables that are the same in every warehouse, that are empty after a crash of the server, or that hold what upstream derives. */
const leftOut = [
  ...['vitalsync.calendar', 'service.logs', 'service.derived', 'service.day_facts'].map(
    (name) => `--exclude-table-data=${name}`,
  ),
  '--no-unlogged-table-data',
]
const calendar = `INSERT INTO vitalsync.calendar SELECT d::date, d at time zone 'UTC', tstzrange(d at time zone 'UTC', (d + interval '1 day') at time zone 'UTC')
  FROM generate_series(timestamp '1970-01-01', timestamp '2099-12-31', interval '1 day') d;
`

/** As statements that any client can send. */
async function dump({ bin, url }: DebianPostgres, database: string): Promise<string> {
  const words = ['--no-owner', '--no-acl', '--no-comments', '--inserts', '--rows-per-insert=100', ...leftOut]
  const { stdout } = await run(join(bin, 'pg_dump'), [...words, url(database)], { maxBuffer: 64 * 1024 * 1024 })
  return stdout.replaceAll(/^(--.*|SET (?!check_function_bodies).*|\\.*|)\n/gm, '')
}

const bin = await findDebianPostgres()
if (!bin) throw new Error('there is no Postgres of Debian: apt-get install postgresql')
const other = options.from === undefined ? undefined : await checkOut(options.from)
const entry = other?.entry ?? sources
const folder = await mkdtemp(join(tmpdir(), 'vitalsync-freeze-'))
const postgres = await startDebianPostgres(bin)
try {
  const admin = openTestPool(postgres.url('postgres'), 1)
  for (const name of ['warehouse', 'service']) await admin.query(`create database ${name}`)
  await admin.end()
  const place = { entry, folder, postgres }
  await withSandbox(place, (sandbox) => fill(place, sandbox))
  const { version } = JSON.parse(await readFile(join(dirname(entry), '../package.json'), 'utf8'))
  const text = `${await dump(postgres, 'service')}${await dump(postgres, 'warehouse')}${calendar}`
  const bytes = gzipSync(text, { level: 9 })
  await writeFile(new URL(`fixtures/${version}.sql.gz`, import.meta.url), bytes)
  console.log(`fixtures/${version}.sql.gz: ${bytes.length} bytes, ${text.length} unpacked`)
} finally {
  await postgres.close()
  await other?.close()
  await rm(folder, { recursive: true, force: true })
}
