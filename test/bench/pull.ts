import pg from 'pg'
import { catalogue } from '../../config/streams.ts'
import { changedPerProfile, firstDay, pulledNames, recordsPerProfile } from './canned.ts'
import { type PlainPull, runCeiling } from './ceiling.ts'
import { type Engines, startEngines } from './engines.ts'
import {
  alternate,
  type Contestant,
  type Measure,
  median,
  type RoundOptions,
  ratioOf,
  rounded,
  spreadOf,
} from './measure.ts'
import { runNaive } from './naive.ts'
import { writeBars } from './plot.ts'
import { startRealService } from './real-service.ts'
import { fillWarehouse, jobsForAll, openSubject, people } from './subject.ts'
import { type FastUpstream, startFastUpstream } from './upstream.ts'

/**
 * A cold pull of 2,000 profiles × 5 streams × 30 days on both engines, and the same read again with two records in a
 * hundred changed; beside them the ceiling and the naive way, in alternating rounds.
 */
export async function run({ quick, say }: RoundOptions): Promise<Measure[]> {
  const engines = await startEngines()
  const upstream = await startFastUpstream()
  try {
    say(`  ${engines.versions}`)
    const world = { engines, upstream, profiles: quick ? 300 : 2000, reread: new Map<string, number[]>(), written: [] }
    const figures = await alternate(contestantsOf(world), {
      rounds: quick ? 3 : 5,
      say,
      ...(quick ? { secondsMax: 50 } : {}),
    })
    for (const [name, values] of [...figures, ...world.reread])
      say(`  ${name.padEnd(28)} ${spreadOf(values)} records/s`)
    if (!quick) await draw(figures)
    const measures = measuresOf(new Map([...figures, ...world.reread]), world.written, quick ? quickGoals : goals)
    return [...measures, await pullFromService(world, quick ? 1 : 3)]
  } finally {
    await upstream.close()
    await engines.close()
  }
}

const draw = (figures: ReadonlyMap<string, readonly number[]>) =>
  writeBars('pull.svg', {
    title: 'Cold pull, medians of alternating rounds',
    unit: 'records/s',
    bars: [...figures].map(([label, values]) => ({ label, value: median(values) })),
  })

type World = {
  engines: Engines
  upstream: FastUpstream
  profiles: number
  /** Records a second of the second reading, by engine. */
  reread: Map<string, number[]>
  /** Rows of record tables that were physically written while reading again, per record read. */
  written: number[]
}

function contestantsOf(world: World): Contestant[] {
  const { engines } = world
  const { redisUrl } = engines
  const plain = { name: 'ceiling', measure: () => inDatabase(world, (of) => runCeiling(of)) }
  const postgres = { name: 'Postgres engine', measure: () => pullOurs(world, 'Postgres engine', undefined) }
  if (redisUrl === undefined) return [plain, postgres]
  return [
    plain,
    { name: 'Redis', measure: () => pullOurs(world, 'Redis', redisUrl) },
    postgres,
    // A tenth of the profiles: it is a rate, and all of them would take minutes.
    { name: 'naive', measure: () => inDatabase(world, (of) => runNaive({ ...of, redisUrl }), 0.1) },
  ]
}

const SERVED = 300

/** The same pull from the Profile Service itself, on the same two cores: mostly what the service's own reads cost. */
async function pullFromService({ engines }: World, rounds: number): Promise<Measure> {
  const service = await startRealService(engines, SERVED)
  const rates: number[] = []
  for (let round = 0; round < rounds; round++) {
    const databaseUrl = await engines.database()
    const queueUrl = engines.redisUrl ?? (await engines.database())
    await fillWarehouse(databaseUrl, people(SERVED))
    const subject = await openSubject({ databaseUrl, queueUrl, upstreamUrl: service.url, settings: service.settings })
    await engines.settle()
    const { run: done, seconds } = await subject.run('sync', { streams: pulledNames })
    expectRows(done.rowsWritten, SERVED * recordsPerProfile)
    rates.push(done.rowsRead / seconds)
    await subject.close()
    await engines.drop(databaseUrl)
  }
  await service.close()
  const name = 'cold pull, from the Profile Service itself'
  return { name, value: rounded(median(rates)), unit: 'records/s', ratio: null, against: null, goal: null, holds: null }
}

