import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { pulledStreams } from '../../../config/streams.ts'
import type { AddedType, PulledStream } from '../../../src/pipeline/transfer/stream.ts'
import { addColumn, countMisfits, dropColumn, listAddedColumns } from '../../../src/pipeline/warehouse/added-columns.ts'
import { distributeTables } from '../../../src/pipeline/warehouse/divided/distribute-tables.ts'
import { fillColumns, fillPortion } from '../../../src/pipeline/warehouse/fill-columns.ts'
import { countLockWaiters, endLockWaiters } from '../../support/lock-waiters.ts'
import { scores } from '../../support/stream-by-name.ts'
import { openTestPool } from '../../support/test-pool.ts'
import { marchMs, scoreRecord, scoresReading, test, type Warehouse } from '../../support/test-warehouse.ts'

const MINUTES = 60_000

/** A reading of one person's scores, one a minute from the first of March; `confidenceOf` gives the field that is no column yet. */
function readingOf(
  { startedAtMs }: Warehouse,
  profileId: string,
  { from, count, laterMs = 0 }: { from: number; count: number; laterMs?: number },
  confidenceOf: (number: number) => unknown,
) {
  const startMs = marchMs(1) + from * MINUTES
  return scoresReading({
    profileId,
    sentAtMs: startedAtMs - 60_000 + laterMs,
    window: { startMs, endMs: startMs + count * MINUTES },
    records: Array.from({ length: count }, (_, index) => ({
      ...scoreRecord({ scoreDateTime: new Date(startMs + index * MINUTES).toISOString(), value: index }),
      confidence: confidenceOf(from + index),
    })),
  })
}

const confidence = { name: 'confidence', path: '$.confidence', type: 'real' } as const

/** The column beside the same column computed at once. */
const differing = ({ rows }: Warehouse) =>
  rows(`select a.external_id, a.score_date_time, a.confidence, s.raw -> 'confidence' as expected
    from warehouse.scores_added a join warehouse.scores s using (external_id, score_date_time, type)
    where a.confidence is distinct from (s.raw ->> 'confidence')::real`)

const fill = ({ pool }: Warehouse, onPortion?: () => Promise<void>) =>
  fillColumns(pool, pulledStreams, new AbortController().signal, onPortion)

test('a column that is filled while a worker writes equals the same column filled at once', async ({ warehouse }) => {
  const people = await warehouse.addNeighbours(4)
  const [ada = '', bob = ''] = people
  for (const id of people.slice(0, 3))
    await warehouse.writer.store(readingOf(warehouse, id, { from: 0, count: 900 }, (number) => number / 8))
  await addColumn(warehouse.pool, scores, confidence)
  let round = 0

  // Between any two portions a record changes that is filled, another that is not, and a person comes at either end.
  await fill(warehouse, async () => {
    round += 1
    const store = (id: string, from: number, count = 5) =>
      warehouse.writer.store(readingOf(warehouse, id, { from, count, laterMs: round }, (number) => number + round))
    await Promise.all([
      store(ada, round * 10),
      store(people[2] ?? '', 800 - round * 10),
      store(people[3] ?? '', round * 10),
    ])
    await store(bob, 895, 10)
  })

  expect(round).toBeGreaterThan(2)
  expect(
    await warehouse.rows('select count(*)::int as count, count(confidence)::int as filled from warehouse.scores_added'),
  ).toEqual([{ count: 2700 + 5 * round + 5, filled: 2700 + 5 * round + 5 }])
  expect(await differing(warehouse)).toEqual([])
  expect(await listAddedColumns(warehouse.pool)).toMatchObject([{ stream: 'scores', filledAt: expect.any(Date) }])
})

