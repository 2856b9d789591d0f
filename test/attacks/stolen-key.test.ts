import { expect } from 'vitest'
import { endServiceKey, endTokens } from '../../src/app/service-accounts.ts'
import { createLog } from '../../src/base/log.ts'
import { DAY } from '../../src/base/time/units.ts'
import {
  accountAuth,
  call,
  profileAuth,
  registerProfile,
  type ServiceWorld,
  test,
  withService,
} from '../service/service-world.ts'
import { test as withDatabase } from '../support/fixtures.ts'

const log = createLog({ level: 'silent' })
const status = async (world: ServiceWorld, auth: string) =>
  (await call(world, '/api/v1/profile/score', { auth })).status
const refresh = (world: ServiceWorld, auth: string, refreshToken: string) =>
  call(world, '/api/v1/oauth/profile/refreshToken', { method: 'POST', auth, body: { refreshToken } })

withDatabase(
  'what was got with a stolen key ends with the key: profile tokens, refreshed ones, and refresh tokens',
  async ({ serviceUrl: databaseUrl }) => {
    await withService(databaseUrl, {}, async (world) => {
      const stolen = await registerProfile(world)
      const refreshed = await refresh(world, stolen.auth, stolen.refreshToken)
      const auths = [stolen.auth, await profileAuth(world, stolen, {}), `profile ${refreshed.json.profileToken}`]
      const otherPerson = await registerProfile(world, { account: await accountAuth(world, world.other) })
      for (const auth of auths) expect(await status(world, auth)).toBe(204)

      await endServiceKey({ databaseUrl, nowAt: new Date(), log }, world.clientId)

      for (const auth of auths) await expect.poll(() => status(world, auth)).toBe(401)
      for (const auth of auths) expect((await refresh(world, auth, refreshed.json.refreshToken)).status).toBe(401)
      expect(await status(world, otherPerson.auth)).toBe(204)
    })
  },
)

withDatabase('what an app registered ends with the app key', async ({ serviceUrl: databaseUrl }) => {
  await withService(databaseUrl, {}, async (world) => {
    const headers = { appid: world.appId, appsecret: world.appSecret }
    const body = { externalId: 'by app' }
    const path = '/api/v1/oauth/profile/register/appId'
    const { json } = await call(world, path, { method: 'POST', headers, body })
    const auth = `profile ${json.profileToken}`
    expect(await status(world, auth)).toBe(204)

    await endServiceKey({ databaseUrl, nowAt: new Date(), log }, world.appId)

    await expect.poll(() => status(world, auth)).toBe(401)
  })
})

withDatabase(
  'tokens of a profile or of a whole account end by command, and the keys stay',
  async ({ serviceUrl: databaseUrl }) => {
    await withService(databaseUrl, {}, async (world) => {
      const database = { databaseUrl, nowAt: new Date(), log }
      const account = await accountAuth(world)
      const [one, two] = [await registerProfile(world, { account }), await registerProfile(world, { account })]

      await endTokens(database, { account: 'first', externalId: one.externalId })
      await expect.poll(() => status(world, one.auth)).toBe(401)
      const refreshed = await refresh(world, two.auth, two.refreshToken)
      expect(refreshed.status).toBe(200)

      await endTokens(database, { account: 'first', externalId: undefined })
      await expect.poll(() => status(world, two.auth)).toBe(401)
      const anew = await profileAuth(world, { ...two, account: await accountAuth(world) }, {})
      expect((await refresh(world, anew, refreshed.json.refreshToken)).status).toBe(401)
      const search = (auth: string) => call(world, '/api/v1/account/profile/search', { auth })
      expect((await search(account)).status).toBe(401)
      expect((await search(await accountAuth(world))).status).toBe(200)
      await expect(endTokens(database, { account: 'nobody', externalId: undefined })).rejects.toThrow('no such account')
      await expect(endTokens(database, { account: 'first', externalId: 'nobody' })).rejects.toThrow('no such')
    })
  },
)

test('a family of tokens ends, however often it is refreshed', async ({ world, inside }) => {
  const began = inside.clock.ms
  try {
    let { auth, refreshToken } = await registerProfile(world)
    for (let day = 20; day < 90; day += 20) {
      inside.clock.ms = began + day * DAY
      const answer = await refresh(world, auth, refreshToken)
      expect([day, answer.status]).toEqual([day, 200])
      auth = `profile ${answer.json.profileToken}`
      refreshToken = answer.json.refreshToken
    }
    inside.clock.ms = began + 90 * DAY
    expect((await refresh(world, auth, refreshToken)).status).toBe(401)
  } finally {
    inside.clock.ms = began
  }
})

test('a token of ten minutes does not refresh into one of a day', async ({ world, inside }) => {
  const began = inside.clock.ms
  try {
    const person = await registerProfile(world)
    const body = { externalId: person.externalId, lifetime: 600 }
    const issued = await call(world, '/api/v1/oauth/profile/token', { method: 'POST', auth: person.account, body })
    const again = await refresh(world, `profile ${issued.json.profileToken}`, issued.json.refreshToken)
    expect([again.status, again.json.expiresIn]).toEqual([200, 600])
    const auth = `profile ${again.json.profileToken}`
    expect(await status(world, auth)).toBe(204)
    inside.clock.ms += 601_000
    expect(await status(world, auth)).toBe(401)
  } finally {
    inside.clock.ms = began
  }
})
