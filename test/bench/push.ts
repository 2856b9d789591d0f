import { setTimeout as wait } from 'node:timers/promises'
import { DAY } from '../../src/base/time/units.ts'
import { dataLogs } from '../support/stream-by-name.ts'
import { measureBareRequests } from './bare-requests.ts'
import { cannedLog } from './canned.ts'
import { costPer, readCost } from './cost.ts'
import { type Engines, startEngines } from './engines.ts'
import { alternate, type Measure, measureBeside, median, type RoundOptions, rounded, spreadOf } from './measure.ts'
import { startRealService } from './real-service.ts'
import { fillWarehouse, openSubject, people } from './subject.ts'
import { startFastUpstream } from './upstream.ts'

const logsPerProfile = 450
const logsPerRequest = 90
const inFlight = 64
const GOAL = 0.37

/** A million waiting data logs pushed, beside the same batches sent by bare undici. */
export async function run({ quick, say }: RoundOptions): Promise<Measure[]> {
  const profiles = Math.ceil((quick ? 180_000 : 1_000_000) / logsPerProfile)
  const engines = await startEngines()
  const upstream = await startFastUpstream()
  try {
    say(`  ${engines.versions}; ${profiles * logsPerProfile} logs`)
    const ours = () => pushAll({ engines, upstreamUrl: upstream.url, profiles, say })
    const bare = () => sendBare(upstream.url, profiles)
    const contestants = [
      { name: 'bare undici', measure: bare },
      { name: 'push', measure: ours },
    ]
    const figures = await alternate(contestants, { rounds: quick ? 3 : 5, say, ...(quick ? { secondsMax: 15 } : {}) })
    for (const [name, values] of figures) say(`  ${name.padEnd(28)} ${spreadOf(values)} logs/s`)
    return [
      measureBeside(figures, { ours: 'push', against: 'bare undici', unit: 'logs/s', goal: { least: GOAL } }),
      await pushToService(engines, { rounds: quick ? 1 : 3, say }),
    ]
  } finally {
    await upstream.close()
    await engines.close()
  }
}

type Pushing = {
  engines: Engines
  upstreamUrl: string
  settings?: Readonly<Record<string, string>>
  profiles: number
  say: RoundOptions['say']
}

/** Everything that waits, from the run's start to its end. Logs a second. */
async function pushAll({ engines, upstreamUrl, settings = {}, profiles, say }: Pushing): Promise<number> {
  const databaseUrl = await engines.database()
  const queueUrl = engines.redisUrl ?? (await engines.database())
  await fillWarehouse(databaseUrl, people(profiles))
  const subject = await openSubject({ databaseUrl, queueUrl, upstreamUrl, inFlight, settings })
  await fillOutbox(subject.pipeline, profiles)
  await fetchTokens(subject.pipeline)
  await engines.settle()
  const before = readCost()
  const { run: done, seconds } = await subject.run('sync', { streams: [] })
  if (done.itemsPushed !== profiles * logsPerProfile) throw new Error(`push: only ${done.itemsPushed} were pushed`)
  say(`      ${costPer(before, readCost(), done.itemsPushed)}`)
  await subject.close()
  await engines.drop(databaseUrl)
  return done.itemsPushed / seconds
}

const SERVED = 200

/** The same push to the Profile Service itself, on the same two cores: mostly what taking logs in costs. */
async function pushToService(
  engines: Engines,
  { rounds, say }: { rounds: number; say: RoundOptions['say'] },
): Promise<Measure> {
  const rates: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const service = await startRealService(engines, SERVED)
    const { url: upstreamUrl, settings } = service
    rates.push(await pushAll({ engines, upstreamUrl, settings, profiles: SERVED, say }))
    await service.close()
  }
  const name = 'push, to the Profile Service itself'
  return { name, value: rounded(median(rates)), unit: 'logs/s', ratio: null, against: null, goal: null, holds: null }
}

type Filling = Awaited<ReturnType<typeof openSubject>>['pipeline']

/** Puts the logs in as an import would, untimed. */
export async function fillOutbox({ outbox, pool }: Filling, profiles: number): Promise<void> {
  const { rows } = await pool.query<{ id: string }>('select id from vitalsync.profiles order by id')
  const start = Date.now() - 2 * DAY
  for (let at = 0; at < profiles; at += 10) {
    const items = rows.slice(at, at + 10).flatMap(({ id }, index) =>
      Array.from({ length: logsPerProfile }, (_, number) => {
        const startAtMs = start + number * 60_000
        const log = cannedLog((at + index) * logsPerProfile + number, startAtMs)
        const span = { startAtMs, endAtMs: startAtMs + 60_000 }
        return { profileId: id, stream: 'data-logs' as const, itemKey: log.id, body: log.body, ...span }
      }),
    )
    await outbox.add(items)
  }
  await pool.query('vacuum analyze')
  await wait(0)
}

/** A profile's token lives a day. Like that of the bare requests it is there before the clock starts. */
export async function fetchTokens({ upstream, pool }: Filling): Promise<void> {
  const { rows } = await pool.query<{ id: string; external_id: string }>(
    'select id, external_id from vitalsync.profiles order by id',
  )
  for (let at = 0; at < rows.length; at += inFlight) {
    const some = rows.slice(at, at + inFlight)
    await Promise.all(
      some.map(({ id, external_id }) =>
        upstream.pushItems(
          { profileId: id, externalId: external_id },
          { stream: dataLogs, items: [] },
          { lane: 'manual' },
        ),
      ),
    )
  }
}

/** The same bytes in the same batches, from memory, with nothing kept of it. */
async function sendBare(upstreamUrl: string, profiles: number): Promise<number> {
  const start = Date.now() - 2 * DAY
  const bodies = Array.from({ length: logsPerProfile / logsPerRequest }, (_, batch) =>
    Array.from({ length: logsPerRequest }, (_, number) => {
      const index = batch * logsPerRequest + number
      return cannedLog(index, start + index * 60_000).body
    }),
  )
  const requests = profiles * bodies.length
  const rate = await measureBareRequests(upstreamUrl, {
    inFlight,
    requests,
    async send(http, at) {
      const answer = await http.request({
        method: 'POST',
        path: '/api/v1/profile/data/log',
        headers: { authorization: 'profile profile-token', 'content-type': 'application/json' },
        body: `[${(bodies[at % bodies.length] ?? []).join(',')}]`,
      })
      JSON.parse(await answer.body.text())
    },
  })
  return rate * logsPerRequest
}
