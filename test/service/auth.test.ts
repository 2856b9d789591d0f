import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { accountAuth, call, originsOf, profileAuth, registerProfile, type ServiceWorld, test } from './service-world.ts'

const DAY_MS = 86_400_000

const post = (
  world: ServiceWorld,
  path: string,
  ask: { body?: unknown; auth?: string; headers?: Record<string, string> },
) => call(world, `/api/v1/oauth/${path}`, { method: 'POST', ...ask })

describe('account token', () => {
  test('is issued for clientId and clientSecret and lives 24 hours', async ({ world }) => {
    const { clientId, clientSecret } = world

    const answer = await post(world, 'account/token', { body: { clientId, clientSecret } })

    expect(answer.status).toBe(200)
    expect(answer.json).toMatchObject({ expiresIn: 86_400, tokenType: 'Account' })
  })

  test('is another one at each request', async ({ world }) => {
    expect(await accountAuth(world)).not.toBe(await accountAuth(world))
  })

  test.for([
    ['a wrong secret', { clientSecret: 'wrong' }],
    ['an unknown client', { clientId: 'nobody' }],
    ['the two swapped', { clientId: 'x', clientSecret: 'y' }],
  ] as const)('is refused for %s', async ([, changes], { world }) => {
    const { clientId, clientSecret } = world
    const answer = await post(world, 'account/token', { body: { clientId, clientSecret, ...changes } })

    expect(answer.status).toBe(401)
  })

  test('is refused for the credentials of an app', async ({ world }) => {
    const body = { clientId: world.appId, clientSecret: world.appSecret }

    expect((await post(world, 'account/token', { body })).status).toBe(401)
  })

  test.for([
    [{}, ['clientId', 'clientSecret']],
    [{ clientId: 'a' }, ['clientSecret']],
    [{ clientId: 1, clientSecret: 'b' }, ['clientId']],
    [{ clientId: '', clientSecret: 'b' }, ['clientId']],
    [{ clientId: null, clientSecret: null }, ['clientId', 'clientSecret']],
    [{ clientId: 'a\u0000', clientSecret: '\ud800' }, ['clientId', 'clientSecret']],
    [[], ['']],
    ['text', ['']],
    [null, ['']],
  ])('refuses the body %j and names the fields %j', async ([body, origins], { world }) => {
    const answer = await post(world, 'account/token', { body })

    expect(answer.status).toBe(400)
    expect(originsOf(answer)).toEqual(origins)
  })

  test('the scheme of the header is compared without case', async ({ world }) => {
    const { externalId, account } = await registerProfile(world)
    const token = account.split(' ')[1]

    for (const scheme of ['Account', 'ACCOUNT', 'account']) {
      const answer = await call(world, `/api/v1/account/profile/${externalId}`, { auth: `${scheme} ${token}` })
      expect(answer.status).toBe(200)
    }
  })

  test.for([
    'Bearer TOKEN',
    'TOKEN',
    'account',
    'account  ',
    'account TOKEN extra',
    'profile TOKEN',
    'accountTOKEN',
    'account "TOKEN"',
    'account,TOKEN',
  ])('is not read from the header %j', async (shape, { world }) => {
    const { externalId, account } = await registerProfile(world)
    const auth = shape.replace('TOKEN', account.split(' ')[1] ?? '')

    expect((await call(world, `/api/v1/account/profile/${externalId}`, { auth })).status).toBe(401)
  })

  test('ends 24 hours after its issue, to the millisecond', async ({ world, inside }) => {
    const account = await accountAuth(world)
    const search = () => call(world, '/api/v1/account/profile/search', { auth: account })

    inside.clock.ms += DAY_MS - 1
    expect((await search()).status).toBe(200)
    inside.clock.ms += 1
    expect((await search()).status).toBe(401)
  })
})

