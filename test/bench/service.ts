import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import pg from 'pg'
import { Pool } from 'undici'
import { addServiceKey } from '../../src/app/service-accounts.ts'
import { startPostgres } from '../../src/base/engines/embedded-postgres.ts'
import { createLog } from '../../src/base/log.ts'
import { migrateService } from '../../src/service/store/migrate-service.ts'

export type Measure = {
  name: string
  value: number
  unit: string
  ratio: number
  against: string
  goal: string
  holds: boolean
}

type Target = { url: string; account: string; people: Array<{ externalId: string; auth: string }>; bareUrl: string }

const days = 30
const inFlight = 32
const logsPerBatch = 90

/** How fast the service answers and takes in, beside a bare Fastify route in the same thread and the same run. */
export async function run(options: { quick: boolean }): Promise<Measure[]> {
  const [people, rounds, roundMs] = options.quick ? [100, 5, 1_000] : [400, 7, 3_000]
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-bench-'))
  await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
  const postgres = await startPostgres({ folder })
  try {
    const databaseUrl = postgres.adminUrl('postgres')
    await migrateService(databaseUrl)
    const worker = await startTarget(databaseUrl, people)
    try {
      const reads = await measureReads(worker.target, { rounds, roundMs })
      const ingest = await measureIngest(worker.target, { rounds, roundMs })
      return [...reads, ingest]
    } finally {
      await worker.close()
    }
  } finally {
    await postgres.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function startTarget(databaseUrl: string, people: number) {
  const names = Array.from({ length: people }, () => `person-${randomUUID()}`)
  const key = await addServiceKey(
    { databaseUrl, nowAt: new Date(), log: createLog({ level: 'silent' }) },
    { account: 'bench', kind: 'client', label: '' },
  )
  const bodies = await storeScores(databaseUrl, names)
  const workerData = { databaseUrl, bodies }
  const worker = new Worker(new URL('./service-target.ts', import.meta.url), { workerData })
  const [{ url, bareUrl }] = (await once(worker, 'message')) as [{ url: string; bareUrl: string }]
  const post = poster(url)
  const { accountToken } = await post('oauth/account/token', { clientId: key.publicId, clientSecret: key.secret })
  const account = `account ${accountToken}`
  const signed: Target['people'] = []
  for (const externalId of names) {
    const { profileToken } = await post('oauth/profile/token', { externalId }, account)
    signed.push({ externalId, auth: `profile ${profileToken}` })
  }
  const close = async () => {
    worker.postMessage('stop')
    await once(worker, 'exit')
  }
  return { target: { url, bareUrl, account, people: signed }, close }
}

function poster(url: string) {
  return async (path: string, body: object, authorization = ''): Promise<Record<string, string>> => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization },
      body: JSON.stringify(body),
    })
    return (await response.json()) as Record<string, string>
  }
}

const startMs = Date.UTC(2026, 6, 1)
const factors: Record<string, number> = { wellbeing: 13, activity: 6, sleep: 7, readiness: 8, mental_wellbeing: 6 }

/** A year of scores for everybody, as derivation stores them; answers what a read of the first 30 days must send. */
async function storeScores(databaseUrl: string, names: string[]): Promise<Map<string, string>> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const bodies = new Map<string, string>()
  for (const externalId of names) {
    const profileId = randomUUID()
    await client.query(
      `insert into service.profiles (profile_id, account_id, external_id, search_text, created_at)
       select $1, account_id, $2, lower($2), now() from service.accounts`,
      [profileId, externalId],
    )
    const scores = Array.from({ length: 90 }, (_, day) =>
      Object.keys(factors)
        .sort()
        .map((type) => scoreOf(type, day)),
    ).flat()
    await client.query(
      `insert into service.derived (profile_id, id, kind, name, period_start, period_end, created_at, changed_at, body)
       select $1, gen_random_uuid(), 'score', name, start, start + interval '86399 seconds', now(), now(), body
       from unnest($2::text[], $3::timestamptz[], $4::text[]) as s(name, start, body)`,
      [profileId, scores.map((one) => one.type), scores.map((one) => one.start), scores.map((one) => one.body)],
    )
    const wanted = scores
      .filter((one) => one.day < days)
      .sort((one, two) => two.day - one.day || (one.type < two.type ? -1 : 1))
    bodies.set(externalId, `[${wanted.map((one) => one.body).join(',')}]`)
  }
  await client.query('vacuum analyze service.derived')
  await client.end()
  return bodies
}

