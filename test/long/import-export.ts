/**
 * A long walk with small shoes: a large file in, many rows out, and the memory of the process that does it looked at all
 * the while. `npm run long` does 1 GB and 10,000,000 rows; `npm run long -- --short` a hundredth of it in a minute.
 * Ends with code 1 when memory was not flat or a row is missing.
 */
import { createWriteStream, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { startPostgres } from '../../src/base/engines/embedded-postgres.ts'
import { migrateWarehouse } from '../../src/operations/migrate-warehouse.ts'
import { insertPeople, peopleNames } from '../support/insert-people.ts'
import { startProgram } from '../support/run-program.ts'
import { openTestPool } from '../support/test-pool.ts'

const { values } = parseArgs({
  options: { short: { type: 'boolean', default: false }, megabytes: { type: 'string' }, rows: { type: 'string' } },
})
const fileBytes = Number(values.megabytes ?? (values.short ? 10 : 1000)) * 1_000_000
const rowCount = Number(values.rows ?? (values.short ? 100_000 : 10_000_000))

const MEGABYTE = 1024 * 1024
const PEOPLE = 1000
/** Node's heap breathes; what is bounded stays below this however long it runs. */
const RSS_MAX_BYTES = 512 * MEGABYTE
/** The last third of the samples may lie above the second by no more than this share: then it does not grow. */
const GROWTH_MAX = 0.25

const folder = await mkdtemp(join(tmpdir(), 'vitalsync-long-'))
await chmod(folder, 0o755)
const postgres = await startPostgres({ folder: join(folder, 'postgres'), throwAway: true })
const databaseUrl = postgres.adminUrl('postgres')
const pool = openTestPool(databaseUrl)
let wrong = false

try {
  await migrateWarehouse(databaseUrl, () => undefined)
  await insertPeople(pool, peopleNames(PEOPLE))
  const file = join(folder, 'logs.ndjson')
  const lines = await writeLogs(file)
  const imported = await watched('import', ['import', 'data-logs', file, '--json'])
  const counts = z.object({ accepted: z.number(), rejected: z.number() }).parse(JSON.parse(imported))
  check(counts.accepted === lines && counts.rejected === 0, `${counts.accepted} of ${lines} lines are in the outbox`)
  await rm(file)

  await fillScores()
  for (const format of ['ndjson', 'parquet']) {
    const output = join(folder, `scores.${format}`)
    const words = ['export', '--stream', 'scores', '--format', format, '--output', output, '--json']
    const exported = z
      .object({ streams: z.array(z.object({ rows: z.number() })) })
      .parse(JSON.parse(await watched(`export ${format}`, words)))
    const rows = exported.streams[0]?.rows ?? 0
    check(rows === rowCount, `${rows} of ${rowCount} rows are in the ${format} file`)
    await rm(output)
  }
} finally {
  await pool.end()
  await postgres.close()
  await rm(folder, { recursive: true, force: true })
}
process.exit(wrong ? 1 : 0)

async function writeLogs(file: string): Promise<number> {
  let lines = 0
  async function* texts() {
    for (let bytes = 0; bytes < fileBytes; ) {
      const text = Array.from({ length: 1000 }, () => logAt(lines++)).join('')
      bytes += text.length
      yield text
    }
  }
  await pipeline(Readable.from(texts()), createWriteStream(file))
  return lines
}

function logAt(index: number): string {
  const at = new Date(Date.UTC(2025, 0, 1) + Math.floor(index / PEOPLE) * 60_000).toISOString()
  const what = {
    logType: 'heart',
    dataType: 'heart_rate',
    value: 50 + (index % 90),
    unit: 'bpm',
    source: 'com.example.watch',
  }
  const how = { recordingMethod: 'automatically_recorded', deviceType: 'watch', startDateTime: at, endDateTime: at }
  return `${JSON.stringify({ externalId: `person-${1 + (index % PEOPLE)}`, ...what, ...how })}\n`
}

async function fillScores(): Promise<void> {
  const each = Math.ceil(rowCount / PEOPLE)
  await pool.query(
    `insert into vitalsync.scores (profile_id, score_date_time, type, value, state, body, digest, read_at, first_seen_at, changed_at)
     select p.id, '2000-01-01'::timestamptz + n * interval '1 hour', 'sleep', n / 7.0, 'medium',
       jsonb_build_object('type', 'sleep', 'value', n / 7.0, 'factors', '[]'::jsonb)::text, n, now(), now(), now()
     from vitalsync.profiles p, generate_series(1, $1::int) n`,
    [each],
  )
  await pool.query(
    "delete from vitalsync.scores where profile_id = 1 and score_date_time > (select min(score_date_time) from vitalsync.scores) + $1 * interval '1 hour'",
    [each - 1 - (each * PEOPLE - rowCount)],
  )
  await pool.query('vacuum analyze vitalsync.scores')
}

/** Runs the program and samples what it holds in memory until it ends. */
async function watched(name: string, words: string[]): Promise<string> {
  const startedAt = performance.now()
  const program = startProgram(words, { cwd: folder, env: { DATABASE_URL: databaseUrl, LOG_LEVEL: 'warn' } })
  const samples: number[] = []
  const timer = setInterval(() => {
    const bytes = residentBytes(program.pid)
    if (bytes !== undefined) samples.push(bytes)
  }, 100)
  const { code, stdout, stderr } = await program.ended
  clearInterval(timer)
  if (code !== 0) throw new Error(`${name}: exit code ${code}\n${stderr.slice(-2000)}`)
  const seconds = (performance.now() - startedAt) / 1000
  const third = Math.floor(samples.length / 3)
  const [middle, last] = [samples.slice(third, 2 * third), samples.slice(2 * third)].map(mean)
  const peak = Math.max(...samples)
  const growth = (last ?? 0) / (middle || 1) - 1
  process.stdout.write(
    `${name}: ${seconds.toFixed(1)} s, peak ${Math.round(peak / MEGABYTE)} MB, middle third ${Math.round((middle ?? 0) / MEGABYTE)} MB, last third ${Math.round((last ?? 0) / MEGABYTE)} MB\n`,
  )
  check(peak < RSS_MAX_BYTES, `${name} stays below ${RSS_MAX_BYTES / MEGABYTE} MB`)
  if (samples.length > 100) check(growth < GROWTH_MAX, `${name} does not grow`)
  return stdout
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, n) => sum + n, 0) / Math.max(1, numbers.length)
}

function residentBytes(pid: number): number | undefined {
  try {
    const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
  } catch {
    return undefined // it has just ended
  }
}

function check(holds: boolean, what: string): void {
  process.stdout.write(`  ${holds ? 'holds' : 'FAILS'}: ${what}\n`)
  wrong ||= !holds
}
