import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import {
  call,
  originsOf,
  type RegisteredProfile,
  registerProfile,
  type ServiceWorld,
  stepsLog,
  test,
} from './service-world.ts'

const upload = (world: ServiceWorld, person: RegisteredProfile, body: unknown) =>
  call(world, '/api/v1/profile/data/log', { method: 'POST', auth: person.auth, body })

const counts = (received: number, accepted: number, updated: number, duplicates: number) => ({
  received,
  accepted,
  updated,
  duplicates,
})

describe('an upload', () => {
  test('answers with the number of stored logs', async ({ world }) => {
    const answer = await upload(world, await registerProfile(world), [stepsLog(), stepsLog()])

    expect(answer.status).toBe(200)
    expect(answer.json).toEqual(counts(2, 2, 0, 0))
  })

  test('of nothing is an upload too', async ({ world }) => {
    expect((await upload(world, await registerProfile(world), [])).json).toEqual(counts(0, 0, 0, 0))
  })

  test('sent again changes nothing', async ({ world }) => {
    const person = await registerProfile(world)
    const logs = [stepsLog(), stepsLog(), stepsLog()]
    await upload(world, person, logs)

    expect((await upload(world, person, logs)).json).toEqual(counts(3, 0, 0, 3))
  })

  test('takes 1,000 logs at once', async ({ world }) => {
    const logs = Array.from({ length: 1000 }, () => stepsLog({ additionalProperties: { a: 'b' } }))

    expect((await upload(world, await registerProfile(world), logs)).json).toEqual(counts(1000, 1000, 0, 0))
  })

  test('of 1,001 logs is too large', async ({ world }) => {
    const logs = Array.from({ length: 1001 }, () => ({}))

    expect((await upload(world, await registerProfile(world), logs)).status).toBe(413)
  })

  test('of more than a megabyte is too large', async ({ world }) => {
    const logs = [stepsLog({ additionalProperties: { filler: 'x'.repeat(1024 * 1024) } })]

    expect((await upload(world, await registerProfile(world), logs)).status).toBe(413)
  })

  test('may be compressed', async ({ world }) => {
    const person = await registerProfile(world)
    const raw = new Uint8Array(gzipSync(JSON.stringify([stepsLog()])))
    const headers = { 'content-encoding': 'gzip' }
    const answer = await call(world, '/api/v1/profile/data/log', { method: 'POST', auth: person.auth, raw, headers })

    expect(answer.json).toEqual(counts(1, 1, 0, 0))
  })

  test('that unfolds to more than a megabyte is too large', async ({ world }) => {
    const person = await registerProfile(world)
    const raw = new Uint8Array(gzipSync(`[${' '.repeat(50 * 1024 * 1024)}]`))
    const headers = { 'content-encoding': 'gzip' }
    const answer = await call(world, '/api/v1/profile/data/log', { method: 'POST', auth: person.auth, raw, headers })

    expect(answer.status).toBe(413)
  })

  test('with one bad entry keeps none of it', async ({ world }) => {
    const person = await registerProfile(world)
    const good = stepsLog()

    const refused = await upload(world, person, [good, stepsLog({ value: 'many' })])

    expect(refused.status).toBe(400)
    expect(originsOf(refused)).toEqual(['[1].value'])
    expect((await upload(world, person, [good])).json).toEqual(counts(1, 1, 0, 0))
  })

  test('names every fault of every entry', async ({ world }) => {
    const answer = await upload(world, await registerProfile(world), [
      stepsLog({ logType: 'mood', value: null }),
      stepsLog({ startDateTime: 'yesterday' }),
      stepsLog(),
      stepsLog({ unit: 5, endDateTime: '2026-07-11T08:59:59+12:00' }),
    ])

    expect(originsOf(answer)).toEqual(['[0].logType', '[0].value', '[1].startDateTime', '[3].unit', '[3].endDateTime'])
  })

  test('shows when data was last received, and from which sources', async ({ world }) => {
    const [person, other] = [await registerProfile(world), await registerProfile(world)]
    const profile = ({ externalId, account } = person) =>
      call(world, `/api/v1/account/profile/${externalId}`, { auth: account })
    expect((await profile()).json).toMatchObject({ dataLastReceivedAtUtc: null, dataSources: [] })

    await upload(world, person, [stepsLog(), stepsLog(), stepsLog({ source: 'phone app', deviceType: 'phone' })])

    const after = (await profile()).json
    expect(after.dataLastReceivedAtUtc).not.toBeNull()
    expect(after.dataSources).toEqual([
      { sourceName: 'com.example.health', deviceType: 'watch' },
      { sourceName: 'phone app', deviceType: 'phone' },
    ])
    expect((await profile(other)).json).toMatchObject({ dataLastReceivedAtUtc: null, dataSources: [] })
  })

  test('is refused when its profile was deleted meanwhile', async ({ world }) => {
    const person = await registerProfile(world)
    const body = { externalIds: [person.externalId] }
    await call(world, '/api/v1/profile', { method: 'DELETE', auth: person.account, body })

    expect((await upload(world, person, [stepsLog()])).status).toBe(401)
  })

  test('by many at once for one profile loses nothing', async ({ world }) => {
    const person = await registerProfile(world)
    const batches = Array.from({ length: 10 }, () => Array.from({ length: 50 }, () => stepsLog()))
    const answers = await Promise.all(batches.map((batch) => upload(world, person, batch)))
    const again = await Promise.all(batches.map((batch) => upload(world, person, batch)))

    expect(answers.map((answer) => answer.json.accepted)).toEqual(Array(10).fill(50))
    expect(again.map((answer) => answer.json.duplicates)).toEqual(Array(10).fill(50))
  })
})

