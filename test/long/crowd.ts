/**
 * A thousand people whose phones were off for a month come back at once: each uploads thirty days of a whole life, batch
 * by batch and all of them interleaved, to the service as a process of its own. Meanwhile others read, and a few upload
 * a walk and wait until it is served. `npm run crowd` takes half an hour; `npm run crowd -- --people 40` a minute. With
 * `--copied` only some of them upload, and the logs of all others appear in the database at one moment, as copies.
 * Ends with code 1 when a day was lost or a reader had to wait.
 */
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { addServiceKey } from '../../src/app/service-accounts.ts'
import { startPostgres } from '../../src/base/engines/embedded-postgres.ts'
import { createLog } from '../../src/base/log.ts'
import { logsOf, samplePeople } from '../../src/service/sandbox/people/sample-people.ts'
import { recordsAtOnce } from '../service/recompute/recompute-world.ts'
import { startProgram } from '../support/run-program.ts'
import { openTestPool } from '../support/test-pool.ts'

const { values } = parseArgs({
  options: {
    people: { type: 'string', default: '1000' },
    days: { type: 'string', default: '30' },
    batch: { type: 'string', default: '90' },
    copied: { type: 'boolean', default: false },
  },
})
const [people, days, logsPerBatch] = [Number(values.people), Number(values.days), Number(values.batch)]
/** As many kinds of life; more would only be more of the same to make up. */
const lifeCount = Math.min(24, people)
const [uploadsAtOnce, walkers] = [64, 5]
const [readEveryMs, walkEveryMs, readP99MaxMs, freshMaxMs] = [20, 5_000, 250, 5_000]
const pollMs = 50
const MEGABYTE = 1024 * 1024
/** How many wrong records are printed. */
const WRONG_SHOWN = 10

const folder = await mkdtemp(join(tmpdir(), 'vitalsync-crowd-'))
await chmod(folder, 0o755)
const postgres = await startPostgres({ folder: join(folder, 'postgres'), throwAway: true })
const databaseUrl = postgres.adminUrl('postgres')
const log = createLog({ level: 'silent' })
const key = await addServiceKey(
  { databaseUrl, nowAt: new Date(), log },
  { account: 'crowd', kind: 'client', label: '' },
)
const database = openTestPool(databaseUrl) // the server may hang up before we do
const program = startProgram(['service', '--port', '0', '--json'], {
  cwd: folder,
  env: { DATABASE_URL: databaseUrl, LOG_LEVEL: 'warn' },
})
const { url } = JSON.parse((await program.said(/^\{.*\}/))[0])
const [writing, reading] = [new Pool(url, { connections: uploadsAtOnce }), new Pool(url, { connections: 4 })]
let wrong = false

try {
  const endMs = Date.now()
  const lives = samplePeople('crowd', lifeCount).map((person) =>
    logsOf(person, { startMs: endMs - days * 86_400_000, endMs }),
  )
  const bodies = lives.map((logs) =>
    Array.from({ length: Math.ceil(logs.length / logsPerBatch) }, (_, place) =>
      JSON.stringify(logs.slice(place * logsPerBatch, (place + 1) * logsPerBatch)),
    ),
  )
  const { accountToken } = await post('oauth/account/token', { clientId: key.publicId, clientSecret: key.secret }, '')
  const tokens: string[] = []
  for (let person = 0; person < people + walkers; person += 1)
    tokens.push(await register(`person-${person}`, accountToken))
  const logCount = tokens.slice(0, people).reduce((sum, _, person) => sum + (lives[person % lifeCount]?.length ?? 0), 0)
  say(`${people} people, ${days} days, ${logCount} logs in batches of ${logsPerBatch}, ${availableParallelism()} cores`)

  const watch = watchAll(tokens)
  const startedAt = performance.now()
  const uploaders = values.copied ? lifeCount : people
  await uploadAll(tokens.slice(0, uploaders), bodies)
  if (values.copied) await copyLives()
  const uploadedAt = performance.now()
  const uploading = watch.cut()
  await drained()
  const drainedAt = performance.now()
  const draining = watch.cut()
  await watch.stop()

  const seconds = (from: number, to: number) => (to - from) / 1000
  say(
    `uploaded in ${seconds(startedAt, uploadedAt).toFixed(1)} s, ${Math.round(logCount / seconds(startedAt, uploadedAt))} logs/s`,
  )
  say(`derived ${seconds(uploadedAt, drainedAt).toFixed(1)} s after the last upload`)
  report('while uploads came in', uploading)
  report('while the rest was derived', draining)
  await compare(lives)
} finally {
  program.kill('SIGTERM')
  await program.ended
  await Promise.all([writing.close(), reading.close(), database.end()])
  await postgres.close()
  await rm(folder, { recursive: true, force: true })
}
process.exit(wrong ? 1 : 0)

