import pg from 'pg'
import { pulledStreams } from '../../config/streams.ts'
import { DAY } from '../../src/base/time/units.ts'
import type { PulledStream } from '../../src/pipeline/transfer/stream.ts'
import { days, pulledNames } from './canned.ts'
import { readCost, totalOf } from './cost.ts'
import { type Engines, startEngines } from './engines.ts'
import { alternate, type Contestant, type Measure, measureBeside, type RoundOptions } from './measure.ts'
import { fillWarehouse, openSubject, people } from './subject.ts'
import { type FastUpstream, startFastUpstream } from './upstream.ts'

const PEOPLE = 400
/** A day with records, and a day before the first of the thirty days with records. */
const [filledDay, emptyDay] = [10, days + 5]
const WITH = 'a night with causes of empty days'
const WITHOUT = 'a night without causes'
const GOAL = 1.02
/** One person in this many: of real people with a watch, in the median 5 days of 100 have no steps (LifeSnaps, 71 people). */
const EMPTY_OF = 20

/** A night in which one person in twenty has an empty day, with its cause and without: processor time of this process and of Postgres. */
export async function run({ quick, say }: RoundOptions): Promise<readonly Measure[]> {
  const streams: readonly PulledStream[] = pulledStreams
  const needs = new Map(streams.map((stream) => [stream, stream.needs]))
  const engines = await startEngines()
  const upstream = await startFastUpstream()
  try {
    const contestants = [WITH, WITHOUT].map(
      (name): Contestant => ({
        name,
        async measure() {
          for (const [stream, needed] of needs) Object.assign(stream, { needs: name === WITH ? needed : undefined })
          return costOfNight(engines, upstream)
        },
      }),
    )
    await costOfNight(engines, upstream) // warms the process up, not counted
    const figures = await alternate(contestants, { rounds: quick ? 3 : 15, say })
    return [measureBeside(figures, { ours: WITH, against: WITHOUT, unit: 'µs a person', goal: { most: GOAL } })]
  } finally {
    await upstream.close()
    await engines.close()
  }
}

/** Each person's five streams were read; of each, one day is due again, and the newest days are. */
async function costOfNight(engines: Engines, upstream: FastUpstream): Promise<number> {
  const databaseUrl = await engines.database()
  await fillWarehouse(databaseUrl, people(PEOPLE))
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(`update vitalsync.profiles set wanted_from = wanted_from - interval '10 days'`)
  // In the order in which nightly imports leave the evidence.
  await client.query(
    `insert into vitalsync.log_days select p.id, current_date - day, kind, repeat('1', 300)::bit(1440), now() - day * interval '1 day',
       now() - day * interval '1 day', 1, 1, 'watch', false
     from vitalsync.profiles p, generate_series(0, 100) day, unnest(array['energy', 'heart', 'movement', 'sleep', 'steps']) kind
     order by day desc, p.id, kind`,
  )
  const subject = await openSubject({
    databaseUrl,
    queueUrl: engines.redisUrl ?? (await engines.database()),
    upstreamUrl: upstream.url,
  })
  await subject.run('sync', { streams: pulledNames })
  const dayOf = (ago: number) => new Date(Math.floor(Date.now() / DAY) * DAY - ago * DAY)
  await client.query(
    `update vitalsync.ledger set covered = covered - tstzmultirange(tstzrange(day, day + interval '1 day'))
     from (select id, case when id % ${EMPTY_OF} = 3 then $1::timestamptz else $2::timestamptz end as day from vitalsync.profiles) p where p.id = profile_id`,
    [dayOf(emptyDay), dayOf(filledDay)],
  )
  await client.query('vacuum analyze')
  await client.end()
  await engines.settle()
  const before = readCost()
  await subject.run('sync', { streams: pulledNames })
  const us = totalOf(before, readCost()) / PEOPLE
  await subject.close()
  await engines.drop(databaseUrl)
  return us
}
