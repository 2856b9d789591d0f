import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { test, type Warehouse } from '../../../support/test-warehouse.ts'

const DAYS = 20

/** Two people whose sleep gets worse, with everything that the questions ask about. */
async function fill({ rows, addProfiles }: Warehouse): Promise<void> {
  await addProfiles('ada', 'bob')
  await rows(`insert into vitalsync.runs (kind, state, ended_at) values ('nightly', 'done', now())`)
  const day = `from vitalsync.profiles p, (select day, current_date - day as n from vitalsync.calendar
    where day between current_date - ${DAYS} and current_date - 1) d`
  const start = `d.day::timestamp at time zone 'UTC'`
  const life = '1, now(), now(), now()'
  await rows(
    `insert into vitalsync.scores (profile_id, score_date_time, type, local_date, value, digest, read_at, first_seen_at, changed_at, body)
     select p.id, ${start}, t, d.day, n / 50.0, ${life},
       '{"factors":[{"name":"steps","value":4000,"goal":10000,"score":0.4},{"name":"active_hours","score":1}]}'
     ${day}, unnest(array['sleep', 'activity']) t`,
  )
  await rows(
    `insert into vitalsync.biomarkers (profile_id, start_date_time, type, category, periodicity, aggregation, end_date_time,
       local_date, value, digest, read_at, first_seen_at, changed_at, body)
     select p.id, ${start}, 'steps', 'activity', 'daily', 'total', ${start} + interval '1 day', d.day, '5000', ${life},
       format('{"startDateTime":"%sT00:00:00+00:00"}', d.day) ${day}`,
  )
  await rows(
    `insert into vitalsync.archetypes (profile_id, start_date_time, name, periodicity, end_date_time, local_date, value, digest,
       read_at, first_seen_at, changed_at, body)
     select p.id, ${start}, 'activity_level', 'weekly', ${start} + interval '7 days', d.day, 'sedentary', ${life}, '{}'
     ${day} where n = ${DAYS}`,
  )
  await rows(
    `insert into vitalsync.history (profile_id, stream, record_key, revision, body, recorded)
     select profile_id, 'scores', jsonb_build_object('score_date_time', score_date_time, 'type', type), 1, '{"value":0.9}',
       tstzrange(now() - interval '1 hour', now()) from vitalsync.scores where type = 'sleep'`,
  )
  await rows('update vitalsync.scores set revision = 2')
}

test('each saved question has an answer', async ({ warehouse }) => {
  const text = await readFile(new URL('../../../../docs/how-to/questions.md', import.meta.url), 'utf8')
  const questions = [...text.matchAll(/^## (.*)\n\n```sql\n([^`]*)```/gm)]
  expect(questions).toHaveLength(text.split('```sql').length - 1)
  expect(questions.length).toBeGreaterThanOrEqual(7)
  await fill(warehouse)

  for (const [, question = '', sql = ''] of questions) {
    expect(await warehouse.rows(sql), question).not.toEqual([])
  }
  const answers = await Promise.all(questions.map(([, , sql = '']) => warehouse.rows(sql)))
  expect(answers[2]).toEqual([
    expect.objectContaining({ external_id: expect.any(String), this_week: 0.08, week_before: 0.22, change: '-0.140' }),
    expect.objectContaining({ this_week: 0.08 }),
  ])
  expect(answers[3]).toEqual([{ factor: 'steps', days: '40', mean_score: '0.40' }])
  expect(answers[4]).toMatchObject([{ type: 'sleep', changes: '40' }])
  expect(answers[5]).toEqual([{ activity_level: 'sedentary', people: '2', mean_steps: '5000' }])
})
