import pg from 'pg'
import { catalogue } from '../../config/streams.ts'
import { HOUR } from '../../src/base/time/units.ts'
import { accountDigest } from '../../src/pipeline/upstream/client.ts'
import { measureBareRequests } from './bare-requests.ts'
import { firstDay, type PulledName, pulledNames } from './canned.ts'
import { type Engines, startEngines } from './engines.ts'
import { alternate, type Contestant, type Measure, measureBeside, type RoundOptions, spreadOf } from './measure.ts'
import { fillWarehouse, jobsForAll, openSubject, people } from './subject.ts'
import { pathOf } from './tables.ts'
import { type FastUpstream, startFastUpstream } from './upstream.ts'

/** One person in fifty has changed records: two in a hundred. */
const CHANGED_EVERY = 50

type World = {
  readonly engines: Engines
  readonly upstream: FastUpstream
  readonly profiles: number
  readonly latencyMs: number
  readonly inFlight: number
  /** The warehouse's contents after the night, by contestant. */
  readonly outcomes: Map<string, string>
}

type Conditions = {
  readonly perDay: number
  readonly latencyMs: number
  readonly inFlight: number
  readonly goals: { readonly whole: number; readonly bare: number }
}

/**
 * One record a day of a stream, as in the other rounds; and five, as upstream has scores. An upstream that answers at once
 * leaves the ratio to the processor; one that takes its time is what a night meets.
 */
const nights: readonly Conditions[] = [
  { perDay: 1, latencyMs: 0, inFlight: jobsForAll, goals: { whole: 2.4, bare: 0.31 } },
  { perDay: 5, latencyMs: 0, inFlight: jobsForAll, goals: { whole: 7.7, bare: 0.33 } },
  { perDay: 5, latencyMs: 20, inFlight: 64, goals: { whole: 4.7, bare: 0.82 } },
]

/**
 * The windows of 2,000 profiles × 5 streams × 30 days read again after a night in which 2 % of the people changed: whole, and
 * by their tags. Beside them bare conditional GETs of the same windows, by as many connections, which keep nothing.
 */
export async function run({ quick, say }: RoundOptions): Promise<Measure[]> {
  const engines = await startEngines()
  const measures: Measure[] = []
  try {
    say(`  ${engines.versions}`)
    for (const conditions of nights) measures.push(...(await measureNights(engines, { quick, say, ...conditions })))
    return measures
  } finally {
    await engines.close()
  }
}

async function measureNights(
  engines: Engines,
  { quick, say, perDay, latencyMs, inFlight, goals }: RoundOptions & Conditions,
): Promise<Measure[]> {
  const upstream = await startFastUpstream(perDay)
  try {
    const world: World = { engines, upstream, profiles: quick ? 500 : 2000, latencyMs, inFlight, outcomes: new Map() }
    const night = `${30 * perDay} records a window, ${latencyMs} ms`
    say(`    ${night}, ${inFlight} in flight`)
    const options = { rounds: quick ? 3 : 5, say, secondsMax: quick ? 60 : 300 }
    const figures = await alternate(contestantsOf(world), options)
    for (const [name, values] of figures) say(`  ${name.padEnd(28)} ${spreadOf(values)} windows/s`)
    const [whole, ...others] = world.outcomes.values()
    if (others.some((other) => other !== whole))
      throw new Error(`measure reread-tags: rows or coverage differ: ${[...world.outcomes].join('; ')}`)
    const name = `a night with tags, ${night}`
    return [
      measureOf(figures, name, { against: 'whole', goal: goals.whole }),
      measureOf(figures, name, { against: 'bare conditional GETs', goal: goals.bare }),
    ]
  } finally {
    await upstream.close()
  }
}

function measureOf(
  figures: ReadonlyMap<string, number[]>,
  name: string,
  { against, goal }: { against: string; goal: number },
): Measure {
  return measureBeside(figures, { name, ours: 'by tags', against, unit: 'windows/s', goal: { least: goal } })
}

const contestantsOf = (world: World): Contestant[] => [
  { name: 'bare conditional GETs', measure: () => bareConditional(world) },
  { name: 'whole', measure: () => night(world, { name: 'whole', tags: false }) },
  { name: 'by tags', measure: () => night(world, { name: 'by tags', tags: true }) },
]

