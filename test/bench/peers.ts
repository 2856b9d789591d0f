import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { pulledNames, recordsPerProfile } from './canned.ts'
import { type Engines, startEngines } from './engines.ts'
import { alternate, type Measure, median, type RoundOptions, ratioOf, rounded, spreadOf } from './measure.ts'
import { fillWarehouse, jobsForAll, openSubject, people } from './subject.ts'
import { type FastUpstream, startFastUpstream } from './upstream.ts'

const execute = promisify(execFile)
const latencyMs = 20
const dltPackages = ['dlt[postgres]==1.31.0', 'requests==2.32.5', 'psycopg2-binary==2.9.11']
const singerPackages = ['pipelinewise-target-postgres==2.1.2', 'requests==2.32.5']
const script = fileURLToPath(new URL('./peers.py', import.meta.url))

type World = { engines: Engines; upstream: FastUpstream; profiles: number; folder: string }

/**
 * The same people, streams and days from an upstream that takes 20 ms, by dlt and by a Singer tap with target-postgres,
 * each with many requests in flight and its quickest way into Postgres. Left out where Python or its packages are not.
 */
export async function run({ quick, say }: RoundOptions): Promise<Measure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-peers-'))
  const engines = await startEngines()
  const upstream = await startFastUpstream()
  try {
    const peers = (
      await Promise.all([environment('dlt', dltPackages, say), environment('singer', singerPackages, say)])
    ).flat()
    if (peers.length === 0) return []
    const world = { engines, upstream, profiles: quick ? 100 : 2000, folder }
    await upstream.set({ latencyMs })
    const ways = peers.flatMap(waysOf)
    const all = [
      { name: 'Redis', measure: () => pullOurs(world) },
      ...ways.map((way) => ({ name: way.name, measure: () => pullTheirs(world, way) })),
    ]
    const figures = await alternate(all, { rounds: quick ? 1 : 3, say })
    for (const [name, values] of figures) say(`  ${name.padEnd(28)} ${spreadOf(values)} records/s`)
    return ways.map(({ name, keepsOnce }) => {
      const ratio = rounded(ratioOf(figures, 'Redis', name))
      const value = rounded(median(figures.get('Redis') ?? []))
      return {
        name: `pull, 20 ms upstream, beside ${name}`,
        value,
        unit: 'records/s',
        ratio,
        against: name,
        goal: keepsOnce ? '≥ 10' : null,
        holds: keepsOnce ? ratio >= 10 : null,
      }
    })
  } finally {
    await upstream.close()
    await engines.close()
    await rm(folder, { recursive: true, force: true })
  }
}

type Environment = { name: 'dlt' | 'singer'; bin: string }

/** `keepsOnce`: what is read twice is there once, as with us. Appending is quicker, and another thing. */
type Way = { readonly name: string; readonly bin: string; readonly keepsOnce: boolean }

const waysOf = ({ name, bin }: Environment): Way[] =>
  name === 'singer'
    ? [{ name: 'singer', bin, keepsOnce: true }]
    : [
        { name: 'dlt, merge', bin, keepsOnce: true },
        { name: 'dlt, append', bin, keepsOnce: false },
      ]

/** Kept between runs, one folder per list of packages, outside of the checkout. */
async function environment(
  name: 'dlt' | 'singer',
  packages: string[],
  say: (line: string) => void,
): Promise<Environment[]> {
  const version = packages.join(' ').replaceAll(/[^\w.]+/g, '-')
  const home = join(tmpdir(), `vitalsync-bench-${version}`)
  const bin = join(home, 'bin')
  try {
    await access(join(home, 'whole')).catch(async () => {
      say(`  making an environment with ${packages.join(', ')}`)
      await rm(home, { recursive: true, force: true })
      await execute('python3', ['-m', 'venv', home])
      await execute(join(bin, 'pip'), ['install', '--quiet', ...packages], { maxBuffer: 2 ** 24, timeout: 300_000 })
      await writeFile(join(home, 'whole'), '')
    })
    return [{ name, bin }]
  } catch (error) {
    say(`  ${name} is left out: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`)
    return []
  }
}

