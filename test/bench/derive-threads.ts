import { createHash, randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import pg from 'pg'
import { pino } from 'pino'
import { DAY, HOUR } from '../../src/base/time/units.ts'
import { startRecompute } from '../../src/service/recompute/start-recompute.ts'
import { logsOf, samplePeople } from '../../src/service/sandbox/people/sample-people.ts'
import { storeDataLogs } from '../../src/service/store/data-logs.ts'
import { migrateService } from '../../src/service/store/migrate-service.ts'
import { createServicePool } from '../../src/service/store/service-pool.ts'
import { readCost, totalOf } from './cost.ts'
import { startEngines } from './engines.ts'
import { alternate, type Measure, median, type RoundOptions, ratioOf, rounded } from './measure.ts'

const log = pino({ level: 'silent' })
const nowMs = Date.parse('2026-11-18T15:00:00Z')
const kindsOfLife = 8
const GOAL = 1.28

/**
 * Days of profiles derived a second by 1, 2 and 4 threads, from the stored logs to the stored records, from the same logs. A thread and
 * Postgres work at the same time, so that one thread already keeps more than one core busy: what the cores of this machine allow is the
 * processor time of a day by one thread, spent on all of them.
 */
export async function run({ quick, say }: RoundOptions): Promise<Measure[]> {
  const [people, days, rounds] = quick ? [24, 10, 3] : [72, 14, 5]
  const engines = await startEngines()
  try {
    const filled = await engines.database()
    await fill(filled, { people, days })
    const admin = new pg.Client({ connectionString: engines.adminUrl })
    await admin.connect()
    const answers = new Set<string>()
    const dayMs: number[] = []
    const contestants = [1, 2, 4].map((threads) => ({
      name: nameOf(threads),
      async measure(): Promise<number> {
        const databaseUrl = await copyOf(admin, filled)
        await engines.settle()
        const { rate, processorMs } = await deriveAll(databaseUrl, threads)
        if (threads === 1) dayMs.push(processorMs)
        answers.add(await digestOf(databaseUrl))
        await engines.drop(databaseUrl)
        return rate
      },
    }))
    const figures = await alternate(contestants, { rounds, say, secondsMax: quick ? 60 : 900 })
    await admin.end()
    say(`    ${answers.size === 1 ? 'the records of all rounds are the same' : `${answers.size} different answers`}`)
    if (answers.size !== 1) throw new Error('derive with threads: the records differ')
    const allowed = (availableParallelism() * 1000) / median(dayMs)
    const inAll = Math.round((100 * median(figures.get(nameOf(2)) ?? [])) / allowed)
    say(`    the cores allow ${Math.round(allowed)} days/s; two threads reach ${inAll} % of it`)
    return [1, 2, 4].map((threads): Measure => {
      const ratio = rounded(ratioOf(figures, nameOf(threads), nameOf(1)))
      return {
        name: `derivation, ${nameOf(threads)}`,
        value: rounded(median(figures.get(nameOf(threads)) ?? [])),
        unit: 'days/s',
        ratio: threads === 1 ? null : ratio,
        against: threads === 1 ? null : 'one thread',
        goal: threads === 2 ? `≥ ${GOAL} with two cores` : null,
        holds: threads === 2 ? ratio >= GOAL : null,
      }
    })
  } finally {
    await engines.close()
  }
}

const nameOf = (threads: number) => (threads === 1 ? 'one thread' : `${threads} threads`)

/** People with the logs of whole lives, none of them derived yet. */
async function fill(databaseUrl: string, { people, days }: { people: number; days: number }): Promise<void> {
  await migrateService(databaseUrl)
  const pool = createServicePool({ databaseUrl, log, connectionsMax: 2, statementTimeoutMs: HOUR })
  const accountId = randomUUID()
  await pool.query('insert into service.accounts values ($1, $2, now())', [accountId, accountId])
  const span = { startMs: nowMs - days * DAY, endMs: nowMs }
  const lives = samplePeople('threads', kindsOfLife).map((person) => logsOf(person, span))
  for (let person = 0; person < people; person += 1) {
    const profileId = randomUUID()
    await pool.query(
      'insert into service.profiles (profile_id, account_id, external_id, search_text, created_at) values ($1, $2, $3, lower($3), now())',
      [profileId, accountId, profileId],
    )
    const logs = lives[person % kindsOfLife] ?? []
    for (let from = 0; from < logs.length; from += 1000)
      await storeDataLogs(pool, { profileId, logs: logs.slice(from, from + 1000), nowAt: new Date(nowMs) })
  }
  await pool.query('analyze')
  await pool.end()
}

let copies = 0

async function copyOf(admin: pg.Client, databaseUrl: string): Promise<string> {
  copies += 1
  const url = new URL(databaseUrl)
  await admin.query(`create database threads_${copies} template ${url.pathname.slice(1)}`)
  url.pathname = `/threads_${copies}`
  return url.href
}

/** Days derived a second, and the processor time of one, once each thread has started and warmed up on its share of some profiles. */
async function deriveAll(databaseUrl: string, threads: number): Promise<{ rate: number; processorMs: number }> {
  const pool = createServicePool({ databaseUrl, log, connectionsMax: 2, statementTimeoutMs: HOUR })
  const daysLeft = async () => (await pool.query('select count(*)::int as left from service.dirty_days')).rows[0]?.left
  const { rows } = await pool.query<{ id: string }>('select profile_id as id from service.profiles order by 1')
  // Lanes share profiles out by the remainder of the first bits of their ids: these are as many for each.
  const warming = [0, 1, 2, 3].flatMap((lane) =>
    rows.filter(({ id }) => Number.parseInt(id.slice(0, 8), 16) % 4 === lane).slice(0, rows.length / 9),
  )
  let allowed: readonly string[] | null = warming.map(({ id }) => id)
  const mayDerive = async () => allowed
  const clock = () => nowMs
  const recompute = await startRecompute({ pool, databaseUrl, log, clock, threads, everyMs: HOUR, mayDerive })
  await recompute.idle()
  allowed = null
  const [waiting, before, startedAt] = [await daysLeft(), readCost(), performance.now()]
  await recompute.idle()
  const seconds = (performance.now() - startedAt) / 1000
  const processorMs = totalOf(before, readCost()) / 1000 / waiting
  await recompute.close()
  const left = await daysLeft()
  await pool.end()
  if (left !== 0) throw new Error('derive with threads: days are left')
  return { rate: waiting / seconds, processorMs }
}

/** A digest of every record without the time at which it was made. */
async function digestOf(databaseUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ record: string }>(
    `select id::text || version || (body::jsonb - 'createdAt')::text as record from service.derived order by id`,
  )
  await client.end()
  const hash = createHash('sha256')
  for (const { record } of rows) hash.update(record)
  return hash.digest('hex')
}
