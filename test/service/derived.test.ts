import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import {
  call,
  originsOf,
  type RegisteredProfile,
  registerProfile,
  type ServiceInternals,
  type ServiceWorld,
  test,
} from './service-world.ts'

const kinds = ['score', 'biomarker', 'archetypes', 'insight/trend', 'insight/comparison']

const forms = [
  ['own', (kind: string, person: RegisteredProfile) => ({ path: `/api/v1/profile/${kind}`, auth: person.auth })],
  [
    'account',
    (kind: string, person: RegisteredProfile) => ({
      path: `/api/v1/profile/${kind}/${person.externalId}`,
      auth: person.account,
    }),
  ],
] as const

type Form = (typeof forms)[number][1]
const read = (world: ServiceWorld, form: Form, kind: string, person: RegisteredProfile, query = '') => {
  const { path, auth } = form(kind, person)
  return call(world, `${path}${query}`, { auth })
}

describe.for(kinds)('%s', (kind) => {
  describe.for(forms)('in the %s form', ([, form]) => {
    test('without data is 204 and no body', async ({ world }) => {
      const answer = await read(world, form, kind, await registerProfile(world))

      expect(answer.status).toBe(204)
      expect(answer.text).toBe('')
    })

    test.for([
      'startDateTime=2026-07-01&endDateTime=2026-07-31T23:59:59%2B12:00',
      'startDateTime=2026-07-01',
      'endDateTime=2026-07-01T00:00:00Z',
      'startDateTime=2026-07-01&endDateTime=2026-07-01',
      'startDateTime=0001-01-01&endDateTime=9999-12-31T23:59:59.999999Z',
      'types=unknown,unheard-of',
      'types[0]=a&types[1]=b',
      'something=else',
    ])('with %s is 204 too', async (query, { world }) => {
      expect((await read(world, form, kind, await registerProfile(world), `?${query}`)).status).toBe(204)
    })

    test.for([
      ['startDateTime=soon', ['startDateTime']],
      ['endDateTime=2026-02-30', ['endDateTime']],
      ['startDateTime=2026-07-02&endDateTime=2026-07-01', ['endDateTime']],
      ['startDateTime=2026-07-01T24:00:00Z', ['startDateTime']],
      ['startDateTime=x&endDateTime=y', ['startDateTime', 'endDateTime']],
    ] as const)('with %s is refused', async ([query, origins], { world }) => {
      const answer = await read(world, form, kind, await registerProfile(world), `?${query}`)

      expect(answer.status).toBe(400)
      expect(originsOf(answer)).toEqual(origins)
    })
  })

  test('of an unknown profile is 404', async ({ world }) => {
    const nobody = { ...(await registerProfile(world)), externalId: 'nobody' }

    expect((await read(world, forms[1][1], kind, nobody)).status).toBe(404)
  })
})

describe('periodicity', () => {
  test.for(kinds)('of %s is daily or weekly', async (kind, { world }) => {
    const person = await registerProfile(world)
    const answer = (word: string) => read(world, forms[0][1], kind, person, `?periodicity=${word}`)

    for (const word of ['daily', 'weekly', 'daily,weekly', '']) expect((await answer(word)).status, word).toBe(204)
    for (const word of ['monthly', 'intraday', 'Daily', 'weekly,never']) {
      const refused = await answer(word)
      expect([word, refused.status]).toEqual([word, 400])
      expect(originsOf(refused)[0]).toMatch(/^periodicity\[\d\]$/)
    }
  })

  test('a version of scores is a whole number', async ({ world }) => {
    const person = await registerProfile(world)

    expect((await read(world, forms[0][1], 'score', person, '?version=one')).status).toBe(400)
    expect((await read(world, forms[0][1], 'score', person, '?version=1,2')).status).toBe(204)
  })
})

type Row = {
  kind: string
  name: string
  start: string
  end: string
  category?: string
  periodicity?: string
  version?: number
}

