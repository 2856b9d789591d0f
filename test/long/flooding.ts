/**
 * One account floods the service, as a process of its own: uploads whose logs span a year, days of many people, and
 * searches among 300,000 profiles, all without a pause. Meanwhile people of another account come in with sixty days, upload
 * and read. Everything is measured first without the flood, then beside it. `npm run flooding` takes some three minutes, and
 * ends with code 1 when sixty days take more than 5 times as long beside the flood, or the 99th of a hundred uploads or reads
 * more than 3 times.
 */
import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { addServiceKey } from '../../src/app/service-accounts.ts'
import { startPostgres } from '../../src/base/engines/embedded-postgres.ts'
import { createLog } from '../../src/base/log.ts'
import { DAY, HOUR } from '../../src/base/time/units.ts'
import { logsOf, samplePeople } from '../../src/service/sandbox/people/sample-people.ts'
import { startProgram } from '../support/run-program.ts'
import { openTestPool } from '../support/test-pool.ts'

const { values } = parseArgs({
  options: {
    profiles: { type: 'string', default: '300000' },
    newcomers: { type: 'string', default: '8' },
    requests: { type: 'string', default: '600' },
  },
})
const [profiles, newcomers, requests] = [Number(values.profiles), Number(values.newcomers), Number(values.requests)]
const [days, logsPerBatch, flooders, searchers, requestEveryMs, pollMs] = [60, 90, 4, 2, 20, 20]
const [derivedTimesMax, answeredTimesMax] = [5, 3]

const folder = await mkdtemp(join(tmpdir(), 'vitalsync-flooding-'))
await chmod(folder, 0o755)
const postgres = await startPostgres({ folder: join(folder, 'postgres'), throwAway: true })
const databaseUrl = postgres.adminUrl('postgres')
const log = createLog({ level: 'silent' })
const keyOf = (account: string) =>
  addServiceKey({ databaseUrl, nowAt: new Date(), log }, { account, kind: 'client', label: '' })
const keys = { flood: await keyOf('flood'), neighbour: await keyOf('neighbour') }
const database = openTestPool(databaseUrl) // the server may hang up before we do
const program = startProgram(['service', '--port', '0', '--json'], {
  cwd: folder,
  env: { DATABASE_URL: databaseUrl, LOG_LEVEL: 'error' },
})
const { url } = JSON.parse((await program.said(/^\{.*\}/))[0])
const [flood, neighbour] = [new Pool(url, { connections: flooders + searchers }), new Pool(url, { connections: 4 })]
let wrong = false

try {
  const accounts = { flood: await accountAuth(keys.flood), neighbour: await accountAuth(keys.neighbour) }
  await database.query(
    `insert into service.profiles (profile_id, account_id, external_id, created_at, search_text)
     select gen_random_uuid(), account_id, 'many-' || n, now(), 'many-' || n
     from service.accounts cross join generate_series(1, $1::int) n where name = 'flood'`,
    [profiles],
  )
  await database.query('analyze service.profiles')
  say(`${profiles} profiles of the flooding account, ${availableParallelism()} cores, load ${load()}`)
  const alone = await measure('alone', accounts.neighbour)
  const flooding = startFlood(accounts.flood)
  while (flooding.answered() < 100) await wait(pollMs)
  const beside = await measure('beside the flood', accounts.neighbour)
  say(`the flood: ${JSON.stringify(await flooding.stop())}, load ${load()}`)

  compare('sixty days derived', [alone.derivedMs, beside.derivedMs], { share: 0.5, timesMax: derivedTimesMax })
  compare('uploads, p99', [alone.uploadMs, beside.uploadMs], { share: 0.99, timesMax: answeredTimesMax })
  compare('reads, p99', [alone.readMs, beside.readMs], { share: 0.99, timesMax: answeredTimesMax })
} finally {
  program.kill('SIGTERM')
  await Promise.all([flood.destroy(), neighbour.destroy()])
  await program.ended
  await database.end()
  await postgres.close()
  await rm(folder, { recursive: true, force: true })
}
process.exit(wrong ? 1 : 0)

type Measured = { derivedMs: number[]; uploadMs: number[]; readMs: number[] }

/** People of the neighbour come in one after another, while one of them uploads and reads at a steady rate. */
async function measure(when: string, account: string): Promise<Measured> {
  const steady = await register(account)
  const measured: Measured = { derivedMs: [], uploadMs: [], readMs: [] }
  const uploads = steadily(measured.uploadMs, (turn) => upload(neighbour, steady.auth, [walkOf(turn)]))
  const reads = steadily(measured.readMs, () => read(neighbour, steady.auth, '/api/v1/profile/score'))
  for (const [place, person] of samplePeople(`${when} ${account}`, newcomers).entries()) {
    const endMs = Date.now()
    const logs = logsOf(person, { startMs: endMs - days * DAY, endMs })
    if (logs.length === 0) continue // one of the kinds of sample people has nothing yet
    const { externalId, auth } = await register(account)
    const startedAt = performance.now()
    for (let at = 0; at < logs.length; at += logsPerBatch * 10)
      await upload(neighbour, auth, logs.slice(at, at + logsPerBatch * 10))
    await derived(externalId)
    measured.derivedMs.push(performance.now() - startedAt)
    say(`  ${when}: newcomer ${place + 1} of ${newcomers}, ${Math.round(measured.derivedMs.at(-1) ?? 0)} ms`)
  }
  await Promise.all([uploads, reads])
  return measured
}

