import { expect } from 'vitest'
import { MINUTE } from '../../../../src/base/time/units.ts'
import { knownRecordsOf } from '../../../../src/operations/contract/known-records.ts'
import { NO_DRIFT } from '../../../../src/pipeline/warehouse/readings/reading-drift.ts'
import { toRecordRows } from '../../../../src/pipeline/warehouse/readings/record-rows.ts'
import { createDriftWatch } from '../../../../src/pipeline/warehouse/readings/stored-drift.ts'
import { countDrift } from '../../../../src/pipeline/warehouse/reports/drift-report.ts'
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
  await warehouse.rows('update vitalsync.drift_fields set records = 10001, present = 10001')
  tallies[1]?.addAnswer(answer, 1)
  await watches[1]?.refresh(0)
  expect((await counts())[0]).toMatchObject({ records: 5030, present: 5030 })
  expect(without()[1]).toEqual(['goal'])
})

test.for(['drift_fields', 'drift_types', 'drift_people', 'drift'])(
  'counts that could not be written, for the want of %s, are written by the next refresh',
  async (table, { warehouse }) => {
    const [ada = ''] = await warehouse.addProfiles('ada')
    const watch = createDriftWatch({ pool: warehouse.pool, knownOf: knownRecordsOf })
    const accepted = { what: 'extra', path: 'mood', detail: '' } as const
    await warehouse.rows(`insert into vitalsync.drift (stream, what, path, detail, last_seen_at, accepted_at)
      values ('scores', 'extra', 'mood', '', '${seenAt}', '${seenAt}')`)
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
    const expected = { goal: 2, sleep: 2, errors: table === 'drift_people' ? 2 : 1, seen: true }
    expect(
      await warehouse.rows(`select (select records from vitalsync.drift_fields where path = 'goal' and present = records) as goal,
        (select records::int from vitalsync.drift_types where type = 'sleep') as sleep,
        (select records from vitalsync.drift_people where what = 'error') as errors,
        (select last_seen_at > '${seenAt}' from vitalsync.drift where path = 'mood') as seen`),
    ).toEqual([expected])
  },
)

test('a refresh that fails loses no report', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await warehouse.rows(
    `insert into vitalsync.drift_people values ($1, 'scores', 'extra', 'mood', '', 3, null, now(), now())`,
    [ada],
  )
  const watch = createDriftWatch({ pool: warehouse.pool, knownOf: knownRecordsOf })
  await warehouse.rows('alter view warehouse.drift rename to away')
  await expect(watch.refresh(0)).rejects.toThrow('does not exist')
  await warehouse.rows('alter view warehouse.away rename to drift')

  expect(await watch.refresh(0)).toEqual([{ stream: 'scores', what: 'extra', path: 'mood', detail: '' }])
})