describe('one id', () => {
  test('in two profiles is two logs', async ({ world }) => {
    const log = stepsLog()

    expect((await upload(world, await registerProfile(world), [log])).json).toEqual(counts(1, 1, 0, 0))
    expect((await upload(world, await registerProfile(world), [log])).json).toEqual(counts(1, 1, 0, 0))
  })

  test('twice in one upload is one log', async ({ world }) => {
    const log = stepsLog()

    expect((await upload(world, await registerProfile(world), [log, log])).json).toEqual(counts(2, 1, 0, 1))
  })

  test('in capitals is the same id', async ({ world }) => {
    const person = await registerProfile(world)
    const id = randomUUID()
    await upload(world, person, [stepsLog({ id })])

    expect((await upload(world, person, [stepsLog({ id: id.toUpperCase() })])).json).toEqual(counts(1, 0, 0, 1))
  })

  const at = (minute: number) => ({ modifiedDateTime: `2026-07-12T00:${minute}:00Z` })
  test.for([
    ['a newer modification', at(10), at(11), 1, [7]],
    ['an older modification', at(11), at(10), 0, [5]],
    ['a modification where there was none', {}, at(10), 1, [7]],
    ['no modification where there was one', at(10), {}, 0, [5]],
    ['neither says: the later arrival', {}, {}, 1, [7]],
    ['the same modification: the later arrival', at(10), at(10), 1, [7]],
  ] as const)('%s decides', async ([, first, second, updated, values], { world, inside }) => {
    const person = await registerProfile(world)
    const log = stepsLog()
    await upload(world, person, [{ ...log, ...first, value: 5 }])

    const answer = await upload(world, person, [{ ...log, ...second, value: 7 }])

    expect(answer.json).toEqual(counts(1, 0, updated, 1 - updated))
    const { rows } = await inside.sql.query('select value from service.logs where id = $1', [log['id']])
    expect(rows.map((row) => row.value)).toEqual(values)
  })

  test('within one upload goes by the same rule', async ({ world, inside }) => {
    const person = await registerProfile(world)
    const log = stepsLog()
    await upload(world, person, [
      { ...log, ...at(12), value: 12 },
      { ...log, ...at(10), value: 10 },
    ])

    const { rows } = await inside.sql.query('select value from service.logs where id = $1', [log['id']])
    expect(rows).toEqual([{ value: 12 }])
  })

  test('absent is made of type, source and time', async ({ world }) => {
    const person = await registerProfile(world)
    const { id, ...log } = stepsLog()
    await upload(world, person, [log])

    expect((await upload(world, person, [{ ...log, value: 5 }])).json).toEqual(counts(1, 0, 1, 0))
    expect((await upload(world, person, [{ ...log, startDateTime: '2026-07-10T21:00:00Z' }])).json).toMatchObject({
      accepted: 0,
    })
    for (const change of [
      { dataType: 'floors_climbed' },
      { source: 'other' },
      { startDateTime: '2026-07-11T08:00:00+12:00' },
      { endDateTime: '2026-07-11T10:00:00+12:00' },
    ]) {
      expect((await upload(world, person, [{ ...log, ...change }])).json, JSON.stringify(change)).toMatchObject({
        accepted: 1,
      })
    }
  })
})

