import { expect, onTestFinished } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { HOUR } from '../../src/base/time/units.ts'
import { acceptDrift } from '../../src/pipeline/warehouse/reports/drift-report.ts'
import type { FaultName } from '../../src/service/sandbox/faults/fault-catalogue.ts'
import type { FaultRule } from '../../src/service/sandbox/faults/fault-rules.ts'
import { type Sandbox, startSandbox } from '../../src/service/start-sandbox.ts'
import { driftFaults } from '../support/drift-faults.ts'
import { test as base, template, within } from '../support/fixtures.ts'
import { openTestPipeline, type TestPipeline } from '../support/test-pipeline.ts'
import { openTestPool } from '../support/test-pool.ts'

const people = ['office-worker', 'runner', 'night-owl'].map((name) => `SampleProfile-${name}-1`)
const days = 25

type Read = (...faults: FaultName[]) => Promise<Nightly>

/** One sandbox for the file, whose people's days are derived once; `plain`: the rows and days of a warehouse that read it unchanged. */
const test = base.extend<{ sandbox: Sandbox; plain: { rows: Counts; days: readonly Day[] }; read: Read }>({
  sandbox: [
    async ({}, use) => {
      await within('template0', async (databaseUrl) => {
        const log = createLog({ level: 'silent' })
        const sandbox = await startSandbox({ databaseUrl, port: 0, profiles: 8, days, seed: 'drift', log })
        await sandbox.derived()
        // A day that ends somewhere would otherwise change records between two nightlies.
        await sandbox.derivationDelay.set({ delayMs: HOUR })
        await use(sandbox)
        await sandbox.close()
      })
    },
    { scope: 'file' },
  ],
  plain: [
    async ({ sandbox }, use) => {
      await within(await template('warehouse'), async (warehouseUrl) => {
        const line = await openLine(warehouseUrl, sandbox)
        await nightly(line, sandbox, [])
        const rows = await countRows(line)
        const days = await daysOf(line)
        await line.close()
        await use({ rows, days })
      })
    },
    { scope: 'file' },
  ],
  read: async ({ sandbox, warehouseUrl }, use) => {
    await use(async (...faults) => {
      const line = await openLine(warehouseUrl, sandbox)
      onTestFinished(() => line.close())
      return nightly(line, sandbox, faults)
    })
  },
})

async function openLine(warehouseUrl: string, upstream: Sandbox) {
  const settings = { HISTORY_DAYS: String(days) }
  const line = await openTestPipeline({ warehouseUrl, queueUrl: warehouseUrl, upstream, settings })
  await line.addProfiles(...people)
  line.work()
  return line
}

type Nightly = { readonly line: TestPipeline; readonly found: readonly string[] }

/** A nightly of an upstream with these faults, and what was found in it. */
async function nightly(line: TestPipeline, sandbox: Sandbox, faults: readonly FaultName[]): Promise<Nightly> {
  const rules: FaultRule[] = faults.map((name) => ({ name, rate: 1 }))
  // An error has a form only where there is an error: one for each person, whose job is then tried again.
  if (faults.includes('drift-error-shape'))
    for (const person of people)
      rules.push({ name: 'error-500', rate: 1, operations: ['scoresOf'], profiles: [person], timesMax: 1 })
  sandbox.faults.set(rules)
  await line.tick('nightly')
  await line.idle()
  await line.pipeline.refreshDrift()
  sandbox.faults.set([])
  const rows = await line.rows(`select stream, what, path, detail from warehouse.drift where people = ${people.length}`)
  return { line, found: rows.map((row) => `${row['stream']} ${row['what']} ${row['path']} ${row['detail']}`.trim()) }
}

/** The next nightly reads every window whole. */
async function uncoverAll(line: TestPipeline): Promise<void> {
  await line.rows('delete from vitalsync.reading_tags')
  await line.rows('update vitalsync.ledger set covered = default')
}

type Counts = Readonly<Record<string, number>>

