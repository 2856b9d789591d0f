import { expect } from 'vitest'
import { createFailures } from '../../src/pipeline/warehouse/runs/stored-failures.ts'
import { soon } from '../support/fixtures.ts'
import { isReadOf } from '../support/peer.ts'
import { json, reasonOfTitle } from '../support/profile-stub.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { queueKinds, test } from '../support/test-pipeline.ts'

const names = ['ada', 'bob', 'eve']

for (const engine of queueKinds) {
  test(`a refused window blocks neither the person's others nor other people (${engine})`, async ({ open, peer }) => {
    const line = await open(engine)
    await line.addProfiles(...names)
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
    expect(String(refusals[0]?.['reason'])).toContain(reasonOfTitle('no such window'))
    expect(await line.rows('select 1 from vitalsync.failures')).toEqual([])

    // The next tick does not read the refused window.
    const asked = peer.seen.filter(isBad).length
    await line.tick('nightly')
    await line.idle()
    expect(peer.seen.filter(isBad)).toHaveLength(asked)
    expect(Number(run.id)).toBeGreaterThan(0)
  })
}

for (const engine of queueKinds) {
  test(`a profile that upstream answers with a redirect is refused alone, and the run ends (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine)
    await line.addProfiles(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
    const isMoved = isReadOf('scores', 'bob')
    const before = peer.before
    peer.before = (seen) => (isMoved(seen) ? { status: 301, headers: { location: '/elsewhere' } } : before(seen))
    const working = line.work()

    const run = await line.tick('sync', { streams: ['scores'] })
    await expect.poll(async () => (await line.pipeline.runs.get(run.id))?.state, soon).toBe('done')

    expect(working.halted()).toBeUndefined()
    const found = await line.rows('select external_id from warehouse.scores order by 1')
    expect(found).toEqual([{ external_id: 'ada' }, { external_id: 'eve' }])
    const failures = await createFailures(line.pipeline).list({}, 100)
    expect(failures.length).toBeGreaterThan(0)
    for (const failure of failures) {
      expect(failure).toMatchObject({ kind: 'window', externalId: 'bob', subject: 'scores', status: 301 })
      expect(failure.hint).toContain('UPSTREAM_URL')
    }
  })
}

test('someone upstream does not know fails once, clearly, and is not tried at every sweep', async ({ open, peer }) => {
  const line = await open('postgres')
  await line.addProfiles('ada', 'nobody')
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
  await line.addProfiles('busy', ...many)
  for (const name of ['busy', ...many]) peer.give(name, 'scores', [scoreOf(10, 0.4)])
  const isBusy = isReadOf('scores', 'busy')
  const before = peer.before
  peer.before = (seen) => (isBusy(seen) ? json(500, {}, { 'retry-after': '1' }) : before(seen))
  line.work()

  const streams = ['scores']
  const [, ...others] = await line.addProfiles('busy', ...many)
  await line.tick('sync', { streams })
  const failed = () => line.rows('select 1 from vitalsync.refusals')
  await expect
    .poll(async () => {
      await line.tick('sync', { streams, profileIds: others })
      await line.pipeline.engine.queue('manual').promoteJobs()
      await line.pipeline.engine.queue('manual').removeRateLimitKey()
      return failed()
    })
    .not.toEqual([])

  expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(many.length)
})
