import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { type OperationName, operations } from '../../../src/base/contract/operations.ts'
import { recordedExamples } from '../../../src/service/reference/examples.ts'
import { test as base } from '../../support/fixtures.ts'
import { json, openSandboxWorld, runner, type SandboxWorld } from './sandbox-world.ts'

/** A fixed time: the same people live the same days in every recording. */
const machine = () => Date.parse('2026-11-18T12:00:00Z')
const file = fileURLToPath(new URL('../../../src/service/reference/examples.json', import.meta.url))

const test = base.extend<{ world: SandboxWorld }>({
  world: async ({ serviceUrl }, use) => {
    const world = await openSandboxWorld({ databaseUrl: serviceUrl, days: 31, derives: true, machine })
    await world.sandbox.derived()
    await use(world)
    await world.sandbox.close()
  },
})

type Asked = { name?: string; operation: OperationName; query?: string; externalId?: string; body?: unknown }

const log = {
  id: '5f1c8a52-6f0e-4b43-9a52-0f6b8f1f3a10',
  logType: 'activity',
  dataType: 'steps',
  value: 1250,
  unit: 'count',
  source: 'com.example.watch',
  recordingMethod: 'automatically_recorded',
  deviceType: 'watch',
  startDateTime: '2026-11-18T08:00:00+01:00',
  endDateTime: '2026-11-18T08:15:00+01:00',
}
const tag = {
  type: 'event',
  name: 'coffee',
  category: 'nutrition',
  value: 'espresso',
  source: 'com.example.app',
  startDateTime: '2026-11-18T08:30:00+01:00',
}
const day = 'startDateTime=2026-11-16T00:00:00Z&endDateTime=2026-11-17T00:00:00Z'
const month = 'startDateTime=2026-10-18T00:00:00Z&endDateTime=2026-11-18T00:00:00Z'

/** In this order: an operation finds what the ones before it have stored. */
const asked: readonly Asked[] = [
  { operation: 'accountToken', body: { clientId: 'YOUR_CLIENT_ID', clientSecret: 'YOUR_CLIENT_SECRET' } },
  { operation: 'register', body: { externalId: 'anna-42' } },
  { operation: 'registerByApp', body: { externalId: 'ben-43' } },
  { operation: 'profileToken', body: { externalId: 'anna-42' } },
  { operation: 'refreshToken', body: { refreshToken: 'YOUR_REFRESH_TOKEN' } },
  { operation: 'uploadLogs', body: [log] },
  { operation: 'uploadTags', body: tag },
  { operation: 'uploadTagsOf', externalId: 'anna-42', body: [tag] },
  { operation: 'replaceDemographic', body: { birthDate: '1990-05-14', gender: 'Female', country: 'NL' } },
  { operation: 'updateDemographic', body: { occupation: 'nurse' } },
  {
    operation: 'updateDeviceInformation',
    body: {
      sdkId: 'sdk-1',
      sdkVersion: '2.4.0',
      appId: 'com.example.app',
      deviceType: 'phone',
      deviceModel: 'Pixel 9',
      system: 'android',
      systemVersion: '16',
      timeZone: '+01:00',
    },
  },
  ...(['scores', 'biomarkers'] as const).map((operation) => ({ operation, query: day })),
  ...(['scoresOf', 'biomarkersOf'] as const).map((operation) => ({ operation, query: day, externalId: runner })),
  ...(['archetypes', 'trends', 'comparisons'] as const).map((operation) => ({ operation, query: month })),
  ...(['archetypesOf', 'trendsOf', 'comparisonsOf'] as const).map((operation) => ({
    operation,
    query: month,
    externalId: runner,
  })),
  { operation: 'tags', query: 'startDateTime=2026-11-18T00:00:00Z' },
  { operation: 'tagsOf', query: 'startDateTime=2026-11-18T00:00:00Z', externalId: 'anna-42' },
  { operation: 'demographic' },
  { operation: 'deviceInformation' },
  { operation: 'profile', externalId: 'anna-42' },
  { operation: 'searchProfiles', query: 'searchParameter=anna&currentPage=1&pageSize=10' },
  { operation: 'deleteProfiles', query: 'externalId=ben-43' },
  { name: 'error', operation: 'scores', query: 'startDateTime=yesterday' },
]

/** Profile operations that read what was derived speak for a sample person; all others for the newcomer of the examples. */
const derived = /^(scores|biomarkers|archetypes|trends|comparisons)$/

async function record(world: SandboxWorld) {
  const { clientId, clientSecret, appId, appSecret } = world.sandbox
  const account = await world.accountToken()
  const example: Record<string, unknown> = {}
  let refresh = ''
  for (const { operation, name = operation, query = '', externalId = '', body } of asked) {
    const { method, path, caller } = operations[operation]
    const profile =
      caller === 'profile' ? await world.profileToken(derived.test(operation) ? runner : 'anna-42') : undefined
    refresh = profile?.refreshToken ?? refresh
    const headers: Record<string, Record<string, string>> = {
      anyone: {},
      account: { authorization: `account ${account}` },
      profile: { authorization: `profile ${profile?.profileToken}` },
      app: { appid: appId, appsecret: appSecret },
    }
    const whole = path.replace('{externalId}', externalId) + (query ? `?${query}` : '')
    const secrets = { YOUR_CLIENT_ID: clientId, YOUR_CLIENT_SECRET: clientSecret, YOUR_REFRESH_TOKEN: refresh }
    const sent = body === undefined ? undefined : JSON.parse(filled(JSON.stringify(body), secrets))
    const answer = await world.api(whole.replace('/api/v1/', ''), {
      method,
      headers: headers[caller] ?? {},
      body: sent,
    })
    expect([name, answer.status < 300, answer.text]).toEqual([name, name !== 'error', answer.text])
    example[name] = {
      request: { method, path: whole, caller, ...(body === undefined ? {} : { body }) },
      answer: { status: answer.status, ...(answer.text === '' ? {} : { body: shown(json(answer)) }) },
    }
  }
  return example
}

const filled = (text: string, secrets: Record<string, string>) =>
  Object.entries(secrets).reduce((done, [name, secret]) => done.replace(name, secret), text)

/** Tokens are left out, ids and instants of the recording are made alike, and lists are cut to their first item. */
function shown(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map((item) => shown(item, name))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shown(inner, key)]))
  if (/token$/i.test(name) && typeof value === 'string') return '…'
  if (/^(id|profileId|accountId|deviceInformationId)$/.test(name) && typeof value === 'string')
    return '0b7c3a9e-5d1f-4c8e-9b60-2f4d8e6a1c35'
  if (/^(created|updated|dataLastReceived|issued|lastActive)\w*$/i.test(name) && typeof value === 'string')
    return '2026-11-18T12:00:00.000Z'
  return value
}

test('the examples of the reference are what a sandbox answers', async ({ world }) => {
  const recorded = await record(world)
  expect(Object.keys(recorded).toSorted()).toEqual([...Object.keys(operations), 'error'].toSorted())
  await expect(`${JSON.stringify(recorded, null, 2)}\n`).toMatchFileSnapshot(file)
  for (const [name, { answer }] of Object.entries(recordedExamples)) {
    const isEmpty = answer.status === 204
    expect([name, isEmpty], name).toEqual([name, name === 'deleteProfiles'])
  }
})