/** Inserts derived records directly: the selection of records is tested apart from the derivation. */
async function given(inside: ServiceInternals, person: RegisteredProfile, rows: Row[]): Promise<void> {
  for (const row of rows) {
    await inside.sql.query(
      `insert into service.derived (profile_id, id, kind, name, category, periodicity, period_start, period_end, version,
         created_at, changed_at, body)
       select profile_id, $2, $3, $4, $5, $6, $7, $8, $9, now(), now(), $10 from service.profiles where external_id = $1`,
      [
        person.externalId,
        randomUUID(),
        row.kind,
        row.name,
        row.category ?? null,
        row.periodicity ?? null,
        row.start,
        row.end,
        row.version ?? 1,
        JSON.stringify(bodies[row.kind]?.(row)),
      ],
    )
  }
}

const bodies: Record<string, (row: Row) => object> = {
  score: ({ name, start, version = 1 }) => ({
    id: randomUUID(),
    type: name,
    value: 0.5,
    state: 'low',
    createdAt: '2026-07-12T00:00:00Z',
    factors: [],
    scoreDateTime: start,
    dataSources: [],
    version,
  }),
  archetype: ({ name, start, end, periodicity }) => ({
    id: randomUUID(),
    name,
    value: 'short_sleeper',
    dataType: 'ordinal',
    ordinality: 1,
    periodicity,
    startDateTime: start,
    endDateTime: end,
    version: 1,
  }),
  comparison: ({ name, start, end, category }) => ({
    id: randomUUID(),
    type: 'comparison',
    category,
    name,
    value: 1,
    unit: 'count',
    isHigherBetter: true,
    periodicity: 'daily',
    startDateTime: start,
    endDateTime: end,
    data: [],
  }),
}

const scoreOf = (name: string, day: number, version = 1): Row => ({
  kind: 'score',
  name,
  start: `2026-07-${day}T00:00:00+12:00`,
  end: `2026-07-${day}T23:59:59+12:00`,
  version,
})
const scores = [scoreOf('sleep', 11), scoreOf('activity', 11), scoreOf('sleep', 12, 2), scoreOf('sleep', 13)]
const shown = (answer: { status: number; json: Array<{ type: string; scoreDateTime: string }> }) =>
  answer.status === 204 ? [] : answer.json.map((record) => `${record.type} ${record.scoreDateTime.slice(8, 10)}`)

