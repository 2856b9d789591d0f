import { describe, expect } from 'vitest'
import { pulledStreams } from '../../../config/streams.ts'
import { receivedUploadSchema } from '../../../src/base/contract/data-log.ts'
import { type OperationName, operations } from '../../../src/base/contract/operations.ts'
import { Rejected } from '../../../src/base/errors.ts'
import { createLog } from '../../../src/base/log.ts'
import { DAY } from '../../../src/base/time/units.ts'
import { cutBatches } from '../../../src/pipeline/transfer/parcel.ts'
import type { Upstream } from '../../../src/pipeline/upstream/client.ts'
import { itemFaultsByIndex } from '../../../src/pipeline/upstream/push-items.ts'
import { openTransport } from '../../../src/pipeline/upstream/transport.ts'
import { faultNames } from '../../../src/service/sandbox/faults/fault-catalogue.ts'
import { type Sandbox, startSandbox } from '../../../src/service/start-sandbox.ts'
import { afterWhole } from '../../support/after-whole.ts'
import { cases, good, log, runCase } from '../../support/conformance.ts'
import { test as base, within } from '../../support/fixtures.ts'
import { biomarkers, dataLogs, demographics, scores } from '../../support/stream-by-name.ts'
import { nightlyCall, type OpenedUpstream, openTestUpstream } from '../../support/test-upstream.ts'
import { driverOf as clientDriver, operationOf, recording, type Sent } from './client-driver.ts'

const runner = { profileId: '1', externalId: 'SampleProfile-runner-1' }

type World = OpenedUpstream & { sandbox: Sandbox; sent: Sent[] }

let sentByList: readonly Sent[] = []

/** One sandbox for the file: its people's 35 days are derived once. A test that moves or spoils things takes its own. */
const test = base.extend<{ derived: World; fresh: World }>({
  derived: [
    async ({}, use) => {
      await within('template0', async (databaseUrl) => {
        const world = await open(databaseUrl, 35)
        await world.sandbox.derived()
        sentByList = world.sent
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
  const sent: Sent[] = []
  const opened = openTestUpstream({
    url: sandbox.url,
    credentials: sandbox,
    clock: sandbox.clock.nowMs,
    openTransport: () => recording(openTransport(sandbox.url), sent),
  })
  return { ...opened, sandbox, sent }
}

async function everybody(upstream: Upstream): Promise<string[]> {
  const found: string[] = []
  for await (const page of upstream.searchProfiles({ pageSize: 3 }, nightlyCall))
    found.push(...page.map((profile) => profile.externalId))
  return found
}

function driverOf(world: World) {
  return clientDriver({ ...world, somebody: runner.externalId })
}

describe('the service’s own list, through this client', () => {
  test.for(cases)('$operation: $status, $says', async (conformanceCase, { derived }) => {
    await runCase(driverOf(derived), conformanceCase)
  })

  test.for(good)('$operation answers a stranger with 401', async (conformanceCase, { derived }) => {
    const driver = driverOf(derived)
    const person = await driver.newcomer()
    expect(await driver.askAsStranger(conformanceCase.operation, person, conformanceCase.input(person))).toBe(401)
  })

  // Every operation of it has been sent.
  afterWhole(() => {
    const made = new Set(sentByList.map(operationOf))
    expect(Object.keys(operations).filter((name) => !made.has(name as OperationName))).toEqual([])
  })
})

test('an answer to the account’s token equals the answer to the profile’s token, byte for byte', async ({
  derived,
}) => {
  const { upstream } = derived
  for (const stream of pulledStreams) {
    if (stream.kind !== 'windowed') continue
    const byAccount = await upstream.read(stream, runner, nightlyCall)
    const byProfile = await upstream.read({ ...stream, operation: operations[stream.name] }, runner, nightlyCall)
    expect(byAccount.invalid, stream.name).toEqual([])
    expect(byProfile.records.map(({ raw }) => raw)).toEqual(byAccount.records.map(({ raw }) => raw))
    if (stream.name !== 'tags') expect(byAccount.records.length, stream.name).toBeGreaterThan(0)
  }
})

test('a window asks for just that span, and an empty one is a reading', async ({ derived }) => {
  const { upstream, sandbox } = derived
  const endMs = Math.floor(sandbox.clock.nowMs() / DAY) * DAY
  const window = { startMs: endMs - 3 * DAY, endMs }

  const reading = await upstream.read(biomarkers, { ...runner, window }, nightlyCall)
  const long = await upstream.read(biomarkers, { ...runner, window: { startMs: 0, endMs: DAY } }, nightlyCall)

  expect(reading.records.length).toBeGreaterThan(0)
  expect(reading.records.every(({ fields }) => Date.parse(String(fields['endDateTime'])) >= endMs - 3 * DAY)).toBe(true)
  expect(long.records).toEqual([])
  const empty = { ...runner, window: { startMs: endMs, endMs } }
  expect(() => upstream.read(biomarkers, empty, nightlyCall)).toThrow('before it starts')
  for (const { raw, fields } of reading.records) expect(JSON.parse(raw)).toEqual(fields)
})

test('of a refused batch the bad logs are known by index, and the rest goes through without them', async ({
  derived,
}) => {
  const { upstream } = derived
  const logs = [log(), log({ unit: undefined }), log(), log({ logType: 'nonsense' })]

  const refused = await upstream
    .pushItems(runner, { stream: dataLogs, items: logs }, nightlyCall)
    .catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(Rejected)
  const faults = itemFaultsByIndex(refused as Rejected)

  expect([...faults.keys()].sort()).toEqual([1, 3])
  expect(faults.get(1)?.join()).toContain('unit')
  const items = logs.filter((_, index) => !faults.has(index))
  await upstream.pushItems(runner, { stream: dataLogs, items }, nightlyCall)
})

test('batches cut here are taken there, to the last log', async ({ derived }) => {
  const { upstream } = derived
  const logs = Array.from({ length: 200 }, (_, index) =>
    log({ additionalProperties: { note: 'x'.repeat(10 * index) } }),
  )

  const batches = cutBatches(logs.map((log) => Buffer.byteLength(JSON.stringify(log))))
  const answers = await Promise.all(
    batches.map(({ from, to }) =>
      upstream.pushItems(runner, { stream: dataLogs, items: logs.slice(from, to) }, nightlyCall),
    ),
  )

  expect(batches.length).toBeGreaterThan(2)
  const uploads = answers.map((answer) => receivedUploadSchema.parse(answer))
  expect(uploads.reduce((sum, { accepted = 0 }) => sum + accepted, 0)).toBe(200)
})

test('tokens that upstream lets expire or takes away are renewed without a failure', async ({ fresh }) => {
  const { upstream, sandbox, sent } = fresh
  const readAll = () => Promise.all(pulledStreams.map((stream) => upstream.read(stream, runner, nightlyCall)))
  await readAll()

  sandbox.clock.advance(25 * 60 * 60 * 1000)
  await readAll()
  await sandbox.revokeTokens(undefined)
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
    const outcome = await upstream.read(scores, runner, nightlyCall).then(
      ({ records }) => (records.length > 0 ? 'read' : 'empty'),
      (error: Error) => error.name,
    )
    expect(outcome, name).toMatch(/^(read|empty|RetryLater|Unanswered|Rejected)$/)
    expect(outcome === 'read' || outcome === 'empty' || problems.test(outcome)).toBe(true)
  }
})

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
          ? upstream.pushItems(runner, { stream: dataLogs, items: [log()] }, nightlyCall)
          : upstream.read(left % 3 === 1 ? scores : demographics, runner, nightlyCall)
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
