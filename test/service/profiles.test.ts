import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import {
  accountAuth,
  call,
  originsOf,
  type RegisteredProfile,
  registerProfile,
  type ServiceWorld,
  stepsLog,
  test,
} from './service-world.ts'

const profile = (world: ServiceWorld, person: Pick<RegisteredProfile, 'externalId' | 'account'>) =>
  call(world, `/api/v1/account/profile/${encodeURIComponent(person.externalId)}`, { auth: person.account })
const search = (world: ServiceWorld, auth: string, query = '') =>
  call(world, `/api/v1/account/profile/search${query}`, { auth })
const remove = (world: ServiceWorld, auth: string, ask: { body?: unknown; query?: string }) =>
  call(world, `/api/v1/profile${ask.query ?? ''}`, {
    method: 'DELETE',
    auth,
    ...(ask.body === undefined ? {} : { body: ask.body }),
  })

describe('a profile', () => {
  test('is found by its externalId', async ({ world }) => {
    const person = await registerProfile(world)
    const answer = await profile(world, person)

    expect(answer.status).toBe(200)
    expect(answer.json).toMatchObject({ externalId: person.externalId, isSampleProfile: false, dataSources: [] })
  })

  test('that is unknown is 404', async ({ world }) => {
    expect((await profile(world, { ...(await registerProfile(world)), externalId: 'nobody' })).status).toBe(404)
  })

  test('shows its own latest device and its own sources, by its name and in a search', async ({ world }) => {
    const account = await accountAuth(world)
    const name = randomUUID()
    const people = [
      { externalId: `${name}-ada`, sdkId: 'ios', sdkVersion: '2.1', deviceType: 'phone', source: 'phone app' },
      { externalId: `${name}-bob`, sdkId: 'android', sdkVersion: '3.0', deviceType: 'watch', source: 'watch app' },
    ]
    for (const { externalId, sdkId, sdkVersion, deviceType, source } of people) {
      const { auth } = await registerProfile(world, { account, externalId })
      const system = { appId: 'com.example', deviceModel: 'any', system: 'any', systemVersion: '26' }
      for (const version of ['1.0', sdkVersion]) {
        const body = { ...system, sdkId, sdkVersion: version, deviceType }
        await call(world, '/api/v1/profile/deviceInformation', { method: 'PUT', auth, body })
      }
      await call(world, '/api/v1/profile/data/log', { method: 'POST', auth, body: [stepsLog({ source, deviceType })] })
    }
    const shown = people.map(({ source, ...person }) => ({
      ...person,
      dataSources: [{ sourceName: source, deviceType: person.deviceType }],
    }))

    expect((await search(world, account, `?searchParameter=${name}`)).json.items).toMatchObject(shown)
    for (const person of shown) expect((await profile(world, { ...person, account })).json).toMatchObject(person)
  })

  test('of a name that another account has too is shown with its own data', async ({ world, other }) => {
    const externalId = randomUUID()
    const stranger = await registerProfile(world, { account: await accountAuth(world, other), externalId })
    await call(world, '/api/v1/profile/data/log', { method: 'POST', auth: stranger.auth, body: [stepsLog()] })
    const person = await registerProfile(world, { account: await accountAuth(world), externalId })

    expect((await profile(world, person)).json).toMatchObject({ externalId, dataSources: [] })
    expect((await profile(world, stranger)).json.dataSources).toHaveLength(1)
  })

  test('shows the first hundred of its sources by name, then by device', async ({ world }) => {
    const account = await accountAuth(world)
    const { auth, externalId } = await registerProfile(world, { account })
    const sources = Array.from({ length: 51 }, (_, n) => ['phone', 'watch'].map((deviceType) => ({ n, deviceType })))
      .flat()
      .map(({ n, deviceType }) => ({ sourceName: `app ${String(n).padStart(2, '0')}`, deviceType }))
    const body = sources.toReversed().map(({ sourceName, deviceType }) => stepsLog({ source: sourceName, deviceType }))
    await call(world, '/api/v1/profile/data/log', { method: 'POST', auth, body })
    const first = sources.slice(0, 100)

    expect((await profile(world, { externalId, account })).json.dataSources).toEqual(first)
    expect((await search(world, account, `?searchParameter=${externalId}`)).json.items).toMatchObject([
      { dataSources: first },
    ])
  })

  test.for(['%00', 'a%00b', '%ED%A0%80', '%zz', '%', 'x'.repeat(101), 'x'.repeat(2000)])(
    'is not asked for by the name %s',
    async (name, { world }) => {
      const answer = await call(world, `/api/v1/account/profile/${name}`, { auth: await accountAuth(world) })

      expect([400, 404, 414]).toContain(answer.status)
    },
  )
})

