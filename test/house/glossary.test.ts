import { expect, test } from 'vitest'
import { lines, linesOf, offence } from './sources.ts'

const warehouse = 'src/pipeline/warehouse/migrations/'
const [profiles, ledger, outbox, runs, verification] = [
  '1-profiles',
  '2-ledger',
  '4-outbox',
  '5-runs',
  '7-verification',
].map((name) => `${warehouse}000${name}.sql`)

/** Where each word of docs/reference/glossary.md is declared: a file, and the type, constant, table or column as it is written there. */
const declarations: Record<string, ReadonlyArray<readonly [file: string | undefined, declaration: string]>> = {
  profile: [[profiles, 'create table vitalsync.profiles']],
  upstream: [['src/pipeline/upstream/client.ts', 'type Upstream']],
  stream: [
    ['src/pipeline/transfer/stream.ts', 'type PulledStream'],
    ['src/pipeline/transfer/stream.ts', 'type PushedStream'],
  ],
  span: [['src/base/time/spans.ts', 'type Span']],
  window: [['src/pipeline/transfer/reading.ts', 'type DueWindow']],
  reading: [
    ['src/pipeline/transfer/reading.ts', 'type Reading'],
    [ledger, 'create table vitalsync.reading_tags'],
  ],
  ledger: [
    ['src/pipeline/warehouse/ledger/coverage-ledger.ts', 'type Ledger'],
    [ledger, 'create table vitalsync.ledger'],
  ],
  coverage: [[ledger, 'covered       tstzmultirange']],
  checkpoint: [[`${warehouse}0009-views.sql`, 'as checkpoint']],
  gap: [['src/pipeline/ledger/coverage-gaps.ts', 'type Gap']],
  settle: [
    ['src/pipeline/ledger/settle-time.ts', 'type SettleTime'],
    [ledger, 'create table vitalsync.settle_times'],
  ],
  'awaiting upstream': [[ledger, 'digesting     tstzmultirange']],
  lateness: [[ledger, 'create table vitalsync.lateness']],
  difference: [
    [verification, 'create table vitalsync.differences'],
    [verification, 'create table vitalsync.silent_differences'],
  ],
  generation: [[ledger, 'generation    bigint']],
  sentinel: [['jobs/sentinel.ts', 'const sentinel']],
  outbox: [
    ['src/pipeline/warehouse/outbox/outbox.ts', 'type Outbox'],
    ['src/pipeline/transfer/parcel.ts', 'type Parcel'],
    [outbox, 'create table vitalsync.parcels'],
    [outbox, 'create table vitalsync.items'],
  ],
  quarantine: [
    ['src/pipeline/warehouse/quarantine/stored-quarantine.ts', 'function createQuarantine'],
    [ledger, 'create table vitalsync.quarantine'],
  ],
  run: [
    ['src/pipeline/warehouse/runs/stored-runs.ts', 'type Run'],
    [runs, 'create table vitalsync.runs'],
    [runs, 'create table vitalsync.slots'],
  ],
  order: [
    ['src/pipeline/transfer/order.ts', 'type Order'],
    [runs, 'create table vitalsync.orders'],
  ],
  lane: [
    ['src/pipeline/fleet/budget.ts', 'type Lane'],
    ['src/pipeline/queue/lane-slots.ts', 'type Part'],
  ],
  budget: [[`${warehouse}0006-fleet.sql`, 'table vitalsync.budget_lines']],
  facts: [
    ['src/service/derive/day/facts.ts', 'type DayFacts'],
    ['src/service/store/migrations/0003-derivation.sql', 'create table service.day_facts'],
  ],
  factor: [['src/service/derive/days/factors.ts', 'type Factor']],
  draft: [['src/service/derive/records/draft.ts', 'type Draft']],
}

const glossary = linesOf('docs/reference/glossary.md').flatMap(
  ({ text }) => /^\| (?!word |-)([^|]+?) \|/.exec(text)?.[1] ?? [],
)

test('each word of the glossary has its declarations here, and each declaration is there', () => {
  expect(glossary).toEqual(Object.keys(declarations))
  const missing = Object.entries(declarations).flatMap(([word, places]) =>
    places
      .filter(([file = '', declaration]) => !linesOf(file).some(({ text }) => holds(text, declaration)))
      .map(([file, declaration]) => `${word}: ${file} has no ${declaration}`),
  )
  expect(missing).toEqual([])
})

/** The declaration, and no longer name that begins with it. */
function holds(text: string, declaration: string): boolean {
  const end = text.indexOf(declaration) + declaration.length
  return text.includes(declaration) && !/\w/.test(text.charAt(end))
}

/** The words as names of types: `Run`, `AwaitingUpstream`. */
const nameOf = (word: string): string => word.replaceAll(/(?:^| )(\w)/g, (_, letter: string) => letter.toUpperCase())

test('no second type has a word of the glossary as its name', () => {
  const names = new Set([...glossary, 'item', 'parcel', 'slot', 'part', 'tag', 'record', 'permit'].map(nameOf))
  const known = new Set(
    Object.values(declarations).flatMap((places) => places.map(([file, declaration]) => `${file} ${declaration}`)),
  )
  const second = lines(/^(src|jobs|config)\/.*\.tsx?$/).filter(({ file, text }) => {
    const [, keyword, name = ''] = /^(?:export )?(type|interface|class) (\w+)/.exec(text) ?? []
    return names.has(name) && !known.has(`${file} ${keyword} ${name}`)
  })
  expect(second.map(offence)).toEqual([])
})
