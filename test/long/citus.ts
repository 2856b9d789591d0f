/**
 * The warehouse on a Citus cluster:  npm run citus -- --workers 2
 *
 * Starts a coordinator and a number of workers on loopback; test/support/citus-cluster.ts names the Postgres. The parts:
 *   cost   processor time of the servers per record, of the cluster with one node, two, …, beside one server that is not divided
 *   chaos  syncs, while nodes are killed and frozen at random and shards move; then nothing is missing, stands twice or differs
 *   sync   divides an empty warehouse, syncs the people of a sandbox into it and into a plain Postgres, and compares the records;
 *          verifies, asks for gaps and status, exports and erases; loses a node and adds one
 *   tests  runs tests of the warehouse and of the promises on the cluster, one file after the other
 * Lists each statement that Citus refused. Ends with exit code 1 when something is not as it must be. CI has no Citus and leaves
 * this out.
 *
 *   --workers <n>  --shards <n>  --people <n>  --days <n>  --concurrency <n>
 *   --only <part>      one of the parts, several times; sync and tests where there is none
 *   --seconds <n>      how long the chaos lasts; --seed <text> for the same faults again
 *   --tests <path>     test files or folders, several times; the warehouse's and the promises' where there is none
 *   --refusals <file>  where the refused statements are written; to the terminal when absent
 */
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import { SECOND } from '../../src/base/time/units.ts'
import { type CitusCluster, hasCitus, type ServerError, startCitusCluster } from '../support/citus-cluster.ts'
import { startProgram } from '../support/run-program.ts'
import { createChecklist } from './checklist.ts'
import { runChaos } from './citus-chaos.ts'
import { measureCost } from './citus-cost.ts'
import { divide, syncBoth } from './citus-sync.ts'
import { openSandboxWarehouses } from './synced-warehouses.ts'

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '2' },
    shards: { type: 'string', default: '8' },
    people: { type: 'string', default: '12' },
    days: { type: 'string', default: '8' },
    concurrency: { type: 'string', default: '32' },
    only: { type: 'string', multiple: true, default: ['sync', 'tests'] },
    seconds: { type: 'string', default: '600' },
    seed: { type: 'string', default: '1' },
    tests: { type: 'string', multiple: true, default: [] },
    refusals: { type: 'string' },
  },
})
const TESTS = ['test/pipeline/warehouse', 'test/promises']
const shards = Number(values.shards)
const checklist = createChecklist()
const { say, until, end } = checklist
const closing: Array<() => Promise<unknown>> = []
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void closeAll().then(() => process.exit(1)))
if (!hasCitus()) throw new Error('start Citus: the Postgres of CITUS_BIN has no extension citus (docs/how-to/citus.md)')

try {
  const cluster = await startCitusCluster({ workers: Number(values.workers) })
  closing.push(cluster.close)
  say(`a coordinator and ${values.workers} workers are up`)
  if (values.only.some((part) => part !== 'tests')) {
    const sandbox = await openSandboxWarehouses({
      people: Number(values.people),
      days: Number(values.days),
      concurrency: Number(values.concurrency),
    })
    closing.push(sandbox.close)
    const round = { cluster, shards, sandbox, checklist }
    if (values.only.includes('cost')) await measureCost(round)
    if (values.only.includes('chaos'))
      await runChaos(round, { forMs: Number(values.seconds) * SECOND, seed: values.seed })
    if (values.only.includes('sync')) await syncBoth(round)
  }
  if (values.only.includes('tests')) await runTests(cluster)
  await tellRefusals(await cluster.listErrors())
} finally {
  await closeAll()
}
end()

async function closeAll(): Promise<void> {
  for (const close of closing.splice(0).toReversed()) await close().catch((error: Error) => say(error.message))
}

async function runTests(cluster: CitusCluster): Promise<void> {
  const databaseUrl = await cluster.createDatabase('tests')
  const { code: divided, stderr } = await startProgram(divide(shards), {
    cwd: tmpdir(),
    env: { DATABASE_URL: databaseUrl, WAREHOUSE_SHARDS: values.shards },
  }).ended
  if (divided !== 0) throw new Error(stderr)
  const templates = await cluster.makeTemplate('tests')
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
    env: { ...process.env, TEST_CITUS_URLS: templates.join(' '), WAREHOUSE_SHARDS: values.shards },
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  await until('the tests on the cluster pass', async () => code === 0, 0)
}

/** Citus does not take it, as against connections that a fault has ended. */
function isRefusal({ sqlState, message, statement }: ServerError): boolean {
  if (statement.includes('citus_move_shard_placement')) return false // of the chaos itself
  return ['0A000', '42P10', 'XX000'].includes(sqlState) && !/connection|could not commit|shut down/.test(message)
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
