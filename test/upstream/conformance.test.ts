import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { streams } from '../../config/streams.ts'
import { type OperationName, operations } from '../../src/contract/operations.ts'
import { NotThere, Rejected } from '../../src/errors.ts'
import { createLog } from '../../src/log.ts'
import { faultNames } from '../../src/service/sandbox/faults/catalogue.ts'
import { type Sandbox, startSandbox } from '../../src/service/sandbox/sandbox.ts'
import { cutBatches, faultsByIndex } from '../../src/upstream/batches.ts'
import type { Upstream } from '../../src/upstream/client.ts'
import type { HttpRequest, Transport } from '../../src/upstream/transport.ts'
import { openTransport } from '../../src/upstream/transport.ts'
import { DAY, windowOf } from '../../src/window.ts'
import { test as base, within } from '../support/fixtures.ts'
import { biomarkers, demographics, scores, streamOf } from '../support/streams.ts'
import { nightly, type OpenedUpstream, openTestUpstream } from '../support/upstream.ts'

const runner = { profileId: '1', externalId: 'SampleProfile-runner-1' }

type World = OpenedUpstream & { sandbox: Sandbox; sent: HttpRequest[] }

/** One sandbox for the file: its people's 35 days are derived once. A test that moves or spoils things takes its own. */
const test = base.extend<{ derived: World; fresh: World }>({
  derived: [
    async ({}, use) => {
      await within('template0', async (databaseUrl) => {
        const world = await open(databaseUrl, 35)
        await world.sandbox.derived()
        await use(world)
        await close(world)
      })
    },
    { scope: 'file' },
  ],
  fresh: async ({}, use) => {
    await within('template0', async (databaseUrl) => {
      const world = await open(databaseUrl, 1)
      await use(world)
      await close(world)
    })
  },
})

async function close(world: World): Promise<void> {
  await world.close()
  await world.sandbox.close()
}

async function open(databaseUrl: string, days: number): Promise<World> {
  const log = createLog({ level: 'silent' })
  const sandbox = await startSandbox({ databaseUrl, port: 0, profiles: 8, days, seed: 'conformance', log })
  const sent: HttpRequest[] = []
  const opened = openTestUpstream({
    url: sandbox.url,
    credentials: sandbox,
    clock: sandbox.clock.now,
    openTransport: () => recording(openTransport(sandbox.url), sent),
  })
  return { ...opened, sandbox, sent }
}

function recording(transport: Transport, sent: HttpRequest[]): Transport {
  return {
    send(request) {
      sent.push(request)
      return transport.send(request)
    },
    close: () => transport.close(),
  }
}

const windowed = streams.filter((stream) => stream.kind === 'windowed')

/** Which of the 28 operations a request was. */
function operationOf({ method, path }: HttpRequest): OperationName | undefined {
  const plain = path.split('?')[0] ?? ''
  const fits = Object.entries(operations).filter(([, operation]) => {
    const pattern = new RegExp(`^${operation.path.replace('{externalId}', '[^/]+')}$`)
    return operation.method === method && pattern.test(plain)
  })
  // `search` could be an externalId, and `appId` could not: the longest literal path is meant.
  fits.sort(([, one], [, two]) => Number(one.path.includes('{')) - Number(two.path.includes('{')))
  return fits[0]?.[0] as OperationName | undefined
}

async function everybody(upstream: Upstream): Promise<string[]> {
  const found: string[] = []
  for await (const page of upstream.search({ pageSize: 3 }, nightly)) found.push(...page.map((one) => one.externalId))
  return found
}

