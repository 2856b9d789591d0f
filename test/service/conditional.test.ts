import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import {
  call,
  type RegisteredProfile,
  registerProfile,
  type ServiceInternals,
  stepsLog,
  test,
} from './service-world.ts'

const paths = ['score', 'biomarker', 'archetypes', 'insight/trend', 'insight/comparison'] as const

/** A profile with this many scores, and how to read them in both forms. */
async function given(inside: ServiceInternals, person: RegisteredProfile, days: number): Promise<void> {
  await inside.sql.query(
    `insert into service.derived (profile_id, id, kind, name, period_start, period_end, created_at, changed_at, body)
     select profile_id, gen_random_uuid(), 'score', 'sleep', day, day, now(), now(), $3
     from service.profiles, generate_series('2026-07-01'::timestamptz, '2026-07-01'::timestamptz + ($2 - 1) * interval '1 day', '1 day') day
     where external_id = $1`,
    [person.externalId, days, JSON.stringify(scoreBody)],
  )
}

const scoreBody = {
  id: randomUUID(),
  type: 'sleep',
  value: 0.5,
  state: 'low',
  createdAt: '2026-07-12T00:00:00Z',
  factors: [],
  scoreDateTime: '2026-07-11T00:00:00+00:00',
  dataSources: [],
  version: 1,
}

const formsOf = (path: string, person: RegisteredProfile) => [
  { path: `/api/v1/profile/${path}`, auth: person.auth },
  { path: `/api/v1/profile/${path}/${person.externalId}`, auth: person.account },
]
const plain = { 'accept-encoding': 'identity' }

describe.for(paths)('%s', (path) => {
  test('has a strong tag and a state, with and without records, and answers 304 to its tag', async ({ world }) => {
    const person = await registerProfile(world)
    for (const { path: address, auth } of formsOf(path, person)) {
      const empty = await call(world, address, { auth, headers: plain })
      expect([empty.status, empty.headers.get('derivation-state')]).toEqual([204, 'finished'])
      const tag = empty.headers.get('etag') ?? ''
      expect(tag).toBe('"r0"')

      for (const held of [tag, `W/${tag}`, '*', `"other", ${tag}`, `"r0-gzip"`]) {
        const again = await call(world, address, { auth, headers: { ...plain, 'if-none-match': held } })
        expect([again.status, again.text, again.headers.get('derivation-state')]).toEqual([304, '', 'finished'])
        expect(again.headers.get('etag')).toBe(held === '"r0-gzip"' ? held : tag)
      }
      for (const held of ['"r1"', 'r0', '"r0-zstd"', '"r0', '']) {
        const again = await call(world, address, { auth, headers: { ...plain, 'if-none-match': held } })
        expect(again.status).toBe(204)
      }
    }
  })
})

test('a tag changes with every change of the records, and is the same for the profile and its account', async ({
  world,
  inside,
}) => {
  const person = await registerProfile(world)
  const tags = new Set<string | null>()
  const change = (sql: string) =>
    inside.sql.query(`${sql} where profile_id = (select profile_id from service.profiles where external_id = $1)`, [
      person.externalId,
    ])
  const look = async () => {
    const answers = []
    for (const { path, auth } of formsOf('score', person))
      answers.push(await call(world, path, { auth, headers: plain }))
    const [profileTag, ofAccount] = answers.map(({ headers }) => headers.get('etag'))
    expect(profileTag).toBe(ofAccount)
    tags.add(profileTag ?? null)
  }

  await look()
  await given(inside, person, 3)
  await look()
  await change(`update service.derived set body = replace(body, '0.5', '0.6')`)
  await look()
  await change('delete from service.derived')
  await look()

  expect(tags.size).toBe(4)
})

test('a tag is never given again, though the database forgets what came after a backup', async ({ world, inside }) => {
  const person = await registerProfile(world)
  const [profileForm] = formsOf('score', person)
  if (!profileForm) throw new Error('no forms')
  const tagNow = async () =>
    (await call(world, profileForm.path, { auth: profileForm.auth, headers: plain })).headers.get('etag')
  const revisionSql = `service.derived_revisions where profile_id = (select profile_id from service.profiles where external_id = $1)`
  await given(inside, person, 2)
  const { rows: backup } = await inside.sql.query(`select revision from ${revisionSql}`, [person.externalId])
  const change = (value: string) =>
    inside.sql.query(
      `update service.derived set body = replace(body, '0.5', $2)
       where profile_id = (select profile_id from service.profiles where external_id = $1)`,
      [person.externalId, value],
    )
  await change('0.6')
  const held = await tagNow()

  await inside.sql.query(`update ${revisionSql.replace(' where', ' set revision = $2 where')}`, [
    person.externalId,
    backup[0].revision,
  ])
  await change('0.7')

  expect(await tagNow()).not.toBe(held)
})

