import { soon } from '../support/fixtures.ts'
import { ownQueue } from '../support/own-redis.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { type Direction, startSilentProxy } from '../support/silent-proxy.ts'
import { type QueueKind, test } from '../support/test-pipeline.ts'
import { startWorkerProcess } from './workers.ts'

type Edge = 'DATABASE_URL' | 'QUEUE_URL'
type Case = { engine: QueueKind; edge: Edge; silent: Direction[] }

const directions: Direction[][] = [['to-server'], ['to-client'], ['to-server', 'to-client']]
const every: Case[] = (['redis', 'postgres'] as const).flatMap((engine) =>
  (['DATABASE_URL', 'QUEUE_URL'] as const).flatMap((edge) => directions.map((silent) => ({ engine, edge, silent }))),
)
/** Each edge of each engine once; all directions of each with SILENCE=every. */
const cases =
  process.env['SILENCE'] === 'every'
    ? every
    : every.filter(({ engine, edge, silent }) => {
        const ways = engine === 'redis' ? ['to-server', 'to-client'] : ['to-client', 'to-server,to-client']
        return silent.join() === ways[edge === 'DATABASE_URL' ? 0 : 1]
      })

const names = Array.from({ length: 60 }, (_, index) => `person-${index}`)
/** After the network is back, how long until all work goes on. */
const backWithin = { timeout: 60_000, interval: 200 }

for (const { engine, edge, silent } of cases) {
  test.concurrent(`a worker resumes automatically after ${edge} was silent ${silent.join(' and ')} (${engine})`, async ({
    open,
    peer,
    onTestFinished,
    expect,
    skip,
  }) => {
    const queueSettings = await ownQueue(engine, { skip, onTestFinished })
    const line = await open(engine, { CONCURRENCY: '4', STATEMENT_SECONDS: '2', ...queueSettings })
    const proxy = await startSilentProxy(line.settings[edge] ?? '')
    onTestFinished(() => proxy.close())
    await line.addProfiles(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4), scoreOf(40, 0.7)])
    const worker = await startWorkerProcess({ ...line.settings, [edge]: proxy.url })
    onTestFinished(() => worker.kill())
    await line.tick('sync', { streams: ['scores'] })
    const stored = () => line.rows('select count(*)::int as n from vitalsync.scores')
    const isUnderWay = async () => Number((await stored())[0]?.['n']) > 0
    await expect.poll(isUnderWay, soon).toBe(true)

    proxy.silence(...silent)
    // The work under way is stuck by now: the number of rows stays the same.
    let before = -1
    const isStill = async () => {
      const now = Number((await stored())[0]?.['n'])
      const same = now === before
      before = now
      return same
    }
    await expect.poll(isStill, { timeout: 30_000, interval: 1000 }).toBe(true)
    proxy.restore()

    await expect.poll(stored, backWithin).toEqual([{ n: 2 * names.length }])
    const distinct = 'select count(distinct (profile_id, score_date_time))::int as n from vitalsync.scores'
    expect(await line.rows(distinct)).toEqual([{ n: 2 * names.length }])
    await line.idle()
    expect(await line.rows('select * from vitalsync.failures')).toEqual([])
  })
}

test.concurrent('SIGTERM ends a worker whose Postgres and queue are silent', async ({
  open,
  peer,
  onTestFinished,
  expect,
}) => {
  const line = await open('postgres', { STATEMENT_SECONDS: '2', DRAIN_SECONDS: '1' })
  const proxy = await startSilentProxy(line.settings['DATABASE_URL'] ?? '')
  onTestFinished(() => proxy.close())
  await line.addProfiles(...names)
  for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
  const proxied = { DATABASE_URL: proxy.url, QUEUE_URL: proxy.url }
  const worker = await startWorkerProcess({ ...line.settings, ...proxied })
  onTestFinished(() => worker.kill())
  await line.tick('sync', { streams: ['scores'] })
  await expect.poll(() => line.rows('select 1 from vitalsync.scores limit 1'), soon).toHaveLength(1)
  proxy.silence('to-client')

  worker.child.kill('SIGTERM')

  await expect.poll(() => worker.child.exitCode, { timeout: 90_000, interval: 100 }).not.toBe(null)
})
