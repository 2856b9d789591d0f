import { expect } from 'vitest'
import { z } from 'zod'
import { catalogue } from '../../config/streams.ts'
import { eraseProfile } from '../../jobs/erase-profile.ts'
import { DAY } from '../../src/base/time/units.ts'
import { toItem } from '../../src/intake/outbox-items.ts'
import type { Catalogue, PulledStream, PushedStream } from '../../src/pipeline/transfer/stream.ts'
import { placeNewTables } from '../../src/pipeline/warehouse/divided/distribute-tables.ts'
import { json, needErrorBodies } from '../support/profile-stub.ts'
import { daysAgo } from '../support/sample-scores.ts'
import { streamByName } from '../support/stream-by-name.ts'
import { type TestPipeline, test } from '../support/test-pipeline.ts'

/** One entry: a list. Its path and its names are unlike those of any other stream. */
const notes: PushedStream = {
  name: 'notes',
  kind: 'list',
  schema: z.object({ ref: z.string(), writtenAt: z.string(), mood: z.number() }),
  numbers: ['mood'],
  operation: { name: 'uploadNotesOf', method: 'POST', path: '/api/v1/diary/note/{externalId}', caller: 'account' },
  answer: z.looseObject({ kept: z.number() }),
  identify: (body) => ({ itemKey: `note ${String(body['ref'])}`, body }),
}

/** One entry: a snapshot whose updates are merged, and the pulled snapshot that says what upstream has. */
const habits: PushedStream = {
  name: 'habits',
  kind: 'snapshot',
  schema: z.object({ smokes: z.boolean().nullish(), coffees: z.number().nullish(), sport: z.string().nullish() }),
  numbers: ['coffees'],
  replace: { name: 'replaceHabits', method: 'PUT', path: '/api/v1/diary/habit', caller: 'profile' },
  merge: 'merge-patch',
  patch: { name: 'updateHabits', method: 'PATCH', path: '/api/v1/diary/habit', caller: 'profile' },
}
const pulledHabits: PulledStream = {
  name: 'habits',
  kind: 'snapshot',
  operation: { name: 'habits', method: 'GET', path: '/api/v1/diary/habit', caller: 'profile' },
  schema: z.looseObject({ coffees: z.number().nullish() }),
  table: 'habits',
  windowMs: Number.MAX_SAFE_INTEGER,
  settleMs: 0,
  touchedBy: { habits: 'everything' },
  columns: [{ name: 'coffees', type: 'number', from: ['coffees'] }],
}

/** The statements of their migration. */
const widened = 'alter table vitalsync.parcels drop constraint parcels_stream_check'
const habitsTable = `
  create table vitalsync.habits (
    profile_id bigint primary key, coffees double precision, body text not null, digest bigint not null,
    read_at timestamptz not null, first_seen_at timestamptz not null, changed_at timestamptz not null,
    gone_at timestamptz, revision integer not null default 1)`

/** As `vitalsync migrate` does. */
async function migrate({ rows, pipeline }: TestPipeline): Promise<void> {
  await rows(habitsTable)
  await rows(widened)
  await placeNewTables(pipeline.pool, () => undefined)
}

const scoresTouchedByNotes: PulledStream = {
  ...streamByName('scores'),
  touchedBy: { notes: { beforeMs: DAY, afterMs: DAY } },
}
const widerCatalogue: Catalogue = {
  pulled: [scoresTouchedByNotes, pulledHabits],
  pushed: [habits, ...catalogue.pushed, notes],
}

/** Brings entries of a file into the outbox, as `import` does. */
async function importInto({ pipeline }: TestPipeline, stream: PushedStream, entries: ReadonlyArray<object>) {
  const items = []
  for (const entry of entries) {
    const read = toItem(
      { ...entry },
      { stream, format: 'csv', completeOffset: (text) => text, replace: false, nowMs: 0 },
    )
    if ('fault' in read) throw new Error(read.fault)
    const found = await pipeline.profiles.findId(read.externalId)
    items.push({ profileId: found?.profileId ?? '', ...read.item })
  }
  return pipeline.outbox.add(items)
}

const note = (ref: string, mood: string) => ({ externalId: 'ada', ref, writtenAt: daysAgo(3), mood })

