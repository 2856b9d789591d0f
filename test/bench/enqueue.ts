import { setTimeout as wait } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { migrateWarehouse } from '../../src/operations/migrate-warehouse.ts'
import { openWarehousePool } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { insertPeople, peopleNames } from '../support/insert-people.ts'
import { testDivision } from '../support/test-pool.ts'
import { startEngines } from './engines.ts'
import { type Measure, median, type RoundOptions, rounded } from './measure.ts'
import { openSubject } from './subject.ts'
import { startFastUpstream } from './upstream.ts'

const backlogMax = 10_000
const RATIO_GOAL = 0.65

/**
 * Planning and enqueueing of a million due profiles: profiles a second beside bare `addBulk` of the same tickets, the
 * producer's memory on the way, and the queue's when nobody takes anything out.
 */
export async function run({ quick, say }: RoundOptions): Promise<Measure[]> {
  const profiles = quick ? 60_000 : 1_000_000
  const engines = await startEngines()
  const upstream = await startFastUpstream()
  const { redisUrl } = engines
  if (redisUrl === undefined) {
    say('  left out: no redis-server on the PATH')
    await engines.close()
    return []
  }
  try {
    const databaseUrl = await engines.database()
    await fill(databaseUrl, profiles)
    const rates: number[] = []
    const ratios: number[] = []
    const growth: number[] = []
    for (let round = 0; round < (quick ? 2 : 3); round++) {
      const one = await produceAll({ databaseUrl, redisUrl, upstreamUrl: upstream.url, profiles, say })
      const bare = await addBare(redisUrl, Math.min(profiles, 100_000))
      say(`    round ${round + 1}  ${Math.round(one.rate)} profiles/s, bare addBulk ${Math.round(bare)} jobs/s`)
      rates.push(one.rate)
      ratios.push(one.rate / bare)
      growth.push(one.growthMb)
    }
    const bounded = await fillToTheBrim({ databaseUrl, redisUrl, upstreamUrl: upstream.url, profiles, say })
    const rate = rounded(median(rates))
    const grown = rounded(median(growth))
    return [
      {
        name: 'enqueue',
        value: rate,
        unit: 'profiles/s',
        ratio: rounded(median(ratios)),
        against: 'bare addBulk',
        goal: `≥ ${RATIO_GOAL}`,
        holds: median(ratios) >= RATIO_GOAL,
      },
      {
        name: 'enqueue: producer memory, 10,000 to all',
        value: grown,
        unit: 'MB',
        ratio: null,
        against: null,
        goal: '≤ 50 MB',
        holds: grown <= 50,
      },
      {
        name: 'enqueue: jobs waiting when nobody works',
        value: bounded,
        unit: 'jobs',
        ratio: rounded(bounded / backlogMax),
        against: 'backlog setting',
        goal: '≤ 1.1',
        holds: bounded <= 1.1 * backlogMax,
      },
    ]
  } finally {
    await upstream.close()
    await engines.close()
  }
}

async function fill(databaseUrl: string, profiles: number): Promise<void> {
  await migrateWarehouse(databaseUrl, () => undefined)
  const pool = openWarehousePool({ databaseUrl, division: testDivision, connectionsMax: 1, name: 'bench' })
  await insertPeople(pool, peopleNames(profiles), { wanted_from: `now() - interval '30 days'`, state: `'active'` })
  await pool.query('vacuum analyze')
  await pool.end()
}

type Place = {
  databaseUrl: string
  redisUrl: string
  upstreamUrl: string
  profiles: number
  say: (line: string) => void
}

const residentMb = () => process.memoryUsage().rss / 2 ** 20

/** Enqueues everybody while nobody works, so that the producer is all there is to see. */
async function produceAll({ databaseUrl, redisUrl, upstreamUrl, profiles, say }: Place) {
  const settings = { BACKLOG_MAX: '1000000' }
  const subject = await openSubject({ databaseUrl, queueUrl: redisUrl, upstreamUrl, works: false, settings })
  const redis = new Redis(redisUrl)
  let atTenThousand: number | undefined
  let peak = 0
  const look = setInterval(() => {
    void subject.pipeline.queue.backlog('manual').then(({ waiting }) => {
      if (waiting >= 10_000) atTenThousand ??= residentMb()
    })
    peak = Math.max(peak, residentMb())
  }, 50)
  globalThis.gc?.()
  const { seconds } = await subject.produce('sync', {})
  clearInterval(look)
  const memory = /used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]
  const growthMb = Math.max(0, peak - (atTenThousand ?? peak))
  say(
    `      queue holds ${profiles} jobs in ${Math.round(Number(memory) / 2 ** 20)} MB; producer grew ${growthMb.toFixed(1)} MB`,
  )
  await subject.close()
  await redis.flushall()
  redis.disconnect()
  return { rate: profiles / seconds, growthMb }
}

async function addBare(redisUrl: string, jobs: number): Promise<number> {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null })
  const queue = new Queue('bare', { connection })
  const startedAt = performance.now()
  for (let at = 0; at < jobs; at += 1000) {
    const ticket = (_: unknown, index: number) => ({
      name: 'job',
      data: { payload: { profileId: String(at + index) } },
    })
    await queue.addBulk(Array.from({ length: 1000 }, ticket))
  }
  const seconds = (performance.now() - startedAt) / 1000
  await queue.close()
  await connection.flushall()
  connection.disconnect()
  return jobs / seconds
}

/** Lets the producer run against a queue that nobody empties, and says how many jobs it dared to put there. */
async function fillToTheBrim({ databaseUrl, redisUrl, upstreamUrl, say }: Place): Promise<number> {
  const settings = { BACKLOG_MAX: String(backlogMax) }
  const subject = await openSubject({ databaseUrl, queueUrl: redisUrl, upstreamUrl, works: false, settings })
  const producing = subject.produce('sync', {}).catch(() => undefined) // it waits for ever, until its pipeline closes
  let waiting = 0
  for (let still = 0; still < 4; ) {
    await wait(250)
    const now = (await subject.pipeline.queue.backlog('manual')).waiting
    still = now === waiting && now > 0 ? still + 1 : 0
    waiting = now
  }
  say(`    a backlog of at most ${backlogMax}: the producer stopped at ${waiting}`)
  subject.stop()
  await producing
  await subject.close()
  return waiting
}
