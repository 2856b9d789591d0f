import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { operations } from '../../src/base/contract/operations.ts'
import { call, registerProfile, stepsLog, test } from './service-world.ts'

/** Never 5xx; that every answer is one the document declares is checked by `call` itself. */
const seed = 20261120

const anyJson = fc.jsonValue({ maxDepth: 4, noUnicodeString: false })
const mutations = fc.oneof(
  anyJson,
  fc.constantFrom('', '\u0000', '\ud800', 'x'.repeat(5000), '99999-01-01T00:00:00Z', '2026-02-30', -0, 1e308, 2 ** 53),
)

const valid: Record<string, unknown> = {
  accountToken: { clientId: 'a', clientSecret: 'b' },
  register: { externalId: 'fuzz' },
  registerByApp: { externalId: 'fuzz' },
  profileToken: { externalId: 'fuzz', readOnly: false, lifetime: 60 },
  refreshToken: { refreshToken: 'fuzz' },
  deleteProfiles: { externalIds: ['fuzz'] },
  uploadLogs: [stepsLog({ additionalProperties: { a: 'b' }, modifiedDateTime: '2026-07-11T00:00:00Z' })],
  uploadTags: { type: 'state', name: 'a', category: 'b', value: 'c', source: 'd', startDateTime: '2026-07-11' },
  uploadTagsOf: [{ type: 'event', name: 'a', source: 'd', startDateTime: '2026-07-11', additionalProperties: {} }],
  replaceDemographic: { age: 35, gender: 'Male', birthDate: '1990-01-01', country: 'NZ', locale: 'Urban' },
  updateDemographic: { age: '35', relationship: 'Single', livingArrangement: 'Renting', education: 'x' },
  updateDeviceInformation: {
    sdkId: 'a',
    sdkVersion: 'b',
    appId: 'c',
    deviceType: 'd',
    deviceModel: 'e',
    system: 'f',
    systemVersion: 'g',
    timeZone: '+12:00',
  },
}

type Route = { name: string; method: string; path: string; caller: string }
const routes: Route[] = Object.values(operations)

describe('a body with one place changed for anything', () => {
  const writing = routes.filter((route) => route.name in valid)

  test.for(writing)('$name answers as documented', async (route, { world }) => {
    const person = await registerProfile(world)
    const auth = route.caller === 'account' ? person.account : person.auth
    const headers: Record<string, string> =
      route.caller === 'app' ? { appid: world.appId, appsecret: world.appSecret } : {}
    const path = route.path.replace('{externalId}', person.externalId)
    const places = placesIn(valid[route.name])

    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...places), mutations, async (place, value) => {
        const body = changed(valid[route.name], place, value)
        const answer = await call(world, path, { method: route.method, auth, headers, body })
        expect(answer.status).toBeLessThan(500)
      }),
      { seed, numRuns: 60 },
    )
  })
})

describe('a query of anything', () => {
  const reading = routes.filter((route) => route.method === 'GET')
  const parameters = [
    'startDateTime',
    'endDateTime',
    'types',
    'types[0]',
    'categories',
    'category',
    'name',
    'periodicity',
    'version',
    'searchParameter',
    'currentPage',
    'pageSize',
  ]
  const values = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.constantFrom(
      '2026-07-11',
      '2026-07-11T00:00:00+12:00',
      'sleep',
      'daily',
      '1',
      '0',
      '-1',
      '1e9',
      'a,b,,c',
      ',',
      '%',
    ),
  )

  test.for(reading)('$name answers as documented', async (route, { world }) => {
    const person = await registerProfile(world)
    const auth = route.caller === 'account' ? person.account : person.auth
    const path = route.path.replace('{externalId}', person.externalId)

    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.constantFrom(...parameters), values), { maxLength: 6 }), async (pairs) => {
        const query = new URLSearchParams(pairs)
        expect((await call(world, `${path}?${query}`, { auth })).status).toBeLessThan(500)
      }),
      { seed, numRuns: 40 },
    )
  })
})

test('a path of anything answers as documented', async ({ world }) => {
  const person = await registerProfile(world)
  const parts = fc.array(
    fc.oneof(fc.constantFrom('api', 'v1', 'profile', 'score', 'tag', '..', '%00', '%'), fc.webSegment()),
    {
      maxLength: 6,
    },
  )

  await fc.assert(
    fc.asyncProperty(parts, fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'), async (segments, method) => {
      const answer = await call(world, `/${segments.join('/')}`, { method, auth: person.account })
      expect(answer.status).toBeLessThan(500)
    }),
    { seed, numRuns: 200 },
  )
})

test('bytes of anything as a body answer as documented', async ({ world }) => {
  const { auth } = await registerProfile(world)

  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 400 }),
      fc.constantFrom('', 'gzip', 'deflate'),
      async (bytes, encoding) => {
        const headers: Record<string, string> = encoding === '' ? {} : { 'content-encoding': encoding }
        const raw = new Uint8Array(bytes)
        const answer = await call(world, '/api/v1/profile/data/log', { method: 'POST', auth, raw, headers })
        expect([400, 413, 415]).toContain(answer.status)
      },
    ),
    { seed, numRuns: 200 },
  )
})

type Place = readonly (string | number)[]

function placesIn(value: unknown, at: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [at]
  return [
    at,
    ...Object.entries(value).flatMap(([key, inner]) =>
      placesIn(inner, [...at, Array.isArray(value) ? Number(key) : key]),
    ),
  ]
}

function changed(value: unknown, place: Place, by: unknown): unknown {
  const [key, ...rest] = place
  if (key === undefined) return by
  if (Array.isArray(value)) return value.map((inner, index) => (index === key ? changed(inner, rest, by) : inner))
  return { ...Object(value), [key]: changed(Object(value)[key], rest, by) }
}
