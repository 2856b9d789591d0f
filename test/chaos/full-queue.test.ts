import { soon } from '../support/fixtures.ts'
import { ownQueue } from '../support/own-redis.ts'
import { startProgram } from '../support/run-program.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { startSilentProxy } from '../support/silent-proxy.ts'
import { queueKinds, test } from '../support/test-pipeline.ts'

for (const engine of queueKinds) {
  test.concurrent(`a worker whose queue refuses its first connections says so, works when it may, and ends on SIGTERM (${engine})`, async ({
    open,
    peer,
    onTestFinished,
    expect,
    skip,
  }) => {
    const line = await open(engine, await ownQueue(engine, { skip, onTestFinished }))
    await line.addProfiles('ada')
    peer.give('ada', 'scores', [scoreOf(10, 0.4)])
    await line.tick('sync', { streams: ['scores'] })
    const proxy = await startSilentProxy(line.settings['QUEUE_URL'] ?? '')
    onTestFinished(() => proxy.close())
    // The queue's tables are made on a connection of another name: the worker begins, and then finds no connection left.
    proxy.cut(engine === 'postgres' ? 'vitalsync queue' : '')
    const worker = startProgram(['worker'], {
      cwd: '/tmp',
      env: { ...line.settings, QUEUE_URL: proxy.url, LOG_LEVEL: 'info' },
    })
    onTestFinished(() => worker.kill('SIGKILL'))
    await worker.said(/the heartbeat cannot be written/)

    proxy.restore()
    await expect.poll(() => line.rows('select 1 from vitalsync.scores'), soon).toHaveLength(1)
    await expect.poll(() => line.rows('select 1 from vitalsync.workers'), soon).toHaveLength(1)
    worker.kill('SIGTERM')

    const { code, stderr } = await worker.ended
    expect(code, stderr).toBe(0)
    expect(stderr.match(/the heartbeat cannot be written/g)).toHaveLength(1)
    expect(await line.rows('select 1 from vitalsync.workers')).toEqual([])
  })
}
