import pg from 'pg'
import { migrateWarehouse } from '../../src/operations/migrate-warehouse.ts'
import { openWarehousePool } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { judgeSilence } from '../../src/pipeline/warehouse/silence/judge-silence.ts'
import { insertPeople, peopleNames } from '../support/insert-people.ts'
import { testDivision } from '../support/test-pool.ts'
import { readCost, totalOf } from './cost.ts'
import { startEngines } from './engines.ts'
import { type Measure, type RoundOptions, rounded } from './measure.ts'

const DAYS = 60
const KINDS = ['steps', 'heart', 'sleep', 'energy']

/** The states in which silence is judged. The last is the mean hour of a fleet that hands in all day: each person is due once a day. */
const hours = [
  ['all are judged for the first time', 'select'],
  ['all have handed in, and were judged within a day', 'update vitalsync.profiles set uploaded = id % 20 <> 5'],
  [
    'all have handed in, and one in 24 was judged a day ago',
    `with due as (update vitalsync.silence set last_at = last_at - interval '1 day' where profile_id % 24 = 0)
     update vitalsync.profiles set uploaded = id % 20 <> 5`,
  ],
] as const

/** The processor time of the hourly judging of silence, of this process and of Postgres. */
export async function run({ quick, say }: RoundOptions): Promise<Measure[]> {
  const engines = await startEngines()
  try {
    const people = quick ? 10_000 : 100_000
    const databaseUrl = await engines.database()
    await migrateWarehouse(databaseUrl, () => undefined)
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    await fillEvidence(client, people)
    say(`  ${engines.versions}; ${people} people × ${DAYS} days × ${KINDS.length} kinds of logs`)
    const pool = openWarehousePool({
      databaseUrl,
      division: testDivision,
      connectionsMax: 16,
      name: 'bench',
      pipeline: true,
      statementTimeoutMs: 600_000,
    })
    const measures: Measure[] = []
    for (const [name, text] of hours) {
      await client.query(text)
      await engines.settle()
      const [before, startedAt] = [readCost(), performance.now()]
      await judgeSilence(pool)
      const seconds = totalOf(before, readCost()) / 1e6
      say(
        `  ${name.padEnd(50)} ${seconds.toFixed(1)} s of processor time in ${Math.round(performance.now() - startedAt)} ms`,
      )
      const none = { ratio: null, against: null, goal: null, holds: null }
      measures.push({ name: `silence, ${name}`, value: rounded(seconds), unit: 's', ...none })
    }
    await pool.end()
    await client.end()
    return measures
  } finally {
    await engines.close()
  }
}

/** Each person hands in all kinds once a day, at an hour of their own; one in twenty stopped within the last thirty days. */
async function fillEvidence(client: pg.Client, people: number): Promise<void> {
  await client.query('set synchronous_commit = off')
  await insertPeople(client, peopleNames(people, 'person-', 6), {
    state: `'active'`,
    wanted_from: `now() - interval '${DAYS} days'`,
  })
  await client.query(
    `insert into vitalsync.log_days (profile_id, local_date, kind, minutes, first_at, last_at, first_parcel, last_parcel, device, revised)
     select p.id, current_date - d, k, (b'1' || repeat('01', 700)::varbit)::bit(1440), u.at, u.at + interval '2 hours', 1, 2, 'watch', false
     from vitalsync.profiles p, generate_series(${DAYS}, 0, -1) d, unnest($1::text[]) k,
       lateral (select current_date - d + interval '1 hour' * (p.id % 20) + interval '1 minute' * (p.id * d % 120) as at) u
     where u.at <= now() and (p.id % 20 <> 5 or d > p.id / 20 % 30)`,
    [KINDS],
  )
  await client.query('vacuum analyze')
}