test('a record of a transaction that is open while the column is added is not missed', async ({ warehouse }) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  await warehouse.writer.store(readingOf(warehouse, ada, { from: 0, count: 3 }, () => 0.5))
  const writing = await warehouse.pool.connect()
  await writing.query('begin')
  await writing.query(`insert into vitalsync.scores (profile_id, score_date_time, type, digest, read_at, first_seen_at, changed_at, body)
    select ${bob}, score_date_time, type, digest, read_at, first_seen_at, changed_at, body from vitalsync.scores`)

  const adding = addColumn(warehouse.pool, scores, confidence)
  await expect.poll(() => countLockWaiters(warehouse.rows)).toBe(1)
  await writing.query('commit')
  writing.release()
  await adding
  await fill(warehouse)

  expect(await warehouse.rows('select count(confidence)::int as filled from warehouse.scores_added')).toEqual([
    { filled: 6 },
  ])
})

test('a fill that is ended in a portion goes on where the last commit left it', async ({ warehouse, warehouseUrl }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await warehouse.writer.store(readingOf(warehouse, ada, { from: 0, count: 2500 }, (number) => number))
  await addColumn(warehouse.pool, scores, confidence)
  await warehouse.rows('alter table vitalsync.scores set (autovacuum_enabled = false)')
  await fillPortion(warehouse.pool, pulledStreams)
  expect(await listAddedColumns(warehouse.pool)).toMatchObject([{ filledRows: 1000, filledAt: null, tableRows: 0 }])
  await warehouse.rows('analyze vitalsync.scores')
  expect(await listAddedColumns(warehouse.pool)).toMatchObject([{ tableRows: 2500 }])

  // The second portion waits for the ledger, and its connection is ended there.
  const blocker = await warehouse.pool.connect()
  await blocker.query('begin')
  await blocker.query('select from vitalsync.ledger for update')
  const killed = openTestPool(warehouseUrl)
  const ending = fillPortion(killed, pulledStreams).then(
    () => 'filled',
    () => 'ended',
  )
  await expect.poll(() => countLockWaiters(warehouse.rows)).toBe(1)
  await endLockWaiters(warehouse.rows)
  expect(await ending).toBe('ended')
  await killed.end()
  await blocker.query('rollback')
  blocker.release()
  expect(await listAddedColumns(warehouse.pool)).toMatchObject([{ filledRows: 1000, filledAt: null }])
  await fill(warehouse)

  expect(await differing(warehouse)).toEqual([])
  expect(await listAddedColumns(warehouse.pool)).toMatchObject([{ filledRows: 2500, filledAt: expect.any(Date) }])
})

test('two columns are filled by two processes at once, and the same column by two is filled once', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await warehouse.writer.store(readingOf(warehouse, ada, { from: 0, count: 1500 }, (number) => number))
  const state = { name: 'state_word', path: '$.state', type: 'text' } as const
  await Promise.all([
    addColumn(warehouse.pool, scores, confidence),
    addColumn(warehouse.pool, scores, state),
    addColumn(warehouse.pool, scores, confidence),
  ])
  await Promise.all([fill(warehouse), fill(warehouse)])
  await fill(warehouse)

  expect(await differing(warehouse)).toEqual([])
  expect(
    await warehouse.rows('select count(*)::int as count from warehouse.scores_added where state_word = state'),
  ).toEqual([{ count: 1500 }])
  expect((await listAddedColumns(warehouse.pool)).map(({ filledRows }) => filledRows)).toEqual([1500, 1500])
})

test('a change that waits for a fill holds nothing that the fill needs', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await warehouse.writer.store(readingOf(warehouse, ada, { from: 0, count: 3 }, (number) => number))
  await addColumn(warehouse.pool, scores, confidence)
  const blocker = await warehouse.pool.connect()
  await blocker.query('begin')
  await blocker.query('select from vitalsync.ledger for update')
  const waiting = () => countLockWaiters(warehouse.rows)

  const filling = fillPortion(warehouse.pool, pulledStreams)
  await expect.poll(waiting).toBe(1)
  const dropping = dropColumn(warehouse.pool, scores, 'confidence')
  await expect.poll(waiting).toBe(2)
  const held = await warehouse.rows(`select mode from pg_locks
    where granted and relation = 'vitalsync.added_columns'::regclass and mode like '%Exclusive%'
      and database = (select oid from pg_database where datname = current_database())`)
  await blocker.query('rollback')
  blocker.release()

  expect(await Promise.all([filling, dropping])).toEqual([true, true])
  expect(held).toEqual([])
})

