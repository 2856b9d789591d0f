import { expect } from 'vitest'
import { createCoverageMap } from '../../../../src/pipeline/warehouse/reports/coverage-map.ts'
import { readPersonDays } from '../../../../src/pipeline/warehouse/reports/find-people.ts'
import { test } from '../../../support/test-warehouse.ts'

const day = new Date().toISOString().slice(0, 10)

test('people with the most trouble come first, then those never read, then those whose reading is the oldest', async ({
  warehouse,
}) => {
  const names = ['fresh', 'gone', 'mixed', 'old', 'one refused', 'two refused', 'unread']
  const ids = await warehouse.addProfiles(...names)
  const { rows, pool } = warehouse
  const idOf = (name: string) => ids[names.indexOf(name)]
  await rows(`update vitalsync.ledger set read_at = now() - interval '1 hour' where profile_id <> $1`, [idOf('unread')])
  await rows(`update vitalsync.ledger set read_at = now() - interval '9 days' where profile_id = $1`, [idOf('old')])
  await rows(`update vitalsync.profiles set state = 'gone' where id = $1`, [idOf('gone')])
  const refuse = (name: string, ago: number) =>
    rows(
      `insert into vitalsync.refusals (profile_id, stream, span, reason, first_at, last_at, next_try_at)
       values ($1, 'scores', tstzrange(now() - ($2 + 1) * interval '1 day', now() - $2 * interval '1 day'), 'no', now(), now(), now())`,
      [idOf(name), ago],
    )
  for (const [name, ago] of [
    ['one refused', 1],
    ['two refused', 1],
    ['two refused', 2],
    ['mixed', 1],
  ] as const)
    await refuse(name, ago)
  for (const digest of ['a', 'b'])
    await rows(
      `insert into vitalsync.quarantine (profile_id, stream, direction, digest, path, reason, body, first_seen_at, last_seen_at)
       values ($1, 'scores', 'pull', $2::bytea, 'value', 'no', '{}', now(), now())`,
      [idOf('mixed'), digest],
    )
  await rows(
    `insert into vitalsync.silent_differences (account, stream, profile_id, found_at, records, late_ms)
     select 'a', stream, $1::int8, now() - ago * interval '1 day', 1, 0
     from (values ('scores', 1), ('scores', 2), ('tags', 1)) as found(stream, ago)
     union all select 'a', 'scores', $2::int8, now() - interval '31 days', 1, 0`,
    [idOf('old'), idOf('fresh')],
  )
  const read = async (more: object = {}, from = 0) => {
    const selection = { stream: 'scores', sort: 'worst', only: undefined, search: '', ...more } as const
    const found = await createCoverageMap({ pool }).read(selection, { from, count: 10, lastDay: day, days: 3 })
    return { ...found, rows: found.rows.map(({ externalId }) => externalId) }
  }

  const worst = await read()
  expect(worst.rows).toEqual(['mixed', 'two refused', 'one refused', 'unread', 'old', 'fresh'])
  expect(worst).toMatchObject({
    total: 6,
    counts: { refused: 3, quarantined: 1, never_read: 1, silent: 1, troubled: 3, unread: 1 },
  })
  expect((await read({ sort: 'added' })).rows).toEqual(names.filter((name) => name !== 'gone'))
  expect((await read({ only: 'refused' })).rows).toEqual(['mixed', 'two refused', 'one refused'])
  expect((await read({ only: 'silent' })).rows).toEqual(['old'])
  expect((await read({ only: 'never_read' })).rows).toEqual(['unread'])
  expect((await read({ search: 'o' })).rows).toEqual(['one refused', 'old'])
  expect((await read({ search: 'nobody' })).total).toBe(0)
  expect((await read({}, 4)).rows).toEqual(['old', 'fresh'])
})

test('a day with data says that a record is in quarantine, or a window refused; other days keep their state', async ({
  warehouse: { addProfiles, rows, pool },
}) => {
  const [profileId = ''] = await addProfiles('ada')
  await rows(
    `insert into vitalsync.scores (profile_id, score_date_time, type, local_date, value, digest, read_at, first_seen_at, changed_at, body)
     select $1, $2::date - ago + interval '8 hours', 'sleep', $2::date - ago, 1, 1, now(), now(), now(), '{}' from unnest('{0,1,2,3}'::int[]) ago`,
    [profileId, day],
  )
  await rows(
    `insert into vitalsync.quarantine (profile_id, stream, direction, digest, path, reason, body, local_date, span, first_seen_at, last_seen_at)
     select $1, stream, direction, convert_to(stream || direction || ago, 'UTF8'), '', 'no', '{}', case when dated then $2::date - ago end,
       case when not dated then tstzrange(($2::date - ago)::timestamp at time zone 'UTC', ($2::date - ago + 1)::timestamp at time zone 'UTC') end, now(), now()
     from (values ('scores', 'pull', 3, true), ('scores', 'pull', 1, false), ('scores', 'pull', 4, true), ('scores', 'push', 0, true), ('tags', 'pull', 0, true)) as q(stream, direction, ago, dated)`,
    [profileId, day],
  )
  await rows(
    `insert into vitalsync.refusals (profile_id, stream, span, reason, first_at, last_at, next_try_at)
     values ($1, 'scores', tstzrange(($2::date - 3)::timestamp at time zone 'UTC', ($2::date - 1)::timestamp at time zone 'UTC'), 'no', now(), now(), now())`,
    [profileId, day],
  )

  const selection = { stream: 'scores', sort: 'worst', only: undefined, search: '' } as const
  const map = await createCoverageMap({ pool }).read(selection, { from: 0, count: 1, lastDay: day, days: 5 })
  const strips = await readPersonDays(pool, { profileId, days: 5 })

  expect(map.rows).toEqual([{ profileId, externalId: 'ada', cells: 'qQRQd' }])
  const scores = strips.find(({ stream }) => stream === 'scores')?.days.map(({ state, part }) => part ?? state)
  expect(scores).toEqual(['quarantined', 'quarantined', 'refused', 'quarantined', 'data'])
})