async function post(path: string, body: object, authorization: string): Promise<Record<string, string>> {
  const headers = { 'content-type': 'application/json', authorization }
  const answer = await writing.request({ path: `/api/v1/${path}`, method: 'POST', headers, body: JSON.stringify(body) })
  return (await answer.body.json()) as Record<string, string>
}

async function register(externalId: string, accountToken = ''): Promise<string> {
  const { profileToken } = await post('oauth/profile/register', { externalId }, `account ${accountToken}`)
  return `profile ${profileToken}`
}

async function upload(authorization: string, body: string): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization }
  const answer = await writing.request({ path: '/api/v1/profile/data/log', method: 'POST', headers, body })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`upload: ${answer.statusCode} ${text.slice(0, 500)}`)
}

/** Everybody's first batch, everybody's second … so that all are under way at once. */
async function uploadAll(tokens: readonly string[], bodies: readonly (readonly string[])[]): Promise<void> {
  const turns = Math.max(...bodies.map((body) => body.length))
  const work = (function* () {
    for (let turn = 0; turn < turns; turn += 1) {
      if (turn > 0 && turn % Math.ceil(turns / 10) === 0)
        say(`  ${Math.round((turn * 100) / turns)} % of the batches sent`)
      for (const [person, token] of tokens.entries()) {
        const body = bodies[person % lifeCount]?.[turn]
        if (body !== undefined) yield [token, body] as const
      }
    }
  })()
  const client = async () => {
    for (const [token, body] of work) await upload(token, body)
  }
  await Promise.all(Array.from({ length: uploadsAtOnce }, client))
}

/** Gives everybody else the logs of the one whose kind of life they have, all in one transaction. */
async function copyLives(): Promise<void> {
  const { rows } = await database.query<{ names: string }>(
    `select string_agg(quote_ident(column_name), ', ') as names from information_schema.columns
     where table_schema = 'service' and table_name = 'logs' and column_name <> 'profile_id'`,
  )
  const names = rows[0]?.names ?? ''
  const client = await database.connect()
  try {
    await client.query('begin')
    await client.query(
      `create temp table pairs on commit drop as select t.profile_id as target, f.profile_id as origin
       from service.profiles t join service.profiles f
         on f.external_id = 'person-' || (split_part(t.external_id, '-', 2)::int % ${lifeCount})
       where split_part(t.external_id, '-', 2)::int between ${lifeCount} and ${people - 1}`,
    )
    const { rows: pairs } = await client.query<{ target: string; origin: string }>('select target, origin from pairs')
    // One after another, so that a person's logs lie together, as those of an upload do.
    for (const { target, origin } of pairs) {
      const text = `insert into service.logs (profile_id, ${names}) select $1, ${names} from service.logs where profile_id = $2`
      await client.query({ name: 'copy', text, values: [target, origin] })
    }
    await client.query(
      `insert into service.dirty_days (profile_id, local_day, marked_at)
       select distinct p.target, day, now() from pairs p join service.logs l on l.profile_id = p.origin
       cross join lateral (values (l.start_day), (l.end_day)) days (day)`,
    )
    await client.query('commit')
  } finally {
    client.release()
  }
}

type Seen = { reads: number[]; fresh: number[]; peakBytes: number; load: number }

/** Readers, walkers and the memory of the service, until stopped; `cut` gives what was seen since the last cut. */
function watchAll(tokens: readonly string[]) {
  const nothing = (): Seen => ({ reads: [], fresh: [], peakBytes: 0, load: 0 })
  let [seen, running] = [nothing(), true]
  const read = async () => {
    for (let turn = 0; running; turn += 1) {
      const startedAt = performance.now()
      const headers = { authorization: tokens[(turn * 7919) % people] ?? '' }
      const answer = await reading.request({ path: '/api/v1/profile/score', method: 'GET', headers })
      await answer.body.dump()
      seen.reads.push(performance.now() - startedAt)
      seen.peakBytes = Math.max(seen.peakBytes, residentBytes())
      seen.load = Math.max(seen.load, loadavg()[0] ?? 0)
      await wait(readEveryMs)
    }
  }
  const walk = async (walker: number) => {
    await wait((walkEveryMs * walker) / walkers)
    for (let steps = 1000; running; steps += 1) {
      const startedAt = performance.now()
      await upload(tokens[people + walker] ?? '', walkOf(steps))
      while (running && !(await served(tokens[people + walker] ?? '', steps))) await wait(pollMs)
      if (running) seen.fresh.push(performance.now() - startedAt)
      await wait(walkEveryMs)
    }
  }
  const all = Promise.all([read(), ...Array.from({ length: walkers }, (_, walker) => walk(walker))])
  return {
    cut: () => {
      const cut = seen
      seen = nothing()
      return cut
    },
    stop: async () => {
      running = false
      await all
    },
  }
}

