import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { OperationName } from '../../src/base/contract/operations.ts'

/**
 * The expected answers of the 28 operations, as one list of cases. The list is checked against the service over a bare socket
 * (test/service/conformance.test.ts) and through our client (test/pipeline/upstream/client-conformance.test.ts): both must get the same.
 */
export type ConformancePerson = { externalId: string; profileToken: string; refreshToken: string }

export type ConformanceInput = {
  /** The profile that the path or the body names; absent: the profile of the case. */
  externalId?: string
  body?: unknown
  query?: Readonly<Record<string, string | number>>
}

/** `body` is undefined in an answer without a body, and is not compared in an error answer. */
export type ConformanceOutcome = { status: number; body: unknown }

export type ConformanceDriver = {
  /** Registers a new profile without any record. */
  newcomer(): Promise<ConformancePerson>
  /** A profile that has records of all five derived kinds. */
  somebody(): Promise<ConformancePerson>
  ask(operation: OperationName, person: ConformancePerson, input: ConformanceInput): Promise<ConformanceOutcome>
  /** Sends the same request with an unknown token or key, and returns the status of the error answer. */
  askAsStranger(operation: OperationName, person: ConformancePerson, input: ConformanceInput): Promise<number>
}

export type ConformanceCase = {
  operation: OperationName
  says: string
  status: number
  who: 'newcomer' | 'somebody'
  /** A request that is sent before, and must succeed. */
  first?: ReadonlyArray<readonly [OperationName, ConformanceInput]>
  input: (person: ConformancePerson) => ConformanceInput
  /** The body must match this. */
  body?: unknown
}

const anyText = expect.any(String)
/** A valid log. */
export const log = (changes: object = {}) => ({
  id: randomUUID(),
  logType: 'activity',
  dataType: 'steps',
  value: 12,
  unit: 'count',
  source: 'test',
  recordingMethod: 'automatically_recorded',
  deviceType: 'phone',
  startDateTime: '2026-03-03T10:00:00+01:00',
  endDateTime: '2026-03-03T10:10:00+01:00',
  ...changes,
})
const tag = (changes: object = {}) => ({
  type: 'event',
  name: 'coffee',
  source: 'test',
  startDateTime: '2026-03-03T10:00:00Z',
  ...changes,
})
/** A valid device. */
export const device = {
  sdkId: 's',
  sdkVersion: '1',
  appId: 'a',
  deviceType: 'phone',
  deviceModel: 'm',
  system: 'x',
  systemVersion: '1',
}
const profileTokens = { profileToken: anyText, refreshToken: anyText, tokenType: 'Profile' }
const backwards = { startDateTime: '2026-03-02', endDateTime: '2026-03-01' }
const nobody = 'nobody-of-this-name'

type Rest = Omit<ConformanceCase, 'operation' | 'says' | 'status' | 'who' | 'input'> & {
  who?: ConformanceCase['who']
  input?: ConformanceInput | ConformanceCase['input']
}

function says(operation: OperationName, status: number, words: string, rest: Rest = {}): ConformanceCase {
  const { input = {}, who = 'newcomer', ...more } = rest
  return {
    operation,
    status,
    says: words,
    who,
    ...more,
    input: typeof input === 'function' ? input : () => input,
  }
}

const authentication: ConformanceCase[] = [
  says('accountToken', 200, 'a token for id and secret', {
    body: { accountToken: anyText, expiresIn: 86_400, tokenType: 'Account' },
  }),
  ...(['register', 'registerByApp'] as const).flatMap((operation) => [
    says(operation, 201, 'the tokens of the new profile', {
      input: () => ({ externalId: `new-${randomUUID()}` }),
      body: { ...profileTokens, expiresIn: 86_400 },
    }),
    says(operation, 400, 'a name that is in use', { input: ({ externalId }) => ({ externalId }) }),
    says(operation, 400, 'a name that is too long', { input: { externalId: 'x'.repeat(101) } }),
    says(operation, 400, 'an empty name', { input: { externalId: '' } }),
  ]),
  says('profileToken', 200, 'a token for a profile that is there', {
    input: { body: { readOnly: true, lifetime: 60 } },
    body: { ...profileTokens, expiresIn: 60 },
  }),
  says('profileToken', 400, 'a lifetime of no time', { input: { body: { lifetime: 0 } } }),
  says('profileToken', 404, 'a profile that is not there', { input: { externalId: nobody } }),
  says('refreshToken', 200, 'a new pair for a refresh token', {
    input: ({ refreshToken }) => ({ body: { refreshToken } }),
    body: { ...profileTokens, expiresIn: 86_400 },
  }),
  says('refreshToken', 401, 'a refresh token that is not known', { input: { body: { refreshToken: 'made-up' } } }),
  says('refreshToken', 400, 'an empty refresh token', { input: { body: { refreshToken: '' } } }),
]

