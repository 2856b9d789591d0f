import { soon } from '../support/fixtures.ts'
import { ownQueue } from '../support/own-redis.ts'
import { isReadOf } from '../support/peer.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'
import { startWorkerProcess } from './workers.ts'

const WITHIN = { timeout: 40_000, interval: 50 }
const scoresOf = (line: TestPipeline) => line.rows('select 1 from vitalsync.scores')

for (const engine of queueKinds) {
  test.concurrent(`a job is taken over at once from a dead worker whose clock was two hours ahead (${engine})`, async ({
    open,
    peer,
    onTestFinished,
    expect,
    skip,
  }) => {
    const line = await open(engine, await ownQueue(engine, { skip, onTestFinished }))
    await line.addProfiles('ada')
    peer.give('ada', 'scores', [scoreOf(10, 0.4)])
    const jumped = await startWorkerProcess(line.settings)
    onTestFinished(() => jumped.kill())
    jumped.jumpClock()
    const held = peer.hold(isReadOf('scores'))
    await line.tick('sync')
    await held.reached

    await jumped.kill()
    held.release()
    line.work(2000)

    await expect.poll(() => scoresOf(line), WITHIN).toHaveLength(1)
  })

  test.concurrent(`a job that failed under a clock two hours ahead is tried again within seconds (${engine})`, async ({
    open,
    peer,
    onTestFinished,
    expect,
    skip,
  }) => {
    const line = await open(engine, await ownQueue(engine, { skip, onTestFinished }))
    await line.addProfiles('ada')
    peer.give('ada', 'scores', [scoreOf(10, 0.4)])
    const answerFirst = peer.before
    peer.before = (seen) => (isReadOf('scores')(seen) ? { status: 500 } : answerFirst(seen))
    const jumped = await startWorkerProcess(line.settings)
    onTestFinished(() => jumped.kill())
    jumped.jumpClock()
    await line.tick('sync')
    await expect.poll(async () => (await line.pipeline.queue.backlog('manual')).delayed, soon).toBe(1)

    await jumped.kill()
    peer.before = answerFirst
    line.work(2000)

    await expect.poll(() => scoresOf(line), WITHIN).toHaveLength(1)
  })
}