const log = (changes: object = {}) => ({
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

const tag = (name: string) => ({ type: 'event', name, source: 'test', startDateTime: '2026-03-03T10:00:00Z' })

test('all 28 operations go through this client to the service and back', async ({ derived }) => {
  const { upstream, sent } = derived
  const { api } = upstream
  const ben = { profileId: '2', externalId: `ben-${randomUUID()}` }

  await upstream.register(ben, nightly)
  const app = await api.registerByApp('by-app', nightly)
  const account = await api.accountToken(nightly)
  const own = await api.profileToken({ externalId: ben.externalId, readOnly: true, lifetime: 60 }, nightly)
  const refreshed = await api.refreshToken(
    { profileToken: app.profileToken, refreshToken: app.refreshToken ?? '' },
    nightly,
  )
  expect([app, own, refreshed].map(({ profileToken }) => profileToken.length > 10)).toEqual([true, true, true])
  expect(account.accountToken).not.toBe('')

  expect(await upstream.profile(ben.externalId, nightly)).toMatchObject({ externalId: ben.externalId })
  const found = await everybody(upstream)
  expect(found).toEqual(expect.arrayContaining([ben.externalId, 'by-app']))
  expect(new Set(found).size).toBe(found.length)

  expect(await api.uploadLogs(ben, [log(), JSON.stringify(log({ value: 13 }))], nightly)).toMatchObject({ accepted: 2 })
  expect(await upstream.pushTags(ben, [tag('one')], nightly)).toHaveLength(1)
  expect(await api.uploadTags(ben, [tag('two')], nightly)).toHaveLength(1)
  const ownTags = { ...streamOf('tags'), operation: operations.tags }
  expect((await upstream.read(ownTags, ben, nightly)).records.map(({ fields }) => fields['name']).sort()).toEqual([
    'one',
    'two',
  ])

  await upstream.putDemographics(ben, { gender: 'Male', age: 40 }, nightly)
  await upstream.patchDemographics(ben, { age: 41, gender: null }, nightly)
  const [told] = (await upstream.read(demographics, ben, nightly)).records
  expect(told?.fields).toMatchObject({ age: 41, gender: null })
  expect((await upstream.read(streamOf('device-information'), ben, nightly)).records).toEqual([])
  const device = {
    sdkId: 's',
    sdkVersion: '1',
    appId: 'a',
    deviceType: 'phone',
    deviceModel: 'm',
    system: 'x',
    systemVersion: '1',
  }
  await upstream.putDeviceInformation(ben, device, nightly)
  expect((await upstream.read(streamOf('device-information'), ben, nightly)).records[0]?.fields).toMatchObject(device)

  for (const stream of windowed) {
    const byAccount = await upstream.read(stream, runner, nightly)
    const byProfile = await upstream.read({ ...stream, operation: operations[stream.name] }, runner, nightly)
    expect(byAccount.odd, stream.name).toEqual([])
    expect(byProfile.records.map(({ raw }) => raw)).toEqual(byAccount.records.map(({ raw }) => raw))
    if (stream.name !== 'tags') expect(byAccount.records.length, stream.name).toBeGreaterThan(0)
  }

  await upstream.deleteProfiles([ben.externalId, 'nobody'], nightly)
  await expect(upstream.profile(ben.externalId, nightly)).rejects.toThrow(NotThere)

  const made = new Set(sent.map(operationOf))
  expect(Object.keys(operations).filter((name) => !made.has(name as OperationName))).toEqual([])
  expect(Object.keys(operations)).toHaveLength(28)
})

test('a window asks for just that span, and an empty one is a reading', async ({ derived }) => {
  const { upstream, sandbox } = derived
  const endMs = Math.floor(sandbox.clock.now() / DAY) * DAY
  const window = windowOf(endMs - 3 * DAY, endMs)

  const reading = await upstream.read(biomarkers, { ...runner, window }, nightly)
  const long = await upstream.read(biomarkers, { ...runner, window: windowOf(0, DAY) }, nightly)

  expect(reading.records.length).toBeGreaterThan(0)
  expect(reading.records.every(({ fields }) => Date.parse(String(fields['endDateTime'])) >= endMs - 3 * DAY)).toBe(true)
  expect(long.records).toEqual([])
  for (const { raw, fields } of reading.records) expect(JSON.parse(raw)).toEqual(fields)
})

test('of a refused batch the bad logs are known by index, and the rest goes through without them', async ({
  derived,
}) => {
  const { upstream } = derived
  const logs = [log(), log({ unit: undefined }), log(), log({ logType: 'nonsense' })]

  const refused = await upstream.pushLogs(runner, logs, nightly).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(Rejected)
  const faults = faultsByIndex(refused as Rejected)

  expect([...faults.keys()].sort()).toEqual([1, 3])
  expect(faults.get(1)?.join()).toContain('unit')
  await upstream.pushLogs(
    runner,
    logs.filter((_, index) => !faults.has(index)),
    nightly,
  )
})

test('batches cut here are taken there, to the last log', async ({ derived }) => {
  const { upstream } = derived
  const logs = Array.from({ length: 200 }, (_, index) =>
    log({ additionalProperties: { note: 'x'.repeat(10 * index) } }),
  )

  const batches = cutBatches(logs)
  const answers = await Promise.all(
    batches.map(({ from, to }) => upstream.api.uploadLogs(runner, logs.slice(from, to), nightly)),
  )

  expect(batches.length).toBeGreaterThan(2)
  expect(answers.reduce((sum, { accepted = 0 }) => sum + accepted, 0)).toBe(200)
})

test('tokens that upstream lets expire or takes away are renewed without a failure', async ({ fresh }) => {
  const { upstream, sandbox, sent } = fresh
  const readAll = () => Promise.all(streams.map((stream) => upstream.read(stream, runner, nightly)))
  await readAll()

  sandbox.clock.advance(25 * 60 * 60 * 1000)
  await readAll()
  await fetch(`${sandbox.controlUrl}/tokens/revoke`, { method: 'POST' })
  await readAll()

  expect(sent.filter((request) => operationOf(request) === 'accountToken')).toHaveLength(3)
})

test('a search finds everybody once, whether upstream counts its pages from one or from zero', async ({ fresh }) => {
  const { upstream, sandbox } = fresh

  const fromOne = await everybody(upstream)
  sandbox.faults.set([{ name: 'pages-from-zero', rate: 1 }])
  const fromZero = await everybody(upstream)

  expect(fromOne).toHaveLength(8)
  expect(fromZero).toEqual(fromOne)
})

test('whatever fault the sandbox knows, a read ends in a reading or in a problem that says what to do', async ({
  derived,
}) => {
  const { upstream, sandbox } = derived
  const problems = /^(RetryLater|Unanswered|Rejected|NotThere|Halted)$/

  for (const name of faultNames) {
    sandbox.faults.set([{ name, rate: 1, timesMax: 1, operations: ['scoresOf'] }])
    const outcome = await upstream.read(scores, runner, nightly).then(
      ({ records }) => (records.length > 0 ? 'read' : 'empty'),
      (error: Error) => error.name,
    )
    expect(outcome, name).toMatch(/^(read|empty|RetryLater|Unanswered|Rejected)$/)
    expect(outcome === 'read' || outcome === 'empty' || problems.test(outcome)).toBe(true)
  }
}, 60_000)

test('a rain of faults halts nothing, and nearly every call gets through', async ({ fresh }) => {
  const { upstream, sandbox } = fresh
  const rain = {
    'expired-token': 3,
    'revoked-token': 2,
    reset: 3,
    'error-502': 3,
    'malformed-body': 2,
    'lost-answer': 2,
    'cut-body': 2,
  }
  sandbox.faults.set(
    Object.entries(rain).map(([name, percent]) => ({ name: name as keyof typeof rain, rate: percent / 100 })),
  )
  const outcomes: string[] = []
  let left = 600
  const worker = async () => {
    for (left -= 1; left >= 0; left -= 1) {
      const work =
        left % 3 === 0
          ? upstream.pushLogs(runner, [log()], nightly)
          : upstream.read(left % 3 === 1 ? scores : demographics, runner, nightly)
      outcomes.push(
        await work.then(
          () => 'done',
          (error: Error) => error.name,
        ),
      )
    }
  }

  await Promise.all(Array.from({ length: 16 }, worker))

  expect(outcomes).not.toContain('Halted')
  expect(outcomes.filter((outcome) => outcome === 'done').length).toBeGreaterThan(540)
})
