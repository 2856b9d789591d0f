import { expect } from 'vitest'
import { soon } from '../support/fixtures.ts'
import { isReadOf } from '../support/peer.ts'
import { engines, test } from '../support/pipeline.ts'
import { scoreOf } from '../support/records.ts'
import { startWorkerProcess } from './workers.ts'

for (const engine of engines) {
  test(`a worker that sleeps until its job was redone wakes to change nothing (${engine})`, async ({
    open,
    peer,
    onTestFinished,
  }) => {
    const line = await open(engine, { HISTORY_DAYS: '20' })
    await line.people('ada')
    peer.give('ada', 'scores', [scoreOf(12, 0.1), scoreOf(11, 0.1)])
    const held = peer.hold(isReadOf('scores'), 'after')
    const sleeper = await startWorkerProcess(line.settings)
    onTestFinished(() => sleeper.kill())
    await line.tick('sync', { streams: ['scores'] })
    await held.reached
    sleeper.pause()
    held.release()
    peer.give('ada', 'scores', [scoreOf(12, 0.9)])

    // Its lease runs out, and another worker does the job, on what upstream holds by now.
    const successor = await startWorkerProcess(line.settings)
    onTestFinished(() => successor.kill())
    await expect.poll(() => line.rows('select value from vitalsync.scores'), soon).toEqual([{ value: 0.9 }])
    await line.idle()
    const before = await line.rows('select xmin::text, * from vitalsync.scores')

    sleeper.wake()
    // Both readings are remembered when the sleeper's has come in.
    const stored = `select jsonb_array_length(recent) as n from vitalsync.ledger where stream = 'scores'`
    await expect.poll(() => line.rows(stored), soon).toEqual([{ n: 2 }])

    expect(await line.rows('select xmin::text, * from vitalsync.scores')).toEqual(before)
  })
}