function scoreOf(type: string, day: number) {
  const start = new Date(startMs + day * 86_400_000).toISOString()
  const body = JSON.stringify({
    id: randomUUID(),
    type,
    value: 0.73,
    state: 'medium',
    createdAt: start,
    factors: Array.from({ length: factors[type] ?? 0 }, (_, at) => ({
      id: randomUUID(),
      name: `some_factor_${at}`,
      value: 8412,
      goal: 10000,
      score: 0.89,
      state: 'high',
      unit: 'count',
    })),
    scoreDateTime: start.replace('Z', '+00:00'),
    dataSources: ['age', 'gender', 'sleep', 'activity'],
    version: 1,
  })
  return { type, day, start, body }
}

type Rounds = { rounds: number; roundMs: number }
type Form = { ask: () => Promise<unknown>; prepare?: () => Promise<unknown> }

/**
 * Cold: each range is asked for the first time, so that everything is looked up. Repeated: everybody's range was asked
 * for before. Both send the very bytes that the bare route sends.
 */
async function measureReads(target: Target, { rounds, roundMs }: Rounds): Promise<Measure[]> {
  const service = new Pool(target.url, { connections: inFlight })
  const bare = new Pool(target.bareUrl, { connections: inFlight })
  const someone = () => target.people[Math.floor(Math.random() * target.people.length)] ?? { externalId: '', auth: '' }
  const own = ({ auth }: { auth: string }, window: string) => read(service, `/api/v1/profile/score?${window}`, auth)
  const ofAccount = ({ externalId }: { externalId: string }, window: string) =>
    read(service, `/api/v1/profile/score/${externalId}?${window}`, target.account)
  const warm = async () => {
    for (const person of target.people) await own(person, rangeQuery(0))
  }
  let at = 0
  const next = () => rangeQuery(++at)
  const forms = {
    bare: { ask: () => read(bare, `/bare/${someone().externalId}`, '') },
    'cold, profile form': { ask: () => own(someone(), next()) },
    'cold, account form': { ask: () => ofAccount(someone(), next()) },
    'repeated, profile form': { ask: () => own(someone(), rangeQuery(0)), prepare: warm },
    'repeated, account form': { ask: () => ofAccount(someone(), rangeQuery(0)), prepare: warm },
  }
  const bytes = await sameBytes(someone(), { service, bare, account: target.account })
  const rates = await alternate(forms, { rounds, roundMs })
  await service.close()
  await bare.close()
  const { bare: bareRates, ...ours } = rates
  return Object.entries(ours).map(([form, found]) =>
    measure(`service reads, 30 days of scores, ${form}`, found, {
      unit: 'requests/s',
      against: bareRates,
      words: `bare Fastify route sending the same ${bytes} bytes`,
      goal: form.startsWith('cold') ? 0.23 : 0.68,
    }),
  )
}

/** Thirty days; each number names another range that holds the same records. */
function rangeQuery(number: number): string {
  const [from, to] = [startMs + number, startMs + days * 86_400_000 - 1]
  return `startDateTime=${new Date(from).toISOString()}&endDateTime=${new Date(to).toISOString()}`
}

/** How many bytes an answer has, when all ways give the same. */
async function sameBytes(
  { externalId, auth }: { externalId: string; auth: string },
  { service, bare, account }: { service: Pool; bare: Pool; account: string },
): Promise<number> {
  const window = rangeQuery(0)
  const ask = async (pool: Pool, path: string, authorization: string) =>
    (await pool.request({ path, method: 'GET', headers: { authorization } })).body.text()
  const expected = await ask(bare, `/bare/${externalId}`, '')
  for (const [path, authorization] of [
    [`/api/v1/profile/score?${window}`, auth], // cold
    [`/api/v1/profile/score?${window}`, auth], // repeated
    [`/api/v1/profile/score/${externalId}?${window}`, account],
    [`/api/v1/profile/score/${externalId}?${rangeQuery(1)}`, account],
  ] as const) {
    if ((await ask(service, path, authorization)) !== expected) throw new Error(`read ${path}: not what was stored`)
  }
  return Buffer.byteLength(expected)
}

