import { expect, vi } from 'vitest'
import { pulledStreams } from '../../../config/streams.ts'
import { createLog } from '../../../src/base/log.ts'
import { HOUR } from '../../../src/base/time/units.ts'
import {
  changesSince,
  parseSavedContract,
  savedContractOf,
} from '../../../src/operations/contract/compare-contracts.ts'
import {
  type ContractReport,
  contractPoints,
  examineContract,
  requestsPlanned,
} from '../../../src/operations/contract/examine-contract.ts'
import { type FaultName, plainFaults } from '../../../src/service/sandbox/faults/fault-catalogue.ts'
import { type Sandbox, startSandbox } from '../../../src/service/start-sandbox.ts'
import { driftFaults } from '../../support/drift-faults.ts'
import { test as base, soon, within } from '../../support/fixtures.ts'

/** One sandbox for the file: its people's days are derived once. */
const test = base.extend<{ sandbox: Sandbox }>({
  sandbox: [
    async ({}, use) => {
      await within('template0', async (databaseUrl) => {
        const log = createLog({ level: 'silent' })
        const sandbox = await startSandbox({ databaseUrl, port: 0, profiles: 3, days: 40, seed: 'contract', log })
        await sandbox.derived()
        // A day that ends somewhere would otherwise change records between two questions.
        await sandbox.derivationDelay.set({ delayMs: HOUR })
        await use(sandbox)
        await sandbox.close()
      })
    },
    { scope: 'file' },
  ],
})

type Asked = { faults?: readonly FaultName[]; writes?: boolean; people?: readonly string[]; url?: string }

async function examine(sandbox: Sandbox, { faults = [], writes = false, people = [], url }: Asked = {}) {
  sandbox.faults.set(faults.map((name) => ({ name, rate: 1 })))
  const signal = AbortSignal.timeout(120_000)
  const upstream = { ...sandbox, url: url ?? sandbox.url }
  const report = await examineContract(pulledStreams, { upstream, people, requestsPerSecond: 1000, signal, writes })
  sandbox.faults.set([])
  return report
}

const differing = ({ points }: ContractReport, ...states: string[]) =>
  points.filter(({ state }) => states.includes(state)).map(({ point }) => point)

const derived = ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons']
const windowed = [...derived, 'tags']
const of = (streams: readonly string[], name: string) => streams.map((stream) => `${stream}: ${name}`)

test('our own service: as specified in every point, written to and read', async ({ sandbox }) => {
  const report = await examine(sandbox, { writes: true })
  expect(differing(report, 'harmful', 'harmless')).toEqual([])
  // Nothing was refused for being too much: there is no Retry-After to look at.
  expect(differing(report, 'unseen')).toEqual(['Retry-After'])
  expect(report.people).toBe(3)
})

test('it keeps to its plan, writes only with --write, and leaves no profile behind', async ({ sandbox }) => {
  const writesOf = () => {
    const { operations } = sandbox.journal.read()
    return Object.keys(operations).filter((name) => /^(register|upload|update|replace|delete|refresh)/.test(name))
  }
  sandbox.journal.clear()
  const report = await examine(sandbox)
  const { requests } = sandbox.journal.read()
  const planned = requestsPlanned(contractPoints(pulledStreams, { writes: false }))
  expect(requests).toBeLessThanOrEqual(planned)
  expect(planned).toBeLessThanOrEqual(200)
  expect(report.requests).toBe(requests)
  expect(writesOf()).toEqual([])

  await examine(sandbox, { writes: true })
  expect(writesOf()).toContain('register')
  expect(requestsPlanned(contractPoints(pulledStreams, { writes: true }))).toBeLessThanOrEqual(200)
  const token = await accountToken(sandbox)
  const answer = await fetch(`${sandbox.url}/api/v1/account/profile/search?searchParameter=contract`, {
    headers: { authorization: `account ${token}` },
  })
  expect(await answer.json()).toMatchObject({ totalCount: 0 })
})

test('interrupted among the writes, it deletes the profile all the same', async ({ sandbox }) => {
  sandbox.journal.clear()
  const interruption = new AbortController()
  const asked = { upstream: sandbox, people: [], requestsPerSecond: 100, signal: interruption.signal, writes: true }
  const examined = examineContract(pulledStreams, asked).then(
    () => 'ended',
    () => 'interrupted',
  )
  await vi.waitUntil(() => sandbox.journal.read().operations.register, soon)
  interruption.abort()

  expect(await examined).toBe('interrupted')
  expect(sandbox.journal.read().operations).toMatchObject({ deleteProfiles: { 204: 1 } })
})

