import { expect } from 'vitest'
import { Rejected } from '../../../../src/base/errors.ts'
import { createDivision } from '../../../../src/pipeline/warehouse/divided/division.ts'
import { openWarehousePool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { isDistributed } from '../../../support/distributed-warehouse.ts'
import { streamByName } from '../../../support/stream-by-name.ts'
import { march, openTestWriter, scoreRecord, scoresReading, test } from '../../../support/test-warehouse.ts'

const good = [scoreRecord({ scoreDateTime: march(1) }), scoreRecord({ scoreDateTime: march(3) })]

const conflicts = [
  ['40001', 'a serialization failure', 'could not serialize access due to concurrent update'],
  ['40P01', 'a deadlock', 'deadlock detected'],
] as const

for (const [state, name, message] of conflicts) {
  test(`${name} is begun again until it passes, and has its effect once`, async ({ warehouse }) => {
    const people = await warehouse.addNeighbours(2)
    const { writer, rows, startedAtMs: sentAtMs } = warehouse
    await failScores(rows, { state, message, times: 3 })

    const stored = await Promise.all(
      people.map((profileId) => writer.store(scoresReading({ profileId, sentAtMs, records: good }))),
    )

    expect(stored).toMatchObject([{ written: 2 }, { written: 2 }])
    expect(await countTries(rows)).toBe(4)
    expect(await rows('select revision, count(*)::int as n from vitalsync.scores group by 1')).toEqual([
      { revision: 1, n: 4 },
    ])
  })

  test.skipIf(isDistributed)(
    `${name} in the COPY of a node, as the coordinator reports it, is begun again until it passes`,
    async ({ warehouse, warehouseUrl }) => {
      const [ada = ''] = await warehouse.addProfiles('ada')
      const { rows, startedAtMs: sentAtMs } = warehouse
      const options = { databaseUrl: warehouseUrl, connectionsMax: 2, name: 'test', pipeline: true }
      const pool = openWarehousePool({ ...options, division: createDivision(2) })
      const writer = openTestWriter(pool)
      await failScores(rows, { state: 'XX000', message, times: 3 })

      expect(await writer.store(scoresReading({ profileId: ada, sentAtMs, records: good }))).toMatchObject({
        written: 2,
      })
      expect(await countTries(rows)).toBe(4)
      await writer.close()
      await pool.end()
    },
  )
}

test('a failure without end is thrown, with nothing stored, nothing covered and no other profile held up', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addNeighbours(2)
  const { writer, rows, startedAtMs: sentAtMs } = warehouse
  const [[state, , message]] = conflicts
  await failScores(rows, { state, message, times: 1000 })

  const failed = await Promise.allSettled(
    [ada, bob].map((profileId) => writer.store(scoresReading({ profileId, sentAtMs, records: good }))),
  )

  expect(failed.map((outcome) => outcome.status === 'rejected' && outcome.reason.message)).toEqual([message, message])
  // Both in one transaction, six times: no reading is at fault, so the group is not halved.
  expect(await countTries(rows)).toBe(6)
  expect(await warehouse.covered(ada, 'scores')).toBe('{}')
  expect(await rows('select 1 from vitalsync.scores')).toEqual([])
  const tags = {
    stream: streamByName('tags'),
    records: [{ type: 'a', name: 'b', source: 'c', startDateTime: march(2) }],
  }
  expect(await writer.store(scoresReading({ profileId: bob, sentAtMs, ...tags }))).toMatchObject({ written: 1 })
})

test('a failure before all is sent is thrown, with nothing stored and nothing covered', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, rows, startedAtMs: sentAtMs } = warehouse
  const records = [1, 2, 3, 4].map((day) => scoreRecord({ scoreDateTime: march(day) }))
  const invalid = [{ path: '', reason: '', raw: Object('no text') }] // it has no digest

  await expect(writer.store(scoresReading({ profileId: ada, sentAtMs, records, invalid }))).rejects.toThrow()

  expect(await warehouse.covered(ada, 'scores')).toBe('{}')
  expect(await rows('select 1 from vitalsync.scores')).toEqual([])
})