describe('an entry', () => {
  const required = [
    'logType',
    'dataType',
    'value',
    'unit',
    'source',
    'recordingMethod',
    'deviceType',
    'startDateTime',
    'endDateTime',
  ]

  test.for(required)('without %s is refused', async (field, { world }) => {
    const answer = await upload(world, await registerProfile(world), [stepsLog({ [field]: undefined })])

    expect(answer.status).toBe(400)
    expect(originsOf(answer)).toEqual([`[0].${field}`])
  })

  test.for([
    ['id', 'not-a-uuid'],
    ['id', 5],
    ['parentId', 'x'],
    ['logType', 'Activity'],
    ['logType', ''],
    ['dataType', ''],
    ['dataType', 'x'.repeat(101)],
    ['value', '5'],
    ['value', -1],
    ['value', 1_000_001],
    ['value', Number.MAX_VALUE],
    ['value', true],
    ['value', [1]],
    ['unit', ''],
    ['source', {}],
    ['recordingMethod', 'guessed'],
    ['deviceType', 7],
    ['deviceId', 7],
    ['periodicity', 'weekly'],
    ['aggregation', 'max'],
    ['startDateTime', '2026-13-01T00:00:00Z'],
    ['startDateTime', '2026-02-30T00:00:00Z'],
    ['startDateTime', '1752192000'],
    ['startDateTime', 1752192000],
    ['startDateTime', '2026-07-11T24:00:00Z'],
    ['startDateTime', '2026-07-11T00:00:00+15:00'],
    ['startDateTime', '99999-07-11T00:00:00Z'],
    ['startDateTime', '1899-12-31T23:59:59Z'],
    ['endDateTime', '+275760-09-13T00:00:00Z'],
    ['endDateTime', '2200-01-01T00:00:00Z'],
    ['endDateTime', '2027-07-13T00:00:00Z'],
    ['additionalProperties', { a: 1 }],
    ['additionalProperties', { a: { b: 'c' } }],
    ['additionalProperties', ['a']],
    ['postDateTime', 'now'],
    ['modifiedDateTime', 'now'],
    ['source', 'nul\u0000'],
    ['source', 'half\ud800'],
  ])('with %s %j is refused', async ([field, value], { world }) => {
    const answer = await upload(world, await registerProfile(world), [stepsLog({ [field as string]: value })])

    expect(answer.status).toBe(400)
    expect(originsOf(answer)[0]).toMatch(new RegExp(`^\\[0\\]\\.${field}`))
  })

  test.for([
    ['an unknown dataType', { dataType: 'something_new' }],
    ['a model for a deviceType', { deviceType: 'Watch6,1' }],
    ['unknown keys', { colour: 'red', nested: { a: [1] } }],
    ['nulls for what is optional', { id: null, parentId: null, deviceId: null, additionalProperties: null }],
    ['an instant', { endDateTime: '2026-07-11T09:00:00+12:00' }],
    ['no offset', { startDateTime: '2026-07-10T20:00:00', endDateTime: '2026-07-10T21:00:00' }],
    ['a date alone', { startDateTime: '2026-07-10', endDateTime: '2026-07-11' }],
    ['fractions of a second', { startDateTime: '2026-07-11T09:00:00.123456+12:00' }],
    ['+14:00 and -12:00', { startDateTime: '2026-07-10T23:00:00+14:00', endDateTime: '2026-07-11T00:00:00-12:00' }],
    ['a leap day', { startDateTime: '2024-02-29T00:00:00Z', endDateTime: '2024-02-29T01:00:00Z' }],
    ['the largest count', { value: 1_000_000 }],
    ['a negative number', { dataType: 'something_new', value: -273.15 }],
    ['empty strings for what is optional', { deviceId: '', sourceId: '' }],
    [
      'all the rest',
      { periodicity: 'daily', aggregation: 'sum', deviceId: 'd', sourceId: 's', parentId: randomUUID() },
    ],
    ['properties', { additionalProperties: { bodyPosition: 'standing', isScreenOn: '', ['__proto__']: 'x' } }],
    ['text in any script', { source: 'здоровье 健康 🏃' }],
  ])('with %s is taken', async ([, changes], { world }) => {
    expect((await upload(world, await registerProfile(world), [stepsLog(Object(changes))])).json).toMatchObject({
      accepted: 1,
    })
  })

  test.for(['unknown', 'manual_entry', 'automatically_recorded', 'actively_recorded'])(
    'with the legacy form of %s is stored in the new one',
    async (method, { world, inside }) => {
      const log = stepsLog({ recordingMethod: `RECORDING_METHOD_${method.toUpperCase()}` })
      await upload(world, await registerProfile(world), [log])

      const { rows } = await inside.sql.query('select recording_method from service.logs where id = $1', [log['id']])
      expect(rows).toEqual([{ recording_method: method }])
    },
  )

  test.for([
    'null',
    'NULL',
    '{a,b}',
    'a"b',
    'a\\b',
    '\\',
    '"',
    ',',
    ' a ',
    'line\nbreak',
    "'; drop table service.logs; --",
    '🏃{"}',
  ])('keeps the text %j as it is', async (text, { world, inside }) => {
    const log = stepsLog({ source: text, unit: text, deviceId: text, additionalProperties: { [text]: text } })
    expect((await upload(world, await registerProfile(world), [stepsLog(), log, stepsLog()])).json).toMatchObject({
      accepted: 3,
    })

    const { rows } = await inside.sql.query(
      'select source, unit, device_id, source_id, additional_properties from service.logs where id = $1',
      [log['id']],
    )
    expect(rows).toEqual([
      { source: text, unit: text, device_id: text, source_id: null, additional_properties: { [text]: text } },
    ])
  })

  test('that is no object is refused in its place', async ({ world }) => {
    const answer = await upload(world, await registerProfile(world), [stepsLog(), null, 5, 'x', []])

    expect(originsOf(answer)).toEqual(['[1]', '[2]', '[3]', '[4]'])
  })

  test.for([{}, null, 'text', 5, true])('must be in an array, not %j', async (body, { world }) => {
    expect((await upload(world, await registerProfile(world), body)).status).toBe(400)
  })
})

