import { loadModule } from 'pgsql-parser'
import { beforeAll, expect, test } from 'vitest'
import { tablesOf, unexplained } from './figures.ts'
import { killersAfter, knownSurvivors, readKillers } from './listed-mutants.ts'
import { type Mutant, mutantsOf } from './mutants.ts'
import type { Outcome } from './plan.ts'
import { groupsOf, type Judged } from './play.ts'
import { addResult, type DuePlay } from './play-batch.ts'
import { changesOf } from './play-files.ts'
import { faultsOf, staleIds } from './play-sample.ts'
import { sampleOf } from './sample.ts'
import { digestOf, statementsOf } from './statements.ts'

beforeAll(() => loadModule())

const recorded = (origin: string, text: string) => ({
  test: 'a test',
  file: '/test/a.test.ts',
  name: undefined,
  origin,
  text,
})
const idsOf = (...statements: ReturnType<typeof recorded>[]) =>
  mutantsOf(statementsOf(statements).statements).map(({ id }) => id)

const query = 'select id from vitalsync.runs where kind = $1 and state <> $2 order by id'
const folder = 'src/pipeline/warehouse/runs'

test('an order by is mutated to the reverse, nulls included', () => {
  const ordered = 'select id from vitalsync.runs order by state desc nulls last, id'
  const [mutant] = mutantsOf(statementsOf([recorded(`${folder}/stored-runs.ts:1:1`, ordered)]).statements)

  expect(mutant?.exchanges[0]?.to).toBe('SELECT id FROM vitalsync.runs ORDER BY state ASC NULLS FIRST, id DESC')
})

test('a mutant keeps its id when its file moves, the line changes, or other statements are recorded with it', () => {
  const ids = idsOf(recorded(`${folder}/stored-runs.ts:81:12`, query))
  const other = recorded(`${folder}/stored-runs.ts:7:1`, 'delete from vitalsync.runs where kind = $1')

  expect(ids).toHaveLength(3)
  expect(idsOf(recorded('src/pipeline/warehouse/runs/stored-runs.ts:90:3', query))).toEqual(ids)
  expect(idsOf(other, recorded(`${folder}/stored-runs.ts:90:3`, query))).toEqual(expect.arrayContaining(ids))
  expect(idsOf(recorded(`${folder}/open-orders.ts:81:12`, query))).not.toEqual(expect.arrayContaining(ids))
})

test('a statement that two lines of a file send has each mutant once, and an equal change of it a number', () => {
  const twice =
    'select 1 from vitalsync.runs a, vitalsync.runs b where exists (select where $1 < $2) or exists (select where $1 < $2)'

  const ids = idsOf(recorded(`${folder}/stored-runs.ts:1:1`, twice), recorded(`${folder}/stored-runs.ts:2:1`, twice))

  expect(ids).toEqual([...new Set(ids)])
  expect(ids).toEqual(idsOf(recorded(`${folder}/stored-runs.ts:1:1`, twice)))
})

test('a condition that only names the profiles of a divided warehouse is no mutant, and its two forms make one', () => {
  const form = (named: string) =>
    recorded(
      `${folder}/stored-runs.ts:1:1`,
      `select from vitalsync.runs r where exists (select from vitalsync.orders o where o.run_id = r.id and ${named} and o.job = $2)`,
    )
  const mutants = (...forms: ReturnType<typeof recorded>[]) =>
    mutantsOf(statementsOf(forms.map((one) => ({ ...one, name: 'orders' }))).statements)
  const divided = form('o.run_id = any($1::int8[])')

  const both = mutants(divided, form('$1::int8[] is not null /* as in a divided warehouse */'))

  expect(mutants(divided).map(({ operator, change }) => `${operator}: ${change}`)).toEqual([
    expect.stringMatching(/^conjunct dropped: EXISTS/),
    expect.stringMatching(/^exists made not exists: /),
    'conjunct dropped: o.run_id = r.id',
    'conjunct dropped: o.job = $2',
  ])
  expect(both.map(({ id }) => id)).toEqual(mutants(divided).map(({ id }) => id))
  expect(both.map(({ exchanges }) => exchanges.length)).toEqual([2, 2, 2, 2])
})

const judgedOf = (id: string, verdict: Judged['verdict']): Judged => ({
  mutant: { id, key: id, area: 'runs', operator: 'order by reversed' } as Mutant,
  verdict,
  by: verdict === 'killed' ? { id, outcome: 'killed', file: '/test/runs.test.ts', digest: '' } : undefined,
})

test('a run that was cut keeps the kills of mutants that it did not play, and forgets those that are no more', () => {
  const before = { 'old.test.ts': { seconds: 1, ids: ['a', 'b', 'gone'] } }
  const judged = [judgedOf('a', 'not played'), judgedOf('b', 'survived'), judgedOf('c', 'killed')]
  const tests = [{ file: '/test/runs.test.ts', test: 'a test', state: 'passed', ms: 1500 }]

  expect(killersAfter(before, judged, tests)).toEqual({
    'old.test.ts': { seconds: 0, ids: ['a'] },
    'runs.test.ts': { seconds: 2, ids: ['c'] },
  })
})

