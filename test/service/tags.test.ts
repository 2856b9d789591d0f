import { describe, expect } from 'vitest'
import { call, originsOf, type RegisteredProfile, registerProfile, type ServiceWorld, test } from './service-world.ts'

const tag = (changes: Record<string, unknown> = {}) => ({
  type: 'event',
  name: 'coffee',
  category: 'nutrition',
  source: 'com.example.app',
  startDateTime: '2026-07-11T08:00:00+12:00',
  ...changes,
})

type Form = 'own' | 'account'
const forms: Form[] = ['own', 'account']
const at = (form: Form, person: RegisteredProfile) => ({
  path: form === 'own' ? '/api/v1/profile/tag' : `/api/v1/profile/tag/${person.externalId}`,
  auth: form === 'own' ? person.auth : person.account,
})
const send = (world: ServiceWorld, person: RegisteredProfile, body: unknown, form: Form = 'own') => {
  const { path, auth } = at(form, person)
  return call(world, path, { method: 'POST', auth, body })
}
const read = (world: ServiceWorld, person: RegisteredProfile, query = '', form: Form = 'own') => {
  const { path, auth } = at(form, person)
  return call(world, `${path}${query}`, { auth })
}
const names = (answer: { status: number; json: Array<{ name: string }> }) =>
  answer.status === 204 ? [] : answer.json.map((record) => record.name)

describe.for(forms)('with the %s form', (form) => {
  test('no tags are 204', async ({ world }) => {
    expect((await read(world, await registerProfile(world), '', form)).status).toBe(204)
  })

  test('one tag is stored and answered in an array', async ({ world }) => {
    const person = await registerProfile(world)
    const answer = await send(world, person, tag({ value: 'double' }), form)

    expect(answer.status).toBe(200)
    expect(answer.json).toMatchObject([tag({ value: 'double' })])
    expect((await read(world, person, '', form)).json).toEqual(answer.json)
  })

  test('several are answered in the order sent, and read newest first', async ({ world }) => {
    const person = await registerProfile(world)
    const sent = ['b', 'a', 'c'].map((name, hour) => tag({ name, startDateTime: `2026-07-11T0${hour}:00:00Z` }))

    expect(names(await send(world, person, sent, form))).toEqual(['b', 'a', 'c'])
    expect(names(await read(world, person, '', form))).toEqual(['c', 'a', 'b'])
  })

  test('one id is one tag: sent with another start, it takes the place of the former', async ({ world }) => {
    const person = await registerProfile(world)
    const id = '6f0f0c1e-5b0e-4c55-9d0f-1f0d0c5f7a01'
    const later = { id, startDateTime: '2026-07-11T10:00:00+12:00' }
    const another = await registerProfile(world)
    for (const one of [person, another]) await send(world, one, [tag({ id }), tag({ name: 'tea' })], form)
    const moved = await send(world, person, tag({ ...later, id: id.toUpperCase() }), form)

    expect(moved.json).toMatchObject([later])
    expect((await read(world, person, '', form)).json).toMatchObject([later, { name: 'tea' }])
    // In one upload the last one counts.
    const twice = await send(world, person, [tag({ id, name: 'first' }), tag({ id, name: 'second' })], form)
    expect(names(twice)).toEqual(['second'])
    expect(names(await read(world, person, '', form)).toSorted()).toEqual(['second', 'tea'])
    expect(names(await read(world, another, '', form)).toSorted()).toEqual(['coffee', 'tea'])
  })

  test('an empty category or value means no value', async ({ world }) => {
    const person = await registerProfile(world)
    const [stored] = (await send(world, person, tag({ category: '', value: '' }), form)).json

    expect(Object.keys(stored).toSorted()).toEqual(['id', 'name', 'source', 'startDateTime', 'type'])
  })

  test('a state is closed by sending it again', async ({ world }) => {
    const person = await registerProfile(world)
    const state = tag({ type: 'state', name: 'ill' })
    const [open] = (await send(world, person, state, form)).json
    const [closed] = (await send(world, person, { ...state, endDateTime: '2026-07-13T08:00:00+12:00' }, form)).json

    expect(open.endDateTime).toBeUndefined()
    expect(closed).toMatchObject({ id: open.id, endDateTime: '2026-07-13T08:00:00+12:00' })
    expect((await read(world, person, '', form)).json).toHaveLength(1)
  })
})

