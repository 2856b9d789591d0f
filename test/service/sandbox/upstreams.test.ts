import { expect } from 'vitest'
import { type FaultName, faultNames, plainFaults } from '../../../src/service/sandbox/faults/fault-catalogue.ts'
import { json, newcomer, query, runner, type SandboxWorld, scorePath, steps, tagPath, test } from './sandbox-world.ts'

type Body = Record<string, unknown>

const score = (n: number, changes: Body = {}) => ({
  id: `1111111${n}-1111-4111-8111-111111111111`,
  type: ['sleep', 'activity', 'readiness'][n],
  value: 0.812_34,
  state: 'high',
  createdAt: '2026-03-04T06:00:00.125Z',
  factors: [{ id: 'f', name: 'sleep_duration', value: 420, goal: 480, score: 0.9, state: 'high', unit: 'minute' }],
  scoreDateTime: '2026-03-03T00:00:00+01:00',
  dataSources: ['sleep'],
  version: 1,
  ...changes,
})

async function storeScores(databaseUrl: string) {
  for (const body of [score(0), score(1), score(2)])
    await query(
      databaseUrl,
      `insert into service.derived (profile_id, id, kind, name, period_start, period_end, created_at, changed_at, body)
       select profile_id, $1, 'score', $2, $3, $3, $3, $3, $4 from service.profiles where external_id = $5`,
      [body.id, body.type, body.scoreDateTime, JSON.stringify(body), runner],
    )
}

const set = (world: SandboxWorld, ...names: FaultName[]) =>
  world.sandbox.faults.set(names.map((name) => ({ name, rate: 1 })))

async function readScores(world: SandboxWorld, headers: Record<string, string> = {}) {
  const authorization = `account ${await world.accountToken()}`
  return world.api(`${scorePath}?startDateTime=2026-03-01&typo=1`, { headers: { authorization, ...headers } })
}

const headersOf = { 'without-tags': 'etag', 'without-derivation-state': 'derivation-state', 'without-date': 'date' }
const moreHeaders = { 'without-request-ids': 'x-request-id', 'without-query-notes': 'query-notes' }

test.for(Object.entries({ ...headersOf, ...moreHeaders }))(
  '%s: the header %s alone is gone',
  async ([name, header], { world, serviceUrl }) => {
    await storeScores(serviceUrl)
    const before = await readScores(world)
    set(world, name as FaultName)
    const after = await readScores(world)
    const names = (headers: object) => Object.keys(headers).toSorted()
    expect(names(before.headers)).toContain(header)
    expect(names(after.headers)).toEqual(names(before.headers).filter((other) => other !== header))
    expect([after.status, after.text]).toEqual([200, before.text])
  },
)

test('without-tags: a tag that the caller holds from before has no effect', async ({ world, serviceUrl }) => {
  await storeScores(serviceUrl)
  const held = { 'if-none-match': String((await readScores(world)).headers['etag']) }
  expect((await readScores(world, held)).status).toBe(304)
  set(world, 'without-tags')
  expect((await readScores(world, held)).status).toBe(200)
})

test('without-retry-after: a 429 names no time', async ({ world }) => {
  const headers = { authorization: `account ${await world.accountToken()}` }
  set(world, 'throttle', 'without-retry-after')
  const throttled = await world.api('account/profile/search', { headers })
  expect([throttled.status, throttled.headers['retry-after']]).toEqual([429, undefined])
})

test('without-error-bodies: a refusal is its status alone, at the door as well', async ({ world }) => {
  set(world, 'without-error-bodies')
  const { profileToken } = await world.profileToken(newcomer)
  const headers = { authorization: `profile ${profileToken}` }
  const body = [{ ...steps(9), unit: undefined }]
  const refused = await world.api('profile/data/log', { method: 'POST', headers, body })
  const unknown = await world.api('account/profile/search')
  expect([refused.status, refused.text, refused.headers['content-type']]).toEqual([400, '', undefined])
  expect([unknown.status, unknown.text]).toEqual([401, ''])
})

test('without-compression: the same bytes, unpacked', async ({ world }) => {
  const headers = { authorization: `account ${await world.accountToken()}`, 'accept-encoding': 'gzip' }
  const packed = await world.api('account/profile/search', { headers })
  set(world, 'without-compression')
  const unpacked = await world.api('account/profile/search', { headers })
  expect([packed.headers['content-encoding'], unpacked.headers['content-encoding']]).toEqual(['gzip', undefined])
  expect(json(unpacked).totalCount).toBe(8)
})

