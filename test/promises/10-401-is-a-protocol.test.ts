import { expect } from 'vitest'
import { scoreOf } from '../support/sample-scores.ts'
import { queueKinds, test } from '../support/test-pipeline.ts'

for (const engine of queueKinds) {
  test(`a token that dies in mid-run is renewed once, and no job notices (${engine})`, async ({ open, peer }) => {
    const line = await open(engine)
    const names = Array.from({ length: 20 }, (_, index) => `person-${index}`)
    await line.addProfiles(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
    line.work()
    await line.tick('sync', { streams: ['scores'] })
    await line.idle()
    expect(peer.calls('oauth/account/token')).toBe(1)

    peer.revokeAll()
    const run = await line.tick('sync', { streams: ['scores'] })
    await line.idle()

    expect(peer.calls('oauth/account/token')).toBe(2)
    expect(line.logged()).not.toMatch(/will be tried again|the lane pauses|"failed"/)
    await expect.poll(async () => (await line.pipeline.runs.get(run.id))?.state).toBe('done')
    expect(await line.pipeline.runs.get(run.id)).toMatchObject({ done: 20, failed: 0 })
  })
}

for (const engine of queueKinds) {
  test(`credentials that are refused stop the account with a reason, and make no storm (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine, { UPSTREAM_CLIENT_SECRET: 'wrong' })
    const names = Array.from({ length: 20 }, (_, index) => `person-${index}`)
    await line.addProfiles(...names)
    for (const name of names) peer.profiles.add(name)
    const working = line.work()

    await line.tick('sync', { streams: ['scores'] })

    await expect.poll(() => working.halted()?.message).toBeTruthy()
    expect(peer.calls('oauth/account/token')).toBeLessThan(6)
    expect(await line.rows('select 1 from vitalsync.failures')).toEqual([])

    // A paused lane does not delay the close of the worker.
    const startedAt = performance.now()
    await working.close()
    expect(performance.now() - startedAt).toBeLessThan(10_000)
  })
}