/** One walk of yesterday, corrected again and again. */
function walkOf(steps: number): string {
  const at = `${new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)}T09:00:00Z`
  const what = { logType: 'activity', dataType: 'steps', value: steps, unit: 'count', source: 'walk' }
  const how = { recordingMethod: 'automatically_recorded', deviceType: 'watch', startDateTime: at }
  return JSON.stringify([{ ...what, ...how, endDateTime: at.replace('09:00', '10:00') }])
}

async function served(authorization: string, steps: number): Promise<boolean> {
  const path = '/api/v1/profile/biomarker?types=steps'
  const answer = await reading.request({ path, method: 'GET', headers: { authorization } })
  return (await answer.body.text()).includes(`"value":"${steps}"`)
}

async function drained(): Promise<void> {
  const sql = `select count(*)::int as left from service.profiles p where split_part(external_id, '-', 2)::int < $1 and (
                 exists (select from service.dirty_days d where d.profile_id = p.profile_id)
                 or exists (select from service.derivations d where d.profile_id = p.profile_id and due_at <= now()))`
  for (;;) {
    const { rows } = await database.query<{ left: number }>(sql, [people])
    if (rows[0]?.left === 0) return
    await wait(pollMs)
  }
}

/** One person of each kind of life is derived at once by the pure function; the others must have the same records. */
async function compare(lives: readonly ReturnType<typeof logsOf>[]): Promise<void> {
  const { rows } = await database.query<{ life: number; profile_id: string; said: number }>(
    `select split_part(p.external_id, '-', 2)::int % $1 as life, min(p.profile_id::text) as profile_id,
       count(distinct s.said)::int as said
     from service.profiles p cross join lateral (
       select coalesce(md5(string_agg(told, '|' order by told)), '') as said
       from service.derived d, regexp_replace(body, '"(id|createdAt)":"[^"]*"|"version":[0-9]+', '', 'g') told
       where d.profile_id = p.profile_id and kind <> 'comparison') s
     where split_part(p.external_id, '-', 2)::int < $2 group by 1 order by 1`,
    [lifeCount, people],
  )
  const alike = rows.filter(({ said }) => said === 1).length
  check(alike === lifeCount, `everybody of one kind of life is told the same: ${alike} of ${lifeCount} kinds`)
  let [records, wrongOnes] = [0, 0]
  for (const { life, profile_id } of rows) {
    const expected = new Map([...recordsAtOnce(profile_id, lives[life] ?? [], Date.now())].filter(notCompared))
    const stored = await database.query<{ id: string; body: Record<string, unknown> }>(
      `select id::text, body::json as body from service.derived where profile_id = $1 and kind <> 'comparison'`,
      [profile_id],
    )
    const told = new Map(stored.rows.map(({ id, body }) => [id, lifeless(body)]))
    records += expected.size
    for (const id of new Set([...expected.keys(), ...told.keys()])) {
      const [wanted, found] = [lifeless(expected.get(id) ?? {}), told.get(id)]
      if (wanted === found) continue
      wrongOnes += 1
      if (wrongOnes <= WRONG_SHOWN) say(`  kind ${life}: ${found?.slice(0, 400)}\n    at once: ${wanted.slice(0, 400)}`)
    }
  }
  check(wrongOnes === 0, `all but ${wrongOnes} of ${records} records are what all logs at once give`)
}

function notCompared([, body]: [string, Record<string, unknown>]): boolean {
  return body['type'] !== 'comparison'
}

function lifeless({ createdAt: _, version: __, ...rest }: Record<string, unknown>): string {
  return JSON.stringify(rest)
}

function report(when: string, { reads, fresh, peakBytes, load }: Seen): void {
  const at = (of: readonly number[], share: number) =>
    of.toSorted((a, b) => a - b)[Math.floor((of.length - 1) * share)] ?? 0
  say(`${when}: service at most ${Math.round(peakBytes / MEGABYTE)} MB, load at most ${load.toFixed(1)}`)
  say(
    `  ${reads.length} reads: p50 ${at(reads, 0.5).toFixed(1)} ms, p99 ${at(reads, 0.99).toFixed(1)} ms, worst ${at(reads, 1).toFixed(0)} ms`,
  )
  say(`  ${fresh.length} fresh walks served: p50 ${at(fresh, 0.5).toFixed(0)} ms, worst ${at(fresh, 1).toFixed(0)} ms`)
  check(at(reads, 0.99) < readP99MaxMs, `the 99th of a hundred reads takes less than ${readP99MaxMs} ms`)
  if (fresh.length > 0) check(at(fresh, 1) < freshMaxMs, `a fresh walk is served within ${freshMaxMs / 1000} s`)
}

function residentBytes(): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${program.pid}/status`, 'utf8')) ?? []
  return Number(kilobytes ?? 0) * 1024
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

function check(holds: boolean, what: string): void {
  say(`  ${holds ? 'holds' : 'FAILS'}: ${what}`)
  wrong ||= !holds
}