test('the share of killed mutants leaves out what is equivalent, and is a lower bound where some were not played', () => {
  const judged = [
    judgedOf('a', 'killed'),
    judgedOf('b', 'timed out'),
    judgedOf('c', 'not played'),
    judgedOf('d', 'survived'),
    judgedOf('e', 'not reached'),
    judgedOf('f', 'not played'),
  ]
  const equivalent = { equivalent: true, reason: 'one row' }
  const known = new Map(['d', 'f'].map((key) => [key, equivalent]))

  expect(tablesOf(judged, known)[1]?.rows.at(-1)).toEqual(['all', 6, 1, 1, 1, 2, 1, 'at least 25.0 %'])
  expect(unexplained(judged, known).map(({ mutant }) => mutant.id)).toEqual(['e'])
})

const dueOf = (id: string, called: string, given: Partial<DuePlay> = {}): DuePlay => ({
  mutant: { id, file: 'stored-runs.ts', called } as Mutant,
  step: { file: '/test/runs.test.ts', tests: ['one', 'other'], ms: 100 },
  ...{ survived: 1, togetherMax: 16, ...given },
})

test('mutants of different statements are played at once, those of one statement in turns', () => {
  const due = [
    dueOf('a', 'select'),
    dueOf('b', 'select'),
    dueOf('c', 'delete'),
    dueOf('d', 'insert', { togetherMax: 1 }),
  ]

  expect(groupsOf(due).map((group) => group.map(({ mutant }) => mutant.id))).toEqual([['d'], ['a', 'c'], ['b']])
})

test('of mutants played at once those survive whose tests all passed, and the others are divided', () => {
  const result = { outcomes: new Map<string, Outcome>(), divided: [] as DuePlay[] }
  const line = { id: 'play-0', outcome: 'killed', test: 'other', passed: ['one'] } as const
  const due = dueOf('a', 'select')
  const passing = dueOf('b', 'delete', { step: { ...due.step, tests: ['one'] } })
  const unsent = dueOf('c', 'insert', { step: { ...due.step, tests: ['one'] } })

  for (const one of [due, passing, unsent]) addResult(result, one, { line, size: 3, reached: new Set(['a', 'b']) })

  expect([...result.outcomes.values()].map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
    'b survived',
    'c not run',
  ])
  expect(result.divided).toMatchObject([{ mutant: { id: 'a' }, step: { tests: ['other'] }, togetherMax: 2 }])
  addResult(result, due, { line, size: 1, reached: new Set(['a']) })
  expect(result.outcomes.get('a')).toMatchObject({ outcome: 'killed', test: 'other' })
})

test('no sample has a mutant that counts as equivalent, though a test has killed it once', () => {
  const listed = Object.values(readKillers()).flatMap(({ ids }) => ids)

  expect([...knownSurvivors().keys()].filter((key) => listed.includes(digestOf(key)))).toEqual([])
})

test('a sample holds if most of it was killed and none of it lives', () => {
  const of = (verdict: Judged['verdict'], count: number) =>
    Array.from({ length: count }, (_, n) => judgedOf(`${n}`, verdict))

  expect(faultsOf([...of('killed', 6), ...of('not played', 3), ...of('timed out', 1)], 10)).toEqual([])
  expect(faultsOf([...of('killed', 9), ...of('survived', 1)], 10)).toEqual(['killed before, and now survived: 0'])
  expect(faultsOf([...of('killed', 9), ...of('not reached', 1)], 10)).toEqual(['killed before, and now not reached: 0'])
  const few = [expect.stringContaining('too few')]
  expect(faultsOf([...of('killed', 5), ...of('not played', 5)], 10)).toEqual(few)
  expect(faultsOf([...of('killed', 5), ...of('timed out', 5)], 10)).toEqual(few)
  expect(faultsOf([], 0)).toEqual(few)
})

test('an id of the list that no statement makes is found, and a file of tests that is no more', () => {
  const killers = {
    'runs.test.ts': { seconds: 1, ids: ['a', 'stale'] },
    'cut.test.ts': { seconds: 1, ids: ['b'] },
    'gone.test.ts': { seconds: 1, ids: ['c'] },
  }
  const sample = { 'runs.test.ts': ['a'], 'cut.test.ts': ['b'], 'gone.test.ts': ['c'] }
  const files = { ended: new Set(['runs.test.ts']), there: new Set(['runs.test.ts', 'cut.test.ts']) }

  expect(staleIds(sample, { killers, mutants: [{ id: 'a' }], files })).toEqual([
    { file: 'runs.test.ts', id: 'stale' },
    { file: 'gone.test.ts', id: 'c' },
  ])
})

test('a sample is the same for the same seed, another for another, and none of slow files', () => {
  const ids = Array.from({ length: 40 }, (_, n) => `${n}`)
  const killers = Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`${n}.test.ts`, { seconds: 5, ids }]))
  const slow = { 'slow.test.ts': { seconds: 300, ids } }

  expect(sampleOf({ ...killers, ...slow }, 7)).toEqual(sampleOf({ ...killers, ...slow }, 7))
  expect(sampleOf(killers, 7)).not.toEqual(sampleOf(killers, 8))
  expect(sampleOf(slow, 7)).toEqual({})
  expect(Object.values(sampleOf(killers, 7)).flat()).toHaveLength(40)
  expect(Object.keys(sampleOf(killers, 7)).length).toBeLessThan(5)
})

test('a file of tests that is played again names its kills that are gone, and those that live', () => {
  const own = { 'runs.test.ts': { seconds: 1, ids: ['kept', 'gone', 'alive'] } }

  const { gone, alive } = changesOf(own, [judgedOf('kept', 'killed'), judgedOf('alive', 'survived')])

  expect(gone).toEqual([expect.stringContaining('gone')])
  expect(alive).toEqual(['killed before, and now survived: alive'])
})