async function measureIngest(target: Target, { rounds, roundMs }: Rounds): Promise<Measure> {
  const service = new Pool(target.url, { connections: inFlight })
  let at = 0
  const upload = async () => {
    const person = target.people[at++ % target.people.length] ?? { auth: '' }
    const { statusCode, body } = await service.request({
      path: '/api/v1/profile/data/log',
      method: 'POST',
      headers: { authorization: person.auth, 'content-type': 'application/json' },
      body: batch(at),
    })
    const { accepted } = (await body.json()) as { accepted: number }
    if (statusCode !== 200 || accepted !== logsPerBatch)
      throw new Error(`upload logs: ${statusCode}, ${accepted} accepted`)
  }
  const rates = await alternate({ upload: { ask: upload } }, { rounds, roundMs })
  await service.close()
  const logs = rates.upload.map((rate) => rate * logsPerBatch)
  const goal = 20_000
  return {
    name: 'service ingest, batches of 90, days marked for derivation',
    value: Math.round(median(logs)),
    unit: 'logs/s',
    ratio: round(median(logs) / goal),
    against: `${goal} logs/s`,
    goal: '≥ 1',
    holds: median(logs) >= goal,
  }
}

function batch(number: number): string {
  const startAt = startMs + (number % 8000) * 600_000
  return JSON.stringify(
    Array.from({ length: logsPerBatch }, (_, at) => ({
      id: randomUUID(),
      logType: 'activity',
      dataType: 'steps',
      value: at,
      unit: 'count',
      source: 'com.example.health',
      recordingMethod: 'automatically_recorded',
      deviceType: 'watch',
      startDateTime: new Date(startAt + at * 60_000).toISOString(),
      endDateTime: new Date(startAt + (at + 1) * 60_000).toISOString(),
      additionalProperties: { isScreenOn: 'false' },
    })),
  )
}

async function read(pool: Pool, path: string, authorization: string): Promise<number> {
  const { statusCode, body } = await pool.request({ path, method: 'GET', headers: { authorization } })
  if (statusCode !== 200) throw new Error(`read ${path.split('?')[0]}: ${statusCode}`)
  let bytes = 0
  for await (const chunk of body) bytes += chunk.length
  return bytes
}

/** Calls per second of each form, round by round in turn, so that a busy moment of the machine hits all alike. */
async function alternate<Name extends string>(
  forms: Record<Name, Form>,
  { rounds, roundMs }: Rounds,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(forms) as Name[] // the keys of the record that was just given
  const rates = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>
  for (let turn = -1; turn < rounds; turn += 1) {
    for (const name of names) {
      await forms[name].prepare?.()
      const rate = await rateOf(forms[name].ask, turn < 0 ? roundMs / 2 : roundMs)
      if (turn >= 0) rates[name].push(rate) // the first turn only warms up
    }
  }
  return rates
}

async function rateOf(work: () => Promise<unknown>, roundMs: number): Promise<number> {
  const startedAt = performance.now()
  let done = 0
  const loop = async () => {
    while (performance.now() - startedAt < roundMs) {
      await work()
      done += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, loop))
  return (done / (performance.now() - startedAt)) * 1000
}

function measure(
  name: string,
  rates: number[],
  beside: { unit: string; against: number[]; words: string; goal: number },
): Measure {
  const ratio = median(rates.map((rate, at) => rate / (beside.against[at] ?? Number.NaN)))
  return {
    name,
    value: Math.round(median(rates)),
    unit: beside.unit,
    ratio: round(ratio),
    against: `${Math.round(median(beside.against))} ${beside.unit}, ${beside.words}`,
    goal: `≥ ${beside.goal}`,
    holds: ratio >= beside.goal,
  }
}

function median(values: number[]): number {
  const sorted = [...values].sort((one, two) => one - two)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

if (import.meta.main) {
  console.log(JSON.stringify({ measures: await run({ quick: process.argv.includes('--quick') }) }, null, 2))
}
