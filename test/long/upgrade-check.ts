/**
 * An upgrade under load, back, and forward again, on both engines of the queue:
 *
 *   npm run upgrade-check                  this version, and a made-up next one
 *   npm run upgrade-check -- --from v0.1.0   the version of a tag, and this one
 *   npm run upgrade-check -- --engine redis  on this engine alone
 *
 * Two workers and a scheduler work while files are imported, commands of both versions order syncs and upstream changes records.
 * The processes are replaced one after the other. Ends with exit code 1 where something was lost, came twice or stood still, or
 * where a process logged a line that is not expected of two versions at work. Takes about ten minutes.
 */
import { createHash } from 'node:crypto'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type pg from 'pg'
import { freePort, startPostgres } from '../../src/base/engines/embedded-postgres.ts'
import { HOUR, MINUTE } from '../../src/base/time/units.ts'
import { checkOut, makeNextVersion } from '../support/next-version.ts'
import { isUpload, type Peer, startPeer } from '../support/peer.ts'
import { startRedis } from '../support/redis-server.ts'
import { entry, type Program, startProgram } from '../support/run-program.ts'
import { daysAgoMs, scoreOf as scoreWith } from '../support/sample-scores.ts'
import { openTestPool } from '../support/test-pool.ts'
import { createChecklist } from './checklist.ts'

const { values: options } = parseArgs({ options: { from: { type: 'string' }, engine: { type: 'string' } } })
const PEOPLE = 60
const LOGS_PER_PERSON = 200
const ANSWER_MS = 10
const names = Array.from({ length: PEOPLE }, (_, index) => `person-${index}`)
const processes = ['worker 1', 'worker 2', 'schedule'] as const
type Version = { readonly name: 'former' | 'next'; readonly entry: string }
type Engine = 'redis' | 'postgres'

/** Log lines above info that an operator may see while two versions work, as docs/how-to/upgrade.md lists them. */
const expectedLines = [
  /^a newer version of vitalsync enqueued jobs of form \d+/,
  /^works on the tables of a newer version of vitalsync$/,
]
/** A busy machine makes a connection too late, with one version too. */
const tooLate =
  /^(Postgres: it does not answer|reach Postgres: the connection was not made in time)$|timeout exceeded when trying to connect|^Connection terminated due to connection timeout$/

const checklist = createChecklist()
const { say, until } = checklist
const check = (what: string, isSo: boolean) => until(what, async () => isSo, 0)

type World = {
  readonly peer: Peer
  readonly pool: pg.Pool
  readonly folder: string
  readonly settings: Readonly<Record<string, string>>
  /** All that were started, with their version. */
  readonly programs: Array<{ readonly name: string; readonly version: Version; readonly program: Program }>
  count(query: string): Promise<number>
  start(words: readonly string[], version: Version, more?: Record<string, string>): Program
  close(): Promise<void>
}

