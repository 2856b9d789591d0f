/** Imports WORK/fit and WORK/exchange, rehearsed and for real, and compares with WORK/expected.ndjson. Ends with code 1 at a difference. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { healthImportResult } from '../../../src/app/results/import-result.ts'
import { startPostgres } from '../../../src/base/engines/embedded-postgres.ts'
import { migrateWarehouse } from '../../../src/operations/migrate-warehouse.ts'
import { startProgram } from '../../support/run-program.ts'
import { openTestPool } from '../../support/test-pool.ts'

const expectedFile = z.object({
  file: z.string(),
  mapped: z.number(),
  logs: z.array(z.tuple([z.string(), z.number(), z.number(), z.number()])),
  rejected: z.number(),
  leftOut: z.number(),
  days: z.tuple([z.string().nullable(), z.string().nullable()]),
})
const storedLog = z.object({
  dataType: z.string(),
  value: z.number(),
  startDateTime: z.string(),
  endDateTime: z.string(),
})
type ImportedFile = z.output<typeof healthImportResult>['files'][number]

const imports = [
  { name: 'fit', more: [] },
  { name: 'exchange', more: ['--time-zone', 'Europe/Zurich'] },
] as const

const [work = ''] = process.argv.slice(2)
const expected = (await readFile(join(work, 'expected.ndjson'), 'utf8'))
  .trim()
  .split('\n')
  .map((line) => expectedFile.parse(JSON.parse(line)))
const postgres = await startPostgres({ folder: join(work, 'postgres'), throwAway: true })
const env = { DATABASE_URL: postgres.adminUrl('postgres'), LOG_LEVEL: 'warn' }
const pool = openTestPool(env.DATABASE_URL)
const differences: string[] = []

try {
  await migrateWarehouse(env.DATABASE_URL, () => undefined)
  const files: ImportedFile[] = []
  for (const { name, more } of imports) {
    const words = ['import', join(work, name), '--profile', `person-${name}`, '--add-profiles', '--json', ...more]
    const rehearsed = await runImport([...words, '--dry-run'])
    const stored = await runImport(words)
    const again = await runImport(words)
    compare(`${name}: the rehearsal`, { ...rehearsed, dryRun: false }, stored)
    compare(`${name}: the second time, accepted`, again.accepted, 0)
    files.push(...stored.files)
  }
  for (const published of expected) compareFile(published, files)
  const names = new Set(expected.map(({ file }) => file))
  for (const { file } of files) if (!names.has(file)) differences.push(`${file}: is not expected`)
  await compareLogs()
  const logs = expected.reduce((sum, published) => sum + published.mapped, 0)
  process.stdout.write(
    `published imports: ${expected.length} files, ${logs} records, ${differences.length} differences\n`,
  )
  for (const difference of differences.slice(0, 50)) process.stdout.write(`  ${difference}\n`)
} finally {
  await pool.end()
  await postgres.close()
}
process.exit(differences.length === 0 && expected.length > 0 ? 0 : 1)

async function runImport(words: string[]) {
  const { stdout, stderr, code } = await startProgram(words, { cwd: work, env }).ended
  if (code !== 0 && code !== 1) throw new Error(`${words.join(' ')}: code ${code}\n${stderr}`)
  return healthImportResult.parse(JSON.parse(stdout))
}

function compareFile({ file, mapped, rejected, leftOut, days }: z.output<typeof expectedFile>, files: ImportedFile[]) {
  const found = files.find((imported) => imported.file === file)
  if (!found) return differences.push(`${file}: is not read`)
  const records = (counts: ImportedFile['rejected']) => counts.reduce((sum, count) => sum + count.records, 0)
  const ours = [
    found.read,
    found.mapped,
    records(found.rejected),
    records(found.leftOut),
    found.firstDay,
    found.lastDay,
  ]
  return compare(file, ours, [mapped + rejected + leftOut, mapped, rejected, leftOut, ...days])
}

/** Type, times and value of each log that waits in the warehouse, against those of the other programs. */
async function compareLogs() {
  const { rows } = await pool.query<{ body: string }>('select body from vitalsync.parcels')
  const ours = new Set(
    rows
      .flatMap(({ body }) => z.array(storedLog).parse(JSON.parse(`[${body}]`)))
      .map((log) => [log.dataType, Date.parse(log.startDateTime), Date.parse(log.endDateTime), log.value].join(' ')),
  )
  const theirs = new Set(expected.flatMap(({ logs }) => logs.map((log) => log.join(' '))))
  for (const log of theirs) if (!ours.has(log)) differences.push(`is missing: ${log}`)
  for (const log of ours) if (!theirs.has(log)) differences.push(`is too many: ${log}`)
}

function compare(what: string, found: unknown, wanted: unknown): void {
  const [one, other] = [found, wanted].map((value) => JSON.stringify(value))
  if (one !== other) differences.push(`${what}: ${one?.slice(0, 500)} instead of ${other?.slice(0, 500)}`)
}