describe('a tag', () => {
  test.for([
    [{ type: 'mood' }, 'type'],
    [{ type: undefined }, 'type'],
    [{ name: '' }, 'name'],
    [{ name: undefined }, 'name'],
    [{ source: undefined }, 'source'],
    [{ startDateTime: undefined }, 'startDateTime'],
    [{ startDateTime: '2026-07-32' }, 'startDateTime'],
    [{ endDateTime: '2026-07-12' }, 'endDateTime'],
    [{ type: 'state', endDateTime: '2026-07-01' }, 'endDateTime'],
    [{ value: 5 }, 'value'],
    [{ id: 'x' }, 'id'],
    [{ additionalProperties: { a: 1 } }, 'additionalProperties.a'],
    [{ name: 'nul\u0000' }, 'name'],
  ] as const)('with %j is refused', async ([changes, origin], { world }) => {
    const person = await registerProfile(world)
    const [one, many] = [await send(world, person, tag(changes)), await send(world, person, [tag(), tag(changes)])]

    expect([one.status, many.status]).toEqual([400, 400])
    expect(originsOf(one)).toEqual([origin])
    expect(originsOf(many)).toEqual([`[1].${origin}`])
    expect((await read(world, person)).status).toBe(204)
  })

  test('may come with 999 others, and with no more', async ({ world }) => {
    const person = await registerProfile(world)
    const tags = Array.from({ length: 1000 }, (_, at) => tag({ name: `tag ${at}` }))

    expect((await send(world, person, [...tags, tag()])).status).toBe(400)
    expect((await read(world, person)).status).toBe(204)
    expect((await send(world, person, tags)).status).toBe(200)
  })

  test.for([null, 5, 'text', []])('is not %j', async (body, { world }) => {
    expect((await send(world, await registerProfile(world), body)).status).toBe(400)
  })

  test('is one by type, name, source and start; anything else of it changes', async ({ world }) => {
    const person = await registerProfile(world)
    await send(world, person, tag())
    await send(world, person, tag({ startDateTime: '2026-07-10T20:00:00Z', category: 'other', value: 'x' }))
    expect((await read(world, person)).json).toHaveLength(1)
    expect((await read(world, person)).json).toMatchObject([{ category: 'other', value: 'x' }])

    await send(world, person, [
      tag({ type: 'state' }),
      tag({ name: 'tea' }),
      tag({ source: 'else' }),
      tag({ startDateTime: '2026-07-11T08:00:01+12:00' }),
    ])
    expect((await read(world, person)).json).toHaveLength(5)
  })

  test('twice in one upload is the last one', async ({ world }) => {
    const person = await registerProfile(world)

    expect((await send(world, person, [tag({ value: 'a' }), tag({ value: 'b' })])).json).toMatchObject([{ value: 'b' }])
  })

  test('keeps the offset it was given in, and its own id', async ({ world }) => {
    const person = await registerProfile(world)
    const id = '7d9d0f0e-7a3c-4d8e-9c0e-0123456789ab'
    const sent = tag({ id, startDateTime: '2026-07-11T08:00:00.5-03:30', additionalProperties: { a: 'b' } })

    expect((await send(world, person, sent)).json).toMatchObject([
      { id, startDateTime: '2026-07-11T08:00:00.500-03:30', additionalProperties: { a: 'b' } },
    ])
  })

  test('is stored by an account, and a read-only token does not store one', async ({ world }) => {
    const person = await registerProfile(world)
    await send(world, person, tag(), 'account')

    expect((await read(world, person)).json).toHaveLength(1)
  })

  test('for an unknown profile is 404', async ({ world }) => {
    const nobody = { ...(await registerProfile(world)), externalId: 'nobody' }

    expect((await send(world, nobody, tag(), 'account')).status).toBe(404)
    expect((await read(world, nobody, '', 'account')).status).toBe(404)
  })
})

describe('reading by window', () => {
  const day = (date: number) => `2026-07-${date}T00:00:00Z`
  const windows: Array<[string, string[]]> = [
    ['', ['open', 'instant', 'span']],
    [`?startDateTime=${day(20)}`, ['open', 'instant', 'span']],
    [`?startDateTime=2026-07-20T00:00:00.001Z`, ['open', 'span']],
    [`?endDateTime=${day(20)}`, ['instant', 'span']],
    [`?endDateTime=2026-07-19T23:59:59.999Z`, ['span']],
    [`?startDateTime=${day(22)}`, ['open', 'span']],
    [`?startDateTime=2026-07-22T00:00:00.001Z`, ['open']],
    [`?endDateTime=${day(10)}`, ['span']],
    [`?endDateTime=2026-07-09`, []],
    [`?startDateTime=${day(12)}&endDateTime=${day(12)}`, ['span']],
    [`?startDateTime=2026-07-20T12:00:00%2B12:00&endDateTime=2026-07-20T12:00:00%2B12:00`, ['instant', 'span']],
    [`?startDateTime=2026-07-20T12:00:00+12:00&endDateTime=2026-07-20T12:00:00+12:00`, ['instant', 'span']],
    ['?startDateTime=2030-01-01', ['open']],
    ['?types=state', ['open', 'span']],
    ['?types=event,state', ['open', 'instant', 'span']],
    ['?types=event&types=nothing', ['instant']],
    ['?types[0]=event&types[1]=nothing', ['instant']],
    ['?types=nothing', []],
    ['?types=', ['open', 'instant', 'span']],
    ['?categories=body', ['instant']],
    ['?categories=body,mind', ['open', 'instant']],
    ['?types=state&categories=body', []],
  ]

  test.for(windows)('%s finds %j', async ([query, expected], { world }) => {
    const person = await registerProfile(world)
    await send(world, person, [
      tag({ type: 'state', name: 'span', category: null, startDateTime: day(10), endDateTime: day(22) }),
      tag({ name: 'instant', category: 'body', startDateTime: day(20) }),
      tag({ type: 'state', name: 'open', category: 'mind', startDateTime: day(21) }),
    ])

    expect(names(await read(world, person, query))).toEqual(expected)
    expect(names(await read(world, person, query, 'account'))).toEqual(expected)
  })

  test.for([
    ['startDateTime=soon', 'startDateTime'],
    ['endDateTime=2026-02-30', 'endDateTime'],
    ['startDateTime=2026-07-02&endDateTime=2026-07-01', 'endDateTime'],
    ['startDateTime=99999-01-01', 'startDateTime'],
    ['startDateTime=', 'startDateTime'],
    ['startDateTime=2026-07-01&startDateTime=2026-07-02', 'startDateTime'],
    [`types=${'x'.repeat(101)}`, 'types[0]'],
  ] as const)('refuses %s', async ([query, origin], { world }) => {
    const answer = await read(world, await registerProfile(world), `?${query}`)

    expect(answer.status).toBe(400)
    expect(originsOf(answer)).toEqual([origin])
  })
})
