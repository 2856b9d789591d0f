import pg from 'pg'
import { expect } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { startSandbox } from '../../src/service/start-sandbox.ts'
import { openSession, send } from '../browser/send.ts'
import { test } from '../support/fixtures.ts'
import { startSilentProxy } from '../support/silent-proxy.ts'
import { accountAuth, call, registerProfile, withService } from './service-world.ts'

test('/ready answers 503 while the database keeps it waiting, and is ready again after that', async ({
  serviceUrl,
}) => {
  await withService(serviceUrl, {}, async (world) => {
    const holder = new pg.Client({ connectionString: serviceUrl })
    await holder.connect()
    try {
      await holder.query('begin; lock table service.accounts in access exclusive mode')

      const answer = await call(world, '/ready')

      expect([answer.status, JSON.stringify(answer.json)]).toEqual([
        503,
        expect.stringContaining('the database does not answer'),
      ])
    } finally {
      await holder.end()
    }
    await expect.poll(async () => (await call(world, '/ready')).status).toBe(200)
  })
})

const kinds = ['score', 'biomarker', 'archetypes', 'insight/trend', 'insight/comparison', 'tag']

test('each question of the console answers 503 within five seconds while the database stands still', async ({
  serviceUrl,
}) => {
  const proxy = await startSilentProxy(serviceUrl)
  const log = createLog({ level: 'silent' })
  const sandbox = await startSandbox({ databaseUrl: proxy.url, port: 0, profiles: 1, days: 2, seed: 'still', log })
  try {
    await sandbox.derived()
    const console = `${sandbox.url}/console`
    const session = await openSession(console)
    const asked = { keys: {}, people: { keyId: sandbox.clientId }, sandbox: {}, token: { keyId: sandbox.clientId } }
    const answerTo = async ([name, query]: [string, object]) => {
      const beganMs = performance.now()
      const { status } = await send(`${console}/api/${name}`, { ...session, body: JSON.stringify(query) })
      return [name, status, performance.now() - beganMs < 5000]
    }
    const answers = () => Promise.all(Object.entries(asked).map(answerTo))

    expect(await answers()).toEqual(Object.keys(asked).map((name) => [name, 200, true]))
    proxy.silence('to-server', 'to-client')
    expect(await answers()).toEqual(Object.keys(asked).map((name) => [name, 503, true]))
    proxy.restore()
    proxy.dropAll()
    await expect.poll(async () => (await answerTo(['keys', {}]))[1]).toBe(200)
  } finally {
    await sandbox.close()
    await proxy.close()
  }
})

test('reads and logins answer 503 within five seconds while the database stands still, and serve again after that', async ({
  serviceUrl,
}) => {
  const proxy = await startSilentProxy(serviceUrl)
  try {
    await withService(proxy.url, {}, async (world) => {
      const [known, unknown] = [await registerProfile(world), await registerProfile(world)]
      const { externalId, account: auth } = known
      const inOwnForm = [...kinds, 'demographic', 'deviceInformation'].map((kind) => `/api/v1/profile/${kind}`)
      const ofAccount = [
        ...kinds.map((kind) => `/api/v1/profile/${kind}/${externalId}`),
        `/api/v1/account/profile/${externalId}`,
        '/api/v1/account/profile/search',
      ]
      await call(world, '/api/v1/profile/score', { auth: known.auth }) // its token is cached from now on
      const measured = async (asked: ReturnType<typeof call>) => {
        const beganMs = performance.now()
        const { status, headers } = await asked
        return { status, retryAfter: headers.get('retry-after'), isInTime: performance.now() - beganMs < 5000 }
      }
      const { clientId, clientSecret } = world

      proxy.silence('to-server', 'to-client')
      const answers = await Promise.all([
        ...inOwnForm.map((path) => measured(call(world, path, { auth: known.auth }))),
        ...inOwnForm.map((path) => measured(call(world, path, { auth: unknown.auth }))),
        ...ofAccount.map((path) => measured(call(world, path, { auth }))),
        measured(call(world, '/api/v1/oauth/account/token', { method: 'POST', body: { clientId, clientSecret } })),
      ])

      expect(answers).toEqual(answers.map(() => ({ status: 503, retryAfter: '5', isInTime: true })))
      proxy.restore()
      proxy.dropAll()
      await expect.poll(async () => (await call(world, inOwnForm[0] ?? '', { auth: known.auth })).status).toBe(204)
      await accountAuth(world)
    })
  } finally {
    await proxy.close()
  }
})
