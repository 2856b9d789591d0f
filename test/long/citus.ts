/**
 * The warehouse on a Citus cluster:  npm run citus -- --workers 2
 *
 * Starts a coordinator and so many workers on loopback; test/support/citus-cluster.ts names the Postgres. Divides an empty
 * warehouse, syncs the people of a sandbox into it and into a plain Postgres, and compares the records; verifies, asks for gaps and
 * status, exports and erases. Then runs tests of the warehouse and of the promises on the cluster, one file after the other, and lists
 * each statement that Citus refused. Ends with exit code 1 when something is not as it must be. CI has no Citus and leaves this out.
 *
 *   --workers <n>  --shards <n>  --people <n>  --days <n>
 *   --only <part>      sync or tests
 *   --tests <path>     test files or folders, several times; the warehouse's and the promises' where there is none
 *   --refusals <file>  where the refused statements are written; to the terminal when absent
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { pulledStreams } from '../../config/streams.ts'
import { type CitusCluster, hasCitus, type ServerError, startCitusCluster } from '../support/citus-cluster.ts'
import { startProgram } from '../support/run-program.ts'
import { createChecklist } from './checklist.ts'
import { openTwoWarehouses, type SyncedWarehouse } from './two-warehouses.ts'

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '2' },
    shards: { type: 'string', default: '8' },
    people: { type: 'string', default: '12' },
    days: { type: 'string', default: '8' },
    only: { type: 'string' },
    tests: { type: 'string', multiple: true, default: [] },
    refusals: { type: 'string' },
  },
})
const TESTS = ['test/warehouse', 'test/promises']
const shards = Number(values.shards)
const { say, until, end } = createChecklist()
const closing: Array<() => Promise<unknown>> = []
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void closeAll().then(() => process.exit(1)))
if (!hasCitus()) throw new Error('start Citus: the Postgres of CITUS_BIN has no extension citus (docs/citus.md)')

try {
  const cluster = await startCitusCluster({ workers: Number(values.workers) })
  closing.push(cluster.close)
  say(`a coordinator and ${values.workers} workers are up`)
  if (values.only !== 'tests') await syncBoth(cluster)
  if (values.only !== 'sync') await runTests(cluster)
  await tellRefusals(await cluster.listErrors())
} finally {
  await closeAll()
}
end()

async function closeAll(): Promise<void> {
  for (const close of closing.splice(0).toReversed()) await close().catch((error: Error) => say(error.message))
}

async function syncBoth(cluster: CitusCluster): Promise<void> {
  const both = await openTwoWarehouses({
    people: Number(values.people),
    days: Number(values.days),
    citus: { databaseUrl: cluster.databaseUrl, shards },
  })
  closing.push(both.close)
  const { plain, citus } = both
  for (const { name, command } of [plain, citus]) {
    const expectDone = async (...words: string[]) => {
      const { code, stderr } = await command(...words)
      await until(`${name}: ${words.join(' ')}`, async () => code === 0, 0)
      if (code !== 0) say(stderr.slice(-2000))
    }
    await expectDone('migrate', ...(name === 'citus' ? ['--distribute', '--shards', values.shards] : []))
    if (name === 'citus') {
      await expectDone('migrate', '--distribute', '--shards', values.shards)
      await expectDone('migrate')
    }
    await expectDone('profiles', 'discover')
    await expectDone('sync')
    await expectDone('status', '--json')
    await expectDone('verify', '--json')
    await expectDone('export', '--stream', 'scores', '--output', `${both.folder}/${name}.csv`)
  }
  await compare('the same records', digestOfRecords, plain, citus)
  await compare('the same gaps', async ({ command }) => gapsOf((await command('gaps', '--json')).stdout), plain, citus)
  for (const { name, command } of [plain, citus]) {
    const person = await firstPersonOf(both.plain)
    const { code, stderr } = await command('profiles', 'erase', person, '--yes', '--json')
    await until(`${name}: profiles erase`, async () => code === 0, 0)
    if (code !== 0) say(stderr.slice(-2000))
  }
  await loseAndGrow(cluster, both.citus)
}

/** A node that is away is named, and one that is added takes shards while everything is read as before. */
async function loseAndGrow(cluster: CitusCluster, warehouse: SyncedWarehouse): Promise<void> {
  const doctor = async () => (await warehouse.command('doctor', '--json')).stdout
  const [worker] = cluster.workers
  const before = await digestOfRecords(warehouse)
  await worker?.kill()
  await until('doctor names the node that is away', async () =>
    (await doctor()).includes(`not answer: 127.0.0.1:${worker?.port}`),
  )
  await worker?.start()
  await until('doctor finds all nodes', async () =>
    (await doctor()).includes(`all ${cluster.workers.length + 1} nodes answer`),
  )
  const added = await cluster.addWorker()
  const client = new pg.Client({ connectionString: warehouse.databaseUrl })
  await client.connect()
  await client.query(`select citus_rebalance_start(shard_transfer_mode => 'block_writes')`)
  const held = 'select 1 from citus_shards where nodeport = $1'
  await until('the new node has shards', async () => ((await client.query(held, [added.port])).rowCount ?? 0) > 0)
  await client.query('select citus_rebalance_wait()')
  await client.end()
  await until('the records are the same', async () => (await digestOfRecords(warehouse)) === before)
  await until('buckets and shards agree', async () => (await doctor()).includes('each bucket of profiles is one shard'))
}