test('one reading among sixteen that Postgres refuses is found by halving', async ({ warehouse }) => {
  const people = await warehouse.addNeighbours(16)
  const { writer, rows, startedAtMs: sentAtMs } = warehouse
  await rows('alter table vitalsync.scores add constraint refuse check (value < 0.6)')
  const bad = [scoreRecord({ scoreDateTime: march(2), value: 0.7 })]

  const stored = await Promise.allSettled(
    people.map((profileId, index) =>
      writer.store(scoresReading({ profileId, sentAtMs, records: index === 5 ? bad : good })),
    ),
  )

  const refused = stored.filter(({ status }) => status === 'rejected')
  expect(refused).toMatchObject([{ reason: expect.any(Rejected) }])
  // The others went in by eights, fours, twos and one: four transactions, not fifteen.
  const [counts] = await rows(
    'select count(*)::int as n, count(distinct xmin::text)::int as commits from vitalsync.scores',
  )
  expect(counts).toEqual({ n: 30, commits: 4 })
})

test('every former version is kept, and the times of the versions join without a gap', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, rows, startedAtMs } = warehouse
  // Changed, changed back, taken away, brought back as it was.
  const versions = [0.1, 0.2, 0.1, undefined, 0.1]
  for (const [index, value] of versions.entries()) {
    const records = value === undefined ? [] : [scoreRecord({ scoreDateTime: march(2), value })]
    await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs + index, records }))
  }

  const kept = await rows(
    `select (body::jsonb -> 'value')::float8 as value, gone_at is not null as gone,
       (extract(epoch from lower(recorded)) * 1000)::float8 as since, (extract(epoch from upper(recorded)) * 1000)::float8 as until
     from vitalsync.history order by revision`,
  )
  const at = (index: number) => startedAtMs + index
  expect(kept).toEqual([
    { value: 0.1, gone: false, since: at(0), until: at(1) },
    { value: 0.2, gone: false, since: at(1), until: at(2) },
    { value: 0.1, gone: false, since: at(2), until: at(3) },
    { value: 0.1, gone: true, since: at(3), until: at(4) },
  ])
  expect(await rows('select value, revision, gone_at from vitalsync.scores')).toEqual([
    { value: 0.1, revision: 5, gone_at: null },
  ])
})

test('a snapshot that upstream does not give any more is marked gone, and is back when it comes back', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, rows, startedAtMs } = warehouse
  const store = (laterMs: number, records: object[]) =>
    writer.store(
      scoresReading({ profileId: ada, stream: streamByName('demographics'), sentAtMs: startedAtMs + laterMs, records }),
    )
  const state = () => rows('select age, gone_at is not null as gone, revision from vitalsync.demographics')

  await store(0, [{ age: 35 }])
  await store(10, [])
  expect(await state()).toEqual([{ age: 35, gone: true, revision: 2 }])
  await store(20, [{ age: 36 }])
  expect(await state()).toEqual([{ age: 36, gone: false, revision: 3 }])
})

type Rows = (text: string, values?: unknown[]) => Promise<Array<Record<string, unknown>>>

type Failure = { readonly state: string; readonly message: string; readonly times: number }

/** Ends the transaction that stores a score with this error, as often as given, on every node. */
async function failScores(rows: Rows, { state, message, times }: Failure): Promise<void> {
  const tries = `create sequence tries;
    create function fail() returns trigger language plpgsql as $fail$ begin
      if nextval('tries') <= ${times} then raise exception '${message}' using errcode = '${state}'; end if;
      return new; end $fail$`
  const trigger = 'create trigger fail before insert on %s for each statement execute function fail()'
  if (!isDistributed) {
    await rows(tries)
    await rows(trigger.replace('%s', 'vitalsync.scores'))
    return
  }
  // A divided table has no trigger, but each of its shards may.
  await onWorkers(rows, `set citus.enable_ddl_propagation = off; ${tries}`)
  const results = await rows(`select success, result from run_command_on_shards('vitalsync.scores', $1)`, [trigger])
  requireSuccess(results)
}

/** How many transactions came to store a score since then. */
async function countTries(rows: Rows): Promise<number> {
  const ask = 'select case when is_called then last_value else 0 end::int as result from tries'
  const counts = isDistributed ? await onWorkers(rows, ask) : await rows(ask)
  return counts.reduce((sum, { result }) => sum + Number(result), 0)
}

async function onWorkers(rows: Rows, command: string): Promise<Array<Record<string, unknown>>> {
  const results = await rows('select success, result from run_command_on_workers($1)', [command])
  requireSuccess(results)
  return results
}

function requireSuccess(results: ReadonlyArray<Record<string, unknown>>): void {
  for (const { success, result } of results) if (success !== true) throw new Error(String(result))
}