async function openWorld(engine: Engine): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-upgrade-'))
  await chmod(folder, 0o755) // as root, Postgres runs as nobody and must be able to enter
  const postgres = await startPostgres({ folder: join(folder, 'postgres'), throwAway: true })
  const redis = engine === 'redis' ? await startRedis(folder, await freePort(), '--appendonly', 'yes') : undefined
  const peer = await startPeer()
  const answerFirst = peer.before
  peer.before = async (seen) => {
    await new Promise((resolve) => setTimeout(resolve, ANSWER_MS)) // so that runs are under way while processes change
    return answerFirst(seen)
  }
  const databaseUrl = postgres.adminUrl('postgres')
  const pool = openTestPool(databaseUrl, 2)
  const settings = {
    DATABASE_URL: databaseUrl,
    QUEUE_URL: redis?.url ?? databaseUrl,
    UPSTREAM_URL: peer.url,
    UPSTREAM_CLIENT_ID: 'client',
    UPSTREAM_CLIENT_SECRET: 'client-secret',
    TOKEN_KEY: Buffer.alloc(32, 7).toString('base64'),
    HISTORY_DAYS: '30',
    REREAD_SECONDS: '0',
    SECOND_READING_SECONDS: '0',
    SWEEP_CRON: '* * * * *',
    NIGHTLY_CRON: '*/2 * * * *',
    CONCURRENCY: '4',
    NOTE_OF_NEXT_VERSION: 'all hosts have the same settings',
  }
  const programs: World['programs'] = []
  return {
    peer,
    pool,
    folder,
    settings,
    programs,
    count: async (query) => Number((await pool.query(`select count(*)::int as count from ${query}`)).rows[0].count),
    start(words, version, more = {}) {
      const program = startProgram(words, { cwd: folder, env: { ...settings, ...more }, entry: version.entry })
      programs.push({ name: words.join(' '), version, program })
      return program
    },
    async close() {
      for (const { program } of programs) program.kill('SIGKILL')
      await Promise.all(programs.map(({ program }) => program.ended))
      await pool.end()
      await peer.close()
      await redis?.kill()
      await postgres.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Two workers and a scheduler: which version each is of changes. */
function openFleet({ start, count }: World) {
  const running = new Map<string, Program>()
  const away: Array<{ readonly fromMs: number; readonly toMs: number }> = []
  const begin = async (name: string, version: Version) => {
    const program = start([name.split(' ')[0] ?? ''], version)
    running.set(name, program)
    await program.said(/is ready/)
  }
  const end = async (name: string) => {
    const program = running.get(name)
    program?.kill('SIGTERM')
    const ended = await program?.ended
    if (ended?.code !== 0)
      await check(`${name} stops with 0, and not with ${ended?.code}: ${ended?.stderr.slice(-800)}`, false)
  }
  return {
    begin,
    end: () => Promise.all(processes.map(end)),
    async replace(name: string, version: Version) {
      await until(`work is under way when ${name} is replaced by the ${version.name} version`, async () => {
        return (await count('vitalsync.orders')) > 0
      })
      const fromMs = Date.now()
      await end(name)
      await begin(name, version)
      if (name === 'schedule') away.push({ fromMs, toMs: Date.now() })
    },
    /** The slots of a schedule that came while the one scheduler was being replaced, which a busy machine does slowly. */
    slotsMissed: (everyMs: number) =>
      away.reduce((sum, { fromMs, toMs }) => sum + Math.floor(toMs / everyMs) - Math.floor(fromMs / everyMs), 0),
  }
}

/** The load of one phase: upstream changes a score of everybody, and commands of the given versions order syncs and import logs. */
function createLoad({ peer, start, folder, count }: World) {
  const commands: Array<{ readonly words: string; readonly program: Program }> = []
  let phase = 0
  const run = (words: readonly string[], version: Version) => {
    const program = start(words, version)
    commands.push({ words: `${words.join(' ')} (${version.name})`, program })
    return program
  }
  const sync = (version: Version) => void run(['sync', '--stream', 'scores'], version)
  const writeLogs = async () => {
    const file = join(folder, `logs-${phase}.ndjson`)
    const lines = names.flatMap((name) =>
      Array.from({ length: LOGS_PER_PERSON }, (_, index) => JSON.stringify(logOf(name, phase, index))),
    )
    await writeFile(file, `${lines.join('\n')}\n`)
    return file
  }
  return {
    phases: () => phase,
    sync,
    /** `resumedBy`: the version that goes on with the import after the first was stopped. */
    async next(version: Version, resumedBy?: Version) {
      phase += 1
      for (const name of names)
        peer.give(name, 'scores', [scoreOf(1, phase / 10), ...(phase > 1 ? [scoreOf(2, 0.95)] : []), scoreOf(10, 0.1)])
      const words = ['import', 'data-logs', await writeLogs()]
      if (!resumedBy) run(words, version)
      else {
        const before = await count('vitalsync.items')
        const stopped = start(words, version)
        await until('an import is under way', async () => (await count('vitalsync.items')) > before)
        stopped.kill('SIGTERM')
        const { code } = await stopped.ended
        say(
          `the import of the ${version.name} version ended with ${code}; the ${resumedBy.name} version goes on with it`,
        )
        run(words, resumedBy)
      }
      sync(version)
    },
    async ended() {
      for (const { words, program } of commands) {
        const { code, stderr } = await program.ended
        if (code !== 0) await check(`${words} ends with 0, and not with ${code}: ${stderr.slice(-800)}`, false)
      }
      await check(`${commands.length} commands ended with 0`, true)
    },
  }
}

/** With every field that the specification asks for: another record is reported as drift. */
const scoreOf = (days: number, value: number) => scoreWith(days, value, { dataSources: [], version: 1 })

function logOf(name: string, phase: number, index: number) {
  const id = createHash('sha256').update(`${name}/${phase}/${index}`).digest('hex')
  const at = daysAgoMs(20) + (phase * LOGS_PER_PERSON + index) * HOUR * 0.25
  return {
    externalId: name,
    id: `${id.slice(0, 8)}-${id.slice(8, 12)}-4${id.slice(13, 16)}-8${id.slice(17, 20)}-${id.slice(20, 32)}`,
    logType: 'activity',
    dataType: 'steps',
    value: index,
    unit: 'count',
    source: 'watch',
    recordingMethod: 'automatically_recorded',
    deviceType: 'watch',
    startDateTime: new Date(at).toISOString(),
    endDateTime: new Date(at + HOUR / 4).toISOString(),
  }
}

async function upgrade(engine: Engine, former: Version, next: Version): Promise<void> {
  const world = await openWorld(engine)
  const startedMs = performance.now()
  try {
    const succeeds = async (words: readonly string[], version: Version) => {
      const { code, stdout, stderr } = await world.start(words, version).ended
      await check(`${words.join(' ')} of the ${version.name} version ends with 0`, code === 0)
      return code === 0 ? stdout.trim() : stderr
    }
    const fleet = openFleet(world)
    const load = createLoad(world)
    await succeeds(['migrate'], former)
    for (const name of names) world.peer.give(name, 'scores', [scoreOf(10, 0.1)])
    await succeeds(['profiles', 'discover'], former)
    for (const name of processes) await fleet.begin(name, former)
    await load.next(former)
    const replaceAll = async (version: Version, other: Version) => {
      for (const name of processes) {
        load.sync(version)
        load.sync(other)
        await fleet.replace(name, version)
      }
      const before = await world.count('vitalsync.slots')
      await until(`the scheduler of the ${version.name} version takes a slot`, async () => {
        return (await world.count('vitalsync.slots')) > before
      })
    }
    say(`${engine}: forward`)
    say((await succeeds(['migrate', '--check'], next)).replaceAll('\n', ' | '))
    await succeeds(['migrate'], next)
    await load.next(former, next)
    await replaceAll(next, former)
    say(`${engine}: back`)
    await load.next(next, former)
    await replaceAll(former, next)
    await succeeds(['migrate'], former)
    await load.next(former)
    say(`${engine}: forward again`)
    await replaceAll(next, former)
    await load.next(next)
    await load.ended()
    load.sync(next)
    await load.ended()
    await until('no run, no order and no parcel is left', async () => {
      const left = ["vitalsync.runs where state = 'running'", 'vitalsync.orders', 'vitalsync.parcels']
      return (await Promise.all(left.map(world.count))).every((count) => count === 0)
    })
    await fleet.end()
    await verify(world, { phases: load.phases(), slotsMissed: fleet.slotsMissed, next })
    say(`${engine}: ${Math.round((performance.now() - startedMs) / 1000)} s`)
  } finally {
    await world.close()
  }
}

type Past = { readonly phases: number; readonly next: Version; slotsMissed(everyMs: number): number }

async function verify({ peer, pool, count, start, programs }: World, past: Past): Promise<void> {
  const { phases, next, slotsMissed } = past
  const logs = PEOPLE * LOGS_PER_PERSON * phases
  const times = [...peer.logs.values()].map((log) => log.times)
  await check(`upstream has all ${logs} logs (${times.length})`, times.length === logs)
  // Two jobs of one person may send a parcel at once: upstream knows each log by its id, and holds it once.
  say(`${times.filter((sent) => sent > 1).length} of them were sent more than once, by two jobs of one person at once`)
  const { rows: scores } = await pool.query(
    `select n.external_id, (r.score_date_time at time zone 'UTC')::date::text as day, r.value, r.revision
     from vitalsync.scores r join vitalsync.names n on n.id = r.profile_id where r.gone_at is null`,
  )
  const newest = scores.filter(({ value }) => value === phases / 10)
  await check(`the warehouse has three scores of each person (${scores.length})`, scores.length === 3 * PEOPLE)
  await check(`and the newest value of each (${newest.length})`, newest.length === PEOPLE)
  const twice = await count(
    `(select body, lag(body) over (partition by profile_id, stream, record_key order by revision) as before
      from (select profile_id, stream, record_key, revision, body from vitalsync.history) h) x where body = before`,
  )
  await check(`no record has the same value twice in its history (${twice})`, twice === 0)
  const { rows: runs } = await pool.query(
    `select form, count(*)::int as runs, sum(failed)::int as failed, sum(enqueued - done - failed)::int as open,
       count(*) filter (where state <> 'done')::int as not_done from vitalsync.runs group by form order by form`,
  )
  for (const { form, runs: ended, failed, open, not_done } of runs)
    await check(
      `${ended} runs of form ${form} are done, no job of them failed or was left`,
      failed + open + not_done === 0,
    )
  const { rows: slots } = await pool.query(
    `select schedule, count(*)::int as slots, count(distinct run_id)::int as runs,
       (extract(epoch from max(slot_at) - min(slot_at)) / 60)::int as minutes from vitalsync.slots group by schedule`,
  )
  for (const { schedule, slots: taken, runs: own, minutes } of slots) {
    const every = schedule === 'sweep' ? 1 : 2
    const wanted = minutes / every + 1 - slotsMissed(every * MINUTE)
    await check(
      `${schedule}: ${taken} slots of ${wanted}, each with a run of its own`,
      taken >= wanted && own === taken,
    )
  }
  await check('no failure is left', (await count('vitalsync.failures')) === 0)
  const { code, stdout } = await start(['verify', '--sample', '500', '--json'], next).ended
  const { windowsDiffering } = JSON.parse(stdout)
  await check(`verify finds no window that differs (${windowsDiffering})`, code === 0 && windowsDiffering === 0)
  say(`${peer.seen.length} requests, ${peer.seen.filter(isUpload).length} of them uploads`)
  await checkLines(programs)
}

/** Prints each warning and error of the processes with the number of times, and fails at a line that nobody expects. */
async function checkLines(programs: World['programs']): Promise<void> {
  const lines = new Map<string, { count: number; isExpected: boolean }>()
  for (const { name, version, program } of programs)
    for (const text of program
      .stderr()
      .split('\n')
      .filter((line) => line.startsWith('{'))) {
      const { level, time: _, msg, ...more } = JSON.parse(text)
      if (level < 40) continue
      const isExpected = expectedLines.some((expected) => expected.test(msg)) || tooLate.test(more.err)
      const line = `${name.split(' ')[0]} (${version.name}): ${msg}${isExpected ? '' : ` ${JSON.stringify(more)}`}`
      lines.set(line, { isExpected, count: (lines.get(line)?.count ?? 0) + 1 })
    }
  for (const [line, { count, isExpected }] of lines) await check(`logged ${count} times: ${line}`, isExpected)
}

const other = options.from === undefined ? await makeNextVersion() : await checkOut(options.from)
const here = { entry }
const [former, next] = options.from === undefined ? [here, other] : [other, here]
try {
  for (const engine of (['redis', 'postgres'] as const).filter((engine) => engine === (options.engine ?? engine)))
    await upgrade(engine, { name: 'former', entry: former.entry }, { name: 'next', entry: next.entry })
} finally {
  await other.close()
}
checklist.end()
