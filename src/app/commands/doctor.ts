import { access, constants } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  type Config,
  type DescribedVariable,
  describeConfig,
  type Environment,
  readConfig,
} from '../../../config/env.ts'
import { type Finding, note, well, wrong } from '../../base/connections/finding.ts'
import { isOwnServer } from '../../base/connections/own-server.ts'
import { examineMigrations, examinePostgres } from '../../base/engines/examine-postgres.ts'
import { readRunning } from '../../base/engines/running-file.ts'
import { Problem } from '../../base/errors.ts'
import { dataFolderHint } from '../../base/files/data-folder.ts'
import { fileFaultOf } from '../../base/files/named-files.ts'
import { isFulfilled } from '../../base/sleep.ts'
import { formatBytes } from '../../base/text/readable.ts'
import { migrationsFolder } from '../../operations/migrate-warehouse.ts'
import { examineRedis } from '../../pipeline/queue/examine-redis.ts'
import { examineParts } from '../../pipeline/queue/served-parts.ts'
import { examineUpstream } from '../../pipeline/upstream/examine-upstream.ts'
import { examineDistribution } from '../../pipeline/warehouse/divided/examine-distribution.ts'
import { openWarehousePool, type Pool } from '../../pipeline/warehouse/postgres/warehouse-pool.ts'
import { readTableSizes } from '../../pipeline/warehouse/reports/ask-facts.ts'
import { canAsk, QUESTIONS_ROLE_HINT } from '../../pipeline/warehouse/reports/read-query.ts'
import { listReaders, READER_ROLE } from '../../pipeline/warehouse/reports/reader-role.ts'
import { examineTombstoneKey } from '../../pipeline/warehouse/seals/tombstone-key.ts'
import { examineTokenKeys } from '../../pipeline/warehouse/tokens/token-store.ts'
import { exposureFindings } from '../exposed-connections.ts'
import { exitCodes, type UncheckedContext } from '../terminal/command-context.ts'
import { formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The addresses to examine: given by the configuration, or of an `up` that runs in the data folder. */
type DoctorTargets = {
  queueParts: number
  databaseUrl: string | undefined
  queueUrl: string | undefined
  upstream: { url: string; clientId: string; clientSecret: string } | undefined
  tokenKeys: readonly Buffer[] | undefined
}

/** Prints the configuration, tries every connection, and says what is wrong and how to fix it. Changes nothing. */
export async function runDoctor({ environment, terminal }: UncheckedContext): Promise<number> {
  const configuration = describeConfig(environment)
  const faults: Finding[] = []
  const config = tryReadConfig(environment, faults)
  if (!config) {
    printReport(terminal, { configuration, findings: faults })
    return exitCodes.usage
  }
  const needsFolder = !config.databaseUrl || !config.upstream
  const running = needsFolder ? await readRunning(config.dataFolder) : undefined
  const targets: DoctorTargets = {
    queueParts: config.queueParts,
    databaseUrl: config.databaseUrl ?? running?.databaseUrl,
    queueUrl: config.queueUrl ?? config.databaseUrl ?? running?.queueUrl,
    upstream: config.upstream ?? running?.upstream,
    tokenKeys: config.tokenKeys ?? (config.databaseUrl ? undefined : running?.tokenKeys.map(fromBase64)),
  }
  const findings = (
    await Promise.all([
      examineFolder(config, running !== undefined),
      examineWarehouse(targets, config.warehouseShards),
      examineQueue(targets),
      targets.upstream ? examineUpstream({ subject: 'upstream', ...targets.upstream }) : [embeddedNote('upstream')],
    ])
  )
    .flat()
    .concat(exposureFindings(targets))
  printReport(terminal, { configuration, findings })
  if (findings.some(({ state }) => state === 'unreachable')) return exitCodes.unreachable
  return findings.some(({ state }) => state === 'wrong') ? exitCodes.failures : exitCodes.done
}

function tryReadConfig(environment: Environment, faults: Finding[]): Config | undefined {
  try {
    return readConfig(environment)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    faults.push(wrong('configuration', error.message, error.hint ?? ''))
    return undefined
  }
}

function embeddedNote(subject: string): Finding {
  return { subject, state: 'note', text: 'no address is given: `vitalsync up` starts one of its own' }
}

/** The folder is used only by embedded engines: with all addresses given it is not examined. */
async function examineFolder({ databaseUrl, upstream, dataFolder }: Config, running: boolean): Promise<Finding[]> {
  if (databaseUrl && upstream) return []
  const subject = 'data folder'
  try {
    const exists = await isFulfilled(access(dataFolder))
    await access(exists ? dataFolder : dirname(dataFolder), constants.R_OK | constants.W_OK | constants.X_OK)
    return [well(subject, `${dataFolder}${running ? ', where vitalsync up runs' : ''}`)]
  } catch (error) {
    return [wrong(subject, fileFaultOf(error)?.text ?? String(error), dataFolderHint)]
  }
}

async function examineWarehouse(targets: DoctorTargets, shards: number): Promise<Finding[]> {
  const { databaseUrl, tokenKeys } = targets
  const subject = 'warehouse'
  const variable = 'DATABASE_URL'
  if (!databaseUrl) return [embeddedNote(subject)]
  const server = await examinePostgres({ subject, databaseUrl, variable })
  if (server.every(({ state }) => state !== 'well')) return server
  const schema = await examineMigrations({
    subject,
    databaseUrl,
    variable,
    folder: migrationsFolder,
    schema: 'vitalsync',
  })
  const isMigrated = schema.every(({ state }) => state === 'well')
  const pool = openWarehousePool({ databaseUrl, connectionsMax: 1, name: 'vitalsync doctor' })
  try {
    const migrated = isMigrated ? await migratedFindings(pool, shards) : []
    const tokens = await tokenKeyFindings(pool, tokenKeys)
    const tombstones = isMigrated && tokenKeys ? await tombstoneKeyFindings(pool, tokenKeys) : []
    const questions = isMigrated ? await questionsFindings(pool, targets) : []
    return [...server, ...schema, ...migrated, ...questions, ...tokens, ...tombstones]
  } finally {
    await pool.end()
  }
}

async function migratedFindings(pool: Pool, shards: number): Promise<Finding[]> {
  return [...(await distributionFindings(pool, shards)), ...(await sizeFindings(pool)), ...(await readerFindings(pool))]
}

/** The embedded Postgres makes the role at its start. */
async function questionsFindings(pool: Pool, { databaseUrl = '', tokenKeys: keys }: DoctorTargets): Promise<Finding[]> {
  if (!keys || isOwnServer(databaseUrl)) return []
  const subject = 'questions'
  if (await canAsk({ pool, databaseUrl, keys })) return [well(subject, 'the role that answers them logs in')]
  return [note(subject, 'the role that answers them (dashboard, sql) cannot log in', QUESTIONS_ROLE_HINT)]
}

async function distributionFindings(pool: Pool, shards: number): Promise<Finding[]> {
  try {
    return await examineDistribution(pool, shards)
  } catch (error) {
    const hint = 'See the log of the coordinator, and select * from citus_check_cluster_node_health().'
    return [wrong('citus', `cannot be examined: ${(error as Error).message}`, hint)]
  }
}

const TABLES_SHOWN = 5

/** The sizes, for the operator who watches the disk. docs/how-to/operating.md says how long rows are kept. */
async function sizeFindings(pool: Pool): Promise<Finding[]> {
  const { databaseBytes, tables } = await readTableSizes(pool)
  const largest = tables.slice(0, TABLES_SHOWN).map(({ table, bytes }) => `${table} ${formatBytes(bytes)}`)
  const text = `the database takes ${formatBytes(databaseBytes)}; the largest tables: ${largest.join(', ')}`
  return [well('size', text)]
}

async function readerFindings(pool: Pool): Promise<Finding[]> {
  const subject = 'readers'
  const readers = await listReaders(pool)
  if (readers.length > 0) return [well(subject, `${readers.join(', ')} may read the public views`)]
  const hint = `Let analysts in by a role that sees nothing else: vitalsync grant-reader ${READER_ROLE}.`
  return [note(subject, 'no role but the owner may read the public views', hint)]
}

const fromBase64 = (text: string) => Buffer.from(text, 'base64')

async function tokenKeyFindings(pool: Pool, keys: readonly Buffer[] | undefined): Promise<Finding[]> {
  const subject = 'token key'
  const hint = 'Set TOKEN_KEY to 32 random bytes, the same on every host: openssl rand -base64 32.'
  if (!keys) return [wrong(subject, 'TOKEN_KEY is not set, and tokens in DATABASE_URL need it', hint)]
  try {
    const { tried, readable, current } = await examineTokenKeys({ pool, keys })
    if (tried === 0) return [well(subject, 'no token is stored yet')]
    if (readable === tried) {
      const former = current === tried ? '' : `; ${tried - current} are sealed with a former key`
      return [well(subject, `opens all of ${tried} stored tokens tried${former}`)]
    }
    return [
      wrong(
        subject,
        `opens ${readable} of ${tried} stored tokens tried`,
        'Set TOKEN_KEY to the key they were stored with. If it is lost: each token is renewed once, at its next use.',
      ),
    ]
  } catch (error) {
    return [wrong(subject, `stored tokens cannot be read: ${(error as Error).message}`, hint)]
  }
}

async function tombstoneKeyFindings(pool: Pool, keys: readonly Buffer[]): Promise<Finding[]> {
  const subject = 'tombstone key'
  try {
    const state = await examineTombstoneKey({ pool, keys })
    if (state === 'absent') return []
    if (state !== 'closed') {
      const former = state === 'opens' ? '' : ', with a former key'
      return [well(subject, `TOKEN_KEY opens the key by which erased people are known${former}`)]
    }
    return [
      wrong(
        subject,
        'TOKEN_KEY does not open the key by which erased people are known: nobody can be taken in',
        'Set TOKEN_KEY as the workers have it, where it changed `new,old`. Where the old one is lost: docs/reference/upstream.md.',
      ),
    ]
  } catch (error) {
    const hint = 'Grant the role select on vitalsync.secrets and vitalsync.tombstones.'
    return [wrong(subject, `cannot be examined: ${(error as Error).message}`, hint)]
  }
}

async function examineQueue(targets: DoctorTargets): Promise<Finding[]> {
  const subject = 'queue'
  const { queueUrl, queueParts } = targets
  if (!queueUrl) return [embeddedNote(subject)]
  const server = await examineQueueServer(subject, queueUrl, targets)
  if (server.every(({ state }) => state !== 'well')) return server
  // A queue that no process has used yet, or that refuses: the findings about its server say so.
  return [...server, ...(await examineParts(subject, queueUrl, queueParts).catch(() => []))]
}

async function examineQueueServer(
  subject: string,
  queueUrl: string,
  { databaseUrl }: DoctorTargets,
): Promise<Finding[]> {
  if (/^rediss?:/.test(queueUrl)) return examineRedis(subject, queueUrl)
  if (queueUrl === databaseUrl) return [well(subject, 'lies in the warehouse’s database')]
  return examinePostgres({ subject, databaseUrl: queueUrl, variable: 'QUEUE_URL' })
}

const marks = { well: '✓', note: '·', wrong: '✗', unreachable: '✗' } as const
const shades = { well: 'good', note: undefined, wrong: 'bad', unreachable: 'bad' } as const

function printReport(terminal: Terminal, report: { configuration: DescribedVariable[]; findings: Finding[] }): void {
  if (terminal.json) {
    terminal.printJson('doctor', report)
    return
  }
  terminal.print('In force (secrets are masked):')
  const rows = report.configuration.map(({ name, value, from, about }) => [name, value || '–', from, about])
  terminal.print(`${formatTable(['variable', 'value', 'from', 'what for'], rows)}\n`)
  for (const { subject, state, text, hint } of report.findings) {
    terminal.print(`${shades[state] ? terminal.paint(shades[state], marks[state]) : marks[state]} ${subject}: ${text}`)
    if (hint) terminal.print(`    → ${hint}`)
  }
  const bad = report.findings.filter(({ state }) => state === 'wrong' || state === 'unreachable').length
  terminal.print(
    bad === 0 ? '\nAll is well.' : `\n${bad === 1 ? 'One problem is' : `${bad} problems are`} to be fixed.`,
  )
}