describe('registration', () => {
  test('answers 201 with a profile token and a refresh token', async ({ world }) => {
    const auth = await accountAuth(world)
    const answer = await post(world, 'profile/register', { auth, body: { externalId: randomUUID() } })

    expect(answer.status).toBe(201)
    expect(answer.json).toMatchObject({ expiresIn: 86_400, tokenType: 'Profile' })
    expect(answer.json.profileToken).not.toBe(answer.json.refreshToken)
  })

  test('refuses an externalId that is in use, and names it', async ({ world }) => {
    const { externalId, account } = await registerProfile(world)
    const answer = await post(world, 'profile/register', { auth: account, body: { externalId } })

    expect(answer.status).toBe(400)
    expect(originsOf(answer)).toEqual(['externalId'])
  })

  test('lets two accounts use one externalId', async ({ world, other }) => {
    const { externalId } = await registerProfile(world)
    const account = await accountAuth(world, other)

    expect((await post(world, 'profile/register', { auth: account, body: { externalId } })).status).toBe(201)
  })

  test('of one externalId twice at once succeeds once', async ({ world }) => {
    const auth = await accountAuth(world)
    const body = { externalId: randomUUID() }
    const answers = await Promise.all([1, 2, 3, 4].map(() => post(world, 'profile/register', { auth, body })))

    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 400, 400, 400])
  })

  test.for([
    [{}],
    [{ externalId: '' }],
    [{ externalId: 'x'.repeat(101) }],
    [{ externalId: 7 }],
    [{ externalId: ['a'] }],
    [{ externalId: 'nul\u0000' }],
    [{ externalId: 'half\udc00' }],
  ])('refuses %j', async ([body], { world }) => {
    const answer = await post(world, 'profile/register', { auth: await accountAuth(world), body })

    expect(answer.status).toBe(400)
    expect(originsOf(answer)).toEqual(['externalId'])
  })

  test.for(['search', '.', '..'])(
    'refuses the externalId %j, by which nobody could be asked for',
    async (externalId, { world }) => {
      const auth = await accountAuth(world)
      const { appId, appSecret } = world
      const answers = [
        await post(world, 'profile/register', { auth, body: { externalId } }),
        await post(world, 'profile/register/appId', {
          headers: { appid: appId, appsecret: appSecret },
          body: { externalId },
        }),
      ]

      const reason = 'must not be "search", "." or "..": no request can ask for a profile of this name'
      for (const { status, json } of answers)
        expect([status, json.errors]).toEqual([400, [{ origin: 'externalId', errors: [reason] }]])
    },
  )

  test.for(['x'.repeat(100), 'Ünï·cødé 🏃', 'a/b', '../..', "'; drop table profiles; --", '%2F', 'a b+c', 'search'])(
    'takes the externalId %j',
    async (name, { world }) => {
      const externalId = `${name}${name.length === 100 ? '' : randomUUID()}`
      const person = await registerProfile(world, { externalId })

      const path = `/api/v1/account/profile/${encodeURIComponent(externalId)}`
      expect((await call(world, path, { auth: person.account })).json.externalId).toBe(externalId)
    },
  )

  test('ignores keys it does not know', async ({ world }) => {
    const auth = await accountAuth(world)
    const body = { externalId: randomUUID(), isSampleProfile: true, profileId: randomUUID() }

    expect((await post(world, 'profile/register', { auth, body })).status).toBe(201)
  })

  test.for([
    ['AppId', 'AppSecret'],
    ['appid', 'appsecret'],
    ['APPID', 'APPSECRET'],
  ] as const)('by app takes the headers %s and %s', async ([id, secret], { world }) => {
    const answer = await post(world, 'profile/register/appId', {
      headers: { [id]: world.appId, [secret]: world.appSecret },
      body: { externalId: randomUUID() },
    })

    expect(answer.status).toBe(201)
    expect((await call(world, '/api/v1/profile/score', { auth: `profile ${answer.json.profileToken}` })).status).toBe(
      204,
    )
  })

  test.for([
    ['no headers', () => ({})],
    ['no secret', (world: ServiceWorld) => ({ appid: world.appId })],
    ['a wrong secret', (world: ServiceWorld) => ({ appid: world.appId, appsecret: 'wrong' })],
    ['a client for an app', (world: ServiceWorld) => ({ appid: world.clientId, appsecret: world.clientSecret })],
  ] as const)('by app is refused with %s', async ([, headers], { world }) => {
    const body = { externalId: randomUUID() }

    expect((await post(world, 'profile/register/appId', { headers: headers(world), body })).status).toBe(401)
  })
})

describe('profile token', () => {
  test('can be requested again by the account', async ({ world }) => {
    const person = await registerProfile(world)
    const auth = await profileAuth(world, person, {})

    expect((await call(world, '/api/v1/profile/score', { auth })).status).toBe(204)
    expect((await call(world, '/api/v1/profile/score', { auth: person.auth })).status).toBe(204)
  })

  test('for an unknown profile is 404', async ({ world }) => {
    const auth = await accountAuth(world)

    expect((await post(world, 'profile/token', { auth, body: { externalId: 'nobody' } })).status).toBe(404)
  })

  test.for([true, 'true'])('with readOnly %j reads and does not write', async (readOnly, { world }) => {
    const person = await registerProfile(world)
    const auth = await profileAuth(world, person, { readOnly })

    expect((await call(world, '/api/v1/profile/demographic', { auth })).status).toBe(204)
    const write = await call(world, '/api/v1/profile/demographic', { method: 'PATCH', auth, body: { age: 40 } })
    expect(write.status).toBe(401)
  })

  test.for([false, 'false'])('with readOnly %j writes', async (readOnly, { world }) => {
    const auth = await profileAuth(world, await registerProfile(world), { readOnly })

    expect((await call(world, '/api/v1/profile/demographic', { method: 'PATCH', auth, body: {} })).status).toBe(200)
  })

  test('that is read-only stays so when it is refreshed', async ({ world }) => {
    const person = await registerProfile(world)
    const body = { externalId: person.externalId, readOnly: true }
    const first = await post(world, 'profile/token', { auth: person.account, body })
    const second = await post(world, 'profile/refreshToken', {
      auth: `profile ${first.json.profileToken}`,
      body: { refreshToken: first.json.refreshToken },
    })

    const auth = `profile ${second.json.profileToken}`
    expect((await call(world, '/api/v1/profile/demographic', { method: 'PUT', auth, body: {} })).status).toBe(401)
  })

  test('lives as long as was asked for', async ({ world, inside }) => {
    const person = await registerProfile(world)
    const body = { externalId: person.externalId, lifetime: 60 }
    const answer = await post(world, 'profile/token', { auth: person.account, body })
    const auth = `profile ${answer.json.profileToken}`

    expect(answer.json.expiresIn).toBe(60)
    inside.clock.ms += 59_999
    expect((await call(world, '/api/v1/profile/score', { auth })).status).toBe(204)
    inside.clock.ms += 1
    expect((await call(world, '/api/v1/profile/score', { auth })).status).toBe(401)
  })

  test.for([
    [{ lifetime: 0 }, 'lifetime'],
    [{ lifetime: -1 }, 'lifetime'],
    [{ lifetime: 86_401 }, 'lifetime'],
    [{ lifetime: 1.5 }, 'lifetime'],
    [{ lifetime: 'long' }, 'lifetime'],
    [{ readOnly: 'perhaps' }, 'readOnly'],
    [{ readOnly: 1 }, 'readOnly'],
  ] as const)('refuses %j', async ([changes, origin], { world }) => {
    const { externalId, account } = await registerProfile(world)
    const answer = await post(world, 'profile/token', { auth: account, body: { externalId, ...changes } })

    expect(answer.status).toBe(400)
    expect(originsOf(answer)).toEqual([origin])
  })
})