test('a held answer is not read again: 304 without a look at a record', async ({ world, inside }) => {
  const person = await registerProfile(world)
  await given(inside, person, 3)
  const [profileForm, ofAccount] = formsOf('score', person)
  if (!profileForm || !ofAccount) throw new Error('no forms')
  const first = await call(world, profileForm.path, { auth: profileForm.auth, headers: plain })
  const tag = first.headers.get('etag') ?? ''
  const client = await inside.sql.connect()
  try {
    // A statement that reads a record now waits for the lock.
    await client.query('begin; lock table service.derived in access exclusive mode')
    for (const { path, auth } of [profileForm, ofAccount]) {
      for (const query of ['', '?types=activity', '?startDateTime=2026-07-02']) {
        const answer = await call(world, `${path}${query}`, { auth, headers: { 'if-none-match': tag } })
        expect([answer.status, answer.text]).toEqual([304, ''])
      }
    }
  } finally {
    await client.query('rollback')
    client.release()
  }
})

test('each content coding has its own strong tag, and each tag is known again', async ({ world, inside }) => {
  const person = await registerProfile(world)
  await given(inside, person, 30)
  const [profileForm] = formsOf('score', person)
  if (!profileForm) throw new Error('no forms')
  const read = (headers: Record<string, string>) => call(world, profileForm.path, { auth: profileForm.auth, headers })
  const tags = new Set<string>()
  for (const coding of ['identity', 'gzip', 'br', 'deflate']) {
    const full = await read({ 'accept-encoding': coding })
    expect([full.status, full.json.length]).toEqual([200, 30])
    expect(full.headers.get('content-encoding')).toBe(coding === 'identity' ? null : coding)
    expect(full.headers.get('vary')).toBe('accept-encoding')
    const tag = full.headers.get('etag') ?? ''
    tags.add(tag)

    const again = await read({ 'accept-encoding': coding, 'if-none-match': tag })
    expect([again.status, again.headers.get('etag'), again.headers.get('vary')]).toEqual([304, tag, 'accept-encoding'])
  }
  expect(tags.size).toBe(4)
})

test('an answer is pending while a day that touches its range waits for derivation', async ({ world, inside }) => {
  const person = await registerProfile(world)
  const [profileForm] = formsOf('score', person)
  if (!profileForm) throw new Error('no forms')
  const state = async (query = '') => {
    const answer = await call(world, `${profileForm.path}${query}`, { auth: profileForm.auth })
    return answer.headers.get('derivation-state')
  }
  expect(await state()).toBe('finished')

  // A log of 11 July. This service derives nothing, so the day waits for good.
  const body = [stepsLog()]
  await call(world, '/api/v1/profile/data/log', { method: 'POST', auth: person.auth, body })

  expect(await state()).toBe('pending')
  expect(await state('?startDateTime=2026-07-11&endDateTime=2026-07-11')).toBe('pending')
  expect(await state('?startDateTime=2026-08-11')).toBe('pending')
  expect(await state('?endDateTime=2026-06-30')).toBe('finished')
  expect(await state('?startDateTime=2026-12-01')).toBe('finished')
  // A height stays known for good, and a month begins before its days.
  const biomarkers = async (query: string) =>
    (await call(world, `/api/v1/profile/biomarker${query}`, { auth: person.auth })).headers.get('derivation-state')
  expect(await biomarkers('?startDateTime=2026-12-01')).toBe('pending')
  expect(await biomarkers('?endDateTime=2026-06-30')).toBe('finished')

  const held = await call(world, profileForm.path, { auth: person.auth, headers: { 'if-none-match': '"r0"' } })
  expect([held.status, held.headers.get('derivation-state')]).toEqual([304, 'pending'])

  await inside.sql.query('delete from service.dirty_days')
  expect(await state()).toBe('finished')
})

test.for([
  ['before a waiting day', 2023, 'finished'],
  ['of the first waiting day', 2024, 'pending'],
  ['of the last waiting day', 2026, 'pending'],
  ['between them', 2025, 'pending'],
  ['long after them', 2027, 'finished'],
] as const)(
  'an answer %s is as complete as the days of the profile itself',
  async ([, year, state], { world, inside }) => {
    const mark = (person: RegisteredProfile, years: readonly number[]) =>
      inside.sql.query(
        `insert into service.dirty_days (profile_id, local_day, marked_at)
       select profile_id, make_date(year, 7, 1), now() from service.profiles, unnest($2::int[]) year where external_id = $1`,
        [person.externalId, years],
      )
    const person = await registerProfile(world)
    await mark(person, [2024, 2026])
    await mark(await registerProfile(world), [2022, 2028])

    for (const { path, auth } of formsOf('score', person)) {
      const query = `?startDateTime=${year}-07-01&endDateTime=${year}-07-02`
      const read = await call(world, path + query, { auth })
      expect(read.headers.get('derivation-state')).toBe(state)
      const held = await call(world, path + query, { auth, headers: { 'if-none-match': '"r0"' } })
      expect([held.status, held.headers.get('derivation-state')]).toEqual([304, state])
    }
  },
)
