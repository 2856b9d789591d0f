import { expect } from 'vitest'
import { soon } from '../support/fixtures.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { test } from '../support/test-pipeline.ts'

test('the credentials of upstream are changed process by process while a run goes on, and then revoked', async ({
  open,
  peer,
}) => {
  const names = Array.from({ length: 15 }, (_, index) => `person-${index}`)
  const former = await open('postgres', { CONCURRENCY: '1' })
  const next = await open('postgres', { UPSTREAM_CLIENT_ID: 'second-client' })
  for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
  await former.addProfiles(...names)
  const formerWorker = former.work()
  const { id } = await former.tick('sync')
  const run = () => former.pipeline.runs.get(id)
  await expect.poll(async () => (await run())?.done, { ...soon, interval: 1 }).toBeGreaterThan(0)

  next.work()
  await formerWorker.close()
  peer.revokeAll()
  await next.idle()

  expect(await run()).toMatchObject({ state: 'done', done: names.length, failed: 0, refused: 0 })
  expect(await next.rows('select 1 from vitalsync.scores')).toHaveLength(names.length)
  expect(await next.rows('select distinct account from vitalsync.tokens')).toHaveLength(2)
  expect(await next.rows('select 1 from vitalsync.failures')).toEqual([])
})