async function pullOurs({ engines, upstream, profiles }: World): Promise<number> {
  const databaseUrl = await engines.database()
  const queueUrl = engines.redisUrl ?? (await engines.database())
  await fillWarehouse(databaseUrl, people(profiles))
  const subject = await openSubject({ databaseUrl, queueUrl, upstreamUrl: upstream.url, concurrency: jobsForAll })
  const { run: done, seconds } = await subject.run('sync', { streams: pulledNames })
  await subject.close()
  await engines.drop(databaseUrl)
  return done.rowsRead / seconds
}

async function pullTheirs(world: World, way: Way): Promise<number> {
  const isDlt = way.name !== 'singer'
  const databaseUrl = await world.engines.database()
  const startedAt = performance.now()
  if (isDlt) await runDlt(world, databaseUrl, way)
  else await runSinger(world, databaseUrl, way)
  const seconds = (performance.now() - startedAt) / 1000
  const records = world.profiles * recordsPerProfile
  await expectRows(databaseUrl, isDlt ? 'dlt_bench' : 'singer_bench', records)
  await world.engines.drop(databaseUrl)
  return records / seconds
}

const settingsFor = ({ upstream, profiles, folder }: World) => ({
  PATH: process.env['PATH'] ?? '',
  HOME: folder,
  BENCH_UPSTREAM: upstream.url,
  BENCH_PROFILES: String(profiles),
  BENCH_FOLDER: folder,
})

async function runDlt(world: World, databaseUrl: string, { bin, keepsOnce }: Way): Promise<void> {
  const folder = await mkdtemp(join(world.folder, 'dlt-')) // a pipeline of its own, or it would go on from the last one
  const env = {
    ...settingsFor(world),
    BENCH_FOLDER: folder,
    BENCH_DISPOSITION: keepsOnce ? 'merge' : 'append',
    DESTINATION__POSTGRES__CREDENTIALS: databaseUrl,
    EXTRACT__WORKERS: '32',
    EXTRACT__MAX_PARALLEL_ITEMS: '64',
    NORMALIZE__WORKERS: '2',
    LOAD__WORKERS: '8',
    RUNTIME__DLTHUB_TELEMETRY: 'false',
    RUNTIME__LOG_LEVEL: 'ERROR',
  }
  await ended(spawn(join(bin, 'python'), [script, 'dlt'], { env, stdio: ['ignore', 'ignore', 'pipe'] }))
}

async function runSinger(world: World, databaseUrl: string, { bin }: Way): Promise<void> {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl)
  const config = join(world.folder, 'target.json')
  const settings = {
    host: hostname,
    port: Number(port),
    user: username,
    password: decodeURIComponent(password),
    dbname: pathname.slice(1),
    default_target_schema: 'singer_bench',
    batch_size_rows: 20_000,
    parallelism: -1,
    add_metadata_columns: false,
    hard_delete: false,
  }
  await writeFile(config, JSON.stringify(settings))
  const env = settingsFor(world)
  const tap = spawn(join(bin, 'python'), [script, 'tap'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const target = spawn(join(bin, 'target-postgres'), ['--config', config], {
    env,
    stdio: [tap.stdout, 'ignore', 'pipe'],
  })
  await Promise.all([ended(tap), ended(target)])
}

async function ended(child: ReturnType<typeof spawn>): Promise<void> {
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-2000)
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`run ${child.spawnfile}: it ended with ${code}: ${said}`)
}

async function expectRows(databaseUrl: string, schema: string, records: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  let found = 0
  for (const name of pulledNames) {
    const { rows } = await client.query(`select count(*)::int as n from ${schema}.${name}`)
    found += rows[0].n
  }
  await client.end()
  if (found !== records) throw new Error(`measure ${schema}: ${found} rows were stored, not ${records}`)
}
