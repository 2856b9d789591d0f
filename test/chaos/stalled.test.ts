import { expect } from 'vitest'
import { soon } from '../support/fixtures.ts'
import { isReadOf } from '../support/peer.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { queueKinds, test } from '../support/test-pipeline.ts'
import { startWorkerProcess } from './workers.ts'

for (const engine of queueKinds) {
  test(`a job whose worker dies time and again is healthy all the same (${engine})`, async ({
    open,
    peer,
    onTestFinished,
  }) => {
    const line = await open(engine)
    await line.addProfiles('ada')
    peer.give('ada', 'scores', [scoreOf(10, 0.4)])
    const run = await line.tick('sync', { streams: ['scores'] })

    for (let deaths = 0; deaths < 2; deaths += 1) {
      const held = peer.hold(isReadOf('scores'))
      const victim = await startWorkerProcess(line.settings, 500)
      onTestFinished(() => victim.kill())
      await held.reached
      await victim.kill()
      held.release()
    }
    const successor = await startWorkerProcess(line.settings, 500)
    onTestFinished(() => successor.kill())

    await expect.poll(() => line.pipeline.runs.get(run.id), soon).toMatchObject({ state: 'done', done: 1, failed: 0 })
    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(1)
  })
}