const stored: ReadonlyArray<readonly [type: AddedType, value: unknown, expected: unknown]> = [
  ['text', 'a "word"', 'a "word"'],
  ['text', 1.5, '1.5'],
  ['text', { a: 1 }, null],
  ['integer', 7, 7],
  ['integer', '7', 7],
  ['integer', 7.5, null],
  ['integer', 2 ** 31, null],
  ['bigint', 2 ** 31, '2147483648'],
  ['bigint', '1e30', null],
  ['real', 0.25, 0.25],
  ['real', 1e300, null],
  ['double', 1e300, 1e300],
  ['double', 'NaN', null],
  ['boolean', true, true],
  ['boolean', 'true', null],
  ['timestamptz', '2026-03-01T10:00:00+02:00', new Date('2026-03-01T08:00:00Z')],
  ['timestamptz', '2026-03-01T10:00:00', null],
  ['timestamptz', 'now', null],
  ['timestamptz', '2026-02-30T10:00:00Z', null],
  ['date', '2026-03-01', '2026-03-01'],
  ['date', '2026-02-30', null],
  ['jsonb', { a: [1] }, { a: [1] }],
  ['jsonb', null, null],
]

test.for(stored)(
  '%s of %j is %j, whoever writes it, and what does not fit is counted',
  async ([type, value, expected], { warehouse }) => {
    const [ada = ''] = await warehouse.addProfiles('ada')
    const column = { name: 'seen', path: '$.confidence', type }
    const store = (from: number) => warehouse.writer.store(readingOf(warehouse, ada, { from, count: 1 }, () => value))
    await store(0)
    await addColumn(warehouse.pool, scores, column)
    await store(1)
    await fill(warehouse)

    const seen = type === 'date' ? 'seen::text' : 'seen'
    expect(await warehouse.rows(`select ${seen} as seen from warehouse.scores_added`)).toEqual([
      { seen: expected },
      { seen: expected },
    ])
    const [added] = await listAddedColumns(warehouse.pool)
    if (!added) throw new Error('the column is not listed')
    expect(await countMisfits(warehouse.pool, scores, added)).toBe(value !== null && expected === null ? 2 : 0)
  },
)

test('a path goes into lists and objects, and a column that is dropped leaves nothing', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await addColumn(warehouse.pool, scores, { name: 'second', path: '$.confidence[1].value', type: 'integer' })
  await addColumn(warehouse.pool, scores, { name: 'kept', path: '$.state', type: 'text' })
  await warehouse.writer.store(readingOf(warehouse, ada, { from: 0, count: 1 }, () => [{ value: 1 }, { value: 2 }]))
  expect(await warehouse.rows('select second, kept from warehouse.scores_added')).toEqual([
    { second: 2, kept: 'medium' },
  ])

  expect(await dropColumn(warehouse.pool, scores, 'second')).toBe(true)
  expect(await warehouse.rows('select * from warehouse.scores_added')).toEqual([
    expect.not.objectContaining({ second: expect.anything() }),
  ])
  expect(await dropColumn(warehouse.pool, scores, 'kept')).toBe(true)
  expect(await dropColumn(warehouse.pool, scores, 'kept')).toBe(false)

  await warehouse.writer.store(readingOf(warehouse, ada, { from: 5, count: 1 }, () => 1))
  const left = `select relname from pg_class where relname = 'scores_added'
    union all select attname from pg_attribute where attname like 'added\\_%' and attrelid = 'vitalsync.scores'::regclass
    union all select proname from pg_proc where proname = 'fill_scores'`
  expect(await warehouse.rows(left)).toEqual([])
})

