/**
 * An Apple Health export of 3 GB in its zip, imported for real: `npm run apple-export`; `-- --megabytes 30` is shorter. The first
 * import is killed where half of the records are stored; the same command goes on. Ends with code 1 when the memory passed 300 MB or was
 * not flat, or when a record is missing or there twice. Leaves nothing behind.
 */
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { healthImportResult } from '../../src/app/results/import-result.ts'
import { startPostgres } from '../../src/base/engines/embedded-postgres.ts'
import { migrateWarehouse } from '../../src/operations/migrate-warehouse.ts'
import { insertPeople } from '../support/insert-people.ts'
import { type Program, startProgram } from '../support/run-program.ts'
import { openTestPool } from '../support/test-pool.ts'
import { writeLargeZip } from './large-zip.ts'

const { values } = parseArgs({ options: { megabytes: { type: 'string', default: '3000' } } })
const xmlBytes = Number(values.megabytes) * 1_000_000

const MEGABYTE = 1e6
const PEAK_MAX_MB = 300
/** The last third of the samples may lie above the second by no more than this share: then it does not grow. */
const GROWTH_MAX = 0.1
const COPY_EVERY = 50

const folder = await mkdtemp(join(tmpdir(), 'vitalsync-long-'))
await chmod(folder, 0o755)
const postgres = await startPostgres({ folder: join(folder, 'postgres'), throwAway: true })
const env = { DATABASE_URL: postgres.adminUrl('postgres'), LOG_LEVEL: 'warn' }
const pool = openTestPool(env.DATABASE_URL)
let wrong = false

try {
  await migrateWarehouse(env.DATABASE_URL, () => undefined)
  await insertPeople(pool, ['ada'])
  const file = join(folder, 'export.zip')
  const counts = { records: 0, distinct: 0 }
  const xmlSize = await writeLargeZip(file, 'apple_health_export/export.xml', texts(counts))
  say(`${mb(xmlSize)} of XML, ${counts.records} records, in a zip of ${mb((await stat(file)).size)}`)

  const words = ['import', file, '--profile', 'ada', '--json']
  const first = startProgram(words, { cwd: folder, env })
  const firstMemory = watchMemory(first)
  await untilStored(first, counts.records / 2)
  first.kill('SIGKILL')
  await first.ended
  report('killed after half', await firstMemory)
  const second = startProgram(words, { cwd: folder, env })
  const secondMemory = await watchMemory(second)
  const { code, stdout, stderr } = await second.ended
  check(code === 0, `it goes on to its end${code === 0 ? '' : `: ${stderr.slice(-500)}`}`)
  report('the same command again', secondMemory)

  const result = healthImportResult.parse(JSON.parse(stdout))
  const [importedFile] = result.files
  check(result.resumedAfter > 0, `it went on after ${result.resumedAfter} logs`)
  check(
    importedFile?.read === counts.records && importedFile.logs === counts.records,
    `${importedFile?.logs} of ${counts.records} records`,
  )
  check(result.accepted === counts.distinct, `${result.accepted} of ${counts.distinct} are there, each once`)
  check(result.duplicate === counts.records - counts.distinct, `${result.duplicate} were copies`)
  const { rows } = await pool.query<{ n: string }>('select count(*) n from vitalsync.items')
  check(Number(rows[0]?.n) === counts.distinct, `${rows[0]?.n} items in the outbox`)
} finally {
  await pool.end()
  await postgres.close()
  await rm(folder, { recursive: true, force: true })
}
process.exit(wrong ? 1 : 0)

/** A beat every four seconds and steps each minute, over years; one record of fifty is printed twice, as Apple does. */
async function* texts(counts: { records: number; distinct: number }) {
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE HealthData []>\n<HealthData locale="en_GB">\n'
  for (let bytes = 0; bytes < xmlBytes; ) {
    let text = ''
    for (let index = 0; index < 1000; index += 1) {
      const record = recordAt(counts.distinct)
      counts.distinct += 1
      const copies = counts.distinct % COPY_EVERY === 0 ? 2 : 1
      counts.records += copies
      text += record.repeat(copies)
    }
    bytes += text.length
    yield text
  }
  yield '</HealthData>\n'
}

