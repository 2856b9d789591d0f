import { expect } from 'vitest'
import { MINUTE } from '../../../../src/base/time/units.ts'
import { knownRecordsOf } from '../../../../src/operations/contract/known-records.ts'
import { NO_DRIFT } from '../../../../src/pipeline/warehouse/readings/reading-drift.ts'
import { toRecordRows } from '../../../../src/pipeline/warehouse/readings/record-rows.ts'
import { createDriftWatch } from '../../../../src/pipeline/warehouse/readings/stored-drift.ts'
import { countDrift } from '../../../../src/pipeline/warehouse/reports/drift-report.ts'
import { peopleNames } from '../../../support/insert-people.ts'
import { scores } from '../../../support/stream-by-name.ts'
import { march, scoreRecord, scoresReading, test, type Warehouse } from '../../../support/test-warehouse.ts'

const seenAt = '2026-03-01T12:00:00Z'

/** Reports with answers for `lacking` of the active people in which no record had a field that was usual until `seenAt`. */
async function reportStopped(
  warehouse: Warehouse,
  {
    active,
    lacking,
    records,
    at = '2026-03-01T13:00:00Z',
  }: { active: number; lacking: number; records: number; at?: string },
) {
  await warehouse.addProfiles(...Array.from({ length: active }, (_, number) => `person-${number}`))
  await warehouse.rows(`update vitalsync.profiles set state = 'active'`)
  await warehouse.rows(`insert into vitalsync.drift_fields values ('scores', 'goal', 100, 100, $1)`, [seenAt])
  await warehouse.rows(
    `insert into vitalsync.drift_people select id, 'scores', 'stopped', 'goal', '', $2, null, $3, $3
     from vitalsync.profiles order by id limit $1`,
    [lacking, records, at],
  )
  const found = await createDriftWatch({ pool: warehouse.pool, knownOf: knownRecordsOf }).refresh(0)
  const shown = await warehouse.rows('select what, people, records, came_again_at from warehouse.drift')
  expect(shown.length).toBe(found.length)
  return shown
}

test.for([
  [{ active: 3, lacking: 1, records: 30 }, 0],
  [{ active: 3, lacking: 2, records: 10 }, 2],
  [{ active: 3, lacking: 2, records: 9 }, 0],
  [{ active: 1, lacking: 1, records: 20 }, 1],
  [{ active: 50, lacking: 19, records: 10 }, 0],
  [{ active: 50, lacking: 20, records: 1 }, 20],
  [{ active: 3, lacking: 3, records: 30, at: seenAt }, 0],
] as const)('with %o a stopped field is reported of %i people', async ([given, people], { warehouse }) => {
  const records = people * given.records
  expect(await reportStopped(warehouse, given)).toEqual(
    people === 0 ? [] : [{ what: 'stopped', people, records, came_again_at: null }],
  )
})

test('the report of a stopped field says when anybody has the field again, until the field stops once more', async ({
  warehouse,
}) => {
  await reportStopped(warehouse, { active: 3, lacking: 3, records: 10 })
  const at = (minutes: number) => new Date(warehouse.startedAtMs + minutes * MINUTE)
  const shown = async () => (await warehouse.rows('select people, came_again_at from warehouse.drift'))[0]

  await warehouse.rows('update vitalsync.drift_fields set last_seen_at = $1', [at(1)])
  expect(await shown()).toEqual({ people: 0, came_again_at: at(1) })
  expect(await countDrift(warehouse.pool)).toEqual([{ stream: 'scores', count: 1 }])

  await warehouse.rows('update vitalsync.drift_people set last_seen_at = $1', [at(2)])
  expect(await shown()).toEqual({ people: 3, came_again_at: null })

  await warehouse.rows(`update vitalsync.drift_fields set last_seen_at = $1`, [seenAt])
  await warehouse.rows('delete from vitalsync.profiles')
  expect(await shown()).toEqual({ people: 0, came_again_at: null })
})

