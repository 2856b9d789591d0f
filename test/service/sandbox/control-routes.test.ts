import { Agent } from 'node:http'
import { describe, expect } from 'vitest'
import { DAY, HOUR } from '../../../src/base/time/units.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { startService } from '../../../src/service/server.ts'
import {
  json,
  newcomer,
  office,
  openSandboxWorld,
  query,
  quiet,
  runner,
  type SandboxWorld,
  scorePath,
  send,
  steps,
  tagPath,
  test,
  traveller,
} from './sandbox-world.ts'

const countLogs = async (databaseUrl: string) =>
  Number((await query<{ n: string }>(databaseUrl, 'select count(*) as n from service.logs'))[0]?.n)

const soon = { timeout: 120_000 }

describe('the journal', () => {
  test('counts every request once, by operation and how it ended', async ({ world }) => {
    const headers = { authorization: `account ${await world.accountToken()}` }
    const get = (path: string) => world.api(path, { headers })
    await get(scorePath)
    await get(scorePath)
    await world.api(scorePath, { headers: { authorization: 'account wrong' } })
    for (const name of ['reset', 'cut-body', 'throttle']) {
      await world.control('PUT', '/faults', { name, operations: ['searchProfiles'] })
      await get('account/profile/search').catch(() => undefined)
    }
    await get('account/profile/nobody')

    const journal = json(await world.control('GET', '/journal?last=3'))
    expect(journal).toMatchObject({ requests: 8, tokenCalls: 1 })
    expect(journal.operations).toEqual({
      accountToken: { 200: 1 },
      scoresOf: { 204: 2, 401: 1 },
      searchProfiles: { reset: 1, cut: 1, 429: 1 },
      profile: { 404: 1 },
    })
    expect(journal.entries.map((entry: { outcome: string }) => entry.outcome)).toEqual(['cut', '429', '404'])
    expect(journal.entries[1].faults).toEqual(['throttle'])
    expect(json(await world.control('DELETE', '/journal'))).toEqual({ requests: 0, tokenCalls: 0, operations: {} })
  })

  test('knows the profile of a request by path and by token, and a caller who left', async ({ world }) => {
    const { profileToken } = await world.profileToken(office)
    await world.api('profile/demographic', { headers: { authorization: `profile ${profileToken}` } })
    const [before] = world.sandbox.journal.last(1)
    expect(before).toMatchObject({ operation: 'demographic', profile: office, outcome: '200' })

    await world.control('PUT', '/faults', { name: 'latency', settings: { delayMs: 60_000 } })
    const agent = new Agent({ keepAlive: true })
    const headers = { authorization: `profile ${profileToken}` }
    const asked = world.api('profile/demographic', { headers, agent }).catch(() => 'gone')
    await expect.poll(() => controlled(world, 'GET', '/faults').then((rules) => rules[0].met), soon).toBe(1)
    agent.destroy()
    expect(await asked).toBe('gone')
    await expect.poll(() => world.sandbox.journal.last(1)[0]?.outcome, soon).toBe('aborted')
  })

  test('does not count the control routes nor the reading of the ledger', async ({ world }) => {
    await world.control('GET', `/ledger/${runner}`)
    await world.control('GET', '/clock')
    expect(world.sandbox.journal.read().requests).toBe(0)
  })
})

const controlled = async (world: SandboxWorld, method: string, path: string) => json(await world.control(method, path))

/** However long the request takes: the answer is this far ahead of an instant between the request and the answer. */
async function expectAheadBy(ms: number, ask: () => Promise<string>): Promise<void> {
  const [askedMs, toldMs, answeredMs] = [Date.now(), Date.parse(await ask()), Date.now()]
  expect(toldMs - ms).toBeGreaterThan(askedMs - 1000) // a Date header has whole seconds
  expect(toldMs - ms).toBeLessThanOrEqual(answeredMs + 1000)
}

describe('the clock', () => {
  test('moves by hours and to a date, over the wire and in process, and back', async ({ world }) => {
    const expectAhead = (ms: number) => expectAheadBy(ms, async () => json(await world.control('GET', '/clock')).now)
    await world.control('POST', '/clock', { advanceHours: 24 })
    await expectAhead(DAY)
    world.sandbox.clock.advance(HOUR)
    await expectAhead(25 * HOUR)
    const answer = await world.control('POST', '/clock', { to: '2030-01-01T00:00:00+01:00' })
    expect(json(answer).now.slice(0, 16)).toBe('2029-12-31T23:00')
    await world.control('DELETE', '/clock')
    await expectAhead(0)
    expect((await world.control('POST', '/clock', { to: 'tomorrow' })).status).toBe(400)
  })

  test('is what the Date header says and what tokens expire by', async ({ world }) => {
    const headers = { authorization: `account ${await world.accountToken()}` }
    await world.control('POST', '/clock', { advanceHours: 23.9 })
    await expectAheadBy(23.9 * HOUR, async () => {
      const near = await world.api(scorePath, { headers })
      expect(near.status).toBe(204)
      return String(near.headers['date'])
    })
    await world.control('POST', '/clock', { advanceHours: 0.2 })
    expect((await world.api(scorePath, { headers })).status).toBe(401)
    await world.control('DELETE', '/clock')
    expect((await world.api(scorePath, { headers })).status).toBe(204)
  })
})