test('a fifth pushed stream of one entry goes the whole road', async ({ open, peer, skip }) => {
  needErrorBodies(skip)
  const line = await open('postgres', { HISTORY_DAYS: '30' }, widerCatalogue)
  await migrate(line)
  const [ada = ''] = await line.addProfiles('ada')
  peer.profiles.add('ada')
  const { answer } = peer
  peer.answer = (seen) => {
    if (!seen.path.startsWith('/api/v1/diary/note/')) return answer(seen)
    const bad = JSON.parse(seen.body).findIndex(({ mood }: { mood: number }) => mood > 10)
    const faults = { errors: [{ origin: `[${bad}].mood`, errors: ['is too high'] }] }
    return bad < 0 ? json(200, { kept: 1 }) : json(400, faults)
  }
  const pushed = () => peer.seen.filter(({ path }) => path === '/api/v1/diary/note/ada')
  const covered = async () =>
    (
      await line.rows(`select covered @> $1::timestamptz as day from vitalsync.ledger where stream = 'scores'`, [
        daysAgo(9),
      ])
    )[0]
  line.work()
  await line.tick('nightly')
  await line.idle()
  expect(await covered()).toEqual({ day: true })

  // Imported by its schema, its numbers and its key, and sent to where its row says, by the account's token.
  expect(await importInto(line, notes, [note('a', '3'), note('b', '11'), note('a', '4')])).toEqual({
    accepted: 2,
    duplicate: 1,
  })
  await line.tick('sweep')
  await line.idle()
  const bodies = pushed().map(({ body }) =>
    JSON.parse(body).map(({ ref, mood }: { ref: string; mood: number }) => [ref, mood]),
  )
  expect(bodies).toEqual([
    [
      ['a', 4],
      ['b', 11],
    ],
    [['a', 4]],
  ])
  expect(pushed()[0]?.authorization).toMatch(/^account /)

  // An item that upstream names is quarantined with its reason; the same items again are duplicates.
  expect(await line.rows('select stream, direction, reason from warehouse.quarantine')).toEqual([
    { stream: 'notes', direction: 'push', reason: 'mood: is too high' },
  ])
  expect(await importInto(line, notes, [note('a', '4'), note('b', '11')])).toEqual({ accepted: 0, duplicate: 2 })

  // It has a push checkpoint, and goes with its profile.
  expect(
    await line.rows(`select 1 from vitalsync.ledger where stream = 'notes' and pushed_to is not null`),
  ).toHaveLength(1)
  const context = { ...line.pipeline.context, lane: 'manual' as const, runId: undefined, lastAttempt: false }
  await eraseProfile.run({ profileId: ada }, { ...context, signal: AbortSignal.timeout(120_000) })
  for (const table of ['items', 'parcels', 'quarantine', 'ledger']) {
    expect(await line.rows(`select 1 from vitalsync.${table}`), table).toEqual([])
  }
})

test('a push of a new stream makes due again what its row reaches', async ({ open, peer }) => {
  const line = await open('postgres', { HISTORY_DAYS: '30' }, widerCatalogue)
  await migrate(line)
  const [ada = ''] = await line.addProfiles('ada')
  peer.profiles.add('ada')
  line.work()
  await line.tick('nightly')
  await line.idle()
  const { outbox } = line.pipeline
  const at = Date.parse(daysAgo(12))
  await outbox.add([{ profileId: ada, stream: 'notes', itemKey: 'a', body: '{}', startAtMs: at, endAtMs: at }])

  const { parcels } = await outbox.readWaiting(ada, 'notes')
  await outbox.markSent({ profileId: ada, stream: 'notes', parcels })

  const gaps = await line.rows(
    `select not covered && tstzrange($1, $2) as due, covered @> $3::timestamptz as before, covered @> $4::timestamptz as after
     from vitalsync.ledger where stream = 'scores'`,
    [daysAgo(13), daysAgo(11), daysAgo(14), daysAgo(10)],
  )
  expect(gaps).toEqual([{ due: true, before: true, after: true }])
})

test('a new snapshot of one entry sends what differs from what upstream has', async ({ open, peer }) => {
  const line = await open('postgres', { HISTORY_DAYS: '30' }, widerCatalogue)
  await migrate(line)
  await line.addProfiles('ada')
  peer.profiles.add('ada')
  const { answer } = peer
  peer.answer = (seen) => {
    if (seen.path !== '/api/v1/diary/habit') return answer(seen)
    return seen.method === 'GET' ? json(200, { coffees: 2, smokes: false }) : { status: 204 }
  }
  const sent = () => peer.seen.filter(({ path, method }) => path === '/api/v1/diary/habit' && method !== 'GET')
  line.work()
  await line.tick('nightly')
  await line.idle()

  expect(await importInto(line, habits, [{ externalId: 'ada', coffees: '5' }])).toEqual({ accepted: 1, duplicate: 0 })
  await importInto(line, habits, [{ externalId: 'ada', coffees: '2', sport: 'rowing' }])
  await line.tick('sweep')
  await line.idle()
  expect(sent().map(({ method, body }) => [method, JSON.parse(body)])).toEqual([['PATCH', { sport: 'rowing' }]])
  expect(sent()[0]?.authorization).toMatch(/^profile /)

  // An update that upstream has in full costs no request.
  await importInto(line, habits, [{ externalId: 'ada', coffees: '2' }])
  await line.tick('sweep')
  await line.idle()
  expect(sent()).toHaveLength(1)
  expect(await line.rows('select 1 from vitalsync.parcels')).toEqual([])
})

test('every key of touchedBy names a pushed stream', () => {
  const names = new Set<string>(catalogue.pushed.map(({ name }) => name))
  const keys = catalogue.pulled.flatMap(({ touchedBy }) => Object.keys(touchedBy))
  expect(keys.filter((key) => !names.has(key))).toEqual([])
})
