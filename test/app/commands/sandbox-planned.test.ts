import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { entriesImportResult } from '../../../src/app/results/import-result.ts'
import { dayNumberFromText } from '../../../src/base/time/local-time.ts'
import { planNames, plannedPerson } from '../../../src/service/sandbox/people/planned-people.ts'
import { runProgram } from '../../support/run-program.ts'
import { openCommandWorld } from './command-world.ts'
import { importTest } from './import-world.ts'

const timeout = 300_000
const test = importTest([])
const days = 20
const lastDay = dayNumberFromText('2026-04-01')
const planned = (cwd: string, ...words: string[]) =>
  runProgram(['sandbox', 'planned', '--days', String(days), '--until', '2026-04-01T10:00:00Z', ...words], { cwd })
const bySeed = (seed: string) =>
  planNames.map((_, number) => plannedPerson(seed, number, { firstDay: lastDay - days, days }))
const linesOf = async (file: string) => (await readFile(file, 'utf8')).trim().split('\n')

test('each morning has a file, which import takes in whole, and the truth stands apart', { timeout }, async ({
  folder,
  start,
  query,
}) => {
  const { code, stdout } = await planned(folder, '--seed', 'one', '--output', 'planned', '--json')
  const people = bySeed('one')
  const morning = people.flatMap((person) =>
    person.days.filter(({ handedInAtMs }) => new Date(handedInAtMs ?? 0).toISOString().startsWith('2026-03-25')),
  )
  const logs = people.flatMap((person) => person.days.flatMap((day) => day.logs))
  const imported = await start('data-logs', 'planned/logs-2026-03-25.ndjson', '--add-profiles', '--json').ended
  const [heading, ...truths] = await linesOf(join(folder, 'planned/truth.csv'))

  expect([code, JSON.parse(stdout)]).toEqual([0, { folder: 'planned', people: 10, days, logs: logs.length }])
  expect(entriesImportResult.parse(JSON.parse(imported.stdout))).toMatchObject({
    accepted: morning.reduce((sum, day) => sum + day.logs.length, 0),
    rejected: 0,
    finished: true,
  })
  expect(await query("select external_id from vitalsync.names where external_id like '%other-road%'")).toEqual([])
  expect(new Set((await linesOf(join(folder, 'planned/other-road.ndjson'))).map(nameIn))).toEqual(
    new Set(['PlannedProfile-other-road-1']),
  )
  expect(heading).toBe(
    'external_id,plan,local_date,logs,handed_in_at,derived,cause_if_empty_when_settled,cause_if_empty_in_the_end',
  )
  expect(truths).toHaveLength(people.length * days)
  expect(truths).toContain(
    `PlannedProfile-growing-delay-1,growing-delay,2026-03-22,${people[6]?.days[10]?.logs.length},2026-03-23T23:24:00.000Z,true,sent_late_expected,data`,
  )
  expect(truths.filter((line) => line.startsWith('PlannedProfile-other-road-1,other-road,'))[0]).toMatch(
    /,,true,not_through_us,not_through_us$/,
  )
})

const nameIn = (line: string) => JSON.parse(line).externalId

test('a seed gives the same files, and another seed others', { timeout }, async ({ folder }) => {
  const filesOf = async (seed: string, output: string) => {
    await planned(folder, '--people', '3', '--seed', seed, '--output', output)
    const names = (await readdir(join(folder, output))).sort()
    return Promise.all(names.map(async (name) => [name, await readFile(join(folder, output, name), 'utf8')]))
  }
  const [first, again, other] = [await filesOf('one', 'a'), await filesOf('one', 'b'), await filesOf('two', 'c')]

  expect(again).toEqual(first)
  expect(other).not.toEqual(first)
})

test('a folder with something in it, and more people than are planned, are refused', { timeout }, async ({
  folder,
}) => {
  await planned(folder, '--people', '1', '--output', 'planned')
  const [again, many] = await Promise.all([
    planned(folder, '--people', '1', '--output', 'planned'),
    planned(folder, '--people', '1001', '--output', 'many'),
  ])

  expect([again.code, again.stderr]).toEqual([
    2,
    expect.stringMatching(/planned is not empty[\s\S]*new folder with --output/),
  ])
  expect([many.code, many.stderr]).toEqual([
    2,
    expect.stringMatching(/1001 people with 20 days are too many[\s\S]*--people is at most 1000/),
  ])
  expect(await readdir(folder)).not.toContain('many')
})

test('a sandbox derives nothing of the planned days, and a sync finds that they were sent and not derived', {
  timeout,
}, async () => {
  const world = await openCommandWorld({ profiles: 0, days: 40 })
  onTestFinished(() => world.close(), timeout)
  const { controlUrl, controlToken } = world.sandbox
  const output = join(world.folder, 'planned')
  await world.run('sandbox', 'planned', '--people', '8', '--days', '34', '--output', output)
  const ofPerson = (text: string) => text.includes('PlannedProfile-not-derived-1')
  const files = (await readdir(output)).filter((name) => name.startsWith('logs-'))
  const logs = (await Promise.all(files.map((name) => linesOf(join(output, name))))).flat().filter(ofPerson)
  await writeFile(join(output, 'person.ndjson'), logs.join('\n'))

  const { status } = await fetch(`${controlUrl}/faults`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${controlToken}`, 'content-type': 'application/json' },
    body: await readFile(join(output, 'faults.json'), 'utf8'),
  })
  await world.run('import', 'data-logs', join(output, 'person.ndjson'), '--add-profiles')
  await world.run('sync')
  await world.sandbox.derived()
  await world.run('sync')

  const oldest = 'local_date < current_date - 4'
  const found = await world.query(
    `select local_date::text as day, cause from warehouse.days where stream = 'scores' and state = 'empty' and cause = 'sent_not_derived' and ${oldest} order by 1`,
  )
  const planned = (await linesOf(join(output, 'truth.csv')))
    .filter((line) => ofPerson(line) && line.includes(',false,'))
    .map((line) => line.split(',')[2] ?? '')
    .filter((day) => Date.parse(day) < Date.now() - 5 * 86_400_000)
  expect(status).toBe(200)
  expect(planned.length).toBeGreaterThan(0)
  expect(found.map(({ day }) => day)).toEqual(planned)
})