async function firstPersonOf({ databaseUrl }: SyncedWarehouse): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ external_id: string }>(
    'select external_id from vitalsync.names order by 1 limit 1',
  )
  await client.end()
  return rows[0]?.external_id ?? ''
}

async function compare(
  what: string,
  digestOf: (warehouse: SyncedWarehouse) => Promise<string>,
  plain: SyncedWarehouse,
  citus: SyncedWarehouse,
): Promise<void> {
  const digests = await Promise.all([digestOf(plain), digestOf(citus)])
  await until(what, async () => digests[0] === digests[1], 0)
  if (digests[0] !== digests[1]) say(digests.join('\n'))
}

/** Counts and digests of all records by stream, and the names of the ledger's rows. */
async function digestOfRecords({ databaseUrl }: SyncedWarehouse): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const tables = pulledStreams.map(({ table }) => [table, 'body'] as const)
    const parts: string[] = []
    for (const [table, column] of [...tables, ['ledger', 'stream'] as const]) {
      const { rows } = await client.query<{ row: string }>(
        `select p.external_id || ' ' || t.${column} as row from vitalsync.${table} t join vitalsync.profiles p on p.id = t.profile_id`,
      )
      const all = rows.map(({ row }) => row).sort()
      parts.push(`${table} ${all.length} ${createHash('sha256').update(all.join('\n')).digest('hex').slice(0, 12)}`)
    }
    return parts.join(', ')
  } finally {
    await client.end()
  }
}

/** The missing days of each person and stream. Instants differ, because the two were synced one after the other. */
function gapsOf(stdout: string): string {
  const lines = stdout.replaceAll(/\d\d:\d\d:\d\d\.\d+Z/g, '').split('\n')
  return lines.sort().join('\n')
}

async function runTests(cluster: CitusCluster): Promise<void> {
  const databaseUrl = await cluster.createDatabase('tests')
  const { code: divided, stderr } = await startProgram(['migrate', '--distribute', '--shards', values.shards], {
    cwd: tmpdir(),
    env: { DATABASE_URL: databaseUrl, WAREHOUSE_SHARDS: values.shards },
  }).ended
  if (divided !== 0) throw new Error(stderr)
  const words = [
    'vitest',
    'run',
    '--config',
    'config/vitest.config.ts',
    '--no-file-parallelism',
    '--testTimeout',
    '60000',
  ]
  const child = spawn('npx', [...words, ...(values.tests.length > 0 ? values.tests : TESTS)], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, TEST_CITUS_URL: databaseUrl, WAREHOUSE_SHARDS: values.shards },
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  await until('the tests on the cluster pass', async () => code === 0, 0)
}

/** Citus does not take it, as against faults that tests provoke. */
function isRefusal({ sqlState }: ServerError): boolean {
  return ['0A000', '42P10', 'XX000'].includes(sqlState)
}

async function tellRefusals(errors: readonly ServerError[]): Promise<void> {
  const refused = errors.filter(isRefusal)
  const text = refused
    .map(
      ({ sqlState, message, detail, times, statement }) =>
        `## ${sqlState} ${message}\n${detail ? `   ${detail}\n` : ''}   ${times} times: ${statement.replaceAll(/\s+/g, ' ').slice(0, 1500)}\n`,
    )
    .sort()
    .join('\n')
  if (values.refusals) await writeFile(values.refusals, `# Statements that Citus refused\n\n${text}`)
  else if (text) say(`refused statements:\n${text}`)
  await until('no statement was refused', async () => refused.length === 0, 0)
}
