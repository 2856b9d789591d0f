import { spawnSync } from 'node:child_process'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { jsonResultSchemas } from '../../../src/app/results/json-results.ts'
import { entry } from '../../support/run-program.ts'
import { type Checked, checkedIn } from './checked-json.ts'
import { type CommandWorld, openCommandWorld } from './command-world.ts'

let world: CommandWorld
const timeout = 300_000
const gone = 'SampleProfile-office-worker-1'

beforeAll(async () => {
  world = await openCommandWorld({ profiles: 3, days: 3 })
  await world.json('profiles', 'discover')
}, timeout)
afterAll(() => world.close(), timeout)
const checked: Checked = (name, ...words) => checkedIn(world, name, ...words)

async function forget(...names: string[]): Promise<void> {
  for (const table of ['profiles', 'names'])
    await world.query(
      `delete from vitalsync.${table} where external_id in (${names.map((name) => `'${name}'`).join(', ')})`,
    )
}

test('people are added, imported, listed and shown', { timeout }, async () => {
  const file = join(world.folder, 'people.csv')
  await writeFile(file, 'externalId,cohort\nmary,a\nmary,a\n"",b\n')
  const [added] = await checked('profiles add', 'mary', 'paul')
  const [imported] = await checked('profiles import', file)
  const listed = await checked('profiles list', '--state', 'new')
  const [shown] = await checked('profiles show', 'mary')
  const cohorts = await world.query("select external_id, cohort from vitalsync.profiles where state = 'new' order by 1")
  await forget('mary', 'paul')

  expect(added).toMatchObject({ read: 2, added: 2, known: 0 })
  expect(cohorts).toEqual([
    { external_id: 'mary', cohort: 'a' },
    { external_id: 'paul', cohort: null },
  ])
  expect(imported).toMatchObject({ read: 3, added: 0, known: 2, rejected: 1 })
  expect(listed.map(({ externalId }) => externalId)).toEqual(['mary', 'paul'])
  expect(shown).toMatchObject({ state: 'new', externalId: 'mary' })
})

test('a list says that it shows not all', { timeout }, async () => {
  const lists = [
    await world.run('profiles', 'list', '--limit', '1'),
    await world.run('profiles', 'list', '--limit', '1', '--json'),
    await world.run('profiles', 'list', '--limit', '1000'),
  ]
  const people = await world.query('select external_id from vitalsync.profiles')
  const shown = lists.map(({ stdout }) => people.filter(({ external_id: name }) => stdout.includes(String(name))))

  expect(shown.map(({ length }) => length)).toEqual([1, 1, people.length])
  expect(lists.map(({ stderr }) => stderr)).toEqual([
    '1 shown, and there are more: --limit\n',
    '1 shown, and there are more: --limit\n',
    '',
  ])
})

test('columns of people that are not read are named, and one that is misspelt is refused', { timeout }, async () => {
  const given = async (name: string, text: string) => {
    await writeFile(join(world.folder, name), text)
    return world.run('profiles', 'import', name)
  }
  const misspelt = await given('misspelt.csv', 'externalId,Cohort\nrita,a\n')
  const misspeltLine = await given('misspelt.ndjson', '{"externalId":"rita","cohrt":"a"}\n')
  const more = await given('more.csv', 'externalId,site,cohort,age\nsara,x,a,\n')
  const moreLine = await given(
    'more.ndjson',
    '{"externalId":"sara","site":"x"}\n{"externalId":"sara","site":"y","age":3}\n',
  )
  const known = await world.query("select external_id, cohort from vitalsync.profiles where state = 'new'")
  await forget('sara')

  expect([misspelt.code, misspelt.stderr]).toEqual([
    2,
    'vitalsync: read people: there is no column Cohort\n  → Did you mean cohort? The columns that are read: externalId, cohort.\n',
  ])
  expect([misspeltLine.code, misspeltLine.stderr]).toEqual([
    1,
    expect.stringContaining('cohrt: is no field of a person; cohort is meant'),
  ])
  const unread = 'Not read: site, age. The columns that are read: externalId, cohort.\n'
  expect([more.code, more.stderr]).toEqual([0, unread])
  expect([moreLine.code, moreLine.stderr]).toEqual([0, unread])
  expect(known).toEqual([{ external_id: 'sara', cohort: 'a' }])
})

test('every invalid line is kept, however many there are', { timeout }, async () => {
  const file = join(world.folder, 'many.csv')
  const rejects = join(world.folder, 'many.rejects')
  await writeFile(file, `externalId,cohort\n${'search,a\n'.repeat(1500)}`)
  const [imported] = await checked('profiles import', file, '--rejects', rejects)

  expect(imported).toMatchObject({ rejected: 1500 })
  expect((await readFile(rejects, 'utf8')).trim().split('\n')).toHaveLength(1500)
})