async function accountToken({ url, clientId, clientSecret }: Sandbox): Promise<string> {
  const body = JSON.stringify({ clientId, clientSecret })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/api/v1/oauth/account/token`, { method: 'POST', headers, body })
  const { accountToken: token } = Object(await answer.json())
  return String(token)
}

test('the plain upstream: every extra is missing, and all of it is harmless', async ({ sandbox }) => {
  const report = await examine(sandbox, { faults: plainFaults })
  expect(differing(report, 'harmful')).toEqual([])
  expect(differing(report, 'harmless').toSorted()).toEqual(
    [
      'account token',
      'a parameter that is not known',
      'bodies of errors',
      'clock',
      'compression',
      'derivation-state',
      'request ids',
      'ETag',
      ...of(windowed, 'fields'),
    ].toSorted(),
  )
})

/** The points that find each kind of upstream. A fault of records takes the tag away, which is not repeated here. */
const found: ReadonlyArray<readonly [FaultName, { harmful?: readonly string[]; harmless?: readonly string[] }]> = [
  ['drift-new-field', { harmless: of(windowed, 'fields') }],
  ['drift-new-type', { harmless: of(derived, 'words') }],
  ['drift-renamed-field', { harmful: of(derived, 'fields'), harmless: ['tags: fields'] }],
  ['drift-unit', { harmful: of(['scores', 'biomarkers', 'trends', 'comparisons'], 'units') }],
  [
    'drift-number-as-text',
    { harmful: of(['scores', 'archetypes'], 'types'), harmless: of(['trends', 'comparisons'], 'types') },
  ],
  ['drift-enum-case', { harmful: of(derived, 'words') }],
  ['drift-null', { harmless: of(['biomarkers', 'trends', 'tags'], 'fields') }],
  ['drift-precision', { harmless: of(windowed, 'precision of instants') }],
  ['drift-order', { harmless: of(windowed, 'order') }],
  ['duplicates', { harmless: of(windowed, 'duplicates') }],
  ['drift-pages', { harmful: of(derived, 'whole answers') }],
  ['drift-error-shape', { harmless: ['bodies of errors'] }],
  ['whole-seconds', { harmless: ['scores: precision of instants'] }],
  ['exclusive-end', { harmless: of(windowed, 'edges of windows') }],
  ['old-names', { harmless: ['scores: fields'] }],
  ['empty-200', { harmless: of(windowed, 'nothing found') }],
  ['pages-from-zero', { harmless: ['page zero of a search'] }],
  ['bare-token', { harmless: ['account token'] }],
]

test.for(found)(
  '%s is found, with the right severity',
  async ([fault, { harmful = [], harmless = [] }], { sandbox }) => {
    const report = await examine(sandbox, { faults: [fault] })
    expect(differing(report, 'harmful').toSorted()).toEqual([...harmful].toSorted())
    expect(
      differing(report, 'harmless')
        .filter((point) => point !== 'ETag')
        .toSorted(),
    ).toEqual([...harmless].toSorted())
  },
)

test('each of the twelve kinds of drift is among them', () => {
  const names = found.map(([name]) => name)
  expect(driftFaults.filter((name) => !names.includes(name))).toEqual([])
})

test('a saved contract finds each kind of drift again as a change, and nothing where nothing changed', async ({
  sandbox,
}) => {
  const saved = parseSavedContract(JSON.parse(savedContractOf(await examine(sandbox), new Date())))
  const changes = async (...faults: FaultName[]) => {
    const now = await examine(sandbox, { faults })
    return (
      saved && changesSince(saved, now, pulledStreams).map(({ subject, state, says }) => `${subject} ${state} ${says}`)
    )
  }
  expect(await changes()).toEqual([])
  expect(await changes('drift-unit')).toContainEqual(
    expect.stringMatching(/^biomarkers: records harmful units that changed: .*minute/),
  )
  expect(await changes('drift-new-field')).toContain('scores: records harmless fields that came: confidence')
  expect(await changes('drift-renamed-field')).toContainEqual(
    expect.stringMatching('scores: records harmful fields of a column that are gone: value'),
  )
  expect(await changes('drift-enum-case')).toContainEqual(
    expect.stringMatching(/^biomarkers: records harmful words in another case: /),
  )
})

test('neither the report nor the saved file holds a name, a secret or a value', async ({ sandbox }) => {
  const faults: FaultName[] = ['drift-new-field', 'drift-unit', 'drift-number-as-text', 'drift-enum-case']
  const report = await examine(sandbox, { writes: true, faults })
  const savedAt = new Date('2126-07-11T00:00:00Z') // nobody's birth date, on whatever day the sample people are made
  const text = JSON.stringify(report) + savedContractOf(report, savedAt)
  const ledger = await sandbox.ledger('SampleProfile-office-worker-1')
  const [score] = ledger?.scores ?? []
  const [demographic] = ledger?.demographics ?? []
  const secrets = [sandbox.clientId, sandbox.clientSecret, 'SampleProfile', 'office-worker', String(score?.['id'])]
  const values = [String(score?.['value']), String(demographic?.['birthDate']), String(demographic?.['gender'])]
  expect([...secrets, ...values].filter((secret) => text.includes(secret))).toEqual([])
  expect(text).not.toMatch(/0\.87|[0-9a-f]{8}-[0-9a-f]{4}-/)
})

test('credentials that are refused end it after one request', async ({ sandbox }) => {
  sandbox.faults.set([])
  const upstream = { ...sandbox, clientSecret: 'wrong' }
  const signal = AbortSignal.timeout(60_000)
  const asked = { upstream, people: [], requestsPerSecond: 1000, signal, writes: true }
  const report = await examineContract(pulledStreams, asked)
  expect([report.isAuthorized, report.requests]).toEqual([false, 1])
})

test('people who are named are asked about, three at most', async ({ sandbox }) => {
  const names = ['SampleProfile-office-worker-1', 'SampleProfile-traveller-1', 'SampleProfile-shift-worker-1', 'more']
  expect((await examine(sandbox, { people: names })).people).toBe(3)
  expect(differing(await examine(sandbox, { people: names.slice(0, 1) }), 'harmful', 'harmless')).toEqual([])
})