describe('the ledger', () => {
  test('holds every stream of a profile, and answers 404 for an unknown profile', async ({ world }) => {
    const ledger = await controlled(world, 'GET', `/ledger/${runner}`)
    expect(Object.keys(ledger).toSorted()).toEqual([
      'archetypes',
      'biomarkers',
      'comparisons',
      'demographics',
      'device-information',
      'scores',
      'tags',
      'trends',
    ])
    expect(ledger.demographics).toMatchObject([{ occupation: null, age: expect.any(Number) }])
    expect(ledger['device-information']).toMatchObject([{ sdkId: 'vitalsync-sample' }])
    expect((await world.control('GET', '/ledger/nobody')).status).toBe(404)
    expect(Object.values(await controlled(world, 'GET', `/ledger/${newcomer}`)).flat()).toEqual([])
  })

  test('holds the true records, not the altered answers; and still answers after a day', async ({ world }) => {
    const headers = { authorization: `account ${await world.accountToken()}` }
    const tag = { type: 'event', name: 'tea', source: 'test', startDateTime: '2026-03-03T10:00:00Z' }
    await world.api(tagPath, { method: 'POST', headers, body: tag })
    const tags = async () => (await controlled(world, 'GET', `/ledger/${runner}`)).tags.length
    const all = await tags()
    await world.control('PUT', '/faults', [{ name: 'duplicates' }, { name: 'error-500' }, { name: 'reset' }])
    world.sandbox.clock.advance(2 * DAY)
    expect(await tags()).toBe(all)
    await world.control('PUT', '/faults', { name: 'vanished' })
    expect(await tags()).toBe(0)
  })
})

describe('further people', () => {
  test('are made of a kind, with the days of the others, and are not made twice', async ({ world, serviceUrl }) => {
    const before = await countLogs(serviceUrl)
    const made = json(await world.control('POST', '/people', { kind: 'runner', count: 2 }))
    expect(made).toEqual({ made: ['SampleProfile-runner-2', 'SampleProfile-runner-3'] })
    expect(json(await world.control('POST', '/people', { kind: 'runner' }))).toEqual({
      made: ['SampleProfile-runner-4'],
    })
    expect(await countLogs(serviceUrl)).toBeGreaterThan(before + 3 * 400)
    expect(json(await world.control('GET', '/people'))).toContainEqual({
      externalId: 'SampleProfile-runner-4',
      kind: 'runner',
    })
    expect((await world.control('POST', '/people', { kind: 'robot' })).status).toBe(400)
    expect((await world.control('POST', '/people', { kind: 'runner', count: 101 })).status).toBe(400)
  })
})

describe('live', () => {
  test('stores the logs that the devices write in the hours, once', async ({ world, serviceUrl }) => {
    const before = await countLogs(serviceUrl)
    let lived = { now: '', logs: 0 }
    await expectAheadBy(DAY, async () => {
      lived = json(await world.control('POST', '/live', { hours: 24 }))
      return lived.now
    })
    expect(lived.logs).toBeGreaterThan(1500)
    expect(await countLogs(serviceUrl)).toBe(before + lived.logs)
    expect((await world.sandbox.live(0)).logs).toBe(0)
    expect((await world.control('POST', '/live', { hours: -1 })).status).toBe(400)
  })
})

describe('tokens can be revoked', () => {
  test('of the whole account, or of one profile', async ({ world }) => {
    const of = async (externalId: string) => {
      const { profileToken } = await world.profileToken(externalId)
      return async () =>
        (await world.api('profile/demographic', { headers: { authorization: `profile ${profileToken}` } })).status
    }
    const [mine, other] = [await of(runner), await of(office)]
    expect([await mine(), await other()]).toEqual([200, 200])
    expect(json(await world.control('POST', '/tokens/revoke', { externalId: runner }))).toEqual({ revoked: 1 })
    expect([await mine(), await other()]).toEqual([401, 200])
    await world.control('POST', '/tokens/revoke')
    expect(await other()).toBe(401)
  })
})

