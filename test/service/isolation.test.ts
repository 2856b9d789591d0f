import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { operations } from '../../src/base/contract/operations.ts'
import {
  accountAuth,
  type CallOptions,
  type Credentials,
  call,
  profileAuth,
  type RegisteredProfile,
  registerProfile,
  type ServiceAnswer,
  type ServiceWorld,
  stepsLog,
  test,
} from './service-world.ts'

const DAY_MS = 86_400_000

/** A marker in all data of the owner: an answer to another caller that contains the marker has leaked data. */
type Owner = RegisteredProfile & { marker: string; appHeaders: Record<string, string> }

async function owner(world: ServiceWorld): Promise<Owner> {
  const marker = `marker-${randomUUID()}`
  const person = await registerProfile(world, { externalId: marker })
  const write = (method: string, path: string, body: unknown) =>
    call(world, `/api/v1/profile/${path}`, { method, auth: person.auth, body })
  await write('POST', 'data/log', [stepsLog({ source: marker })])
  await write('POST', 'tag', { type: 'event', name: marker, source: marker, startDateTime: '2026-07-11' })
  await write('PUT', 'demographic', { occupation: marker })
  await write('PUT', 'deviceInformation', device(marker))
  return { ...person, marker, appHeaders: { appid: world.appId, appsecret: world.appSecret } }
}

const device = (name: string) => ({
  sdkId: name,
  sdkVersion: '1',
  appId: 'a',
  deviceType: 'phone',
  deviceModel: 'm',
  system: 's',
  systemVersion: '1',
})

const words: Record<string, (of: Owner) => unknown> = {
  accountToken: () => ({ clientId: 'nobody', clientSecret: 'wrong' }),
  register: () => ({ externalId: randomUUID() }),
  registerByApp: () => ({ externalId: randomUUID() }),
  profileToken: (of) => ({ externalId: of.externalId }),
  refreshToken: (of) => ({ refreshToken: of.refreshToken }),
  deleteProfiles: (of) => ({ externalIds: [of.externalId] }),
  uploadLogs: () => [stepsLog({ source: 'intruder' })],
  uploadTags: () => ({ type: 'event', name: 'intruder', source: 'intruder', startDateTime: '2026-07-11' }),
  uploadTagsOf: () => ({ type: 'event', name: 'intruder', source: 'intruder', startDateTime: '2026-07-11' }),
  replaceDemographic: () => ({ occupation: 'intruder' }),
  updateDemographic: () => ({ occupation: 'intruder' }),
  updateDeviceInformation: () => device('intruder'),
}

type Route = { name: string; method: string; path: string; caller: string }

const routes: Route[] = Object.values(operations)
const guarded = routes.filter((route) => route.caller !== 'anyone')

/** Calls a route for the data of `of`, with any credentials. */
function ask(
  world: ServiceWorld,
  route: Route,
  of: Owner,
  credentials: Pick<CallOptions, 'auth' | 'headers'>,
): Promise<ServiceAnswer> {
  const body = words[route.name]?.(of)
  const path = route.path.replace('{externalId}', encodeURIComponent(of.externalId))
  return call(world, path, { method: route.method, ...(body === undefined ? {} : { body }), ...credentials })
}

/** The owner's data is unchanged, and contains nothing of an intruder. */
async function expectUntouched(world: ServiceWorld, of: Owner): Promise<void> {
  const read = (path: string) => call(world, `/api/v1/profile/${path}`, { auth: of.auth })
  const [tags, demographic, information] = [
    await read('tag'),
    await read('demographic'),
    await read('deviceInformation'),
  ]
  const profile = await call(world, `/api/v1/account/profile/${of.externalId}`, { auth: of.account })
  expect(tags.json.map((tag: { name: string }) => tag.name)).toEqual([of.marker])
  expect(demographic.json.occupation).toBe(of.marker)
  expect(information.json.sdkId).toBe(of.marker)
  expect(profile.json.dataSources).toEqual([{ sourceName: of.marker, deviceType: 'watch' }])
}

type Identity = (world: ServiceWorld, of: Owner) => Promise<Pick<CallOptions, 'auth' | 'headers'>>

const scheme = (route: Route) => (route.caller === 'account' ? 'account' : 'profile')

const strangers: Array<[string, (route: Route) => Identity]> = [
  ['no credentials', () => async () => ({})],
  ['garbage', (route) => async () => ({ auth: `${scheme(route)} ${'garbage'.repeat(7)}`, headers: garbageApp })],
  ['an empty token', (route) => async () => ({ auth: `${scheme(route)} ` })],
  ['a token cut short', (route) => async (_world, of) => ({ auth: tokenFor(route, of).slice(0, -1) })],
  ['the right token under the wrong scheme', (route) => async (_world, of) => ({ auth: renamed(tokenFor(route, of)) })],
  [
    'the right token as Bearer',
    (route) => async (_world, of) => ({ auth: `Bearer ${tokenFor(route, of).split(' ')[1]}` }),
  ],
  ['the token of the other kind', (route) => async (_world, of) => ({ auth: otherKind(route, of) })],
  ['a refresh token for a token', (route) => async (_world, of) => ({ auth: `${scheme(route)} ${of.refreshToken}` })],
  ['the secrets of an app as its client', () => async (world) => ({ headers: swappedApp(world) })],
]

