import { expect } from 'vitest'
import { openSession, send } from '../send.ts'
import { test } from './dashboard-world.ts'
import { serveWithPasswords } from './visitor.ts'

test('Bull Board shows the lanes by the dashboard’s rules, and no payload names a person', async ({ visit, world }) => {
  await world.pipeline.engine
    .queue('manual')
    .add('sync-profile', { profileId: '999999' } as never, { delay: 3_600_000 })
  const page = await visit('/queues')
  await page.getByText('vitalsync-manual').first().waitFor()
  const told = await (await fetch(`${world.url}/queues/api/queues?activeQueue=vitalsync-manual&page=1`)).text()
  expect(told).toContain('999999')
  for (const { external_id } of await world.rows('select external_id from vitalsync.profiles'))
    expect(told).not.toContain(external_id)
})

test('a job is cleaned away by an actor with the session’s token, and recorded; nothing else is changed by hand', async ({
  visit,
  world,
}) => {
  const queue = world.pipeline.engine.queue('backfill')
  const job = await queue.add('sync-profile', { profileId: '999999' } as never, { delay: 3_600_000 })
  const session = await openSession(world.url)
  const put = (path: string, more = {}) =>
    send(`${world.url}/queues/api/queues/vitalsync-backfill/${path}`, {
      ...session,
      method: 'PUT',
      body: '{}',
      ...more,
    })

  expect((await put(`${job.id}/clean`, { 'x-csrf-token': '' })).status).toBe(403)
  expect((await put(`${job.id}/clean`, { origin: 'http://attacker.example' })).status).toBe(403)
  expect((await put('obliterate')).status).toBe(403)
  expect((await put('pause')).status).toBe(403)
  expect(await queue.getJob(job.id ?? '')).toBeDefined()

  const page = await visit('/queues/queue/vitalsync-backfill?status=delayed')
  await page.getByText('sync-profile').first().waitFor()
  const answered = page.waitForResponse((response) => response.request().method() === 'PUT')
  // The fifth of the job's buttons, which have pictures and no names.
  await page.getByRole('button', { name: 'Clean all' }).locator('xpath=following::button[5]').click()
  await page.getByRole('button', { name: 'Confirm', exact: true }).click()
  expect((await answered).status()).toBeLessThan(300)
  expect(await queue.getJob(job.id ?? '')).toBeUndefined()
  expect(
    await world.rows(`select role, what ->> 'jobId' as job from warehouse.audit where action = 'queues/clean'`),
  ).toEqual([{ role: 'act', job: job.id }])
})

test('Bull Board asks for a sign-in, and a visitor who only looks changes nothing there', async ({ world }) => {
  const { url } = await serveWithPasswords(world)
  expect((await send(`${url}/queues`)).headers.location).toBe('/')
  expect((await send(`${url}/queues/api/queues`)).status).toBe(401)
  const visitor = await openSession(url)
  const body = JSON.stringify({ name: 'ada', password: 'correct horse battery' })
  const entered = await send(`${url}/api/sign-in`, { ...visitor, body })
  const cookie = entered.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  const session = { ...visitor, cookie, 'x-csrf-token': JSON.parse(entered.body).csrf }

  expect((await send(`${url}/queues/api/queues`, { cookie })).status).toBe(200)
  expect(JSON.parse((await send(`${url}/queues/api/queues`, { cookie })).body).queues[0].readOnlyMode).toBe(true)
  const retry = `${url}/queues/api/queues/vitalsync-manual/retry/failed`
  expect((await send(retry, { ...session, method: 'PUT', body: '{}' })).status).toBe(403)
})
