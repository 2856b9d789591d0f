import { gunzipSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import { DAY, HOUR } from '../../../src/base/time/units.ts'
import { faultNames } from '../../../src/service/sandbox/faults/fault-catalogue.ts'
import { afterWhole } from '../../support/after-whole.ts'
import {
  json,
  newcomer,
  office,
  query,
  runner,
  type SandboxAnswer,
  type SandboxWorld,
  scorePath,
  steps,
  tagPath,
  test,
} from './sandbox-world.ts'

const seen = new Set<string>()

async function upset(world: SandboxWorld, rule: { name: string; [key: string]: unknown }) {
  seen.add(rule.name)
  const answer = await world.control('PUT', '/faults', rule)
  expect(answer.status).toBe(200)
}

const calm = (world: SandboxWorld) => world.control('DELETE', '/faults')

async function asAccount(world: SandboxWorld) {
  const headers = { authorization: `account ${await world.accountToken()}` }
  return (path: string) => world.api(path, { headers })
}

async function postTags(world: SandboxWorld, count: number) {
  const headers = { authorization: `account ${await world.accountToken()}` }
  const tags = Array.from({ length: count }, (_, n) => ({
    type: 'event',
    name: `tag-${n}`,
    source: 'test',
    startDateTime: `2026-03-0${1 + (n % 9)}T10:00:00+01:00`,
  }))
  await world.api(`profile/tag/${newcomer}`, { method: 'POST', headers, body: tags })
  return (query = '') => world.api(`profile/tag/${newcomer}${query}`, { headers })
}

/** One score of the runner's, of the third of March. */
async function storeScore(databaseUrl: string) {
  const score = {
    id: '11111111-1111-4111-8111-111111111111',
    type: 'sleep',
    value: 0.8,
    state: 'high',
    createdAt: '2026-03-04T06:00:00.000Z',
    factors: [],
    scoreDateTime: '2026-03-03T00:00:00+01:00',
    dataSources: ['sleep'],
    version: 1,
  }
  await query(
    databaseUrl,
    `insert into service.derived (profile_id, id, kind, name, period_start, period_end, created_at, changed_at, body)
     select profile_id, $1, 'score', 'sleep', $2, $2, $2, $2, $3 from service.profiles where external_id = $4`,
    [score.id, score.scoreDateTime, JSON.stringify(score), runner],
  )
}

const brokenWith = (asked: Promise<SandboxAnswer>) =>
  asked.then(
    () => 'answered',
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  )

describe('faults of the request', () => {
  test('expired-token: the token is refused, a new token is accepted, and a refresh still accepts the old token', async ({
    world,
  }) => {
    const { profileToken, refreshToken } = await world.profileToken(runner)
    const demographic = (token: string) =>
      world.api('profile/demographic', { headers: { authorization: `profile ${token}` } })
    await upset(world, { name: 'expired-token', operations: ['demographic'], timesMax: 1 })

    expect((await demographic(profileToken)).status).toBe(401)
    expect((await demographic(profileToken)).status).toBe(401)

    const headers = { authorization: `profile ${profileToken}` }
    const refreshed = await world.api('oauth/profile/refreshToken', { method: 'POST', headers, body: { refreshToken } })
    expect(refreshed.status).toBe(200)
    expect((await demographic(json(refreshed).profileToken)).status).toBe(200)
  })

  test('expired-token: an account token expires as well, with 401 in the documented shape', async ({ world }) => {
    const get = await asAccount(world)
    await upset(world, { name: 'expired-token', operations: ['scoresOf'], timesMax: 1 })
    const answer = await get(scorePath)
    expect([answer.status, json(answer).statusCode, json(answer).title]).toEqual([401, 401, 'Unauthorized'])
    expect((await get('account/profile/search')).status).toBe(401)
    expect((await (await asAccount(world))(scorePath)).status).toBe(204)
  })

  test('revoked-token: every operation refuses the token, a refresh too', async ({ world }) => {
    const { profileToken, refreshToken } = await world.profileToken(runner)
    const headers = { authorization: `profile ${profileToken}` }
    await upset(world, { name: 'revoked-token', operations: ['demographic'], timesMax: 1 })
    expect((await world.api('profile/demographic', { headers })).status).toBe(401)
    const refresh = { method: 'POST', headers, body: { refreshToken } }
    expect((await world.api('oauth/profile/refreshToken', refresh)).status).toBe(401)
  })

  test('throttle: 429 and seconds to wait', async ({ world }) => {
    const get = await asAccount(world)
    await upset(world, { name: 'throttle', settings: { retryAfterSeconds: 7 } })
    const answer = await get(scorePath)
    expect([answer.status, answer.headers['retry-after'], json(answer).statusCode]).toEqual([429, '7', 429])
  })

  test('throttle-date: 429 and the date until which to wait, by the clock of the sandbox', async ({ world }) => {
    world.sandbox.clock.advance(-5 * DAY)
    const get = await asAccount(world)
    await upset(world, { name: 'throttle-date', settings: { retryAfterSeconds: 60 } })
    const answer = await get(scorePath)
    const waitMs = Date.parse(String(answer.headers['retry-after'])) - Date.parse(String(answer.headers['date']))
    expect(answer.status).toBe(429)
    expect(waitMs).toBeGreaterThanOrEqual(60_000)
    expect(waitMs).toBeLessThanOrEqual(62_000)
  })

  test.for([
    ['error-500', 500],
    ['error-502', 502],
    ['error-503', 503],
    ['error-504', 504],
  ] as const)('%s: the status, and nothing was done', async ([name, status], { world }) => {
    const { profileToken } = await world.profileToken(newcomer)
    const headers = { authorization: `profile ${profileToken}` }
    const post = () => world.api('profile/data/log', { method: 'POST', headers, body: [steps(9)] })
    await upset(world, { name, operations: ['uploadLogs'] })
    const answer = await post()
    expect([answer.status, answer.headers['retry-after']]).toEqual([status, undefined])
    await calm(world)
    expect(json(await post()).accepted).toBe(1)
  })

  test('error-503 sends Retry-After when the setting is above 0', async ({ world }) => {
    const get = await asAccount(world)
    await upset(world, { name: 'error-503', settings: { retryAfterSeconds: 3 } })
    expect((await get(scorePath)).headers['retry-after']).toBe('3')
  })

  test('reset: the connection breaks, and nothing was done', async ({ world }) => {
    const { profileToken } = await world.profileToken(newcomer)
    const headers = { authorization: `profile ${profileToken}` }
    const post = () => world.api('profile/data/log', { method: 'POST', headers, body: [steps(9)] })
    await upset(world, { name: 'reset', operations: ['uploadLogs'], timesMax: 1 })
    expect(await brokenWith(post())).toBe('ECONNRESET')
    expect(json(await post()).accepted).toBe(1)
  })

  test('latency: the answer is delayed', async ({ world }) => {
    const get = await asAccount(world)
    await upset(world, { name: 'latency', settings: { delayMs: 150 } })
    const startedAt = performance.now()
    expect((await get(scorePath)).status).toBe(204)
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(148)
  })
})

describe('faults of the response', () => {
  test('lost-answer: the connection breaks, but the work was done', async ({ world }) => {
    const { profileToken } = await world.profileToken(newcomer)
    const headers = { authorization: `profile ${profileToken}` }
    const post = () => world.api('profile/data/log', { method: 'POST', headers, body: [steps(9)] })
    await upset(world, { name: 'lost-answer', operations: ['uploadLogs'], timesMax: 1 })
    expect(await brokenWith(post())).toBe('ECONNRESET')
    expect(json(await post())).toMatchObject({ accepted: 0, duplicates: 1 })
  })

  test('slow-body: the whole body arrives, with delays', async ({ world }) => {
    const get = await asAccount(world)
    const whole = await get('account/profile/search')
    await upset(world, { name: 'slow-body', settings: { pieces: 5, delayMs: 30 } })
    const startedAt = performance.now()
    const slow = await get('account/profile/search')
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(145)
    expect([slow.status, slow.text]).toEqual([200, whole.text])
  })

  test('cut-body: fewer bytes arrive than Content-Length announces', async ({ world }) => {
    const get = await asAccount(world)
    await upset(world, { name: 'cut-body', timesMax: 1 })
    expect(await brokenWith(get('account/profile/search'))).toBe('ECONNRESET')
    expect((await get('account/profile/search')).status).toBe(200)
  })

  test('malformed-body: the whole body arrives, and it is not JSON', async ({ world }) => {
    const get = await asAccount(world)
    await upset(world, { name: 'malformed-body', timesMax: 1 })
    const answer = await get('account/profile/search')
    expect(answer.status).toBe(200)
    expect(() => JSON.parse(answer.text)).toThrow(SyntaxError)
    expect(json(await get('account/profile/search')).totalCount).toBe(8)
  })
})

describe('with compression', () => {
  test('slow-body and cut-body do to compressed bodies what they do to others', async ({ world }) => {
    const headers = { authorization: `account ${await world.accountToken()}`, 'accept-encoding': 'gzip' }
    const plain = await world.api('account/profile/search', { headers: { authorization: headers.authorization } })
    const zipped = () => world.api('account/profile/search', { headers })
    await upset(world, { name: 'slow-body', settings: { pieces: 3, delayMs: 10 } })
    const slow = await zipped()
    expect(slow.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(slow.body).toString('utf8')).toBe(plain.text)
    await upset(world, { name: 'cut-body' })
    expect(await brokenWith(zipped())).toBe('ECONNRESET')
    await upset(world, { name: 'malformed-body' })
    const malformed = gunzipSync((await zipped()).body).toString('utf8')
    expect(() => JSON.parse(malformed)).toThrow(SyntaxError)
  })

  test('duplicates reach a client that asked for compression', async ({ world }) => {
    const get = await postTags(world, 40)
    const single = json(await get()).length
    await upset(world, { name: 'duplicates' })
    const headers = { authorization: `account ${await world.accountToken()}`, 'accept-encoding': 'gzip' }
    const told = await world.api(`profile/tag/${newcomer}`, { headers })
    expect(JSON.parse(gunzipSync(told.body).toString('utf8')).length).toBe(single * 2)
  })
})

describe('faults of the records', () => {
  test('duplicates: selected records occur twice', async ({ world }) => {
    const get = await postTags(world, 40)
    await upset(world, { name: 'duplicates', rate: 0.5 })
    const ids = json(await get()).map((tag: { id: string }) => tag.id)
    expect(new Set(ids).size).toBe(40)
    expect(ids.length).toBeGreaterThan(45)
    expect(ids.length).toBeLessThan(75)
  })

  test('late: not served before the hour, served after the clock has passed it', async ({ world }) => {
    const get = await postTags(world, 9)
    await upset(world, { name: 'late', settings: { hours: 24 } })
    world.sandbox.clock.moveTo(Date.parse('2026-03-05T12:00:00+01:00'))
    expect(json(await get()).length).toBe(4)
    await world.control('POST', '/clock', { advanceHours: 23 })
    expect(json(await get()).length).toBe(5)
    await calm(world)
    expect(json(await get()).length).toBe(9)
  })

  test('vanished: served before the hour, not served after it', async ({ world }) => {
    const get = await postTags(world, 9)
    world.sandbox.clock.moveTo(Date.parse('2026-03-05T12:00:00+01:00'))
    await upset(world, { name: 'vanished', settings: { hours: 24 } })
    expect(json(await get()).length).toBe(5)
    await upset(world, { name: 'vanished', settings: { hours: 0 } })
    expect(json(await get()).length).toBe(4)
  })

  test('failed-derivation: no score of its days, those of other days as they were', async ({ world, serviceUrl }) => {
    const get = await asAccount(world)
    await storeScore(serviceUrl)
    await upset(world, { name: 'failed-derivation', days: ['2026-03-02'] })
    expect(json(await get(scorePath))).toHaveLength(1)
    await upset(world, { name: 'failed-derivation', days: ['2026-03-03'] })
    expect((await get(scorePath)).status).toBe(204)
  })

  test('revised: a tenth too low at first, right in the end', async ({ world, serviceUrl }) => {
    const get = await asAccount(world)
    await storeScore(serviceUrl)
    const value = async () => json(await get(scorePath))[0].value
    await upset(world, { name: 'revised', settings: { hours: 6 } })
    world.sandbox.clock.moveTo(Date.parse('2026-03-04T05:59:59+01:00'))
    expect(await value()).toBe(0.72)
    world.sandbox.clock.advance(2000)
    expect(await value()).toBe(0.8)
  })

  test('every record late: 204, as without records', async ({ world }) => {
    const get = await postTags(world, 3)
    await upset(world, { name: 'late', settings: { hours: 24 * 365 * 20 } })
    const answer = await get()
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([204, '', undefined])
  })

  test('odd-records: one record is unreadable, the others are valid', async ({ world }) => {
    const get = await postTags(world, 40)
    await upset(world, { name: 'odd-records', rate: 0.2 })
    const dates = json(await get()).map((tag: { startDateTime: string }) => tag.startDateTime)
    const odd = dates.filter((date: string) => date === 'not a date').length
    expect(odd).toBeGreaterThan(1)
    expect(odd).toBeLessThan(20)
  })

  test('empty-200: an empty list instead of 204, and only there', async ({ world }) => {
    const get = await asAccount(world)
    await upset(world, { name: 'empty-200' })
    const answer = await get(scorePath)
    expect([answer.status, answer.text]).toEqual([200, '[]'])
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    const device = { authorization: `profile ${(await world.profileToken(newcomer)).profileToken}` }
    expect((await world.api('profile/deviceInformation', { headers: device })).status).toBe(204)
  })

  test('exclusive-end: a record that starts at the end of the window is left out', async ({ world }) => {
    const get = await postTags(world, 3)
    const window = '?startDateTime=2026-03-02T00:00:00Z&endDateTime=2026-03-03T10:00:00%2B01:00'
    const names = async () => json(await get(window)).map((tag: { name: string }) => tag.name)
    expect(await names()).toEqual(['tag-2', 'tag-1'])
    await upset(world, { name: 'exclusive-end' })
    expect(await names()).toEqual(['tag-1'])
  })

  test('old-names: scores have the old field names, other records the present ones', async ({ world, serviceUrl }) => {
    const tags = await postTags(world, 1)
    const get = await asAccount(world)
    await storeScore(serviceUrl)
    const [before, [score]] = [await tags(), json(await get(scorePath))]
    await upset(world, { name: 'old-names' })
    const { value, createdAt, ...rest } = score
    expect(json(await get(scorePath))).toEqual([{ ...rest, score: value, createdAtUtc: createdAt }])
    expect((await tags()).text).toBe(before.text)
  })

  test('bare-token: the account token alone', async ({ world }) => {
    await upset(world, { name: 'bare-token' })
    const { clientId, clientSecret } = world.sandbox
    const answer = await world.api('oauth/account/token', { method: 'POST', body: { clientId, clientSecret } })
    expect(Object.keys(json(answer))).toEqual(['accountToken'])
  })

  test('pages-from-zero: the first page is 0, the second 1', async ({ world }) => {
    const get = await asAccount(world)
    const page = async (query: string) => json(await get(`account/profile/search?pageSize=3${query}`))
    const ordinary = [await page('&currentPage=1'), await page('&currentPage=2')]
    await upset(world, { name: 'pages-from-zero' })
    for (const [n, query] of ['', '&currentPage=1'].entries())
      expect(await page(query)).toEqual({ ...ordinary[n], currentPage: n })
    expect((await page('&currentPage=0')).items).toEqual(ordinary[0].items)
  })
})

describe('a rule over the wire', () => {
  test('strikes only the operations and profiles it names, by path, by body and by token', async ({ world }) => {
    const { profileToken } = await world.profileToken(runner)
    const get = await asAccount(world)
    const profileHeaders = { authorization: `profile ${profileToken}` }
    await upset(world, { name: 'error-500', profiles: [runner], operations: ['tagsOf', 'demographic', 'profileToken'] })
    expect((await get(tagPath)).status).toBe(500)
    expect((await get(tagPath.replace(runner, office))).status).not.toBe(500)
    expect((await get(scorePath)).status).toBe(204)
    expect((await world.api('profile/demographic', { headers: profileHeaders })).status).toBe(500)
    const headers = { authorization: `account ${await world.accountToken()}` }
    const ask = (externalId: string) =>
      world.api('oauth/profile/token', { method: 'POST', headers, body: { externalId } })
    expect([(await ask(runner)).status, (await ask(office)).status]).toEqual([500, 200])
  })

  test('repeats its choices when it is set again', async ({ world }) => {
    const get = await asAccount(world)
    const fates = async () => {
      await upset(world, { name: 'error-503', rate: 0.5, operations: ['scoresOf'] })
      const answers: number[] = []
      for (let n = 0; n < 24; n += 1) answers.push((await get(scorePath)).status)
      return answers
    }
    const first = await fates()
    expect(await fates()).toEqual(first)
    expect(new Set(first)).toEqual(new Set([204, 503]))
  })

  test('is refused when it is invalid, and the error names the field', async ({ world }) => {
    for (const rule of [
      { name: 'nonsense' },
      { name: 'reset', rate: 2 },
      { name: 'reset', settings: { delayMs: 1 } },
      { name: 'reset', operations: ['nothing'] },
    ]) {
      const answer = await world.control('PUT', '/faults', rule)
      expect([answer.status, json(answer).statusCode]).toEqual([400, 400])
      expect(json(answer).errors.length).toBeGreaterThan(0)
    }
    expect(json(await world.control('GET', '/faults'))).toEqual([])
  })

  test('can be added to others and removed by name', async ({ world }) => {
    await world.control('POST', '/faults', [
      { name: 'latency', settings: { delayMs: 1 } },
      { name: 'reset', rate: 0 },
    ])
    await world.control('POST', '/faults', { name: 'late', rate: 0.1 })
    await world.control('DELETE', '/faults?name=reset')
    const names = json(await world.control('GET', '/faults')).map((rule: { name: string }) => rule.name)
    expect(names).toEqual(['latency', 'late'])
    expect((await world.control('DELETE', '/faults?name=nonsense')).status).toBe(400)
  })

  test('a token expires by the clock alone after a day, without any rule', async ({ world }) => {
    const get = await asAccount(world)
    world.sandbox.clock.advance(24 * HOUR - 60_000)
    expect((await get(scorePath)).status).toBe(204)
    world.sandbox.clock.advance(61_000)
    expect((await get(scorePath)).status).toBe(401)
  })
})

// Every fault of the catalogue was seen on the wire, here or in upstreams.test.ts.
afterWhole(() => {
  const ofUpstreams = faultNames.filter((name) => /^(drift|without|whole)-/.test(name))
  expect([...seen, ...ofUpstreams].toSorted()).toEqual([...faultNames].toSorted())
})