const garbageApp = { appid: 'garbage', appsecret: 'garbage' }
const swappedApp = (world: ServiceWorld) => ({ appid: world.clientId, appsecret: world.clientSecret })
const tokenFor = (route: Route, of: Owner) => (route.caller === 'account' ? of.account : of.auth)
const otherKind = (route: Route, of: Owner) => (route.caller === 'account' ? of.auth : of.account)
const renamed = (auth: string) =>
  auth.replace(/^(account|profile)/, (word) => (word === 'account' ? 'profile' : 'account'))

describe.for(strangers)('with %s', ([, identityFor]) => {
  test.for(guarded)('$name is 401', async (route, { world }) => {
    const of = await owner(world)
    const answer = await ask(world, route, of, await identityFor(route)(world, of))

    expect(answer.status).toBe(401)
    expect(answer.text).not.toContain(of.marker)
    await expectUntouched(world, of)
  })
})

describe('with an expired token', () => {
  const bearers = guarded.filter((route) => route.caller !== 'app' && route.name !== 'refreshToken')

  test.for(bearers)('$name is 401', async (route, { world, inside }) => {
    const of = await owner(world)
    const auth = tokenFor(route, of)
    inside.clock.ms += DAY_MS

    expect((await ask(world, route, of, { auth })).status).toBe(401)
    const account = await accountAuth(world)
    await expectUntouched(world, { ...of, account, auth: await profileAuth(world, { ...of, account }, {}) })
  })
})

describe('with a revoked token', () => {
  const bearers = guarded.filter((route) => route.caller === 'profile')

  test.for(bearers)('$name is 401', async (route, { world }) => {
    const of = await owner(world)
    const spent = await registerProfile(world)
    const spend = () =>
      call(world, '/api/v1/oauth/profile/refreshToken', {
        method: 'POST',
        auth: spent.auth,
        body: { refreshToken: spent.refreshToken },
      })
    expect([(await spend()).status, (await spend()).status]).toEqual([200, 401])

    expect((await ask(world, route, of, { auth: spent.auth })).status).toBe(401)
  })
})

describe('with a read-only token', () => {
  const writes = ['uploadLogs', 'uploadTags', 'replaceDemographic', 'updateDemographic', 'updateDeviceInformation']
  const bearers = guarded.filter((route) => route.caller === 'profile' && route.name !== 'refreshToken')

  test.for(bearers)('$name is refused exactly where it writes', async (route, { world }) => {
    const of = await owner(world)
    const answer = await ask(world, route, of, { auth: await profileAuth(world, of, { readOnly: true }) })

    if (writes.includes(route.name)) expect(answer.status).toBe(401)
    else expect([200, 204]).toContain(answer.status)
    await expectUntouched(world, of)
  })
})

describe('with the token of another profile of the same account', () => {
  const bearers = guarded.filter((route) => route.caller === 'profile')

  test.for(bearers)('$name answers about that profile only', async (route, { world }) => {
    const of = await owner(world)
    const neighbour = await registerProfile(world, { account: of.account })
    const answer = await ask(world, route, of, { auth: neighbour.auth })

    if (route.name === 'refreshToken') expect(answer.status).toBe(401)
    else expect([200, 204]).toContain(answer.status)
    expect(answer.text).not.toContain(of.marker)
    await expectUntouched(world, of)
  })
})

describe('with the account token of another account', () => {
  const byName = guarded.filter((route) => route.caller === 'account')

  test.for(byName)(
    '$name answers for a stranger’s profile as for a profile that does not exist',
    async (route, { world, other }) => {
      const of = await owner(world)
      const auth = await accountAuth(world, other)
      const stranger = await ask(world, route, of, { auth })
      const nobody = await ask(world, route, { ...of, externalId: `nobody-${randomUUID()}` }, { auth })

      expect(stranger.status).toBe(nobody.status)
      expect(generalised(stranger)).toEqual(generalised(nobody))
      expect(stranger.text).not.toContain(of.marker)
      await expectUntouched(world, of)
    },
  )
})

describe('with the app key of another account', () => {
  test('a name in use elsewhere is free, and nothing is learnt', async ({
    world,
    other,
  }: {
    world: ServiceWorld
    other: Credentials
  }) => {
    const of = await owner(world)
    const answer = await call(world, '/api/v1/oauth/profile/register/appId', {
      method: 'POST',
      headers: { appid: other.appId, appsecret: other.appSecret },
      body: { externalId: of.externalId },
    })

    expect(answer.status).toBe(201)
    await expectUntouched(world, of)
  })
})

/** An answer without its random parts. */
function generalised({ json, text }: ServiceAnswer): unknown {
  if (json?.profileToken) return Object.keys(json)
  return json ?? text
}