test('processes add to the same counts, learn from them, and the newer half of many counts twice', async ({
  warehouse,
}) => {
  const { pool } = warehouse
  const answer = Array.from({ length: 60 * 32 }, () => ({ raw: '{}', fields: { goal: 1 } }))
  const watches = [1, 2].map(() => createDriftWatch({ pool, knownOf: knownRecordsOf }))
  const counts = () => warehouse.rows('select records, present, last_seen_at from vitalsync.drift_fields')
  const tallies = watches.map((watch) => watch.examinerOf(scores)?.optional)
  const without = () => tallies.map((tally) => tally?.addAnswer([{ raw: '{}', fields: {} }], 1))

  for (const [index, watch] of watches.entries()) {
    tallies[index]?.addAnswer(answer, Date.parse(seenAt) - index)
    expect(without()).toEqual([[], []])
    await watch.refresh(0)
  }
  expect(await counts()).toEqual([{ records: 123, present: 120, last_seen_at: new Date(seenAt) }])
  for (const [before, after] of [
    [10_000, 10_060],
    [10_001, 5030],
  ]) {
    await warehouse.rows('update vitalsync.drift_fields set records = $1, present = $1', [before])
    tallies[1]?.addAnswer(answer, 1)
    await watches[1]?.refresh(0)
    expect((await counts())[0]).toMatchObject({ records: after, present: after })
  }
  expect(without()[1]).toEqual(['goal'])
})

test('a field is usual in a stream when ninety-nine of a hundred of its records had it, and a hundred were picked', async ({
  warehouse,
}) => {
  await warehouse.rows(`insert into vitalsync.drift_fields values
    ('scores', 'goal', 100, 99), ('scores', 'rare', 100, 98), ('scores', 'fresh', 99, 99), ('biomarkers', 'other', 100, 99)`)
  const watch = createDriftWatch({ pool: warehouse.pool, knownOf: knownRecordsOf })
  await watch.refresh(0)

  expect(watch.examinerOf(scores)?.optional.addAnswer([{ raw: '{}', fields: {} }], 1)).toEqual(['goal'])
})

test('what was accepted, and what two hundred people have, is counted no more, but a unit that nobody accepted', async ({
  warehouse,
}) => {
  const people = await warehouse.addProfiles(...peopleNames(200))
  const found = [
    { what: 'extra', path: 'accepted', count: 0, acceptedAt: seenAt, isSettled: true },
    { what: 'extra', path: 'of all', count: 200, isSettled: true },
    { what: 'extra', path: 'of most', count: 199, isSettled: false },
    { what: 'unit', path: 'of all', count: 200, isSettled: false },
    { what: 'unit', path: 'accepted', count: 0, acceptedAt: seenAt, isSettled: true },
  ] as const
  for (const { what, path, count, ...more } of found) {
    const acceptedAt = 'acceptedAt' in more ? more.acceptedAt : null
    await warehouse.rows(
      `insert into vitalsync.drift (stream, what, path, detail, accepted_at) values ('scores', $1, $2, '', $3)`,
      [...[what, path, acceptedAt]],
    )
    await warehouse.rows(
      `insert into vitalsync.drift_people select id, 'scores', $1, $2, '', 1, null, now(), now()
       from unnest($3::int8[]) as id`,
      [what, path, people.slice(0, count)],
    )
  }
  const watch = createDriftWatch({ pool: warehouse.pool, knownOf: knownRecordsOf })
  await watch.refresh(0)

  expect(found.map(({ what, path }) => watch.isSettled(scores, { what, path, detail: '' }))).toEqual(
    found.map(({ isSettled }) => isSettled),
  )
})

test.for([
  [{ active: 3, seeing: 2, records: 3 }, false],
  [{ active: 3, seeing: 3, records: 1 }, true],
  [{ active: 2, seeing: 2, records: 1 }, false],
  [{ active: 2, seeing: 2, records: 2 }, true],
] as const)(
  'with %o, and people who have gone, a new field is reported: %s',
  async ([given, isReported], { warehouse }) => {
    const { active, seeing, records } = given
    await warehouse.addProfiles(...peopleNames(active), ...peopleNames(3, 'gone-'))
    await warehouse.rows(`update vitalsync.profiles set state = 'gone' where external_id like 'gone-%'`)
    await warehouse.rows(
      `insert into vitalsync.drift_people select id, 'scores', 'extra', 'mood', '', $2, null, now(), now()
     from vitalsync.profiles where state = 'active' order by id limit $1`,
      [seeing, records],
    )

    const found = await createDriftWatch({ pool: warehouse.pool, knownOf: knownRecordsOf }).refresh(0)

    expect(found.map(({ path }) => path)).toEqual(isReported ? ['mood'] : [])
  },
)