test('names and paths that could be read as SQL or hide a column are refused, and so is a division while a column is there', async ({
  warehouse,
}) => {
  const add = (more: object) => addColumn(warehouse.pool, scores, { ...confidence, ...more })
  for (const name of ['value', 'raw', 'external_id', 'select', 'Upper', 'a"b', '1st', 'x'.repeat(52)])
    await expect(add({ name })).rejects.toThrow('add column:')
  for (const path of ['confidence', '$', '$..a', "$['a']", '$.a; drop', '$.*', "$.a'b"])
    await expect(add({ path })).rejects.toThrow('is not a path')
  await add({})
  await expect(add({ path: '$.other' })).rejects.toThrow('has a column confidence')
  await expect(distributeTables(warehouse.pool, { shards: 16, say: () => undefined })).rejects.toThrow(
    '1 columns were added',
  )
})

test('a divided warehouse takes no column, and says where the value is', async ({ warehouse }) => {
  // As a database looks in which Citus has divided the table of the profiles.
  await warehouse.rows(`insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
    select 99999, 'citus', 10, oid, false, '13.2' from pg_namespace where nspname = 'pg_catalog'`)
  await warehouse.rows(`create table pg_dist_shard as select 'vitalsync.profiles'::regclass as logicalrelid`)

  await expect(addColumn(warehouse.pool, scores, confidence)).rejects.toMatchObject({
    message: expect.stringContaining('the warehouse is divided'),
    hint: expect.stringContaining('raw ->>'),
  })
  expect(await warehouse.rows('select * from vitalsync.added_columns')).toEqual([])
  expect(await fillPortion(warehouse.pool, pulledStreams)).toBe(false)
})

test('columns that were dropped count: a table that had 1,000 takes no more', async ({ warehouse }) => {
  // To 999 at once, as a user who adds and drops a column each day has it after years.
  await warehouse.rows(`do $$ begin
    for number in (select max(attnum) + 1 from pg_attribute where attrelid = 'vitalsync.scores'::regclass) .. 999 loop
      alter table vitalsync.scores add column passing int;
      alter table vitalsync.scores drop column passing;
    end loop;
  end $$`)
  await addColumn(warehouse.pool, scores, confidence)
  await dropColumn(warehouse.pool, scores, 'confidence')

  await expect(addColumn(warehouse.pool, scores, confidence)).rejects.toThrow(
    'add column: the table of scores has had 1000 columns, which is the most',
  )
  expect(await listAddedColumns(warehouse.pool)).toEqual([])
})

test('a column keeps its name when a later version has a column of the same name, until it is dropped', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await addColumn(warehouse.pool, scores, confidence)
  await warehouse.writer.store(readingOf(warehouse, ada, { from: 0, count: 1 }, () => 0.5))
  const later: PulledStream = {
    ...scores,
    columns: [...scores.columns, { name: 'confidence', type: 'text', from: ['confidence'] }],
  }
  await warehouse.rows(`alter table vitalsync.scores add column confidence text default 'of the catalogue'`)
  const read = () => warehouse.rows('select confidence from warehouse.scores_added')

  await addColumn(warehouse.pool, later, confidence)
  await addColumn(warehouse.pool, later, { name: 'kept', path: '$.state', type: 'text' })
  expect(await read()).toEqual([{ confidence: 0.5 }])
  expect(await dropColumn(warehouse.pool, later, 'confidence')).toBe(true)
  expect(await read()).toEqual([{ confidence: 'of the catalogue' }])
})

/** JSON that Postgres reads in a statement of its own, and just not in one that is nested more deeply. */
async function deepestList({ pool }: Warehouse): Promise<string> {
  const list = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const isRead = (depth: number) =>
    pool.query('select $1::jsonb is null', [list(depth)]).then(
      () => true,
      () => false,
    )
  let [read, refused] = [1000, 100_000]
  while (refused - read > 1) {
    const depth = Math.floor((read + refused) / 2)
    if (await isRead(depth)) read = depth
    else refused = depth
  }
  return list(read - 8)
}