async function steadily(tookMs: number[], send: (turn: number) => Promise<unknown>): Promise<void> {
  for (let turn = 0; turn < requests; turn += 1) {
    const startedAt = performance.now()
    await send(turn)
    tookMs.push(performance.now() - startedAt)
    await wait(requestEveryMs)
  }
}

/** Floods until stopped; the end gives how many of its requests had which status. */
function startFlood(account: string): { answered(): number; stop(): Promise<Record<string, number>> } {
  let running = true
  const statuses: Record<string, number> = {}
  const count = (what: string, status: number) => {
    statuses[`${what} ${status}`] = (statuses[`${what} ${status}`] ?? 0) + 1
  }
  const uploader = async (number: number) => {
    while (running) {
      const { auth } = await register(account, flood)
      const years = Array.from({ length: 120 }, (_, at) => logAt(Date.now() - 366 * (at + 1) * DAY, 366 * DAY - HOUR))
      const wide = Array.from({ length: 1000 }, (_, at) => logAt(Date.now() - (3 * at + number) * DAY, 25 * HOUR))
      for (const logs of [years, wide]) {
        const answer = await post(flood, 'profile/data/log', logs, auth)
        count('upload', answer.status)
        if (answer.status !== 200) await wait(pollMs)
      }
    }
  }
  const searcher = async (number: number) => {
    for (let turn = 0; running; turn += 1) {
      const path = `/api/v1/account/profile/search?search=${number}${turn % 97}&pageSize=100&currentPage=${1 + (turn % 50)}`
      count('search', await read(flood, account, path))
    }
  }
  const all = Promise.all([
    ...Array.from({ length: flooders }, (_, number) => uploader(number)),
    ...Array.from({ length: searchers }, (_, number) => searcher(number)),
  ])
  return {
    answered: () => Object.values(statuses).reduce((sum, count) => sum + count, 0),
    stop: async () => {
      running = false
      await all
      return statuses
    },
  }
}

async function post(pool: Pool, path: string, body: object, authorization: string) {
  const headers = { 'content-type': 'application/json', authorization }
  const answer = await pool.request({ path: `/api/v1/${path}`, method: 'POST', headers, body: JSON.stringify(body) })
  return { status: answer.statusCode, json: (await answer.body.json()) as Record<string, string> }
}

async function accountAuth({ publicId, secret }: { publicId: string; secret: string }): Promise<string> {
  const { json } = await post(neighbour, 'oauth/account/token', { clientId: publicId, clientSecret: secret }, '')
  return `account ${json['accountToken']}`
}

async function register(account: string, pool = neighbour): Promise<{ externalId: string; auth: string }> {
  const externalId = randomUUID()
  const { status, json } = await post(pool, 'oauth/profile/register', { externalId }, account)
  if (json['profileToken'] === undefined) throw new Error(`register: ${status}`)
  return { externalId, auth: `profile ${json['profileToken']}` }
}

async function upload(pool: Pool, authorization: string, logs: object[]): Promise<void> {
  const { status } = await post(pool, 'profile/data/log', logs, authorization)
  if (status !== 200) throw new Error(`upload: ${status}`)
}

async function read(pool: Pool, authorization: string, path: string): Promise<number> {
  const { statusCode, body } = await pool.request({ path, method: 'GET', headers: { authorization } })
  await body.dump()
  return statusCode
}

async function derived(externalId: string): Promise<void> {
  const sql = `select exists (select from service.profiles join service.dirty_days using (profile_id)
               where external_id = $1) as marked`
  while ((await database.query<{ marked: boolean }>(sql, [externalId])).rows[0]?.marked) await wait(pollMs)
}

function logAt(startMs: number, lengthMs: number): object {
  const [startDateTime, endDateTime] = [new Date(startMs).toISOString(), new Date(startMs + lengthMs).toISOString()]
  const what = { id: randomUUID(), logType: 'activity', dataType: 'steps', value: 100, unit: 'count', source: 'flood' }
  return { ...what, recordingMethod: 'automatically_recorded', deviceType: 'watch', startDateTime, endDateTime }
}

/** One walk of yesterday, corrected again and again. */
function walkOf(steps: number): object {
  return { ...logAt(Math.floor(Date.now() / DAY) * DAY - DAY + 9 * HOUR, HOUR), value: steps }
}

function compare(
  what: string,
  [alone, beside]: [number[], number[]],
  { share, timesMax }: { share: number; timesMax: number },
): void {
  const at = (of: number[]) => of.toSorted((a, b) => a - b)[Math.floor((of.length - 1) * share)] ?? 0
  const times = at(beside) / at(alone)
  const holds = times <= timesMax
  say(
    `${holds ? 'holds' : 'FAILS'}: ${what}: ${at(beside).toFixed(1)} ms beside the flood, ${at(alone).toFixed(1)} ms alone, ${times.toFixed(2)} times (at most ${timesMax})`,
  )
  wrong ||= !holds
}

function load(): string {
  return (loadavg()[0] ?? 0).toFixed(1)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
