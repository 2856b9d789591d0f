import { expect } from 'vitest'
import { soon } from '../support/fixtures.ts'
import { isReadOf } from '../support/peer.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { queueKinds, test } from '../support/test-pipeline.ts'
import { startWorkerProcess } from './workers.ts'

for (const engine of queueKinds) {
  test(`a worker that sleeps until its job was redone wakes to change nothing (${engine})`, async ({
    open,
    peer,
    onTestFinished,
  }) => {
    const line = await open(engine, { HISTORY_DAYS: '20' })
    await line.addProfiles('ada')
    peer.give('ada', 'scores', [scoreOf(12, 0.1), scoreOf(11, 0.1)])
    const held = peer.hold(isReadOf('scores'), 'after')
    const paused = await startWorkerProcess(line.settings)
    onTestFinished(() => paused.kill())
    await line.tick('sync', { streams: ['scores'] })
    await held.reached
    paused.pause()
    held.release()
    peer.give('ada', 'scores', [scoreOf(12, 0.9)])

    // The lease of the paused worker expires, and another worker does the job, with the records upstream holds by now.
    const successor = await startWorkerProcess(line.settings)
    onTestFinished(() => successor.kill())
    await expect.poll(() => line.rows('select value from vitalsync.scores'), soon).toEqual([{ value: 0.9 }])
    await line.idle()
    const before = await line.rows('select xmin::text, * from vitalsync.scores')

    paused.wake()
    // The ledger lists both readings once the reading of the paused worker was stored.
    const stored = `select jsonb_array_length(recent) as n from vitalsync.ledger where stream = 'scores'`
    await expect.poll(() => line.rows(stored), soon).toEqual([{ n: 2 }])

    expect(await line.rows('select xmin::text, * from vitalsync.scores')).toEqual(before)
  })
}
