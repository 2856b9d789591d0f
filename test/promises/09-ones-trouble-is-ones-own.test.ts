import { expect } from 'vitest'
import { isReadOf } from '../support/peer.ts'
import { engines, test } from '../support/pipeline.ts'
import { json } from '../support/profile-stub.ts'
import { scoreOf } from '../support/records.ts'

const names = ['ada', 'bob', 'eve']

for (const engine of engines) {
  test(`a refused window blocks neither the person's others nor other people (${engine})`, async ({ open, peer }) => {
    const line = await open(engine)
    await line.people(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
    for (const name of names)
      peer.give(name, 'tags', [{ type: 'event', name: 'x', source: 's', startDateTime: scoreOf(9, 0).createdAt }])
    const isBad = isReadOf('scores', 'bob')
    const before = peer.before
    peer.before = (seen) => (isBad(seen) ? json(400, { title: 'no such window' }) : before(seen))
    line.work()

    const run = await line.tick('nightly')
    await line.idle()

    const found = await line.rows('select external_id from warehouse.scores order by 1')
    expect(found).toEqual([{ external_id: 'ada' }, { external_id: 'eve' }])
    expect(await line.rows('select 1 from warehouse.tags')).toHaveLength(3)
    const refusals = await line.rows(
      'select stream, status, reason, next_try_at > now() as waits from vitalsync.refusals',
    )
    expect(refusals.length).toBeGreaterThan(0)
    expect(refusals[0]).toMatchObject({ stream: 'scores', status: 400, waits: true })
    expect(String(refusals[0]?.['reason'])).toContain('no such window')
    expect(await line.rows('select 1 from vitalsync.failures')).toEqual([])

    // The next tick does not even ask for it.
    const asked = peer.seen.filter(isBad).length
    await line.tick('nightly')
    await line.idle()
    expect(peer.seen.filter(isBad)).toHaveLength(asked)
    expect(Number(run.id)).toBeGreaterThan(0)
  })
}

test('someone upstream does not know fails once, clearly, and is not tried at every sweep', async ({ open, peer }) => {
  const line = await open('postgres')
  await line.people('ada', 'nobody')
  peer.give('ada', 'scores', [scoreOf(10, 0.4)])
  line.work()

  await line.tick('sweep')
  await line.idle()
  await line.tick('sweep')
  await line.idle()

  const failures = await line.rows('select job, reason, attempts from vitalsync.failures')
  expect(failures).toEqual([
    { job: 'sync-profile', reason: expect.stringContaining('not known upstream'), attempts: 1 },
  ])
  expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(1)
})

test('someone for whom upstream is always busy uses up attempts once others get on', async ({ open, peer }) => {
  const line = await open('postgres', { CONCURRENCY: '2' })
  const many = Array.from({ length: 6 }, (_, index) => `person-${index}`)
  await line.people('busy', ...many)
  for (const name of ['busy', ...many]) peer.give(name, 'scores', [scoreOf(10, 0.4)])
  const isBusy = isReadOf('scores', 'busy')
  const before = peer.before
  peer.before = (seen) => (isBusy(seen) ? json(500, {}, { 'retry-after': '1' }) : before(seen))
  line.work()

  const streams = ['scores']
  const [, ...others] = await line.people('busy', ...many)
  await line.tick('sync', { streams })
  const failed = () => line.rows('select 1 from vitalsync.refusals')
  await expect
    .poll(
      async () => {
        await line.tick('sync', { streams, profileIds: others })
        await line.pipeline.engine.queue('manual').promoteJobs()
        await line.pipeline.engine.queue('manual').removeRateLimitKey()
        return failed()
      },
      { timeout: 28_000, interval: 20 },
    )
    .not.toEqual([])

  expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(many.length)
})