/** Rows that are not gone, by stream. */
async function countRows(line: TestPipeline): Promise<Counts> {
  const tables = ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons']
  const counted = tables.map(
    (name) => `select '${name}' as name, count(*)::int from vitalsync.${name} where gone_at is null`,
  )
  const rows = await line.rows(counted.join(' union all '))
  return Object.fromEntries(rows.map(({ name, count }) => [String(name), Number(count)]))
}

type Day = { readonly stream: string; readonly key: string; readonly state: string; readonly settled: boolean }

const daysOf = async (line: TestPipeline) =>
  (await line.rows(
    `select stream, concat_ws(' ', external_id, stream, local_date) as key, state, settled from warehouse.days order by 2`,
  )) as Day[] // as the statement says

/** DRIFT_NIGHTS=1000: as many nights as the promise speaks of. */
const nights = Number(process.env['DRIFT_NIGHTS'] ?? 5)

test('the unchanged sandbox: nothing is found', { timeout: 240_000 + 20_000 * nights }, async ({
  read,
  plain,
  sandbox,
}) => {
  const { line, found } = await read()
  expect(found).toEqual([])
  expect(plain.rows['scores']).toBeGreaterThan(50)
  expect(plain.rows['biomarkers']).toBeGreaterThan(1000)
  for (let night = 1; night < nights; night += 1) {
    await uncoverAll(line)
    await nightly(line, sandbox, [])
  }
  const runs = await line.rows('select rows_read::int as rows from warehouse.runs')
  expect(runs).toHaveLength(nights)
  expect(Math.min(...runs.map(({ rows }) => Number(rows)))).toBeGreaterThan(1000)
  expect(await line.rows('select * from vitalsync.drift_people')).toEqual([])
})

/** Some of the misfits by which each kind of change is found. */
const kinds: Partial<Record<FaultName, readonly string[]>> = {
  'drift-new-field': ['scores extra confidence', 'biomarkers extra confidence', 'trends extra confidence'],
  'drift-new-type': ['scores word type recovery', 'biomarkers kind type recovery in count'],
  'drift-renamed-field': ['scores extra reading', 'scores missing value', 'trends missing state'],
  'drift-unit': ['biomarkers unit unit sleep_duration in hour, not minute'],
  'drift-number-as-text': ['scores type value string', 'comparisons type value string'],
  'drift-enum-case': ['scores case state HIGH', 'biomarkers case periodicity DAILY'],
  'drift-null': ['biomarkers null estimated'],
  'drift-precision': ['scores precision scoreDateTime', 'biomarkers precision startDateTime'],
  'drift-order': ['scores order', 'biomarkers order'],
  duplicates: ['scores duplicates', 'biomarkers duplicates'],
  'drift-pages': ['biomarkers pages'],
  'drift-error-shape': ['scores error  detail, status, title, type'],
}

/** Records that are not stored as they come: those of a type that is new, those that did not fit, and those that did not come. */
const otherCounts: readonly string[] = ['drift-new-type', 'drift-number-as-text', 'drift-pages']

/**
 * Days settle as without the change, for their records are stored as they came or quarantined whole, and no further reading brings
 * others. Two kinds of days wait: those that came in another unit, which may be a mistake, and those of an answer that was cut.
 */
function expectSettled(days: readonly Day[], plain: readonly Day[], found: readonly string[]): void {
  const waits = ({ stream }: Day) =>
    found.some((entry) => entry === `${stream} pages` || entry.startsWith(`${stream} unit `))
  const keysOf = (among: readonly Day[]) => among.map(({ key }) => key)
  const settledOf = (among: readonly Day[]) => among.filter(({ settled }) => settled)
  const withData = settledOf(plain).filter(({ state }) => state === 'data')
  const empty = keysOf(settledOf(plain).filter(({ state }) => state === 'empty'))
  expect(withData.length).toBeGreaterThan(300)

  const settled = settledOf(days)
  const without = settled.filter(({ state }) => state === 'empty')
  expect(keysOf(settled.filter(({ state }) => state !== 'empty'))).toEqual(
    keysOf(withData.filter((day) => !waits(day))),
  )
  expect(
    keysOf(without).filter((key) => !empty.includes(key)),
    'called empty',
  ).toEqual([])
}