function recordAt(index: number): string {
  const at = dateAt(Date.UTC(2020, 0, 1) + index * 4000)
  const address = (0x280000000 + index * 64).toString(16)
  const device = `&lt;&lt;HKDevice: 0x${address}&gt;, name:Apple Watch, manufacturer:Apple Inc., model:Watch, hardware:Watch7,1, software:9.${index % 7}&gt;`
  const shared = `sourceName="Ada’s Apple Watch" sourceVersion="9.${index % 7}" device="${device}"`
  const dates = `creationDate="${at}" startDate="${at}" endDate="${at}"`
  if (index % 15 === 0)
    return ` <Record type="HKQuantityTypeIdentifierStepCount" ${shared} unit="count" ${dates} value="${index % 40}"/>\n`
  const context = '  <MetadataEntry key="HKMetadataKeyHeartRateMotionContext" value="0"/>\n'
  const beat = `<Record type="HKQuantityTypeIdentifierHeartRate" ${shared} unit="count/min" ${dates} value="${50 + (index % 90)}">`
  return ` ${beat}\n${context} </Record>\n`
}

function dateAt(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} +0000`
}

async function untilStored(program: Program, records: number): Promise<void> {
  const reached = Promise.withResolvers<void>()
  const timer = setInterval(async () => {
    const { rows } = await pool.query<{ position: string }>('select position from vitalsync.imports')
    if (Number(rows[0]?.position ?? 0) >= records) reached.resolve()
  }, 500)
  void program.ended.then(({ stderr }) => reached.reject(new Error(`it ended before half was stored: ${stderr}`)))
  await reached.promise.finally(() => clearInterval(timer))
}

type Memory = { readonly seconds: number; readonly peakMb: number; readonly growth: number }

/** The memory of the program, ten times a second until it ends. */
async function watchMemory(program: Program): Promise<Memory> {
  const startedAt = performance.now()
  const samples: number[] = []
  let peakMb = 0
  const timer = setInterval(() => {
    const status = statusOf(program.pid)
    samples.push(status.VmRSS)
    peakMb = Math.max(peakMb, status.VmHWM)
  }, 100)
  await program.ended
  clearInterval(timer)
  const third = Math.floor(samples.length / 3)
  const growth = mean(samples.slice(2 * third)) / (mean(samples.slice(third, 2 * third)) || 1) - 1
  return { seconds: (performance.now() - startedAt) / 1000, peakMb, growth }
}

/** In MB; 0 when it has just ended. */
function statusOf(pid: number): { VmRSS: number; VmHWM: number } {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8')
    const of = (name: string) => (Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(text)?.[1] ?? 0) * 1024) / MEGABYTE
    return { VmRSS: of('VmRSS'), VmHWM: of('VmHWM') }
  } catch {
    return { VmRSS: 0, VmHWM: 0 }
  }
}

function report(what: string, { seconds, peakMb, growth }: Memory): void {
  say(`${what}: ${seconds.toFixed(0)} s, peak ${peakMb.toFixed(0)} MB, last third ${(growth * 100).toFixed(1)} %`)
  check(peakMb < PEAK_MAX_MB, `at most ${PEAK_MAX_MB} MB`)
  // A young process grows.
  if (seconds > 60) check(growth < GROWTH_MAX, 'it does not grow')
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, n) => sum + n, 0) / Math.max(1, numbers.length)
}

function mb(bytes: number): string {
  return `${Math.round(bytes / MEGABYTE)} MB`
}

function check(holds: boolean, what: string): void {
  say(`  ${holds ? 'holds' : 'FAILS'}: ${what}`)
  wrong ||= !holds
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
