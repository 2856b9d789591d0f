import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { device } from '../support/conformance.ts'
import { soon, test as withDatabase } from '../support/fixtures.ts'
import { countLockWaiters, rowsFrom } from '../support/lock-waiters.ts'
import {
  accountAuth,
  call,
  type RegisteredProfile,
  registerProfile,
  type ServiceWorld,
  stepsLog,
  test,
  withService,
} from './service-world.ts'

/** Every request that writes data of a profile, or issues tokens for it. */
function writes(world: ServiceWorld, { externalId, auth, account, refreshToken }: RegisteredProfile) {
  const callOwn = (method: string, path: string, body: unknown) =>
    call(world, `/api/v1/${path}`, { method, auth, body })
  const event = { type: 'event', name: 'a', source: 'b', startDateTime: '2026-07-11' }
  return [
    () => callOwn('POST', 'profile/data/log', [stepsLog()]),
    () => callOwn('POST', 'profile/tag', event),
    () => callOwn('PUT', 'profile/demographic', { age: 40 }),
    () => callOwn('PATCH', 'profile/demographic', { age: 41 }),
    () => callOwn('PUT', 'profile/deviceInformation', device),
    () => callOwn('POST', 'oauth/profile/refreshToken', { refreshToken }),
    () => call(world, `/api/v1/profile/tag/${externalId}`, { method: 'POST', auth: account, body: event }),
    () => call(world, '/api/v1/oauth/profile/token', { method: 'POST', auth: account, body: { externalId } }),
    () => call(world, '/api/v1/oauth/profile/register', { method: 'POST', auth: account, body: { externalId } }),
  ]
}

test('a profile that is erased while everything is written for it fails nothing', async ({ world }) => {
  const account = await accountAuth(world)
  for (let round = 0; round < 12; round += 1) {
    const person = await registerProfile(world, { account })
    const erase = () => call(world, '/api/v1/profile', { method: 'DELETE', auth: account, body: [person.externalId] })
    const all = writes(world, person)
    const mixed = [...all.slice(0, round % all.length), erase, ...all.slice(round % all.length), erase]

    const answers = await Promise.all(mixed.map((ask) => ask()))

    for (const { method, path, status, text } of answers) {
      expect([200, 201, 204, 400, 401, 404], `${method} ${path} ${text}`).toContain(status)
    }
    await erase()
  }
})

test('device information that meets an erasure under way is stored for nobody', async ({ world, inside }) => {
  const person = await registerProfile(world)
  const erasing = await inside.sql.connect()
  await erasing.query('begin')
  await erasing.query('delete from service.profiles where external_id = $1', [person.externalId])
  const writing = call(world, '/api/v1/profile/deviceInformation', { method: 'PUT', auth: person.auth, body: device })
  await expect.poll(() => countLockWaiters(rowsFrom(inside.sql)), soon).toBe(1)
  await erasing.query('commit')
  erasing.release()

  expect((await writing).status).toBe(401)
})

test('a name that is registered and erased by many at once is there once or not at all', async ({ world }) => {
  const account = await accountAuth(world)
  const externalId = `name-${randomUUID()}`
  const ask = (number: number) =>
    number % 3 === 2
      ? call(world, '/api/v1/profile', { method: 'DELETE', auth: account, body: [externalId] })
      : call(world, '/api/v1/oauth/profile/register', { method: 'POST', auth: account, body: { externalId } })

  const answers = await Promise.all(Array.from({ length: 60 }, (_, number) => ask(number)))

  for (const { status } of answers) expect([201, 204, 400]).toContain(status)
  const { json } = await call(world, `/api/v1/account/profile/search?searchParameter=${externalId}`, { auth: account })
  expect(json.totalCount).toBeLessThanOrEqual(1)
})

test('a token that came into the table after its key was revoked opens nothing', async ({ world, inside, other }) => {
  const auth = await accountAuth(world, other)
  const search = async () => (await call(world, '/api/v1/account/profile/search', { auth })).status
  expect(await search()).toBe(200)

  // As if the token had been inserted while the key was being revoked.
  await inside.sql.query('update service.api_keys set revoked_at = now() where public_id = $1', [other.clientId])
  await inside.sql.query('notify service_revocations')

  await expect.poll(search).toBe(401)
})

withDatabase('a token is counted as one, however its header is written', async ({ serviceUrl }) => {
  await withService(serviceUrl, { tokenRequestsPerMinute: 4 }, async (world) => {
    const { auth } = await registerProfile(world)
    const token = auth.split(' ')[1] ?? ''
    const spellings = [
      `profile ${token}`,
      `PROFILE ${token}`,
      `Profile   ${token}`,
      `profile\t${token}`,
      `pRofile ${token}`,
    ]
    const statuses = []
    for (const spelling of spellings) {
      statuses.push((await call(world, '/api/v1/profile/score', { auth: spelling })).status)
    }

    expect(statuses).toEqual([204, 204, 204, 204, 429])
  })
})

withDatabase(
  'where no token is checked, the rate limit counts the address, whatever a header says',
  async ({ serviceUrl }) => {
    await withService(serviceUrl, { tokenRequestsPerMinute: 3 }, async (world) => {
      const body = { clientId: 'nobody', clientSecret: 'wrong' }
      const ask = () =>
        call(world, '/api/v1/oauth/account/token', { method: 'POST', auth: `any ${randomUUID()}`, body })
      const statuses = []
      for (let number = 0; number < 4; number += 1) statuses.push((await ask()).status)

      expect(statuses).toEqual([401, 401, 401, 429])
    })
  },
)
