import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { soon } from '../../support/fixtures.ts'
import { copySources, type OtherVersion } from '../../support/next-version.ts'
import { runProgram } from '../../support/run-program.ts'
import { daysAgo } from '../../support/sample-scores.ts'
import { connect } from '../../support/test-warehouse.ts'
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

test('a column that config/streams.ts gains is added by migrate, and filled by a worker that is killed and the next, beside a sync', async () => {
  const next = await copySources()
  onTestFinished(next.close)
  const declare = (column: object) => declareColumn(next, column)
  const migrate = (...words: string[]) =>
    runProgram(['migrate', ...words], { cwd: world.folder, env: world.env, entry: next.entry })
  const unlike = () =>
    world.query(`select from vitalsync.scores where added_model is distinct from body::jsonb ->> 'version'`)
  const state = async () => ((await world.json('columns', 'list')) as Array<{ filledRows: number }>)[0]
  const [ada] = await world.query('select distinct external_id as name from warehouse.scores')
  // Two more people, unknown to upstream, whose ids are higher: the first portion ends before the records of the last person.
  await world.json('profiles', 'add', 'yara', '--from', '2026-01-01')
  await world.json('profiles', 'add', 'zed', '--from', '2026-01-01')
  onTestFinished(async () => {
    await world.query(`delete from vitalsync.scores s using vitalsync.profiles p
      where p.id = s.profile_id and p.external_id in ('yara', 'zed')`)
  })
  await world.query(`insert into vitalsync.scores (profile_id, score_date_time, type, digest, read_at, first_seen_at, changed_at, body)
    select p.id, s.score_date_time - n * interval '1 day', s.type, s.digest, s.read_at, s.first_seen_at, s.changed_at,
      jsonb_set(s.body::jsonb, '{version}', to_jsonb('v' || n))::text
    from vitalsync.profiles p, generate_series(1, 1000) n, lateral (select * from vitalsync.scores limit 1) s
    where p.external_id in ('yara', 'zed')`)

  await declare({ name: 'model', path: '$.version', type: 'text' })
  expect((await migrate()).stdout).toContain('column scores.model')
  expect(await state()).toMatchObject({ name: 'model', filledRows: 0, filledAt: null })

  // The second portion waits for the last person's row of the ledger, and the worker is killed there.
  const blocker = await connect(world.databaseUrl)
  await blocker.query(`begin; select from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id
    where p.external_id = 'zed' for update of l`)
  const killed = world.start(['worker'])
  await expect.poll(state, soon).toMatchObject({ filledRows: 1000, filledAt: null })
  expect((await world.run('status')).stdout).toContain('Being filled: scores.model, 1,000 records')
  await world.query(`update vitalsync.scores set digest = 0, body = jsonb_set(body::jsonb, '{version}', '"other"')::text
    where score_date_time = (select max(score_date_time) from vitalsync.scores)`)
  const sync = await world.run('backfill', '--again', '--profile', String(ada?.['name']), '--from', daysAgo(5))
  expect(sync).toMatchObject({ code: 0 })
  killed.kill('SIGKILL')
  await killed.ended
  await blocker.end()
  expect(await unlike()).not.toEqual([])

  const worker = world.start(['worker'])
  await expect.poll(state, soon).toMatchObject({ filledAt: expect.any(String) })
  worker.kill('SIGTERM')
  await worker.ended
  expect(await state()).toMatchObject({ misfits: 0 })
  expect(await unlike()).toEqual([])
  expect(await world.query(`select from vitalsync.scores where added_model = 'other'`)).toEqual([])
  expect(await world.json('status')).toMatchObject([{ columns: [] }])

  // The same column is left, also where a user added it. Another column of its name is an error, until the user drops it.
  expect((await migrate()).stdout).toContain('Nothing to do')
  await declare({ name: 'model', path: '$.state', type: 'text' })
  const refused = await migrate()
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('vitalsync columns drop scores model') })
  await world.json('columns', 'drop', 'scores', 'model')
  expect((await migrate()).stdout).toContain('column scores.model')

  // Citus fills no columns: a warehouse from which they were dropped can be divided.
  expect((await migrate('--distribute')).stderr).toContain('1 columns were added')
  await world.json('columns', 'drop', 'scores', 'model')
  expect((await migrate('--distribute')).stderr).not.toContain('columns were added')
})

async function declareColumn({ folder }: OtherVersion, column: object): Promise<void> {
  const file = join(folder, 'config/streams.ts')
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace(/table: 'scores',.*/, `table: 'scores', added: [${JSON.stringify(column)}],`))
}