describe('searching', () => {
  const group = async (world: ServiceWorld, size: number) => {
    const name = randomUUID()
    const account = await accountAuth(world)
    const people: string[] = []
    for (let at = 0; at < size; at += 1) {
      people.push(
        (await registerProfile(world, { account, externalId: `${name}-${String(at).padStart(2, '0')}` })).externalId,
      )
    }
    return { account, name, people }
  }
  const names = (answer: { json: { items: Array<{ externalId: string }> } }) =>
    answer.json.items.map((item) => item.externalId)

  test('finds by a part of the name, whatever its case', async ({ world }) => {
    const { account, name, people } = await group(world, 3)
    const answer = await search(world, account, `?searchParameter=${name.slice(3).toUpperCase()}`)

    expect(names(answer)).toEqual(people)
    expect(answer.json).toMatchObject({ currentPage: 1, pageSize: 20, totalPages: 1, totalCount: 3 })
  })

  test('finds letters beyond ASCII, whatever their case', async ({ world }) => {
    const account = await accountAuth(world)
    const id = randomUUID()
    const person = await registerProfile(world, { account, externalId: `Ömer ÅNGSTRÖM ${id}` })
    const found = async (text: string) =>
      names(await search(world, account, `?searchParameter=${encodeURIComponent(`${text} ${id}`)}`))

    expect(await found('ömer ångström')).toEqual([person.externalId])
    expect(await found('ÖMER Ångström')).toEqual([person.externalId])
    expect(await found('omer angstrom')).toEqual([])
  })

  test.for([
    ['Σας', 'σασ'],
    ['σασ', 'ΣΑΣ'],
    ['Straße', 'STRASSE'],
    ['STRASSE', 'straße'],
    ['GROẞ', 'groß'],
    ['İstanbul', 'istanbul'],
    ['İSTANBUL', 'ıstanbul'],
    ['Zo\u00eb', 'zoe\u0308'],
    ['Zoe\u0308', 'ZO\u00cb'],
    ['ﬃne', 'FFINE'],
    ['10 \u212a', '10 k'],
  ])('finds %s by %s, whatever case and composition', async ([name, text], { world }) => {
    const account = await accountAuth(world)
    const id = randomUUID()
    const person = await registerProfile(world, { account, externalId: `${name} ${id}` })
    const answer = await search(world, account, `?searchParameter=${encodeURIComponent(`${text} ${id}`)}`)

    expect(names(answer)).toEqual([person.externalId])
  })

  test('goes by pages that hold every profile once', async ({ world }) => {
    const { account, name, people } = await group(world, 7)
    const pages = await Promise.all(
      [1, 2, 3, 4].map((page) => search(world, account, `?searchParameter=${name}&pageSize=3&currentPage=${page}`)),
    )

    expect(pages.map(names)).toEqual([people.slice(0, 3), people.slice(3, 6), people.slice(6), []])
    expect(pages.map((page) => page.json.currentPage)).toEqual([1, 2, 3, 4])
    expect(pages[0]?.json).toMatchObject({ totalPages: 3, totalCount: 7, pageSize: 3 })
  })

  test('that finds nothing is an empty page', async ({ world }) => {
    const answer = await search(world, await accountAuth(world), '?searchParameter=nobody-is-called-this')

    expect(answer.json).toEqual({ items: [], currentPage: 1, totalPages: 0, pageSize: 20, totalCount: 0 })
  })

  test.for(['%', '_', "'", '\\', '(', '[a-z]'])('takes %s literally', async (sign, { world }) => {
    const { account } = await group(world, 1)
    const answer = await search(world, account, `?searchParameter=${encodeURIComponent(sign)}-nobody`)

    expect(answer.json.items).toEqual([])
  })

  test('shows no profile of another account', async ({ world, other }) => {
    const { name } = await group(world, 2)
    const answer = await search(world, await accountAuth(world, other), `?searchParameter=${name}`)

    expect(answer.json).toMatchObject({ items: [], totalCount: 0 })
  })

  test('shows whole pages of the account, whatever other accounts call their profiles', async ({ world, other }) => {
    const name = randomUUID()
    const [account, stranger] = [await accountAuth(world), await accountAuth(world, other)]
    const people = ['a', 'b', 'c'].map((letter) => `${name}-${letter}`)
    for (const externalId of [`${name}-0`, ...people]) await registerProfile(world, { account: stranger, externalId })
    for (const externalId of people) await registerProfile(world, { account, externalId })
    const page = async (number: number) =>
      names(await search(world, account, `?searchParameter=${name}&pageSize=2&currentPage=${number}`))

    expect([await page(1), await page(2)]).toEqual([people.slice(0, 2), people.slice(2)])
  })

  test.for([
    ['currentPage=0', 'currentPage'],
    ['currentPage=-1', 'currentPage'],
    ['currentPage=1.5', 'currentPage'],
    ['currentPage=one', 'currentPage'],
    ['currentPage=99999999999999999999', 'currentPage'],
    ['currentPage=1&currentPage=2', 'currentPage'],
    ['pageSize=0', 'pageSize'],
    ['pageSize=101', 'pageSize'],
    ['pageSize=', 'pageSize'],
    [`searchParameter=${'x'.repeat(101)}`, 'searchParameter'],
    ['searchParameter=%00', 'searchParameter'],
  ] as const)('refuses %s', async ([query, origin], { world }) => {
    const answer = await search(world, await accountAuth(world), `?${query}`)

    expect(answer.status).toBe(400)
    expect(originsOf(answer)).toEqual([origin])
  })

  test('takes a page of a hundred, and the last page there could be', async ({ world }) => {
    expect((await search(world, await accountAuth(world), '?pageSize=100&currentPage=1000000')).status).toBe(200)
  })
})