const profiles: ConformanceCase[] = [
  says('profile', 200, 'the profile', {
    body: { profileId: anyText, accountId: anyText, externalId: anyText, isSampleProfile: false, dataSources: [] },
  }),
  says('profile', 404, 'a profile that is not there', { input: { externalId: nobody } }),
  says('profile', 400, 'a name that is too long', { input: { externalId: 'x'.repeat(101) } }),
  says('searchProfiles', 200, 'a page of who matches', {
    input: ({ externalId }) => ({ query: { searchParameter: externalId, currentPage: 1, pageSize: 5 } }),
    body: { items: [expect.objectContaining({ externalId: anyText })], currentPage: 1, totalPages: 1, totalCount: 1 },
  }),
  says('searchProfiles', 200, 'an empty page where nobody matches', {
    input: { query: { searchParameter: nobody, currentPage: 1, pageSize: 5 } },
    body: { items: [], totalCount: 0, totalPages: 0 },
  }),
  says('searchProfiles', 400, 'a page of more than a hundred', { input: { query: { currentPage: 1, pageSize: 101 } } }),
  says('deleteProfiles', 204, 'nothing, whether or not all were there', {
    input: ({ externalId }) => ({ body: { externalIds: [externalId, nobody] } }),
  }),
  says('deleteProfiles', 400, 'an empty name', { input: { body: { externalIds: [''] } } }),
]

const twice = [log(), log()]
const writings: ConformanceCase[] = [
  says('uploadLogs', 200, 'how many were new', {
    input: { body: [log(), log()] },
    body: { received: 2, accepted: 2, updated: 0, duplicates: 0 },
  }),
  says('uploadLogs', 200, 'what was there already as duplicates', {
    first: [['uploadLogs', { body: twice }]],
    input: { body: twice },
    body: { received: 2, accepted: 0, updated: 0, duplicates: 2 },
  }),
  says('uploadLogs', 400, 'a log without its unit', { input: { body: [log(), log({ unit: undefined })] } }),
  ...(['uploadTags', 'uploadTagsOf'] as const).flatMap((operation) => [
    says(operation, 200, 'the tags as they are stored', {
      input: { body: [tag(), tag({ type: 'state', name: 'travel' })] },
      body: [
        expect.objectContaining({ id: anyText, type: 'event', name: 'coffee' }),
        expect.objectContaining({ type: 'state', name: 'travel' }),
      ],
    }),
    says(operation, 400, 'an event that ends', { input: { body: [tag({ endDateTime: '2026-03-03T11:00:00Z' })] } }),
  ]),
  says('uploadTagsOf', 404, 'a profile that is not there', { input: { externalId: nobody, body: [tag()] } }),
  ...(['tags', 'tagsOf'] as const).flatMap((operation) => [
    says(operation, 200, 'the tags of the window', {
      first: [['uploadTagsOf', { body: [tag(), tag({ name: 'later', startDateTime: '2026-05-01T00:00:00Z' })] }]],
      input: { query: { startDateTime: '2026-03-01', endDateTime: '2026-03-31' } },
      body: [expect.objectContaining({ name: 'coffee', source: 'test' })],
    }),
    says(operation, 204, 'nothing where nothing is'),
    says(operation, 400, 'a window that ends before it begins', { input: { query: backwards } }),
  ]),
  says('tagsOf', 404, 'a profile that is not there', { input: { externalId: nobody } }),
]