test.for(Object.entries(kinds))(
  '%s is found within one nightly, reported once, settles what it may, and no row is lost',
  async ([fault, expected], { read, plain, sandbox }) => {
    const { found, line } = await read(fault as FaultName)
    expect(found).toEqual(expect.arrayContaining([...expected]))
    expectSettled(await daysOf(line), plain.days, found)
    if (!otherCounts.includes(fault)) expect(await countRows(line)).toEqual(plain.rows)
    await nightly(line, sandbox, [fault as FaultName])
    expect(await line.pipeline.refreshDrift()).toEqual([])
  },
)

test('a field of nearly every record that comes no more is found within one nightly, and again after it came again', {
  timeout: 240_000,
}, async ({ read, sandbox }) => {
  const { line } = await read('drift-new-field')
  const usual = `select from vitalsync.drift_fields where path = 'confidence' and stream in ('scores', 'biomarkers') and present >= 100`
  const again = async (...rules: FaultName[]) => {
    await uncoverAll(line)
    return (await nightly(line, sandbox, rules)).found.filter((entry) => entry.includes('stopped'))
  }
  for (let night = 0; night < 20 && (await line.rows(usual)).length < 2; night += 1) await again('drift-new-field')
  await again('drift-new-field')

  expect(await again()).toEqual(expect.arrayContaining(['biomarkers stopped confidence', 'scores stopped confidence']))
  await again('drift-new-field')
  await line.pipeline.refreshDrift()
  const reported = `from warehouse.drift where what = 'stopped'`
  expect(await line.rows(`select ${reported} and (people > 0 or came_again_at is null)`)).toEqual([])
  expect(await line.rows(`select ${reported} and accepted_at is null`)).not.toEqual([])

  await acceptDrift(line.pipeline.pool, {}, 'ada')
  await again('drift-new-field')
  await line.pipeline.refreshDrift()
  await again() // learns that no acceptance holds any more
  await again()
  expect(await line.rows(`select stream ${reported} and people > 0 and accepted_at is null order by stream`)).toEqual(
    expect.arrayContaining([{ stream: 'biomarkers' }, { stream: 'scores' }]),
  )
})

test.for([
  [100, 99, ['scores stopped confidence']],
  [100, 98, []],
  [99, 99, []],
] as const)(
  'of %i records %i had a field that no answer has',
  async ([records, present, expected], { read, sandbox }) => {
    const { line } = await read()
    await line.rows(
      `insert into vitalsync.drift_fields values ('scores', 'confidence', $1, $2, now() - interval '1 day')`,
      [records, present],
    )
    await line.pipeline.refreshDrift()
    await uncoverAll(line)
    expect((await nightly(line, sandbox, [])).found).toEqual(expected)
  },
)

test('a process that has just begun finds a field that comes no more', async ({ sandbox, warehouseUrl }) => {
  const former = await openLine(warehouseUrl, sandbox)
  await nightly(former, sandbox, [])
  await former.rows(
    `insert into vitalsync.drift_fields values ('scores', 'confidence', 100, 100, now() - interval '1 day')`,
  )
  await uncoverAll(former)
  await former.close()
  const line = await openLine(warehouseUrl, sandbox)
  onTestFinished(() => line.close())
  expect((await nightly(line, sandbox, [])).found).toEqual(['scores stopped confidence'])
})

test('each of the twelve kinds is among them', () => {
  expect(driftFaults.filter((name) => !(name in kinds))).toEqual([])
})

test('an answer that is only a first page covers nothing, and marks nothing gone', async ({ read, plain, sandbox }) => {
  const { line } = await read('drift-pages')
  const covered = `select stream from vitalsync.ledger where stream = 'biomarkers' and not isempty(covered)`
  expect(await line.rows(covered)).toEqual([])
  const reasons = `select distinct reason from warehouse.days where stream = 'biomarkers' and state = 'never_read'`
  expect(await line.rows(reasons)).toEqual([{ reason: expect.stringContaining('no whole answer') }])
  await nightly(line, sandbox, [])
  expect(await countRows(line)).toEqual(plain.rows)
  expect(await line.rows(covered)).toHaveLength(people.length)
  await nightly(line, sandbox, ['drift-pages'])
  expect(await countRows(line)).toEqual(plain.rows)
})