describe('what is there', () => {
  const all = ['sleep 13', 'sleep 12', 'activity 11', 'sleep 11']
  const queries: Array<[string, string[]]> = [
    ['', all],
    ['types=sleep', ['sleep 13', 'sleep 12', 'sleep 11']],
    ['types=activity,sleep', all],
    ['types=activity&types=sleep', all],
    ['types[0]=activity&types[1]=unknown', ['activity 11']],
    ['types=unknown', []],
    ['version=2', ['sleep 12']],
    ['version=1,2', all],
    ['version=3', []],
    ['startDateTime=2026-07-12T00:00:00%2B12:00', ['sleep 13', 'sleep 12']],
    ['startDateTime=2026-07-11T23:59:59%2B12:00', all],
    ['startDateTime=2026-07-11T23:59:59.001%2B12:00', ['sleep 13', 'sleep 12']],
    ['endDateTime=2026-07-11T00:00:00%2B12:00', ['activity 11', 'sleep 11']],
    ['endDateTime=2026-07-10T23:59:59.999%2B12:00', []],
    ['startDateTime=2026-07-12T06:00:00%2B12:00&endDateTime=2026-07-12T07:00:00%2B12:00', ['sleep 12']],
    ['startDateTime=2026-07-12T06:00:00+12:00&endDateTime=2026-07-12T07:00:00+12:00', ['sleep 12']],
    ['startDateTime=2026-07-13', ['sleep 13']],
    ['startDateTime=2026-07-14', []],
    ['startDateTime=0001-01-01&endDateTime=9999-12-31', all],
  ]

  test.for(queries)('is selected by %s', async ([query, expected], { world, inside }) => {
    const person = await registerProfile(world)
    await given(inside, person, scores)

    for (const [, form] of forms) {
      expect(shown(await read(world, form, 'score', person, `?${query}`))).toEqual(expected)
    }
  })

  test('of one kind is not shown as another', async ({ world, inside }) => {
    const person = await registerProfile(world)
    await given(inside, person, scores)

    for (const kind of kinds.slice(1)) expect((await read(world, forms[0][1], kind, person)).status).toBe(204)
  })

  test('touches a window with its period, however long', async ({ world, inside }) => {
    const person = await registerProfile(world)
    const month = { kind: 'archetype', name: 'sleep_duration', periodicity: 'monthly' }
    await given(inside, person, [{ ...month, start: '2026-07-01T00:00:00Z', end: '2026-07-31T00:00:00Z' }])

    for (const [, form] of forms) {
      const found = async (query: string) => (await read(world, form, 'archetypes', person, `?${query}`)).status
      expect(await found('startDateTime=2026-07-31')).toBe(200)
      expect(await found('startDateTime=2026-07-31T00:00:00.001Z')).toBe(204)
      expect(await found('startDateTime=2026-07-10&endDateTime=2026-07-11')).toBe(200)
      expect(await found('name=sleep_duration')).toBe(200)
      expect(await found('types=sleep_duration')).toBe(200)
      expect(await found('periodicity=weekly')).toBe(204)
      expect(await found('name=other')).toBe(204)
    }
  })

  test('is filtered by category under either name', async ({ world, inside }) => {
    const person = await registerProfile(world)
    const day = { kind: 'comparison', start: '2026-07-11T00:00:00Z', end: '2026-07-11T23:59:59Z' }
    await given(inside, person, [
      { ...day, name: 'sleep', category: 'score' },
      { ...day, name: 'steps', category: 'biomarker' },
    ])

    for (const [, form] of forms) {
      const names = async (query: string) =>
        (await read(world, form, 'insight/comparison', person, query)).json.map(({ name }: { name: string }) => name)
      for (const word of ['category', 'categories']) expect(await names(`?${word}=score`)).toEqual(['sleep'])
      expect(await names('?category=score,biomarker')).toHaveLength(2)
    }
  })

  test('is fresh at once when it changes, comes or goes, though the same is asked again', async ({ world, inside }) => {
    const person = await registerProfile(world)
    const change = (sql: string) =>
      inside.sql.query(`${sql} where profile_id in
      (select profile_id from service.profiles where external_id = '${person.externalId}')`)
    const [, profileForm] = forms[0]
    const values = async (form: Form = profileForm) => {
      const answer = await read(world, form, 'score', person)
      return answer.status === 204 ? [] : answer.json.map((record: { value: number }) => record.value)
    }
    for (const [, form] of forms) expect(await values(form)).toEqual([])
    await given(inside, person, [scoreOf('sleep', 11)])
    for (const [, form] of forms) expect(await values(form)).toEqual([0.5])
    for (const [, form] of forms) expect(await values(form)).toEqual([0.5])
    await change(`update service.derived set body = replace(body, '"value":0.5', '"value":0.25')`)
    for (const [, form] of forms) expect(await values(form)).toEqual([0.25])
    await given(inside, person, [scoreOf('sleep', 12)])
    for (const [, form] of forms) expect(await values(form)).toEqual([0.5, 0.25])
    await change('delete from service.derived')
    for (const [, form] of forms) expect(await values(form)).toEqual([])
  })

  test('of a name that was erased and registered again is the new profile’s', async ({ world, inside }) => {
    const person = await registerProfile(world)
    await given(inside, person, [scoreOf('sleep', 11)])
    expect(shown(await read(world, forms[1][1], 'score', person))).toEqual(['sleep 11'])
    const body = [person.externalId]
    await call(world, '/api/v1/profile', { method: 'DELETE', auth: person.account, body })
    expect((await read(world, forms[1][1], 'score', person)).status).toBe(404)

    const again = await registerProfile(world, person)

    expect(shown(await read(world, forms[1][1], 'score', again))).toEqual([])
    await given(inside, again, [scoreOf('sleep', 12)])
    expect(shown(await read(world, forms[1][1], 'score', again))).toEqual(['sleep 12'])
  })

  test('is compressed for a caller that accepts an encoding', async ({ world, inside }) => {
    const person = await registerProfile(world)
    await given(
      inside,
      person,
      Array.from({ length: 20 }, (_, at) => scoreOf('sleep', at + 10)),
    )

    const plain = await call(world, '/api/v1/profile/score', {
      auth: person.auth,
      headers: { 'accept-encoding': 'identity' },
    })
    const zipped = await call(world, '/api/v1/profile/score', {
      auth: person.auth,
      headers: { 'accept-encoding': 'gzip' },
    })

    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    expect(zipped.text).toBe(plain.text)
  })
})
