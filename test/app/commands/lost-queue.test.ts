import { expect } from 'vitest'
import { MINUTE } from '../../../src/base/time/units.ts'
import { openOwnRedis } from '../../support/own-redis.ts'
import { isReadOf } from '../../support/peer.ts'
import { startProgram } from '../../support/run-program.ts'
import { scoreOf } from '../../support/sample-scores.ts'
import { startSilentProxy } from '../../support/silent-proxy.ts'
import { openTestPipeline, test } from '../../support/test-pipeline.ts'

const people = Array.from({ length: 12 }, (_, index) => `person-${index}`)
const commands = [
  ['sync', '--stream', 'scores'],
  ['backfill', '--from', '2026-01-01', '--stream', 'scores'],
]

test.for(commands)(
  'a Redis that dies in the middle of %s is an outage: its address, and what to do',
  async (words, { warehouseUrl, peer, skip, onTestFinished }) => {
    const redis = await openOwnRedis({ skip, onTestFinished })
    const line = await openTestPipeline({ warehouseUrl, queueUrl: redis.url, upstream: peer })
    await line.addProfiles(...people)
    await line.close()
    for (const name of people) peer.give(name, 'scores', [scoreOf(12, 0.1)])
    const held = peer.hold(isReadOf('scores'))
    onTestFinished(held.release)
    // Closing does not wait for jobs, whose ends the queue could not take.
    const command = startProgram(words, { cwd: '/tmp', env: { ...line.settings, DRAIN_SECONDS: '3600' } })
    onTestFinished(() => command.kill('SIGKILL'))
    await held.reached

    const lostAtMs = performance.now()
    await redis.kill()

    const { code, stderr } = await command.ended
    // Seven seconds on an idle machine: five for jobs to end after they were aborted.
    expect(performance.now() - lostAtMs).toBeLessThan(MINUTE)
    expect(stderr).toContain(`vitalsync: reach Redis at ${new URL(redis.url).host}: nothing listens there`)
    expect(stderr).toContain('→ Start the server')
    expect(stderr).not.toMatch(/unexpected|ioredis|^\s+at /m)
    expect(code).toBe(3)
  },
)

test('so is a Redis that dies behind a proxy while a question is under way', async ({
  warehouseUrl,
  peer,
  skip,
  onTestFinished,
}) => {
  const redis = await openOwnRedis({ skip, onTestFinished })
  const proxy = await startSilentProxy(redis.url)
  onTestFinished(proxy.close)
  const line = await openTestPipeline({ warehouseUrl, queueUrl: proxy.url, upstream: peer })
  await line.addProfiles('ada')
  await line.close()
  peer.give('ada', 'scores', [scoreOf(12, 0.1)])
  const held = peer.hold(isReadOf('scores'))
  onTestFinished(held.release)
  const command = startProgram(['sync', '--stream', 'scores'], { cwd: '/tmp', env: line.settings })
  onTestFinished(() => command.kill('SIGKILL'))
  await held.reached
  await proxy.freezeAfter('queue-id')

  await redis.kill()
  proxy.dropAll() // it still accepts connections, and ends each

  const { code, stderr } = await command.ended
  expect(stderr).toContain(`vitalsync: reach Redis at ${new URL(proxy.url).host}: `)
  expect(stderr).not.toMatch(/unexpected|ioredis|^\s+at /m)
  expect(code).toBe(3)
})