const kinds = [
  [
    'scores',
    { type: anyText, value: expect.any(Number), state: anyText, createdAt: anyText, factors: expect.any(Array) },
  ],
  ['biomarkers', { type: anyText, value: anyText, unit: anyText, periodicity: anyText }],
  ['archetypes', { name: anyText, value: anyText, periodicity: anyText }],
  ['trends', { type: 'trend', name: anyText, data: expect.any(Array) }],
  ['comparisons', { type: 'comparison', name: anyText, data: expect.any(Array) }],
] as const
const derived: ConformanceCase[] = kinds.flatMap(([kind, record]) => [
  ...([kind, `${kind}Of`] as const).flatMap((operation) => [
    says(operation, 200, 'what is derived', {
      who: 'somebody',
      body: expect.arrayContaining([expect.objectContaining({ id: anyText, ...record })]),
    }),
    says(operation, 204, 'nothing of a newcomer'),
    says(operation, 204, 'nothing of an unknown type', { who: 'somebody', input: { query: { types: 'unheard-of' } } }),
    says(operation, 400, 'a window that ends before it begins', { who: 'somebody', input: { query: backwards } }),
    says(operation, 400, 'a date that is none', { who: 'somebody', input: { query: { startDateTime: 'soon' } } }),
  ]),
  says(`${kind}Of`, 404, 'a profile that is not there', { input: { externalId: nobody } }),
])

const metadata: ConformanceCase[] = [
  says('demographic', 204, 'nothing of a newcomer'),
  says('demographic', 200, 'what was stored', {
    first: [['replaceDemographic', { body: { age: 40, gender: 'male' } }]],
    body: { age: 40, gender: 'Male' },
  }),
  says('replaceDemographic', 200, 'what is there now', { input: { body: { age: 41 } }, body: { age: 41 } }),
  says('replaceDemographic', 400, 'an age that nobody has', { input: { body: { age: 0 } } }),
  says('updateDemographic', 200, 'what is there now, the rest kept', {
    first: [['replaceDemographic', { body: { age: 40, gender: 'Male' } }]],
    input: { body: { age: 41 } },
    body: { age: 41, gender: 'Male' },
  }),
  says('updateDemographic', 400, 'a word that is none of the list', { input: { body: { gender: 'Robot' } } }),
  says('deviceInformation', 204, 'nothing of a newcomer'),
  says('deviceInformation', 200, 'what was stored', {
    first: [['updateDeviceInformation', { body: device }]],
    body: { ...device, deviceInformationId: anyText },
  }),
  says('updateDeviceInformation', 200, 'what is there now', { input: { body: device }, body: device }),
  says('updateDeviceInformation', 400, 'a device without a model', { input: { body: { ...device, deviceModel: '' } } }),
]

export const cases: readonly ConformanceCase[] = [...authentication, ...profiles, ...writings, ...derived, ...metadata]

/** One valid request of each operation; with an unknown token it must be refused. */
export const good: ReadonlyArray<ConformanceCase> = [
  ...new Map(
    cases.filter(({ status }) => status < 300).map((conformanceCase) => [conformanceCase.operation, conformanceCase]),
  ).values(),
]

/** Runs one case and compares the answer with the expected one. */
export async function runCase(
  driver: ConformanceDriver,
  { operation, who, first = [], input, status, body }: ConformanceCase,
): Promise<void> {
  const person = await driver[who]()
  for (const [before, given] of first) {
    expect((await driver.ask(before, person, given)).status, `${before}, asked before`).toBeLessThan(300)
  }
  const outcome = await driver.ask(operation, person, input(person))
  expect(outcome.status).toBe(status)
  if (body !== undefined) expect(outcome.body).toEqual(Array.isArray(body) ? body : matching(body))
  else if (status === 204) expect(outcome.body).toBeUndefined()
}

/** The body may have further keys; the named keys must match. */
function matching(body: unknown): unknown {
  const plain = typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype
  return plain ? expect.objectContaining(body) : body
}