test('drift-error-shape: an error in the form of RFC 9457', async ({ world }) => {
  set(world, 'drift-error-shape')
  const answer = await world.api(tagPath)
  expect([answer.status, answer.headers['content-type']]).toEqual([401, 'application/problem+json'])
  expect(Object.keys(json(answer))).toEqual(['type', 'title', 'status', 'detail'])
})

const withoutId = ({ id: _, ...rest }: Body) => rest
const renamed = ({ value, ...rest }: Body) => ({ ...rest, reading: value })
const inHours = [{ ...score(0).factors[0], value: 7, unit: 'hour' }]
const roundedFactors = [{ ...score(0).factors[0] }]
const textFactors = [{ ...score(0).factors[0], value: '420', goal: '480', score: '0.9' }]

/** By fault: the three scores as it changes them. */
const changed: ReadonlyArray<readonly [FaultName, (scores: Body[]) => unknown]> = [
  ['without-ids', (scores) => scores.map(withoutId)],
  ['whole-seconds', (scores) => scores.map((one) => ({ ...one, createdAt: '2026-03-04T06:00:00Z' }))],
  ['drift-new-field', (scores) => scores.map((one) => ({ ...one, confidence: 0.87 }))],
  ['drift-renamed-field', (scores) => scores.map(renamed)],
  ['drift-unit', (scores) => scores.map((one) => ({ ...one, factors: inHours }))],
  [
    'drift-number-as-text',
    (scores) => scores.map((one) => ({ ...one, value: '0.81234', version: '1', factors: textFactors })),
  ],
  ['drift-enum-case', (scores) => scores.map((one) => ({ ...one, state: 'HIGH', factors: expect.anything() }))],
  [
    'drift-precision',
    (scores) =>
      scores.map((one) => ({
        ...one,
        value: 0.8,
        createdAt: '2026-03-04T06:00:00.0000000Z',
        scoreDateTime: '2026-03-03T00:00:00.0000000+01:00',
        factors: roundedFactors,
      })),
  ],
  ['drift-order', (scores) => scores.toReversed()],
  ['duplicates', (scores) => scores.flatMap((one) => [one, one])],
  [
    'drift-new-type',
    (scores) =>
      scores.flatMap((one) =>
        one['type'] === 'sleep' ? [one, { ...one, id: expect.any(String), type: 'recovery' }] : [one],
      ),
  ],
]

test.for(changed)(
  '%s: the records are changed so, and have no tag',
  async ([name, expected], { world, serviceUrl }) => {
    await storeScores(serviceUrl)
    const before = json(await readScores(world))
    set(world, name)
    const after = await readScores(world)
    expect(json(after)).toEqual(expected(before))
    expect(after.headers['etag']).toBeUndefined()
  },
)

test('drift-null: a tag has every field that it may lack', async ({ world }) => {
  const headers = { authorization: `account ${await world.accountToken()}` }
  const body = { type: 'event', name: 'coffee', source: 'test', startDateTime: '2026-03-03T10:00:00Z' }
  await world.api(tagPath, { method: 'POST', headers, body })
  set(world, 'drift-null')
  const [tag] = json(await world.api(tagPath, { headers }))
  expect(tag).toMatchObject({ name: 'coffee', category: null, value: null, endDateTime: null })
})

test('drift-pages: the first records, and a link to the others', async ({ world, serviceUrl }) => {
  await storeScores(serviceUrl)
  world.sandbox.faults.set([{ name: 'drift-pages', rate: 1, settings: { records: 2 } }])
  const cut = await readScores(world)
  expect([json(cut).length, cut.headers['link']]).toEqual([2, expect.stringMatching(/page=2>; rel="next"$/)])
  world.sandbox.faults.set([{ name: 'drift-pages', rate: 1, settings: { records: 3 } }])
  const whole = await readScores(world)
  expect([json(whole).length, whole.headers['link']]).toEqual([3, undefined])
})

test('a plain upstream has every fault that leaves something out', () => {
  const named = faultNames.filter((name) => name.startsWith('without-'))
  expect(new Set(plainFaults)).toEqual(new Set([...named, 'bare-token']))
})

test('all plain faults together: the seed of an answer, and nothing beside it', async ({ world, serviceUrl }) => {
  await storeScores(serviceUrl)
  const before = json(await readScores(world))
  set(world, ...plainFaults)
  const { headers, status, text } = await readScores(world, { 'accept-encoding': 'gzip' })
  expect([status, JSON.parse(text)]).toEqual([200, before.map(withoutId)])
  const extras = ['etag', 'derivation-state', 'date', 'x-request-id', 'query-notes', 'content-encoding']
  expect(extras.filter((name) => name in headers)).toEqual([])
})