describe('refreshing', () => {
  const refresh = (world: ServiceWorld, auth: string, refreshToken: unknown) =>
    post(world, 'profile/refreshToken', { auth, body: { refreshToken } })
  const reads = async (world: ServiceWorld, auth: string) =>
    (await call(world, '/api/v1/profile/score', { auth })).status

  test('gives a new pair, and the old token still lives out its day', async ({ world }) => {
    const person = await registerProfile(world)
    const answer = await refresh(world, person.auth, person.refreshToken)

    expect(answer.status).toBe(200)
    expect(answer.json.refreshToken).not.toBe(person.refreshToken)
    expect(await reads(world, `profile ${answer.json.profileToken}`)).toBe(204)
    expect(await reads(world, person.auth)).toBe(204)
  })

  test('works with a profile token that has expired', async ({ world, inside }) => {
    const person = await registerProfile(world)

    inside.clock.ms += 2 * DAY_MS

    expect(await reads(world, person.auth)).toBe(401)
    expect((await refresh(world, person.auth, person.refreshToken)).status).toBe(200)
  })

  test('ends 30 days after the issue', async ({ world, inside }) => {
    const person = await registerProfile(world)

    inside.clock.ms += 30 * DAY_MS

    expect((await refresh(world, person.auth, person.refreshToken)).status).toBe(401)
  })

  test('twice with one refresh token revokes the whole family', async ({ world }) => {
    const person = await registerProfile(world)
    const second = await refresh(world, person.auth, person.refreshToken)
    const third = await refresh(world, `profile ${second.json.profileToken}`, second.json.refreshToken)

    expect((await refresh(world, person.auth, person.refreshToken)).status).toBe(401)

    for (const token of [second.json.profileToken, third.json.profileToken]) {
      expect(await reads(world, `profile ${token}`)).toBe(401)
    }
    expect(await reads(world, person.auth)).toBe(401)
    expect((await refresh(world, `profile ${third.json.profileToken}`, third.json.refreshToken)).status).toBe(401)
  })

  test('twice leaves other families of the same profile alone', async ({ world }) => {
    const person = await registerProfile(world)
    const elsewhere = await profileAuth(world, person, {})
    await refresh(world, person.auth, person.refreshToken)
    await refresh(world, person.auth, person.refreshToken)

    expect(await reads(world, person.auth)).toBe(401)
    expect(await reads(world, elsewhere)).toBe(204)
  })

  test('at once by many succeeds for exactly one', async ({ world }) => {
    const person = await registerProfile(world)
    const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(world, person.auth, person.refreshToken)))

    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
    expect(answers.filter((answer) => answer.status === 401)).toHaveLength(7)
  })

  test('with the refresh token of another profile is refused, and costs that one nothing', async ({ world }) => {
    const [ada, bob] = [await registerProfile(world), await registerProfile(world)]

    expect((await refresh(world, ada.auth, bob.refreshToken)).status).toBe(401)
    expect((await refresh(world, bob.auth, bob.refreshToken)).status).toBe(200)
  })

  test.for(['unknown', 'x'.repeat(400)])('with the refresh token %j is refused', async (token, { world }) => {
    expect((await refresh(world, (await registerProfile(world)).auth, token)).status).toBe(401)
  })

  test.for([undefined, null, '', 5, 'x'.repeat(501)])('refuses the body with %j', async (token, { world }) => {
    const answer = await refresh(world, (await registerProfile(world)).auth, token)

    expect(answer.status).toBe(400)
    expect(originsOf(answer)).toEqual(['refreshToken'])
  })

  test('with an account token is refused', async ({ world }) => {
    const person = await registerProfile(world)

    expect((await refresh(world, person.account, person.refreshToken)).status).toBe(401)
  })
})