describe('the days that an upload touches are due for derivation', () => {
  const dueDays = async (inside: { sql: import('pg').Pool }, person: RegisteredProfile) => {
    const { rows } = await inside.sql.query(
      `select local_day::text as day from service.dirty_days join service.profiles using (profile_id)
       where external_id = $1 order by 1`,
      [person.externalId],
    )
    return rows.map((row) => row.day)
  }
  const eat = (inside: { sql: import('pg').Pool }) => inside.sql.query('delete from service.dirty_days')

  test.for([
    ['its own offset decides', '2026-07-11T23:30:00+12:00', '2026-07-11T23:40:00+12:00', ['2026-07-11']],
    ['across midnight both', '2026-07-11T23:30:00-05:00', '2026-07-12T00:30:00-05:00', ['2026-07-11', '2026-07-12']],
    [
      'a day and an hour every day',
      '2026-07-11T23:00:00Z',
      '2026-07-13T00:00:00Z',
      ['2026-07-11', '2026-07-12', '2026-07-13'],
    ],
    [
      'that long by the clock on the wall alone, which is set back meanwhile, every day',
      '2026-10-24T23:00:00+02:00',
      '2026-10-26T00:00:00+01:00',
      ['2026-10-24', '2026-10-25', '2026-10-26'],
    ],
    ['longer ones none, because they belong to no day', '2026-07-11', '2026-07-14', []],
    ['over the date line its first', '2026-07-12T01:00:00+14:00', '2026-07-11T02:00:00-10:00', ['2026-07-12']],
  ] as const)('%s', async ([, startDateTime, endDateTime, days], { world, inside }) => {
    const person = await registerProfile(world)
    await upload(world, person, [stepsLog({ startDateTime, endDateTime })])

    expect(await dueDays(inside, person)).toEqual(days)
  })

  test('a log that moves makes its former day due too', async ({ world, inside }) => {
    const person = await registerProfile(world)
    const log = stepsLog({ startDateTime: '2026-07-11', endDateTime: '2026-07-11' })
    await upload(world, person, [log])
    await eat(inside)
    await upload(world, person, [{ ...log, startDateTime: '2026-07-20', endDateTime: '2026-07-20' }])

    expect(await dueDays(inside, person)).toEqual(['2026-07-11', '2026-07-20'])
  })

  test('nothing new makes nothing due', async ({ world, inside }) => {
    const person = await registerProfile(world)
    const log = stepsLog()
    await upload(world, person, [log])
    await eat(inside)
    await upload(world, person, [log])

    expect(await dueDays(inside, person)).toEqual([])
  })

  test('a mark is renewed, so that who ate the former one swallows nothing', async ({ world, inside }) => {
    const person = await registerProfile(world)
    const marks = async () => (await inside.sql.query('select max(mark) as mark from service.dirty_days')).rows[0].mark
    await upload(world, person, [stepsLog()])
    const before = Number(await marks())
    await upload(world, person, [stepsLog()])

    expect(Number(await marks())).toBeGreaterThan(before)
  })

  test('a change of age makes every day with logs due', async ({ world, inside }) => {
    const person = await registerProfile(world)
    await upload(world, person, [stepsLog(), stepsLog({ startDateTime: '2026-07-01', endDateTime: '2026-07-02' })])
    await eat(inside)
    const change = (body: object) =>
      call(world, '/api/v1/profile/demographic', { method: 'PATCH', auth: person.auth, body })

    await change({ occupation: 'baker' })
    expect(await dueDays(inside, person)).toEqual([])
    await change({ age: 61 })
    expect(await dueDays(inside, person)).toEqual(expect.arrayContaining(['2026-07-01', '2026-07-02', '2026-07-11']))
    await eat(inside)
    await change({ age: '61' })
    expect(await dueDays(inside, person)).toEqual([])
  })
})
