import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline as pipe } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type pg from 'pg'
import { pulledStreams } from '../../config/streams.ts'
import { discoverProfiles } from '../../jobs/discover-profiles.ts'
import { contains, type Span, type SpanPairs, spansFromPairs } from '../../src/base/time/spans.ts'
import { DAY, HOUR, SECOND } from '../../src/base/time/units.ts'
import { logsOf, samplePeople } from '../../src/service/sandbox/people/sample-people.ts'
import type { Sandbox } from '../../src/service/start-sandbox.ts'
import { startProgram } from '../support/run-program.ts'
import type { TestPipeline } from '../support/test-pipeline.ts'
import { openTestPool } from '../support/test-pool.ts'
import { startWorkerProcess, type WorkerProcess } from './workers.ts'

/**
 * The night that broke the promise, once more: logs of many people are pushed by file while upstream derives late. At every
 * instant, whatever is covered must hold each record that upstream will not change any more.
 */
export type LateDerivation = {
  readonly sandbox: Sandbox
  readonly serviceUrl: string
  readonly line: TestPipeline
  readonly folder: string
  readonly seed: string
  readonly people: number
  readonly days: number
  /** How far behind the derivation is: for each person something between, spread evenly on a logarithmic scale. */
  readonly delaysMs: readonly [number, number]
  readonly sweepEveryMs: number
  /** How long after one look at warehouse and service the next one follows. */
  readonly lookEveryMs: number
  /** How many people are compared at each instant. */
  readonly peopleObserved: number
  /** Workers are killed at random, so far apart. Undefined: never. */
  readonly killEveryMs: number | undefined
  readonly random: () => number
  readonly signal: AbortSignal
  say(text: string): void
}

export type LateResult = {
  /** How often warehouse and service were looked at. */
  readonly instants: number
  /** Records in covered days that were compared, over all instants. */
  readonly compared: number
  readonly kills: number
  readonly logs: number
  /** Records that a covered day lacked though the service did not change them any more. */
  readonly broken: readonly string[]
  /** The differences between warehouse and service when the signal aborted; empty when they agreed. */
  readonly left: string
}

const DELAYS = 6
const WORKERS = 2
const kindOfStream = {
  scores: 'score',
  biomarkers: 'biomarker',
  archetypes: 'archetype',
  trends: 'trend',
  comparisons: 'comparison',
} as const
const derivedStreams = Object.keys(kindOfStream) as Array<keyof typeof kindOfStream> // the keys of a literal
const streamOfKind = new Map<string, string>(Object.entries(kindOfStream).map(([stream, kind]) => [kind, stream]))
const tableOf = (name: string) => pulledStreams.find((stream) => stream.name === name)?.table ?? ''

/** Only the sweeps of the schedule work: no command is given until the end. */
export async function replayLateDerivation(night: LateDerivation): Promise<LateResult> {
  const { line, say } = night
  const service = openTestPool(night.serviceUrl)
  const workers: WorkerProcess[] = []
  const startWorker = async () => workers.push(await startWorkerProcess(line.settings))
  const stop = new AbortController()
  const background: Array<Promise<unknown>> = []
  try {
    for (let index = 0; index < WORKERS; index += 1) await startWorker()
    const names = await syncOnce(night)
    say(`${names.length} people are synced`)
    await delayDerivation(night, names)
    const observer = createObserver(night, service, names)
    const killing = killWorkers(night, { workers, startWorker, signal: stop.signal })
    background.push(observer.run(stop.signal), sweep(night, stop.signal), killing)
    const logs = await importLogs(night)
    say(`${logs} logs are imported`)
    const left = await untilAgreed(night, service, names)
    stop.abort()
    await Promise.all(background)
    return { ...(await observer.result()), kills: await killing, logs, left }
  } finally {
    stop.abort()
    await Promise.allSettled(background)
    for (const worker of workers) await worker.kill()
    await service.end()
  }
}

async function syncOnce({ line, signal, lookEveryMs }: LateDerivation): Promise<string[]> {
  await discoverProfiles.run({}, { ...line.pipeline.context, lane: 'manual', lastAttempt: true, signal })
  const run = await line.tick('sync')
  while ((await line.pipeline.runs.get(run.id))?.state !== 'done') await wait(lookEveryMs, undefined, { signal })
  return (await line.rows('select external_id from vitalsync.profiles order by id')).map((row) =>
    String(row['external_id']),
  )
}