/** Reads everything, reads it again so that tags are held where there are any, and measures the third reading. */
async function night(world: World, { name, tags }: { name: string; tags: boolean }): Promise<number> {
  const { engines, upstream, profiles, latencyMs, inFlight } = world
  const databaseUrl = await engines.database()
  const queueUrl = engines.redisUrl ?? (await engines.database())
  await fillWarehouse(databaseUrl, people(profiles))
  await keepSettleTimes(databaseUrl, accountDigest(upstream.url, 'bench'))
  await upstream.set({ changed: false, changedEvery: CHANGED_EVERY, tags, latencyMs })
  await engines.settle()
  const concurrency = jobsForAll
  const subject = await openSubject({ databaseUrl, queueUrl, upstreamUrl: upstream.url, concurrency, inFlight })
  const range = { from: firstDay(Date.now()), to: Date.now(), streams: pulledNames, again: true }
  await subject.run('sync', { streams: pulledNames })
  await subject.run('backfill', range)
  await upstream.set({ changed: true })
  const { run: done, seconds } = await subject.run('backfill', range)
  await subject.close()
  const windows = profiles * pulledNames.length
  const expected = tags ? windows - Math.floor(profiles / CHANGED_EVERY) * pulledNames.length : 0
  if (done.requests !== windows || done.unchanged !== expected)
    throw new Error(`measure reread-tags: ${done.requests} requests, ${done.unchanged} unchanged, not ${expected}`)
  world.outcomes.set(name, await outcomeOf(databaseUrl))
  await engines.drop(databaseUrl)
  if (!engines.redisUrl) await engines.drop(queueUrl)
  return windows / seconds
}

/** One settle time for all nights, whatever lateness the readings show and whenever it is computed: their coverage is compared. */
export async function keepSettleTimes(databaseUrl: string, account: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(
    `insert into vitalsync.settle_times
       (account, stream, settle_ms, basis, fallback_ms, days, watched, changed_later, computed_at)
     select $1, s, $3, 'fallback', $3, 0, 0, 0, 'infinity' from unnest($2::text[]) s`,
    [account, pulledNames, 72 * HOUR],
  )
  await client.end()
}

/** The warehouse's contents, without the instants of the readings. */
async function outcomeOf(databaseUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const tables = catalogue.pulled.filter(({ name }) => pulledNames.some((one) => one === name))
  const records = tables.map(
    ({
      table,
    }) => `select sum(hashtextextended(concat_ws(' ', p.external_id, t.digest, t.revision, t.gone_at is null), 0))
      as sum from vitalsync.${table} t join vitalsync.profiles p on p.id = t.profile_id`,
  )
  const { rows } = await client.query(
    `select (select string_agg(sum::text, ' ' order by sum) from (${records.join(' union all ')}) r) as records,
      (select sum((select count(*) from unnest(covered))) from vitalsync.ledger where stream = any($1)
        and clock_timestamp() - upper(covered) between interval '72 hours' and interval '72 hours 30 minutes') as covered,
      (select count(*) from vitalsync.history) as history`,
    [pulledNames],
  )
  await client.end()
  return JSON.stringify(rows[0])
}

async function bareConditional({ engines, upstream, profiles, latencyMs, inFlight }: World): Promise<number> {
  await upstream.set({ changed: true, changedEvery: CHANGED_EVERY, tags: true, latencyMs })
  await engines.settle()
  const window = { startAt: new Date(firstDay(Date.now())).toISOString(), endAt: new Date().toISOString() }
  const headers = { authorization: 'account account-token', 'if-none-match': '"v0"' }
  const externalIds = people(profiles)
  const windows = profiles * pulledNames.length
  let unchanged = 0
  const rate = await measureBareRequests(upstream.url, {
    inFlight,
    requests: windows,
    async send(http, at) {
      const externalId = externalIds[Math.floor(at / pulledNames.length)] ?? ''
      const name: PulledName = pulledNames[at % pulledNames.length] ?? 'scores'
      const answer = await http.request({ method: 'GET', path: pathOf(name, externalId, window), headers })
      if (answer.statusCode === 304) unchanged += 1
      await answer.body.arrayBuffer()
    },
  })
  if (unchanged === 0 || unchanged === windows) throw new Error(`measure reread-tags: ${unchanged} bare 304s`)
  return rate
}