describe('deleting', () => {
  const forms: Array<[string, (person: RegisteredProfile) => { body?: unknown; query?: string }]> = [
    ['an object', (person) => ({ body: { externalIds: [person.externalId] } })],
    ['a bare array', (person) => ({ body: [person.externalId] })],
    ['the query', (person) => ({ query: `?externalId=${person.externalId}` })],
    ['both', (person) => ({ query: `?externalId=${person.externalId}`, body: { externalIds: [] } })],
  ]

  test('by the query takes the profile of exactly that name, not one with a plus in it', async ({ world }) => {
    const account = await accountAuth(world)
    const id = randomUUID()
    const spaced = await registerProfile(world, { account, externalId: `clinic ${id} 7 2024` })
    const plus = await registerProfile(world, { account, externalId: `clinic ${id} 7+2024` })

    const query = `?externalId=${encodeURIComponent(spaced.externalId)}`
    expect((await remove(world, account, { query })).status).toBe(204)

    expect((await profile(world, spaced)).status).toBe(404)
    expect((await profile(world, plus)).status).toBe(200)
  })

  test('by the query with a JSON content type and no body is not asked for one', async ({ world }) => {
    const person = await registerProfile(world)
    const query = `?externalId=${person.externalId}`
    const headers = { 'content-type': 'application/json' }
    const answer = await call(world, `/api/v1/profile${query}`, { method: 'DELETE', auth: person.account, headers })

    expect(answer.status).toBe(204)
    expect((await profile(world, person)).status).toBe(404)
    const nothing = await call(world, '/api/v1/profile', { method: 'DELETE', auth: person.account, headers })
    expect([nothing.status, originsOf(nothing)]).toEqual([400, ['externalIds']])
  })

  test.for(forms)('by %s takes the profile and its tokens', async ([, form], { world }) => {
    const person = await registerProfile(world)
    expect((await call(world, '/api/v1/profile/score', { auth: person.auth })).status).toBe(204)

    expect((await remove(world, person.account, form(person))).status).toBe(204)

    expect((await profile(world, person)).status).toBe(404)
    expect((await call(world, '/api/v1/profile/score', { auth: person.auth })).status).toBe(401)
    const refreshed = await call(world, '/api/v1/oauth/profile/refreshToken', {
      method: 'POST',
      auth: person.auth,
      body: { refreshToken: person.refreshToken },
    })
    expect(refreshed.status).toBe(401)
  })

  test('ignores unknown ids and leaves the others alone', async ({ world }) => {
    const [ada, bob] = [await registerProfile(world), await registerProfile(world)]
    await remove(world, ada.account, { body: { externalIds: [ada.externalId, 'nobody', ada.externalId] } })

    expect((await profile(world, bob)).status).toBe(200)
  })

  test("takes the profile's own logs alone", async ({ world, inside }) => {
    const [gone, stays] = [await registerProfile(world), await registerProfile(world)]
    for (const { auth } of [gone, stays])
      await call(world, '/api/v1/profile/data/log', { method: 'POST', auth, body: [stepsLog()] })
    const { rows: logs } = await inside.sql.query('select profile_id from service.logs')

    await remove(world, gone.account, { body: [gone.externalId] })

    expect((await inside.sql.query('select profile_id from service.logs')).rowCount).toBe(logs.length - 1)
  })

  test('of a profile of another account deletes nothing', async ({ world, other }) => {
    const person = await registerProfile(world)
    const answer = await remove(world, await accountAuth(world, other), { body: [person.externalId] })

    expect(answer.status).toBe(204)
    expect((await profile(world, person)).status).toBe(200)
  })

  test('leaves no row of the profile anywhere', async ({ world, inside }) => {
    const person = await registerProfile(world)
    const { profileId } = (await profile(world, person)).json
    const write = (method: string, path: string, body: unknown) =>
      call(world, `/api/v1/profile/${path}`, { method, auth: person.auth, body })
    await write('POST', 'data/log', [stepsLog()])
    await write('POST', 'tag', { type: 'event', name: 'a', source: 'b', startDateTime: '2026-07-11' })
    await write('PATCH', 'demographic', { age: 5 })
    const tables = await inside.sql.query(
      `select table_name from information_schema.columns
       where table_schema = 'service' and column_name = 'profile_id' order by 1`,
    )
    const rowsIn = async (table: string) =>
      Number(
        (await inside.sql.query(`select count(*) from service.${table} where profile_id = $1`, [profileId])).rows[0]
          .count,
      )
    const before = await Promise.all(tables.rows.map((row) => rowsIn(row.table_name)))
    expect(before.filter((count) => count > 0).length).toBeGreaterThanOrEqual(7)

    await remove(world, person.account, { body: [person.externalId] })

    const after = await Promise.all(tables.rows.map((row) => rowsIn(row.table_name)))
    expect(after).toEqual(after.map(() => 0))
  })

  test('lets the name be registered afresh, without its past', async ({ world }) => {
    const person = await registerProfile(world)
    await call(world, '/api/v1/profile/demographic', { method: 'PATCH', auth: person.auth, body: { age: 30 } })
    await remove(world, person.account, { body: [person.externalId] })

    const again = await registerProfile(world, person)

    expect((await call(world, '/api/v1/profile/demographic', { auth: again.auth })).status).toBe(204)
    expect((await call(world, '/api/v1/profile/demographic', { auth: person.auth })).status).toBe(401)
  })

  test('while logs arrive ends with nothing left', async ({ world, inside }) => {
    const person = await registerProfile(world)
    const { profileId } = (await profile(world, person)).json
    const uploads = Array.from({ length: 6 }, () =>
      call(world, '/api/v1/profile/data/log', {
        method: 'POST',
        auth: person.auth,
        body: Array.from({ length: 50 }, () => stepsLog()),
      }),
    )
    const answers = await Promise.all([...uploads, remove(world, person.account, { body: [person.externalId] })])

    expect(answers.every((answer) => [200, 204, 401].includes(answer.status))).toBe(true)
    const { rows } = await inside.sql.query('select count(*)::int as n from service.logs where profile_id = $1', [
      profileId,
    ])
    expect(rows).toEqual([{ n: 0 }])
  })

  test.for([
    [{}],
    [{ externalIds: 'ada' }],
    [{ externalIds: [5] }],
    [[null]],
    ['ada'],
    [5],
    [null],
    [{ externalIds: Array.from({ length: 1001 }, (_, at) => `p${at}`) }],
  ])('refuses %j', async ([body], { world }) => {
    expect((await remove(world, await accountAuth(world), { body })).status).toBe(400)
  })

  test('refuses to delete without an externalId', async ({ world }) => {
    expect((await remove(world, await accountAuth(world), {})).status).toBe(400)
  })
})
