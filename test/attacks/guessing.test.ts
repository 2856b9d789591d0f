import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { addServiceKey, endServiceKey, endTokens } from '../../src/app/service-accounts.ts'
import { createLog } from '../../src/base/log.ts'
import { MINUTE } from '../../src/base/time/units.ts'
import { addressGroupOf } from '../../src/service/http/refusal-pacing.ts'
import {
  accountAuth,
  type Credentials,
  call,
  registerProfile,
  type ServiceWorld,
  withService,
} from '../service/service-world.ts'
import { test } from '../support/fixtures.ts'

const tokenPath = '/api/v1/oauth/account/token'

/** Asks for an account token, as if from this address. Returns the status. */
async function logIn(world: ServiceWorld, address: string, body: { clientId: string; clientSecret: string }) {
  const answer = await call(world, tokenPath, { method: 'POST', headers: { 'x-forwarded-for': address }, body })
  if (answer.status === 429) {
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(60)
  }
  return answer.status
}

const right = ({ clientId, clientSecret }: Credentials) => ({ clientId, clientSecret })
const wrong = ({ clientId }: Credentials) => ({ clientId, clientSecret: 'wrong' })
const nobody = { clientId: 'nobody', clientSecret: 'wrong' }
const [home, elsewhere] = ['192.0.2.1', '2001:db8::1']
const trustedProxies = ['loopback']

describe('guessing secrets', () => {
  test('is paced by address, and a right secret from elsewhere is taken', async ({ serviceUrl }) => {
    const clock = { ms: Date.parse('2026-11-20T12:00:00Z') }
    const options = { trustedProxies, refusedLoginsPerMinute: 3, clock: () => clock.ms }
    await withService(serviceUrl, options, async (world) => {
      for (let number = 0; number < 3; number += 1) expect(await logIn(world, home, nobody)).toBe(401)
      expect(await logIn(world, home, nobody)).toBe(429)
      // Once about each account.
      expect(await logIn(world, home, wrong(world))).toBe(401)
      expect([await logIn(world, home, wrong(world)), await logIn(world, home, right(world))]).toEqual([429, 429])
      expect(await logIn(world, home, right(world.other ?? world))).toBe(200)
      expect(await logIn(world, elsewhere, right(world))).toBe(200)
      // Guesses alone are not even looked up after a while.
      for (let number = 0; number < 30; number += 1) expect(await logIn(world, home, nobody)).toBe(429)
      expect(await logIn(world, home, right(world.other ?? world))).toBe(429)

      clock.ms += MINUTE

      expect(await logIn(world, home, right(world))).toBe(200)
    })
  })

  test('is limited by account over all addresses, and the right secret is still accepted', async ({ serviceUrl }) => {
    await withService(serviceUrl, { trustedProxies, refusedLoginsPerMinute: 2 }, async (world) => {
      for (let host = 1; host <= 20; host += 1) expect(await logIn(world, `192.0.2.${host}`, wrong(world))).toBe(401)
      expect(await logIn(world, '192.0.2.21', wrong(world))).toBe(401)

      expect(await logIn(world, '192.0.2.21', wrong(world))).toBe(429)
      expect(await logIn(world, '192.0.2.22', right(world))).toBe(200)
      const other = world.other ?? world
      expect([await logIn(world, elsewhere, wrong(other)), await logIn(world, elsewhere, wrong(other))]).toEqual([
        401, 401,
      ])
    })
  })

  test('is one pace for secrets of clients and of apps, and no header changes the address', async ({ serviceUrl }) => {
    await withService(serviceUrl, { refusedLoginsPerMinute: 2 }, async (world) => {
      const headers = { appid: world.appId, appsecret: 'wrong', 'x-forwarded-for': elsewhere }
      const path = '/api/v1/oauth/profile/register/appId'
      const register = async () =>
        (await call(world, path, { method: 'POST', headers, body: { externalId: 'ada' } })).status
      expect([await register(), await register(), await register()]).toEqual([401, 401, 429])
      expect(await logIn(world, '192.0.2.77', nobody)).toBe(429)
    })
  })

  test('of many at once is compared no oftener', async ({ serviceUrl }) => {
    await withService(serviceUrl, { refusedLoginsPerMinute: 5 }, async (world) => {
      const statuses = await Promise.all(Array.from({ length: 40 }, () => logIn(world, home, wrong(world))))
      expect(statuses.filter((status) => status === 401)).toHaveLength(5)
      expect(statuses.filter((status) => status === 429)).toHaveLength(35)
    })
  })
})

