import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { jsonResultSchemas } from '../../../src/app/results/json-results.ts'
import { type CommandWorld, openCommandWorld } from './command-world.ts'

/** A warehouse in which nothing has happened yet. Each test has a copy; upstream is shared. */
let unused: CommandWorld
let world: CommandWorld
const timeout = 300_000

beforeAll(async () => {
  unused = await openCommandWorld({ profiles: 0, days: 1 })
}, timeout)
afterAll(() => unused.close(), timeout)
beforeEach(async () => {
  world = await unused.copy()
}, timeout)
afterEach(() => world.close(), timeout)

test('a sync of nobody is done, says that nobody is known, and how to take people in', { timeout }, async () => {
  const { code, stdout, stderr } = await world.run('sync')

  expect(code).toBe(0)
  expect(stdout).toContain('sync done')
  expect(stderr).toContain('Nobody is known yet')
  for (const command of ['profiles add', 'profiles import', 'profiles discover'])
    expect(stderr).toContain(`vitalsync ${command}`)
})

test('what else is about everybody says so of nobody', { timeout }, async () => {
  const range = ['--from', '2020-01-01', '--to', '2020-02-01']
  const codes = []
  for (const words of [['backfill', ...range], ['plan', ...range], ['gaps'], ['verify']]) {
    const { code, stderr } = await world.run(...words)
    expect(stderr, words[0]).toContain('Nobody is known yet')
    codes.push(code)
  }

  expect(codes).toEqual([0, 0, 0, 1])
})

test('a back-fill of a file that names nobody is refused, and is none of everybody', { timeout }, async () => {
  const file = join(world.folder, 'nobody.csv')
  await writeFile(file, 'externalId\n')

  const ended = await world.run('backfill', '--from', '2026-01-01', '--profiles-from', file)

  expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining(`${file} names nobody`)])
  expect(await world.query('select from vitalsync.runs')).toEqual([])
})

test('plan reckons with the rate of the latest runs, once there are some', { timeout }, async () => {
  await world.run('profiles', 'add', 'ada', '--from', '2020-01-01')
  const words = ['plan', '--from', '2020-01-01', '--to', '2020-07-01']
  const plan = async () => jsonResultSchemas.plan.parse((await world.json(...words))[0])
  const unmeasured = await plan()
  const { stdout: first } = await world.run(...words)
  // 400 requests in 100 s and 200 in 50 s are 4 a second; 10 requests say nothing, and neither does a run that failed.
  await world.query(
    `insert into vitalsync.runs (kind, state, started_at, ended_at, requests, enqueued_all)
     select 'sync', state, now() - seconds * interval '1 second', now(), requests, true
     from (values (100, 400, 'done'), (50, 200, 'done'), (100, 10, 'done'), (1, 900, 'failed')) as one (seconds, requests, state)`,
  )
  const measured = await plan()
  const { stdout: second } = await world.run(...words)

  expect(unmeasured.windows).toBeGreaterThan(0)
  expect(unmeasured).toMatchObject({ measuredPerSecond: null, expectedSeconds: unmeasured.seconds })
  expect(first).toContain('the budget; no run has been measured yet')
  expect(measured.measuredPerSecond).toBeCloseTo(4, 6)
  expect(measured.expectedSeconds).toBeCloseTo(measured.windows / 4, 6)
  expect(second).toMatch(/about .+ at the 4\.0 a second of the latest runs, at least .+ a second, the budget/)
})

test('an import counts and names the profiles that it adds; with --must-exist only those that upstream knows', {
  timeout,
}, async ({ onTestFinished }) => {
  const elsewhere = await unused.copy()
  onTestFinished(elsewhere.close)
  await elsewhere.run('profiles', 'add', 'mary')
  await elsewhere.run('sync', '--profile', 'mary')
  const file = join(world.folder, 'tags.csv')
  const linesOf = (...people: string[]) => people.map((name) => `${name},event,tea,diary,2026-10-25,\n`).join('')
  await writeFile(file, `externalId,type,name,source,startDateTime,value\n${linesOf('mary', 'marry', 'mary')}`)
  const known = 'select external_id, state from vitalsync.profiles'

  const refused = await world.run('import', 'tags', file, '--must-exist')
  expect(refused.stdout).toContain('1 profile added: "mary".\n')
  expect(refused.code).toBe(1)
  expect(await world.query(known)).toEqual([{ external_id: 'mary', state: 'active' }])
  const export1 = join(world.folder, 'heart.xml')
  await writeFile(export1, heartExport)
  const unknown = await world.run('import', export1, '--profile', 'marry', '--must-exist')
  expect(unknown).toMatchObject({ code: 2, stdout: '' })
  expect(unknown.stderr).toContain('"marry" is not known upstream')
  const [dry] = await world.json('import', export1, '--profile', 'marry', '--add-profiles', '--dry-run')
  expect(dry).toMatchObject({ addedProfiles: 1, accepted: 1 })
  expect(await world.query(known)).toHaveLength(1)

  const [counts] = await world.json('import', 'tags', file, '--add-profiles', '--again')
  expect(counts).toMatchObject({ read: 3, rejected: 0, addedProfiles: 1 })
  const mistypedBefore = await world.run('import', 'tags', file, '--must-exist', '--again')
  expect(mistypedBefore.stdout).toContain('3 read, 0 accepted, 2 duplicate, 1 rejected')
  const mistypedExport = await world.run('import', export1, '--profile', 'marry', '--must-exist')
  expect(mistypedExport.stderr).toContain('"marry" is not known upstream')
  const added = await world.run('import', export1, '--profile', 'joe', '--add-profiles')
  expect(added.stdout).toContain('1 profile added: "joe". The next sync registers those that upstream does not know.\n')
})

const heartExport = `<?xml version="1.0"?>
<HealthData>
<Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Watch" unit="count/min" creationDate="2026-01-01 10:00:00 +0000" startDate="2026-01-01 10:00:00 +0000" endDate="2026-01-01 10:00:00 +0000" value="60"/>
</HealthData>
`
