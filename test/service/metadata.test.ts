import { describe, expect } from 'vitest'
import { call, originsOf, type RegisteredProfile, registerProfile, type ServiceWorld, test } from './service-world.ts'

const nothing = {
  age: null,
  gender: null,
  birthDate: null,
  country: null,
  birthCountry: null,
  ethnicity: null,
  occupation: null,
  industry: null,
  incomeRange: null,
  education: null,
  relationship: null,
  locale: null,
  livingArrangement: null,
}
const everything = {
  age: 35,
  gender: 'Gender Diverse',
  birthDate: '1991-02-28',
  country: 'NZ',
  birthCountry: 'DE',
  ethnicity: 'any',
  occupation: 'baker',
  industry: 'food',
  incomeRange: '$50k-$70k',
  education: 'school',
  relationship: 'Partner',
  locale: 'Urban',
  livingArrangement: 'HomeOwner',
}

const demographic = (world: ServiceWorld, person: RegisteredProfile, method = 'GET', body?: unknown) =>
  call(world, '/api/v1/profile/demographic', { method, auth: person.auth, ...(body === undefined ? {} : { body }) })

describe('demographics', () => {
  test('are 204 until there are some', async ({ world }) => {
    expect((await demographic(world, await registerProfile(world))).status).toBe(204)
  })

  test.for(['PUT', 'PATCH'])('are answered by %s as GET answers them', async (method, { world }) => {
    const person = await registerProfile(world)
    const answer = await demographic(world, person, method, everything)

    expect(answer.status).toBe(200)
    expect(answer.json).toEqual(everything)
    expect((await demographic(world, person)).json).toEqual(everything)
  })

  test('PUT clears what it does not name', async ({ world }) => {
    const person = await registerProfile(world)
    await demographic(world, person, 'PUT', everything)

    expect((await demographic(world, person, 'PUT', { age: 36 })).json).toEqual({ ...nothing, age: 36 })
  })

  test('PATCH keeps what it does not name and clears what it calls null', async ({ world }) => {
    const person = await registerProfile(world)
    await demographic(world, person, 'PUT', everything)

    const answer = await demographic(world, person, 'PATCH', { age: 36, country: null })

    expect(answer.json).toEqual({ ...everything, age: 36, country: null })
  })

  test('with no field left are 204 again', async ({ world }) => {
    const person = await registerProfile(world)
    await demographic(world, person, 'PUT', { age: 36 })
    expect((await demographic(world, person, 'PATCH', { age: null })).json).toEqual(nothing)

    expect((await demographic(world, person)).status).toBe(204)
  })

  test('sent by many at once lose no field', async ({ world }) => {
    const person = await registerProfile(world)
    const fields = ['ethnicity', 'occupation', 'industry', 'incomeRange', 'education']
    await Promise.all(fields.map((field) => demographic(world, person, 'PATCH', { [field]: field })))

    expect((await demographic(world, person)).json).toMatchObject(
      Object.fromEntries(fields.map((field) => [field, field])),
    )
  })

  test.for([
    [{ age: '35' }, { age: 35 }],
    [{ age: '007' }, { age: 7 }],
    [{ age: 1 }, { age: 1 }],
    [{ age: 120 }, { age: 120 }],
    [{ gender: 'female' }, { gender: 'Female' }],
    [{ gender: 'GENDER DIVERSE' }, { gender: 'Gender Diverse' }],
    [{ relationship: 'MARRIED' }, { relationship: 'Married' }],
    [{ locale: 'rural' }, { locale: 'Rural' }],
    [{ livingArrangement: 'homeowner' }, { livingArrangement: 'HomeOwner' }],
    [{ country: 'nz' }, { country: 'NZ' }],
    [{ birthDate: '2024-02-29' }, { birthDate: '2024-02-29' }],
    [{ shoeSize: 44 }, nothing],
  ])('%j becomes %j', async ([sent, stored], { world }) => {
    expect((await demographic(world, await registerProfile(world), 'PATCH', sent)).json).toEqual({
      ...nothing,
      ...stored,
    })
  })

  test.for([
    ['age', 0],
    ['age', 121],
    ['age', 35.5],
    ['age', '35.5'],
    ['age', ''],
    ['age', 'old'],
    ['age', -1],
    ['age', true],
    ['age', 1e308],
    ['gender', 'M'],
    ['gender', ''],
    ['gender', 1],
    ['birthDate', '2023-02-29'],
    ['birthDate', '28/02/1991'],
    ['birthDate', '1991-02-28T00:00:00Z'],
    ['birthDate', '99999-01-01'],
    ['country', 'NZL'],
    ['country', 'N1'],
    ['birthCountry', ''],
    ['ethnicity', 5],
    ['occupation', 'x'.repeat(201)],
    ['industry', ['a']],
    ['education', 'nul\u0000'],
    ['relationship', 'Complicated'],
    ['locale', 'Sea'],
    ['livingArrangement', 'Castle'],
  ])('refuses %s %j', async ([field, value], { world }) => {
    const person = await registerProfile(world)
    for (const method of ['PUT', 'PATCH']) {
      const answer = await demographic(world, person, method, { [field as string]: value })
      expect(answer.status).toBe(400)
      expect(originsOf(answer)).toEqual([field])
    }
    expect((await demographic(world, person)).status).toBe(204)
  })

  test.for([null, [], 'text', 5])('are not %j', async (body, { world }) => {
    expect((await demographic(world, await registerProfile(world), 'PUT', body)).status).toBe(400)
  })
})

const device = {
  sdkId: 'ios',
  sdkVersion: '2.1.0',
  appId: 'com.example',
  deviceType: 'phone',
  deviceModel: 'iPhone17,1',
  system: 'iOS',
  systemVersion: '26.1',
}
const deviceCall = (world: ServiceWorld, person: RegisteredProfile, method = 'GET', body?: unknown) =>
  call(world, '/api/v1/profile/deviceInformation', {
    method,
    auth: person.auth,
    ...(body === undefined ? {} : { body }),
  })

describe('device information', () => {
  test("is 204 until there is some of one's own", async ({ world }) => {
    const person = await registerProfile(world)
    await deviceCall(world, await registerProfile(world), 'PUT', device)

    expect((await deviceCall(world, person)).status).toBe(204)
  })

  test('is answered as it was sent, with an id that stays', async ({ world }) => {
    const person = await registerProfile(world)
    const full = { ...device, appVersion: '7', deviceId: 'd', timeZone: '+12:00' }
    const first = await deviceCall(world, person, 'PUT', full)
    expect(first.json).toEqual({ ...full, deviceInformationId: first.json.deviceInformationId })

    const second = await deviceCall(world, person, 'PUT', { ...device, appVersion: null })

    expect(second.json).toEqual({ ...device, deviceInformationId: first.json.deviceInformationId })
    expect((await deviceCall(world, person)).json).toEqual(second.json)
  })

  test.for(Object.keys(device))('without %s is refused', async (field, { world }) => {
    const answer = await deviceCall(world, await registerProfile(world), 'PUT', { ...device, [field]: undefined })

    expect(answer.status).toBe(400)
    expect(originsOf(answer)).toEqual([field])
  })

  test.for(['Z', 'NZ', '12:00', '+25:00', '+12:60', 12, 'Pacific/Auckland'])(
    'with the time zone %j is refused',
    async (timeZone, { world }) => {
      const answer = await deviceCall(world, await registerProfile(world), 'PUT', { ...device, timeZone })

      expect(originsOf(answer)).toEqual(['timeZone'])
    },
  )
})
