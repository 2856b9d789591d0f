import { scoreOf } from '../support/sample-scores.ts'
import { startSilentProxy } from '../support/silent-proxy.ts'
import { test } from '../support/test-pipeline.ts'
import { startWorkerProcess } from './workers.ts'

/**
 * Texts that a worker sends on one connection (PGCOPY is the head of a COPY's rows) while it holds the lock of a ledger row. The
 * connection freezes right after the last of each list.
 */
const steps = [['PGCOPY'], ['write ledger'], ['write ledger', '\u000bcommit']]
/** As long as the frozen worker's: how soon its job is taken over is not what is measured here. */
const NEIGHBOUR_LEASE_MS = 2000
const freeWithin = { timeout: 30_000, interval: 200 }

for (const step of steps) {
  test.concurrent(`a commit that freezes at “${step.at(-1)?.trim()}” holds up its neighbours for less than 30 s`, async ({
    open,
    peer,
    onTestFinished,
    expect,
  }) => {
    const line = await open('postgres')
    const proxy = await startSilentProxy(line.settings['DATABASE_URL'] ?? '')
    onTestFinished(() => proxy.close())
    const [profileId = ''] = await line.addProfiles('ada')
    peer.give('ada', 'scores', [scoreOf(10, 0.4)])
    const worker = await startWorkerProcess({ ...line.settings, DATABASE_URL: proxy.url })
    onTestFinished(() => worker.kill())
    const frozen = proxy.freezeAfter(...step)
    await line.tick('sync', { streams: ['scores'] })
    await frozen
    worker.pause()
    line.work(NEIGHBOUR_LEASE_MS)

    const locked = `select 1 from vitalsync.ledger where profile_id = ${profileId} and stream = 'scores' for update nowait`
    const isFree = () =>
      line.rows(locked).then(
        ({ length }) => length,
        (error: { code?: string; cause?: { code?: string } }) => error.code ?? error.cause?.code,
      )
    expect(await isFree()).toBe('55P03')
    await expect.poll(isFree, freeWithin).toBe(1)
    await expect.poll(() => line.rows('select value from vitalsync.scores'), freeWithin).toEqual([{ value: 0.4 }])
  })
}