test('a worker that ends reports what its last jobs have found', async ({ warehouseUrl, sandbox }) => {
  const line = await openLine(warehouseUrl, sandbox)
  sandbox.faults.set([{ name: 'drift-new-field', rate: 1 }])
  await line.tick('nightly')
  await line.idle()
  sandbox.faults.set([])
  await line.close()

  const pool = openTestPool(warehouseUrl)
  const { rows } = await pool.query(
    `select people from warehouse.drift where stream = 'scores' and path = 'confidence'`,
  )
  await pool.end()
  expect(rows).toEqual([{ people: people.length }])
})

test('the records of each type that a nightly read are counted by day, and words of people are not', async ({
  read,
}) => {
  const { line } = await read()
  const counted = await line.rows(
    'select stream, type, read_on::text, records from warehouse.types_by_day order by 1, 2',
  )
  const stored = [
    ['archetypes', 'name'],
    ['biomarkers', 'type'],
    ['comparisons', 'name'],
    ['scores', 'type'],
    ['trends', 'name'],
  ]
    .map(
      ([table, column]) =>
        `select '${table}' as stream, ${column} as type, count(*)::text as records from vitalsync.${table} group by 2`,
    )
    .join(' union all ')
  const [today] = await line.rows(`select (now() at time zone 'UTC')::date::text as read_on`)
  const expected = await line.rows(`select * from (${stored}) s order by stream collate "C", type collate "C"`)
  expect(expected.length).toBeGreaterThan(20)
  expect(counted).toEqual(expected.map((row) => ({ ...row, ...today })))
})

const dayOf = async (line: TestPipeline, daysBack: number) => {
  const [day] = await line.rows(
    `select state, settled, reason from warehouse.days where external_id = $1 and stream = 'biomarkers'
       and local_date = (now() at time zone 'UTC')::date - $2::int`,
    [people[0], daysBack],
  )
  return day
}

test('a day in another unit is suspicious, and settles when three more readings held the same', async ({
  read,
  plain,
  sandbox,
}) => {
  const { line } = await read('drift-unit')
  expect(await countRows(line)).toEqual(plain.rows)
  expect(await dayOf(line, 9)).toMatchObject({
    state: 'data',
    settled: false,
    reason: expect.stringMatching(/^suspicious: /),
  })
  for (let night = 1; night < 3; night += 1) await nightly(line, sandbox, ['drift-unit'])
  expect(await dayOf(line, 9)).toMatchObject({ settled: false })
  await nightly(line, sandbox, ['drift-unit'])
  expect(await dayOf(line, 9)).toEqual({ state: 'data', settled: true, reason: '' })
})

test('a day in a unit that was accepted settles with its next reading', async ({ read, sandbox }) => {
  const { line } = await read('drift-unit')
  expect(await dayOf(line, 9)).toMatchObject({ settled: false })
  expect(await acceptDrift(line.pipeline.pool, { stream: 'biomarkers' }, 'ada')).toBeGreaterThan(0)
  await nightly(line, sandbox, ['drift-unit'])
  expect(await dayOf(line, 9)).toMatchObject({ settled: true, reason: '' })
})

test('a day that comes in its known unit again settles at once, and a unit that comes and goes never does', async ({
  read,
  sandbox,
}) => {
  const { line } = await read('drift-unit')
  for (let night = 0; night < 3; night += 1) {
    await nightly(line, sandbox, ['drift-unit'])
    expect(await dayOf(line, 9)).toMatchObject({ settled: false })
    await nightly(line, sandbox, [])
    expect(await dayOf(line, 9)).toMatchObject({ settled: true, reason: '' })
    await line.rows('update vitalsync.ledger set covered = default')
  }
})