/** Some delays, spread over the people. */
async function delayDerivation({ sandbox, delaysMs: [least, most] }: LateDerivation, names: readonly string[]) {
  for (let index = 0; index < DELAYS; index += 1) {
    const delayMs = Math.round(least * (most / least) ** (index / (DELAYS - 1)))
    await sandbox.derivationDelay.set({ delayMs, profiles: names.filter((_, place) => place % DELAYS === index) })
  }
}

/** The logs of the days before those that the sandbox began with, in a file, as the program takes them. */
async function importLogs({ line, folder, seed, people, days, signal }: LateDerivation): Promise<number> {
  const endMs = Math.floor(Date.now() / DAY) * DAY - 5 * DAY
  let logs = 0
  function* texts() {
    for (const person of samplePeople(seed, people)) {
      const lines = logsOf(person, { startMs: endMs - days * DAY, endMs })
      logs += lines.length
      yield lines.map((log) => `${JSON.stringify({ ...log, externalId: person.externalId })}\n`).join('')
    }
  }
  await pipe(Readable.from(texts()), createWriteStream(`${folder}/logs.ndjson`))
  const program = startProgram(['import', 'data-logs', 'logs.ndjson'], { cwd: folder, env: line.settings })
  signal.addEventListener('abort', () => program.kill('SIGKILL'))
  const { code, stderr } = await program.ended
  if (code !== 0) throw new Error(`import: exit code ${code}\n${stderr.slice(-2000)}`)
  return logs
}

/** As the schedule does, only more often. */
async function sweep({ line, sweepEveryMs }: LateDerivation, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    await line.tick('sweep')
    await wait(sweepEveryMs, undefined, { signal: stopped }).catch(() => undefined)
  }
}

type Killing = { workers: WorkerProcess[]; startWorker: () => Promise<unknown>; signal: AbortSignal }

async function killWorkers({ killEveryMs, random }: LateDerivation, { workers, startWorker, signal }: Killing) {
  let kills = 0
  while (killEveryMs !== undefined) {
    await wait(killEveryMs * (0.5 + random()), undefined, { signal }).catch(() => undefined)
    if (signal.aborted) break
    await workers.splice(Math.floor(random() * workers.length), 1)[0]?.kill()
    kills += 1
    await startWorker()
  }
  return kills
}

type ServiceRecord = { key: string; name: string; stream: string; startMs: number; endMs: number }

async function readService(service: pg.Pool, names: readonly string[]): Promise<ServiceRecord[]> {
  const { rows } = await service.query<ServiceRecord & { kind: string; digest: string }>(
    `select p.external_id as name, d.kind, md5(d.body) as digest, (extract(epoch from d.period_start) * 1000)::float8 as "startMs",
       (extract(epoch from d.period_end) * 1000)::float8 as "endMs"
     from service.derived d join service.profiles p using (profile_id) where p.external_id = any($1)`,
    [names],
  )
  return rows.map(({ kind, digest, ...row }) => {
    const stream = streamOfKind.get(kind) ?? kind
    return { ...row, stream, key: `${row.name} ${stream} ${digest}` }
  })
}

const recordsSql = derivedStreams
  .map(
    (stream) => `select p.external_id || ' ${stream} ' || md5(t.body) as key from vitalsync.${tableOf(stream)} t
    join vitalsync.profiles p on p.id = t.profile_id where t.gone_at is null and p.external_id = any($1)`,
  )
  .join(' union all ')

const coverageSql = `
  select p.external_id || ' ' || l.stream as key, (select json_agg(json_build_array(
      extract(epoch from lower(r)) * 1000, extract(epoch from upper(r)) * 1000)) from unnest(l.covered) r) as covered
  from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id
  where p.external_id = any($1) and not exists (select from vitalsync.parcels o where o.profile_id = p.id)`

type WarehouseState = { records: Set<string>; covered: Map<string, Span[]> }

