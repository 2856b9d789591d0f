import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { operations } from '../../src/base/contract/operations.ts'
import {
  type ConformanceDriver,
  type ConformanceInput,
  type ConformancePerson,
  cases,
  good,
  runCase,
} from '../support/conformance.ts'
import {
  accountAuth,
  type CallOptions,
  call,
  registerProfile,
  type ServiceInternals,
  type ServiceWorld,
  test,
} from './service-world.ts'

/** The list over a bare socket. */
function driverOf(world: ServiceWorld): ConformanceDriver {
  const account = accountAuth(world)
  return {
    async newcomer() {
      return personOf(await registerProfile(world, { account: await account }))
    },
    async somebody() {
      const sample = await findSample(world, await account)
      if (sample) return sample
      const person = await registerProfile(world, { account: await account })
      if (world.inside) await derive(world.inside, person.externalId)
      return personOf(person)
    },
    async ask(operation, person, input) {
      const { caller } = operations[operation]
      const headers: Record<string, string> = caller === 'app' ? { appid: world.appId, appsecret: world.appSecret } : {}
      const auth = { account: await account, profile: `profile ${person.profileToken}`, anyone: '', app: '' }[caller]
      const answer = await call(world, ...requestOf(world, { operation, person, input, headers, auth }))
      return { status: answer.status, body: answer.json }
    },
    async askAsStranger(operation, person, input) {
      const { caller } = operations[operation]
      const headers: Record<string, string> = caller === 'app' ? { appid: world.appId, appsecret: 'made-up' } : {}
      const auth = caller === 'account' || caller === 'profile' ? `${caller} made-up` : ''
      const stranger = { ...world, clientSecret: 'made-up' }
      return (await call(world, ...requestOf(stranger, { operation, person, input, headers, auth }))).status
    },
  }
}

type Request = {
  operation: keyof typeof operations
  person: ConformancePerson
  input: ConformanceInput
  headers: Record<string, string>
  auth: string
}

function requestOf(
  world: ServiceWorld,
  { operation, person, input, headers, auth }: Request,
): [path: string, ask: CallOptions] {
  const { method, path } = operations[operation]
  const externalId = input.externalId ?? person.externalId
  const bodies: Record<string, unknown> = {
    accountToken: { clientId: world.clientId, clientSecret: world.clientSecret },
    register: { externalId },
    registerByApp: { externalId },
    profileToken: { externalId, ...Object(input.body) },
  }
  const query = new URLSearchParams(
    Object.entries(input.query ?? {}).map(([key, value]): [string, string] => [key, String(value)]),
  )
  const body = bodies[operation] ?? input.body
  return [
    `${path.replace('{externalId}', encodeURIComponent(externalId))}?${query}`,
    { method, headers, auth, ...(body === undefined ? {} : { body }) },
  ]
}

function personOf({ externalId, auth, refreshToken }: { externalId: string; auth: string; refreshToken: string }) {
  return { externalId, profileToken: auth.replace('profile ', ''), refreshToken }
}

/** A sandbox has people whose data is derived. */
async function findSample(world: ServiceWorld, auth: string): Promise<ConformancePerson | undefined> {
  const search = '/api/v1/account/profile/search?searchParameter=SampleProfile-runner-1'
  const externalId = (await call(world, search, { auth })).json.items[0]?.externalId
  if (externalId === undefined) return undefined
  const body = { externalId }
  const { json } = await call(world, '/api/v1/oauth/profile/token', { method: 'POST', auth, body })
  return { externalId, ...json }
}

const [start, end] = ['2026-07-10T00:00:00Z', '2026-07-10T23:59:59Z']
const span = { startDateTime: start, endDateTime: end }
const id = randomUUID()
const records: Record<string, object> = {
  score: {
    id,
    type: 'sleep',
    value: 0.5,
    state: 'low',
    createdAt: end,
    factors: [],
    scoreDateTime: start,
    dataSources: [],
    version: 1,
  },
  biomarker: {
    id,
    category: 'activity',
    type: 'steps',
    periodicity: 'daily',
    aggregation: 'total',
    value: '8000',
    unit: 'count',
    valueType: 'integer',
    ...span,
  },
  archetype: {
    id,
    name: 'sleep_duration',
    value: 'short_sleeper',
    dataType: 'ordinal',
    ordinality: 1,
    periodicity: 'weekly',
    ...span,
    version: 1,
  },
  trend: {
    id,
    type: 'trend',
    category: 'score',
    name: 'sleep',
    state: 'stable',
    isHigherBetter: true,
    unit: 'score',
    periodicity: 'weekly',
    trendStartDateTime: start,
    trendEndDateTime: end,
    data: [],
  },
  comparison: {
    id,
    type: 'comparison',
    category: 'score',
    name: 'sleep',
    value: 1,
    unit: 'score',
    isHigherBetter: true,
    periodicity: 'daily',
    ...span,
    data: [],
  },
}

/** Inserts one record of each kind into the table of derived records. */
async function derive({ sql }: ServiceInternals, externalId: string): Promise<void> {
  for (const [kind, record] of Object.entries(records)) {
    await sql.query(
      `insert into service.derived (profile_id, id, kind, name, period_start, period_end, created_at, changed_at, body)
       select profile_id, $2, $3, $4, $5, $6, now(), now(), $7 from service.profiles where external_id = $1`,
      [externalId, randomUUID(), kind, 'any', start, end, JSON.stringify(record)],
    )
  }
}

describe('the list of what each operation answers', () => {
  test.for(cases)('$operation: $status, $says', async (conformanceCase, { world, skip }) => {
    const driver = driverOf(world)
    if (conformanceCase.who === 'somebody' && !world.inside && !(await findSample(world, await accountAuth(world))))
      skip('needs somebody whose data is derived')
    await runCase(driver, conformanceCase)
  })

  test.for(good)('$operation answers a stranger with 401', async (conformanceCase, { world }) => {
    const driver = driverOf(world)
    const person = await driver.newcomer()
    expect(await driver.askAsStranger(conformanceCase.operation, person, conformanceCase.input(person))).toBe(401)
  })

  test('names every operation, each with success and refusal', async ({}) => {
    const all = Object.keys(operations).sort()
    expect([...new Set(good.map(({ operation }) => operation))].sort()).toEqual(all)
    expect(good).toHaveLength(28)
  })
})
