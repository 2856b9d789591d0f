import pg from 'pg'
import { expect } from 'vitest'
import { soon } from '../support/fixtures.ts'
import { needRedis } from '../support/own-redis.ts'
import { isReadOf } from '../support/peer.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { startSilentProxy } from '../support/silent-proxy.ts'
import { openTestPipeline, queueKinds, redisOfOurOwn, test } from '../support/test-pipeline.ts'
import { startStandby, startWarehouse } from './crash-postgres.ts'

const names = Array.from({ length: 30 }, (_, index) => `person-${index}`)
const CONCURRENCY = 8

/**
 * With a writable primary. The jobs that were under way need not wait for the end of their leases, half a minute. A job whose
 * claim was committed and not answered does: no process knows that it holds it. So all slots are busy when the connections break.
 */
const recovered = { timeout: 10_000, interval: 50 }

for (const engine of queueKinds) {
  test(`a worker waits while its Postgres is a standby, and goes on when the standby is promoted (${engine})`, async ({
    peer,
    skip,
    onTestFinished,
  }) => {
    if (engine === 'redis') needRedis(skip)
    const primary = await startWarehouse()
    let closePrimary: () => Promise<unknown> = primary.close
    onTestFinished(async () => void (await closePrimary()))
    const standby = await startStandby(primary)
    onTestFinished(standby.close)
    const proxy = await startSilentProxy(primary.databaseUrl)
    onTestFinished(() => proxy.close())
    const queueUrl = engine === 'redis' ? await redisOfOurOwn() : proxy.url
    const settings = { CONCURRENCY: String(CONCURRENCY) }
    const line = await openTestPipeline({ warehouseUrl: proxy.url, queueUrl, upstream: peer, settings })
    onTestFinished(() => line.close())
    await line.addProfiles(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(12, 0.1), scoreOf(11, 0.2)])
    const held = Array.from({ length: CONCURRENCY }, () => peer.hold(isReadOf('scores')))
    line.work()
    await line.tick('sync', { streams: ['scores'] })
    await Promise.all(held.map(({ reached }) => reached))

    proxy.redirect(standby.databaseUrl)
    proxy.dropAll()
    for (const { release } of held) release()
    await expect.poll(() => line.logged(), soon).toMatch(/"code":"25006"|cannot execute .* during recovery/)
    closePrimary = async () => undefined
    await primary.close()
    const admin = new pg.Client({ connectionString: standby.databaseUrl })
    await admin.connect()
    await admin.query('select pg_promote()')
    await admin.end()

    const stored = 'select count(*)::int as rows, count(distinct profile_id)::int as people from vitalsync.scores'
    await expect.poll(() => line.rows(stored).catch(() => []), recovered).toEqual([{ rows: 60, people: 30 }])
    await line.idle()
    expect(await line.rows('select * from vitalsync.failures')).toEqual([])
  })
}