/** One instant of the warehouse. Nothing is vouched for a profile that has items to push. */
async function readWarehouse({ line }: LateDerivation, names: readonly string[]): Promise<WarehouseState> {
  const tx = await line.pipeline.pool.connect()
  try {
    await tx.query('begin isolation level repeatable read read only')
    const coverage = await tx.query<{ key: string; covered: SpanPairs }>(coverageSql, [names])
    const records = await tx.query<{ key: string }>(recordsSql, [names])
    await tx.query('commit')
    return {
      records: new Set(records.rows.map(({ key }) => key)),
      covered: new Map(coverage.rows.map(({ key, covered }) => [key, spansFromPairs(covered)])),
    }
  } finally {
    tx.release()
  }
}

/** Whether one covered span holds the whole record, and more: neighbouring windows hold a record that ends with one. */
const holdsWholly = (spans: readonly Span[], { startMs, endMs }: ServiceRecord) =>
  contains(spans, startMs) && spans.some((span) => span.startMs <= startMs && endMs < span.endMs)

function createObserver(night: LateDerivation, service: pg.Pool, names: readonly string[]) {
  const lacking = new Map<string, string>()
  let [instants, compared] = [0, 0]
  const observe = async () => {
    const some = names.toSorted(() => night.random() - 0.5).slice(0, night.peopleObserved)
    // The service first: what it has now, and still has in the end, the warehouse must hold a moment later.
    const served = await readService(service, some)
    const { records, covered } = await readWarehouse(night, some)
    instants += 1
    for (const record of served) {
      if (!holdsWholly(covered.get(`${record.name} ${record.stream}`) ?? [], record)) continue
      compared += 1
      if (!records.has(record.key) && !lacking.has(record.key)) {
        lacking.set(record.key, `${record.stream} of ${new Date(record.startMs).toISOString()} at instant ${instants}`)
      }
    }
  }
  return {
    async run(stopped: AbortSignal) {
      while (!stopped.aborted) {
        await observe()
        await wait(night.lookEveryMs, undefined, { signal: stopped }).catch(() => undefined)
      }
    },
    async result() {
      await observe()
      const final = new Set<string>()
      for (let first = 0; first < names.length; first += 50)
        for (const { key } of await readService(service, names.slice(first, first + 50))) final.add(key)
      const broken = [...lacking].flatMap(([key, what]) => (final.has(key) ? [what] : []))
      return { instants, compared, broken }
    },
  }
}

/**
 * Resolves when the service has derived everything, the warehouse holds the same records, and everything is covered; or with
 * what is left when the signal aborts.
 */
async function untilAgreed(night: LateDerivation, service: pg.Pool, names: readonly string[]): Promise<string> {
  for (let saidAt = 0; ; ) {
    const left = await whatIsLeft(night, service, names)
    if (left === '' || night.signal.aborted) return left
    if (performance.now() - saidAt > 10 * SECOND) {
      saidAt = performance.now()
      night.say(left)
    }
    await wait(night.lookEveryMs)
  }
}

async function whatIsLeft(night: LateDerivation, service: pg.Pool, names: readonly string[]): Promise<string> {
  const { line } = night
  const [parcels] = await line.rows('select count(*)::int as n from vitalsync.parcels')
  if (parcels?.['n'] !== 0) return `${parcels?.['n']} parcels wait`
  const { rows: dirty } = await service.query('select count(*)::int as n from service.dirty_days')
  if (dirty[0].n !== 0) return `${dirty[0].n} days are to be derived`
  const [uncovered] = await line.rows(
    `select count(*)::int as n from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id
     where l.stream = any($1) and not l.covered @> tstzrange(p.wanted_from, now() - $2 * interval '1 ms')`,
    [derivedStreams, 73 * HOUR],
  )
  if (uncovered?.['n'] !== 0) return `${uncovered?.['n']} ledger rows have a gap`
  for (let first = 0; first < names.length; first += 50) {
    const some = names.slice(first, first + 50)
    const served = await readService(service, some)
    const { records } = await readWarehouse(night, some)
    const missing = served.filter(({ key }) => !records.has(key))
    if (missing.length > 0)
      return `${missing.length} records are missing, such as ${missing[0]?.stream} of ${missing[0]?.name}`
    if (served.length !== records.size) return `${records.size} records instead of ${served.length}`
  }
  return ''
}
