import { afterAll, beforeAll, expect, test } from 'vitest'
import { soon } from '../../support/fixtures.ts'
import { type CommandWorld, openCommandWorld } from './command-world.ts'

let world: CommandWorld

beforeAll(async () => {
  world = await openCommandWorld({ profiles: 1, days: 3 })
  await world.json('profiles', 'discover')
  await world.run('sync')
})

afterAll(() => world.close())

test('columns add fills a column from raw, list shows it, and drop takes it back', async () => {
  const add = ['columns', 'add', 'scores', 'model', '$.version', '--type', 'text']
  const [{ count } = {}] = await world.query('select count(*)::int as count from warehouse.scores')
  expect(count).toBeGreaterThan(0)

  expect(await world.json(...add)).toMatchObject([{ stream: 'scores', name: 'model', filledRows: count, misfits: 0 }])
  expect(await world.json('columns', 'add', 'scores', 'wrong', '$.type', '--type', 'date')).toMatchObject([
    { misfits: count },
  ])

  expect(
    await world.query(
      'select distinct a.model = s.version as same from warehouse.scores_added a join warehouse.scores s using (external_id, score_date_time, type)',
    ),
  ).toEqual([{ same: true }])
  expect(await world.json('columns', 'list')).toMatchObject([{ name: 'model' }, { name: 'wrong', misfits: count }])
  expect(await world.json('columns', 'drop', 'scores', 'wrong')).toEqual([{ dropped: true }])
  expect(await world.json('columns', 'drop', 'scores', 'wrong')).toEqual([{ dropped: false }])
  await world.json('columns', 'drop', 'scores', 'model')
})

test('status shows a column that is not filled, and a worker fills it', async () => {
  await world.json('columns', 'add', 'scores', 'later', '$.state', '--type', 'text')
  await world.query("update vitalsync.scores set added_later = null where added_later <> 'none'")
  await world.query(
    "update vitalsync.added_columns set filled_at = null, filled_to = null, filled_rows = 0 where name = 'later'",
  )
  const [before] = await world.json('status')
  expect(before).toMatchObject({ columns: [{ stream: 'scores', name: 'later', filledRows: 0 }] })
  expect((await world.run('status')).stdout).toContain('Being filled: scores.later, 0 records')

  const worker = world.start(['worker'])
  const unfilled = () => world.query('select name from vitalsync.added_columns where filled_at is null')
  await expect.poll(unfilled, soon).toEqual([])
  worker.kill('SIGTERM')
  await worker.ended

  expect(
    await world.query('select count(*)::int as count from warehouse.scores_added where later is distinct from state'),
  ).toEqual([{ count: 0 }])
  expect(await world.json('status')).toMatchObject([{ columns: [] }])
  await world.json('columns', 'drop', 'scores', 'later')
})
