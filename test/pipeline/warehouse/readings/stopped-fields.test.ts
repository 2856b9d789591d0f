import { expect } from 'vitest'
import { MINUTE } from '../../../../src/base/time/units.ts'
import { knownRecordsOf } from '../../../../src/operations/contract/known-records.ts'
import { createDriftWatch } from '../../../../src/pipeline/warehouse/readings/stored-drift.ts'
import { countDrift } from '../../../../src/pipeline/warehouse/reports/drift-report.ts'
import { scores } from '../../../support/stream-by-name.ts'
import { test, type Warehouse } from '../../../support/test-warehouse.ts'

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