test('a record that is nested as deeply as Postgres reads it stops neither a writer nor a fill', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const deep = await deepestList(warehouse)
  const store = (from: number) => {
    const reading = readingOf(warehouse, ada, { from, count: 2 }, (number) => number)
    const [first, ...others] = reading.records
    const raw = first?.raw.replace(/}$/, `,"deep":${deep}}`) ?? ''
    return warehouse.writer.store({ ...reading, records: [{ raw, fields: JSON.parse(raw) }, ...others] })
  }
  expect(await store(0)).toMatchObject({ written: 2, invalid: 0 })
  await addColumn(warehouse.pool, scores, confidence)
  await addColumn(warehouse.pool, scores, { name: 'nested', path: '$.deep', type: 'jsonb' })

  expect(await store(5)).toMatchObject({ written: 2, invalid: 0 })
  await fill(warehouse)

  const columns = await listAddedColumns(warehouse.pool)
  expect(columns.map(({ filledRows }) => filledRows)).toEqual([4, 4])
  for (const column of columns) await countMisfits(warehouse.pool, scores, column)
  expect(
    await warehouse.rows('select count(*)::int as count from warehouse.scores_added where confidence is not null'),
  ).toEqual([{ count: expect.toSatisfy((count: number) => count >= 2) }])
})

test('what an operator set on the view and said of it outlasts a further column and a drop', async ({ warehouse }) => {
  await addColumn(warehouse.pool, scores, { name: 'first', path: '$.type', type: 'text' })
  await warehouse.rows('alter view warehouse.scores_added set (security_barrier, security_invoker)')
  await warehouse.rows(`comment on column warehouse.scores_added.state is 'It''s a finding.'`)
  const seen = () =>
    warehouse.rows(
      `select c.reloptions, col_description(c.oid, a.attnum) as state from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.oid = 'warehouse.scores_added'::regclass and a.attname = 'state'`,
    )
  const set = [{ reloptions: ['security_barrier=true', 'security_invoker=true'], state: "It's a finding." }]
  expect(await seen()).toEqual(set)

  await addColumn(warehouse.pool, scores, confidence)
  expect(await seen(), 'replaced').toEqual(set)
  await dropColumn(warehouse.pool, scores, 'first')
  expect(await seen(), 'made again').toEqual(set)
})

test('what an operator granted or revoked on the view outlasts a drop of a column', async ({ warehouse }) => {
  const role = `"analyst ${randomUUID()}"`
  await warehouse.rows(`create role ${role}`)
  try {
    await addColumn(warehouse.pool, scores, { name: 'first', path: '$.type', type: 'text' })
    await addColumn(warehouse.pool, scores, confidence)
    await warehouse.rows(`alter default privileges in schema warehouse grant select on tables to ${role}`)
    await warehouse.rows(`grant delete on warehouse.scores_added to ${role} with grant option`)
    await warehouse.rows(`grant select (external_id, first, confidence) on warehouse.scores_added to ${role}`)
    await warehouse.rows('grant select on warehouse.scores_added to public')
    const granted = async () => {
      const { rows } = await warehouse.pool.query<{ view: string[]; columns: string[] }>(
        `select array(select unnest(relacl)::text order by 1) as view, array(
           select attname || attacl::text from pg_attribute where attrelid = c.oid and attacl is not null order by 1) as columns
         from pg_class c where c.oid = 'warehouse.scores_added'::regclass`,
      )
      return rows
    }
    const [before] = await granted()

    await dropColumn(warehouse.pool, scores, 'first')

    const left = (before?.columns ?? []).filter((column) => !column.startsWith('first'))
    expect(left).toHaveLength(2)
    expect(await granted()).toEqual([{ ...before, columns: left }])
  } finally {
    await warehouse.rows(`drop owned by ${role}`)
    await warehouse.rows(`drop role ${role}`)
  }
})