test('NDJSON of people is taken in, from a file or a pipe; invalid lines are kept with line number and reason', {
  timeout,
}, async () => {
  const file = join(world.folder, 'people.ndjson')
  const rejects = join(world.folder, 'odd.ndjson')
  const long = 'x'.repeat(101)
  await writeFile(
    file,
    `{"externalId":"nora","cohort":"a"}\n"otto"\n\n{"id":"nobody"}\nno JSON\n{"externalId":"${long}"}\n"search"\n"nul\\u0000"\n{"externalId":"quinn","cohort":7}\n`,
  )
  const [imported] = await checked('profiles import', file, '--from', '2026-01-01', '--rejects', rejects)
  const odd = (await readFile(rejects, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const { mode } = await stat(rejects)
  const words = [entry, 'profiles', 'import', '-', '--format', 'ndjson', '--json']
  const piped = spawnSync(process.execPath, words, {
    cwd: world.folder,
    env: world.env,
    input: '{"externalId":"nora"}\n"pia"',
  })
  const listed = await checked('profiles list', '--state', 'new')
  await forget('nora', 'otto', 'pia')

  expect(imported).toMatchObject({ read: 8, added: 2, known: 0, rejected: 6 })
  expect(mode & 0o777).toBe(0o600) // it holds names of people
  expect(odd).toMatchObject([
    { line: 4, reason: 'externalId must be a text', text: '{"id":"nobody"}' },
    { line: 5, reason: 'the line is not JSON', text: 'no JSON' },
    { line: 6, reason: 'externalId must be at most 100 characters' },
    { line: 7, reason: expect.stringContaining('externalId must not be "search"') },
    { line: 8, reason: expect.stringContaining('externalId must not hold NUL') },
    { line: 9, reason: 'cohort must be a text' },
  ])
  expect([piped.status, JSON.parse(String(piped.stdout))]).toMatchObject([0, { read: 2, added: 1, known: 1 }])
  expect(listed.map(({ externalId, wantedFrom }) => [externalId, wantedFrom]).slice(0, 2)).toEqual([
    ['nora', '2026-01-01T00:00:00.000Z'],
    ['otto', '2026-01-01T00:00:00.000Z'],
  ])
})

test('a back-fill of the people of a file reads theirs and nobody else’s; a file that does not fit begins nothing', {
  timeout,
}, async () => {
  const [one, two] = (await checked('profiles list')).map(({ externalId }) => String(externalId))
  const range = ['--from', '2021-01-01', '--to', '2021-02-01', '--stream', 'trends']
  const given = async (name: string, text: string) => {
    await writeFile(join(world.folder, name), text)
    return world.run('backfill', ...range, '--profiles-from', name, '--json')
  }
  const csv = await given('one.csv', `cohort,externalId\na,${one}\n`)
  const both = await given('two.ndjson', `{"externalId":"${one}"}\n"${two}"\n`)
  const odd = await given('odd.ndjson', `"${one}"\n{"id":3}\n`)
  const strange = await given('strange.csv', `externalId\n${one}\nnobody-here\n`)
  const covered =
    await world.query(`select p.external_id as who from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id
    where l.stream = 'trends' and l.covered @> tstzrange('2021-01-01', '2021-02-01') order by p.id`)
  const runs = await checked('runs')

  expect(jsonResultSchemas.backfill.parse(JSON.parse(csv.stdout))).toMatchObject({
    state: 'done',
    done: 1,
    requests: 1,
  })
  expect(jsonResultSchemas.backfill.parse(JSON.parse(both.stdout))).toMatchObject({
    state: 'done',
    done: 2,
    requests: 1,
  })
  expect(covered).toEqual([{ who: one }, { who: two }])
  expect([odd.code, odd.stderr]).toEqual([2, expect.stringMatching(/line 2: externalId must be/)])
  expect([strange.code, strange.stderr]).toEqual([2, expect.stringMatching(/1 of 2 are not known here: "[^"]+"/)])
  expect(runs.filter(({ kind }) => kind === 'backfill')).toHaveLength(2)
})

test('erase takes a person away everywhere and proves it', { timeout }, async () => {
  const refused = await world.run('profiles', 'erase', gone)
  const [proof] = await checked('profiles erase', gone, '--yes')
  const [again] = await checked('profiles add', gone)
  const upstream = await world.json('profiles', 'discover', '--search', gone)
  const rows = await world.query(`select count(*)::int as n from warehouse.scores where external_id = $1`, [gone])

  expect(refused.code).toBe(2)
  expect(proof).toMatchObject({ complete: true, upstream: 'gone', tombstone: true, left: [] })
  expect(again).toMatchObject({ added: 0, erased: 1 })
  expect(upstream).toMatchObject([{ found: 0 }])
  expect(rows).toEqual([{ n: 0 }])
})