test('an accepted stop is forgotten once an answer after it has the field, and no other acceptance', async ({
  warehouse,
}) => {
  const at = (minutes: number) => new Date(Date.parse(seenAt) + minutes * MINUTE)
  const fields = [
    ['scores', 'came again', at(1)],
    ['scores', 'came with it', at(0)],
    ['scores', 'is away', at(-1)],
    ['biomarkers', 'is away', at(1)],
  ]
  for (const field of fields)
    await warehouse.rows(`insert into vitalsync.drift_fields values ($1, $2, 100, 100, $3)`, field)
  const accepted = [
    ['stopped', 'came again'],
    ['extra', 'came again'],
    ['stopped', 'came with it'],
    ['stopped', 'is away'],
  ]
  for (const [what, path] of accepted)
    await warehouse.rows(
      `insert into vitalsync.drift (stream, what, path, detail, accepted_at) values ('scores', $1, $2, '', $3)`,
      [what, path, at(0)],
    )

  await createDriftWatch({ pool: warehouse.pool, knownOf: knownRecordsOf }).refresh(0)

  const kept = await warehouse.rows('select what, path from vitalsync.drift order by id')
  expect(kept.map(({ what, path }) => [what, path])).toEqual(accepted.slice(1))
})

test('of the errors of a person the most of one refresh count, and the latest time', async ({ warehouse }) => {
  await warehouse.addProfiles('ada')
  const watch = createDriftWatch({ pool: warehouse.pool, knownOf: knownRecordsOf })
  const shown = []
  for (const [errors = 0, atMs = 0] of [
    [2, 1000],
    [3, 2000],
    [1, 500],
  ]) {
    for (let error = 0; error < errors; error += 1) watch.noteError(scores, 'ada', 'code')
    await watch.refresh(atMs)
    shown.push(...(await warehouse.rows('select records, last_seen_at from vitalsync.drift_people')))
  }

  expect(shown.map(({ records, last_seen_at }) => [records, Number(last_seen_at)])).toEqual([
    [2, 1000],
    [3, 2000],
    [3, 2000],
  ])
})

test.for(['drift_fields', 'drift_types', 'drift_people', 'drift'])(
  'counts that could not be written, for the want of %s, are written by the next refresh',
  async (table, { warehouse }) => {
    const [ada = ''] = await warehouse.addProfiles('ada')
    const watch = createDriftWatch({ pool: warehouse.pool, knownOf: knownRecordsOf })
    const accepted = { what: 'extra', path: 'mood', detail: '' } as const
    await warehouse.rows(`insert into vitalsync.drift (stream, what, path, detail, last_seen_at, accepted_at)
      select 'scores', 'extra', path, '', '${seenAt}', '${seenAt}' from unnest(array['mood', 'not seen']) as path`)
    await watch.refresh(0)
    const count = () => {
      const { records, ...reading } = scoresReading({
        profileId: ada,
        sentAtMs: Date.parse(seenAt),
        records: [{ ...scoreRecord({ scoreDateTime: march(1) }), goal: 1 }],
      })
      watch.examinerOf(scores)?.optional.addAnswer(records, reading.sentAtMs)
      watch.countTypes([
        { ...reading, rows: toRecordRows(scores, records, Number.MAX_SAFE_INTEGER).rows, drift: NO_DRIFT },
      ])
      watch.noteError(scores, 'ada', 'code')
    }
    count()
    watch.isSettled(scores, accepted)

    await warehouse.rows(`alter table vitalsync.${table} rename to away`)
    await expect(watch.refresh(0)).rejects.toThrow()
    count()
    await warehouse.rows(`alter table vitalsync.away rename to ${table}`)
    await watch.refresh(0)
    await watch.refresh(0)

    // Two refreshes that each write an error keep the greater count.
    const expected = { goal: 2, sleep: 2, errors: table === 'drift_people' ? 2 : 1, seen: 'mood' }
    expect(
      await warehouse.rows(`select (select records from vitalsync.drift_fields where path = 'goal' and present = records) as goal,
        (select records::int from vitalsync.drift_types where type = 'sleep') as sleep,
        (select records from vitalsync.drift_people where what = 'error') as errors,
        (select string_agg(path, ' ') from vitalsync.drift where last_seen_at > '${seenAt}' and path <> '') as seen`),
    ).toEqual([expected])
  },
)

test('a refresh that fails loses no report, and each thing is reported once, in the order of its name', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await warehouse.rows(
    `insert into vitalsync.drift_people select $1::int8, 'scores', 'extra', path, '', 3, null, now(), now()
     from unnest(array['mood', 'goal']) as path`,
    [ada],
  )
  const watch = createDriftWatch({ pool: warehouse.pool, knownOf: knownRecordsOf })
  await warehouse.rows('alter view warehouse.drift rename to away')
  await expect(watch.refresh(0)).rejects.toThrow('does not exist')
  await warehouse.rows('alter view warehouse.away rename to drift')

  const extra = { stream: 'scores', what: 'extra', detail: '' }
  expect(await watch.refresh(0)).toEqual([
    { ...extra, path: 'goal' },
    { ...extra, path: 'mood' },
  ])
  expect(await watch.refresh(0)).toEqual([])
})