test('unknown tokens are paced by address; tokens in use there are served on', async ({ serviceUrl }) => {
  await withService(serviceUrl, { trustedProxies, refusedTokensPerMinute: 4 }, async (world) => {
    const [used, unused] = [await registerProfile(world), await registerProfile(world)]
    const ask = async (address: string, auth: string) =>
      (await call(world, '/api/v1/profile/score', { auth, headers: { 'x-forwarded-for': address } })).status
    expect(await ask(home, used.auth)).toBe(204)
    for (let number = 0; number < 4; number += 1) expect(await ask(home, `profile ${randomUUID()}`)).toBe(401)

    expect(await ask(home, `profile ${randomUUID()}`)).toBe(429)
    expect([await ask(home, used.auth), await ask(home, unused.auth)]).toEqual([204, 429])
    expect(await ask(elsewhere, unused.auth)).toBe(204)
  })
})

test('all tokens of an account share its rate, and other accounts have their own', async ({ serviceUrl }) => {
  await withService(serviceUrl, { requestsPerMinute: 5 }, async (world) => {
    const account = await accountAuth(world)
    const [ada, bob] = [await registerProfile(world, { account }), await registerProfile(world, { account })]
    const other = await registerProfile(world, { account: await accountAuth(world, world.other) })
    const ask = async (auth: string) => (await call(world, '/api/v1/profile/score', { auth })).status

    expect([await ask(ada.auth), await ask(bob.auth), await ask(ada.auth)]).toEqual([204, 204, 204])
    expect([await ask(ada.auth), await ask(bob.auth)]).toEqual([429, 429])
    expect(await ask(other.auth)).toBe(204)
  })
})

test('the events that an auditor asks about are logged with our own ids, without a secret or a name', async ({
  serviceUrl,
}) => {
  await withService(serviceUrl, { refusedLoginsPerMinute: 2 }, async (world) => {
    const lines = world.inside?.log ?? []
    const log = createLog({ level: 'error', destination: { write: (line: string) => void lines.push(line) } })
    const database = { databaseUrl: serviceUrl, nowAt: new Date(), log }
    const person = await registerProfile(world)
    const spend = () =>
      call(world, '/api/v1/oauth/profile/refreshToken', {
        method: 'POST',
        auth: person.auth,
        body: { refreshToken: person.refreshToken },
      })
    expect([(await spend()).status, (await spend()).status]).toEqual([200, 401])
    const body = { externalIds: [person.externalId] }
    await call(world, '/api/v1/profile', { method: 'DELETE', auth: person.account, body })
    const mistaken = { clientId: 'a-secret-in-the-wrong-place', clientSecret: 'guessed' }
    expect([await logIn(world, home, wrong(world)), await logIn(world, home, mistaken)]).toEqual([401, 401])
    const made = await addServiceKey(database, { account: 'first', kind: 'client', label: '' })
    await endTokens(database, { account: 'first', externalId: undefined })
    await endServiceKey(database, made.publicId)

    const events = lines.map((line) => JSON.parse(line)).filter(({ security }) => security !== undefined)
    expect(events.map(({ security }) => security)).toEqual([
      'refresh token used twice',
      'profiles erased',
      'login refused',
      'refusals paced',
      'login refused',
      'key made',
      'tokens revoked',
      'key revoked',
    ])
    expect(events[2]).toMatchObject({ address: '127.0.0.1', keyId: world.clientId })
    expect(events[5].keyId).toBe(made.publicId)
    const written = lines.join('\n')
    for (const secret of [
      person.externalId,
      person.refreshToken,
      made.secret,
      world.clientSecret,
      ...Object.values(mistaken),
    ])
      expect(written).not.toContain(secret)
  })
})

test('an address counts as one however it is written, and an IPv6 network as one', () => {
  for (const [address, group] of [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:0db8:0:0:ffff::2', '2001:db8:0:0::/64'],
    ['2001:db8:0:1::1', '2001:db8:0:1::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ] as const)
    expect(addressGroupOf(address)).toBe(group)
})
