import { expect } from 'vitest'
import type { Lane } from '../../src/pipeline/fleet/budget.ts'
import { clearEndedPause, pauseLane, pauseLeftMs } from '../../src/pipeline/queue/lane-pauses.ts'
import { isReadOf } from '../support/peer.ts'
import { json } from '../support/profile-stub.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'

const concurrency = 3
const names = Array.from({ length: 20 }, (_, index) => `person-${index}`)

const linesOf = (line: TestPipeline, message: string) =>
  line
    .logged()
    .split('\n')
    .filter((text) => text.includes(message) && !text.includes('"level":"debug"'))

/** How often jobs were started, and how many attempts they used up; of the jobs that are still in the queue. */
async function attemptsIn(line: TestPipeline, lane: Lane): Promise<{ started: number; made: number }> {
  const jobs = await line.pipeline.engine.queue(lane).getJobs(['waiting', 'active', 'delayed'])
  return {
    started: jobs.reduce((sum, job) => sum + job.attemptsStarted, 0),
    made: jobs.reduce((sum, job) => sum + job.attemptsMade, 0),
  }
}

for (const engine of queueKinds) {
  test(`a rest that upstream asks for is kept by each job from its first refusal on, and uses up no attempt (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine, { CONCURRENCY: String(concurrency), WINDOWS_AT_ONCE: '1' })
    await line.addProfiles(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
    const restMs = 8000
    let restEndsMs: number | undefined
    const asked = { during: 0, after: 0 }
    const awake = Promise.withResolvers<Awaited<ReturnType<typeof attemptsIn>>>()
    const isScore = isReadOf('scores')
    const before = peer.before
    peer.before = async (seen) => {
      if (!isScore(seen)) return before(seen)
      restEndsMs ??= performance.now() + restMs
      const leftMs = restEndsMs - performance.now()
      if (leftMs > 0) {
        asked.during += 1
        return json(429, {}, { 'retry-after': String(Math.ceil(leftMs / 1000)) })
      }
      if (asked.after === 0) awake.resolve(await attemptsIn(line, 'manual'))
      asked.after += 1
      return before(seen)
    }
    line.work()
    await line.tick('sync', { streams: ['scores'] })

    const { started, made } = await awake.promise
    expect(asked.during).toBeLessThanOrEqual(concurrency)
    expect(made).toBe(0)
    // Once before the rest, and once after it.
    expect(started).toBeLessThanOrEqual(2 * concurrency)
    expect(linesOf(line, 'the lane pauses')).toHaveLength(1)
    expect(linesOf(line, 'will be tried again')).toEqual([])

    await line.idle()
    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(names.length)
    expect(await line.rows('select 1 from vitalsync.failures union all select 1 from vitalsync.refusals')).toEqual([])
  })

  test(`a halted account is tried again after a minute, not by every job that waits (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine, { CONCURRENCY: String(concurrency) })
    await line.addProfiles(...names)
    const refusedTokens = () => peer.calls('oauth/account/token')
    const before = peer.before
    peer.before = (seen) => (seen.path.endsWith('oauth/account/token') ? json(403, { title: 'no' }) : before(seen))
    const working = line.work()
    await line.tick('sync', { streams: ['scores'] })

    await expect.poll(() => working.halted()?.message, { timeout: 20_000 }).toBeDefined()
    // The watch lasts ten seconds of the pause, for as long as it is one and the same pause.
    const leftMs = () => pauseLeftMs(line.pipeline.engine.queue('manual'))
    await expect.poll(leftMs, { timeout: 20_000 }).toBeGreaterThan(50_000)
    await expect.poll(leftMs, { timeout: 20_000 }).toBeLessThan(50_000)

    expect(refusedTokens()).toBeLessThanOrEqual(concurrency)
    expect(await attemptsIn(line, 'manual')).toEqual({ started: expect.any(Number), made: 0 })
    expect((await attemptsIn(line, 'manual')).started).toBeLessThanOrEqual(concurrency)
    expect(linesOf(line, 'the account is stopped')).toHaveLength(1)
    expect(await line.rows('select 1 from vitalsync.failures')).toEqual([])
  })

  test(`a shorter pause does not end a longer one (${engine})`, async ({ open }) => {
    const line = await open(engine)
    const queue = line.pipeline.engine.queue('nightly')

    await pauseLane([queue], 60_000)
    await pauseLane([queue], 2000)

    expect(await pauseLeftMs(queue)).toBeGreaterThan(50_000)
  })

  test(`the limit of a pause leaves the queue after the pause, and no sooner (${engine})`, async ({ open, peer }) => {
    const line = await open(engine)
    const queue = line.pipeline.engine.queue('manual')
    await line.addProfiles('alice')
    peer.give('alice', 'scores', [scoreOf(10, 0.4)])

    await pauseLane([queue], 1000) // by a worker that then dies
    expect(await clearEndedPause(queue)).toBe(false)
    expect(await queue.getGlobalRateLimit()).not.toBeNull()
    line.work()
    await line.tick('sync', { streams: ['scores'] })
    await line.idle()

    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(1)
    expect(await queue.getGlobalRateLimit()).toBeNull()
  })
}