async function inDatabase(world: World, work: (of: PlainPull) => Promise<number>, share = 1): Promise<number> {
  const databaseUrl = await world.engines.database()
  await world.engines.settle()
  const window = { startAt: new Date(firstDay(Date.now())).toISOString(), endAt: new Date().toISOString() }
  const externalIds = people(Math.ceil(world.profiles * share))
  const value = await work({ databaseUrl, upstreamUrl: world.upstream.url, externalIds, window })
  await world.engines.drop(databaseUrl)
  return value
}

async function pullOurs(world: World, name: string, redisUrl: string | undefined): Promise<number> {
  const { engines, upstream, profiles } = world
  const databaseUrl = await engines.database()
  const queueUrl = redisUrl ?? (await engines.database())
  await fillWarehouse(databaseUrl, people(profiles))
  await upstream.set({ changed: false })
  const subject = await openSubject({ databaseUrl, queueUrl, upstreamUrl: upstream.url, concurrency: jobsForAll })
  await engines.settle()
  const cold = await subject.run('sync', { streams: pulledNames })
  expectRows(cold.run.rowsWritten, profiles * recordsPerProfile)
  await subject.close() // Postgres counts what a connection wrote when that connection ends

  await upstream.set({ changed: true })
  const second = await openSubject({ databaseUrl, queueUrl, upstreamUrl: upstream.url, concurrency: jobsForAll })
  await engines.settle()
  const before = await countWrites(databaseUrl)
  const range = { from: firstDay(Date.now()), to: Date.now() }
  const again = await second.run('backfill', { ...range, streams: pulledNames, again: true })
  expectRows(again.run.rowsWritten, profiles * changedPerProfile)
  const rates = world.reread.get(`${name}, read again`) ?? []
  world.reread.set(`${name}, read again`, [...rates, again.run.rowsRead / again.seconds])
  await second.close()
  world.written.push(((await countWrites(databaseUrl)) - before) / again.run.rowsRead)
  await engines.drop(databaseUrl)
  if (!redisUrl) await engines.drop(queueUrl)
  return cold.run.rowsRead / cold.seconds
}

function expectRows(found: number, expected: number): void {
  if (found !== expected) throw new Error(`measure pull: ${found} rows were written, not ${expected}`)
}

/** By Postgres's own count of inserted, updated and deleted rows, history left aside. */
async function countWrites(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const tables = catalogue.pulled.map((stream) => stream.table)
  const { rows } = await client.query(
    `select sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 as n from pg_stat_user_tables
     where schemaname = 'vitalsync' and relname = any($1)`,
    [tables],
  )
  await client.end()
  return rows[0].n
}

type Goals = Readonly<Record<'ceiling' | 'naive' | 'again' | 'postgres' | 'postgresAgain', number>>

const goals: Goals = { ceiling: 0.88, naive: 12, again: 1.06, postgres: 0.68, postgresAgain: 0.96 }
/** A run of one second is mostly a start: functions are not compiled yet, and connections not open. */
const quickGoals: Goals = { ...goals, ceiling: 0.74, naive: 9, postgres: 0.53 }

function measuresOf(figures: ReadonlyMap<string, number[]>, written: readonly number[], least: Goals): Measure[] {
  const value = (name: string) => rounded(median(figures.get(name) ?? []))
  const against = (ours: string, theirs: string, goal: number | null): Measure => {
    const ratio = rounded(ratioOf(figures, ours, theirs))
    const holds = goal === null ? null : ratio >= goal
    const name = ours.includes('again') ? `pull, ${ours}` : `cold pull, ${ours}, beside ${theirs}`
    return {
      name,
      value: value(ours),
      unit: 'records/s',
      ratio,
      against: theirs,
      goal: goal && `≥ ${goal}`,
      holds,
    } as Measure
  }
  const share = rounded(median(written))
  const measures = [
    ...(figures.has('Redis')
      ? [
          against('Redis', 'ceiling', least.ceiling),
          against('Redis', 'naive', least.naive),
          against('Redis, read again', 'Redis', least.again),
        ]
      : []),
    against('Postgres engine', 'ceiling', least.postgres),
    against('Postgres engine, read again', 'Postgres engine', least.postgresAgain),
  ]
  return [
    ...measures,
    {
      name: 'pull, read again: rows written',
      value: share,
      unit: 'rows per record read',
      ratio: share,
      against: 'records read',
      goal: '≤ 0.025',
      holds: share <= 0.025,
    },
  ]
}