describe('a sandbox', () => {
  test('lists its routes, its faults and its people', async ({ world }) => {
    const overview = await controlled(world, 'GET', '')
    expect(Object.keys(overview.faults)).toContain('throttle')
    for (const route of Object.keys(overview.routes)) {
      const [method = 'GET', path = ''] = route.split(' ')
      if (path === '/derived') continue
      const answer = await world.control(method, path.replace(':externalId', runner))
      expect(answer.status, route).not.toBe(404)
    }
    const people = await controlled(world, 'GET', '/people')
    expect(people).toHaveLength(8)
    expect(people[6]).toEqual({ externalId: runner, kind: 'runner' })
  })

  test('marks its people as samples, and the newcomer has nothing', async ({ world }) => {
    const headers = { authorization: `account ${await world.accountToken()}` }
    const found = json(await world.api('account/profile/search', { headers }))
    expect(found.items.every((item: { isSampleProfile: boolean }) => item.isSampleProfile)).toBe(true)
    const profileHeaders = { authorization: `profile ${(await world.profileToken(newcomer)).profileToken}` }
    for (const path of ['score', 'biomarker', 'archetypes', 'tag', 'demographic', 'deviceInformation'])
      expect((await world.api(`profile/${path}`, { headers: profileHeaders })).status).toBe(204)
  })

  test('registers by its app keys', async ({ world }) => {
    const { appId, appSecret } = world.sandbox
    const headers = { appid: appId, appsecret: appSecret }
    const body = { externalId: 'somebody new' }
    expect((await world.api('oauth/profile/register/appId', { method: 'POST', headers, body })).status).toBe(201)
  })

  test('started again has the same people and data, with its secret the same keys, and adds missing people', async ({
    serviceUrl,
  }) => {
    const first = await openSandboxWorld({ databaseUrl: serviceUrl, profiles: 3, secret: 'kept' })
    const { clientId, clientSecret } = first.sandbox
    const { profileToken } = await first.profileToken(traveller)
    await first.sandbox.close()
    const logs = await countLogs(serviceUrl)

    const second = await openSandboxWorld({ databaseUrl: serviceUrl, profiles: 3, secret: 'kept' })
    expect([second.sandbox.clientId, second.sandbox.clientSecret]).toEqual([clientId, clientSecret])
    expect(await countLogs(serviceUrl)).toBe(logs)
    const headers = { authorization: `profile ${profileToken}` }
    expect((await second.api('profile/deviceInformation', { headers })).status).toBe(200)
    second.sandbox.faults.set([{ name: 'throttle', rate: 1, profiles: [traveller] }])
    expect((await second.api('profile/deviceInformation', { headers })).status).toBe(429)
    second.sandbox.faults.set([])
    const post = { method: 'POST', headers, body: [steps(3)] }
    expect(json(await second.api('profile/data/log', post)).accepted).toBe(1)
    await second.sandbox.close()

    const third = await openSandboxWorld({ databaseUrl: serviceUrl, profiles: 5 })
    const search = { headers: { authorization: `account ${await third.accountToken()}` } }
    expect(json(await third.api('account/profile/search', search)).totalCount).toBe(5)
    await third.sandbox.close()
  })

  test('whose first start broke off in the middle of a person is complete after the second', async ({ serviceUrl }) => {
    const endMs = Date.parse('2026-11-20T18:00:00Z')
    const options = { databaseUrl: serviceUrl, profiles: 3, machine: () => endMs }
    await query(serviceUrl, `alter table service.logs add constraint refuse check (log_type <> 'heart')`)
    await expect(openSandboxWorld(options)).rejects.toThrow('refuse')
    await query(serviceUrl, 'alter table service.logs drop constraint refuse')
    expect((await query(serviceUrl, 'select from service.profiles')).length).toBeGreaterThan(0)

    const world = await openSandboxWorld(options)
    const people = samplePeople('test', 3)
    const whole = people.flatMap((person) => logsOf(person, { startMs: endMs - 2 * DAY, endMs })).length
    expect(await countLogs(serviceUrl)).toBe(whole)
    await world.sandbox.close()
  })

  test('without a secret has keys of its own at each start', async ({ serviceUrl }) => {
    const keys: string[] = []
    for (let start = 0; start < 2; start += 1) {
      const { sandbox } = await openSandboxWorld({ databaseUrl: serviceUrl, profiles: 1 })
      keys.push(sandbox.clientId)
      await sandbox.close()
    }
    expect(keys[0]).not.toBe(keys[1])
  })
})

test('a service that is no sandbox has no control routes and no faults', async ({ serviceUrl }) => {
  const service = await startService({ databaseUrl: serviceUrl, port: 0, log: quiet })
  for (const path of ['', '/faults', '/clock', '/journal', '/people', `/ledger/${runner}`])
    expect((await send(`${service.url}/__control${path}`)).status).toBe(404)
  expect((await send(`${service.url}/__control/faults`, { method: 'PUT', body: { name: 'reset' } })).status).toBe(404)
  await service.close()
})
