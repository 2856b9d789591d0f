import { expect } from 'vitest'
import { engines, test } from '../support/pipeline.ts'
import { scoreOf } from '../support/records.ts'

for (const engine of engines) {
  test(`a token that dies in mid-run is renewed once, and no job notices (${engine})`, async ({ open, peer }) => {
    const line = await open(engine)
    const names = Array.from({ length: 20 }, (_, index) => `person-${index}`)
    await line.people(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
    line.work()
    await line.tick('sync', { streams: ['scores'] })
    await line.idle()
    expect(peer.calls('oauth/account/token')).toBe(1)

    peer.revokeAll()
    const run = await line.tick('sync', { streams: ['scores'] })
    await line.idle()

    expect(peer.calls('oauth/account/token')).toBe(2)
    expect(line.logged()).not.toMatch(/will be tried again|"failed"/)
    await expect.poll(async () => (await line.pipeline.runs.get(run.id))?.state, { timeout: 10_000 }).toBe('done')
    expect(await line.pipeline.runs.get(run.id)).toMatchObject({ done: 20, failed: 0 })
  })
}

for (const engine of engines) {
  test(`credentials that are refused stop the account with a reason, and make no storm (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine, { UPSTREAM_CLIENT_SECRET: 'wrong' })
    const names = Array.from({ length: 20 }, (_, index) => `person-${index}`)
    await line.people(...names)
    for (const name of names) peer.profiles.add(name)
    const working = line.work()

    await line.tick('sync', { streams: ['scores'] })

    await expect.poll(() => working.halted()?.message, { timeout: 20_000 }).toBeTruthy()
    expect(peer.calls('oauth/account/token')).toBeLessThan(6)
    expect(await line.rows('select 1 from vitalsync.failures')).toEqual([])

    // Nor does a lane that rests keep the worker from leaving.
    const startedAt = performance.now()
    await working.close()
    expect(performance.now() - startedAt).toBeLessThan(10_000)
  })
}
