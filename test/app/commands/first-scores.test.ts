import { readdir } from 'node:fs/promises'
import { expect } from 'vitest'
import { awaitDerivation } from '../../../src/app/await-derivation.ts'
import { createRuns } from '../../../src/pipeline/warehouse/runs/stored-runs.ts'
import { test } from '../../support/fixtures.ts'
import { insertPeople } from '../../support/insert-people.ts'
import { openTestPool } from '../../support/test-pool.ts'
import { openCommandWorld } from './command-world.ts'

const timeout = 300_000
const countIn = (text: string) => Number(text.replaceAll(',', ''))

test('the first sync after an import waits for upstream to derive, and ends with scores', { timeout }, async ({
  onTestFinished,
}) => {
  const world = await openCommandWorld({ profiles: 0, days: 30 })
  onTestFinished(world.close)
  const succeeds = async (...words: string[]) => {
    const end = await world.start(words, { REREAD_SECONDS: '2,300' }).ended
    expect(end, words.join(' ')).toMatchObject({ code: 0 })
    return end
  }
  await succeeds('sandbox', 'people', '--as', 'apple-health', '--days', '3')
  const file = (await readdir(world.folder)).find((name) => name.endsWith('.zip')) ?? ''
  const imported = await succeeds('import', file, '--profile', 'me', '--add-profiles', '--time-zone', 'Europe/Berlin')
  expect(imported.stderr).not.toMatch(/Warning/)

  const { stdout, stderr } = await succeeds('sync', '--profile', 'me')

  expect(stdout).toMatch(/^sync done/)
  expect(stderr).toMatch(/waiting for upstream to derive from what was pushed for 1 profile; read again at [\d:]+ UTC/)
  const [, more = ''] = /upstream has derived from what was pushed: ([\d,]+) more rows written/.exec(stderr) ?? []
  expect(countIn(more)).toBeGreaterThan(0)
  const [, written = ''] = /, ([\d,]+) written, /.exec(stdout) ?? []
  expect(countIn(written)).toBeGreaterThanOrEqual(countIn(more))
  const [scores] = await world.query('select count(*)::int as n from warehouse.scores where state is not null')
  expect(scores?.['n']).toBeGreaterThan(0)
  expect(await world.query("select count(*)::int as n from vitalsync.runs where state <> 'done'")).toEqual([{ n: 0 }])
  const today = new Date().toISOString().slice(0, 10)
  const why = await world.run('why', '--profile', 'me', '--date', today, '--stream', 'scores')
  expect(why.stdout).toMatch(/read again 20[\d-]+ [\d:]+ UTC at the latest, where a scheduler and a worker run/)
  expect(why.stdout).toMatch(/At once: vitalsync sync --profile me --stream scores/)
})

test('a sync whose upstream does not derive in time says for how many people, and when they are read again', async ({
  warehouseUrl,
  onTestFinished,
}) => {
  const pool = openTestPool(warehouseUrl)
  onTestFinished(() => pool.end())
  const run = await createRuns({ pool }).create('sync', {})
  await insertPeople(pool, ['ada', 'bob', 'cleo'], {
    run_id: `case external_id when 'cleo' then null else ${run.id} end`,
    state: "'active'",
    wanted_from: "'2026-01-01'",
    due_at: "'2026-01-31 06:10Z'",
  })
  // No reading of ada counted yet, two of bob agree, and cleo had no job of the run.
  await pool.query(
    `insert into vitalsync.ledger (profile_id, stream, digesting, rereads)
     select id, 'scores', case external_id when 'ada' then '{[2026-01-02, 2026-01-03)}' else '{}' end::tstzmultirange,
       case external_id when 'bob' then '[[1767312000000, 1767398400000, 1, 2, 2]]' else '[]' end::jsonb
     from vitalsync.names`,
  )
  const said: string[] = []
  const keep = (text: string) => void said.push(text)
  const terminal = { say: keep, progress: keep, progressEnd: () => undefined }
  const options = { pool, terminal, signal: AbortSignal.abort(), now: () => Date.parse('2026-01-31T06:00:00Z') }
  const wait = (streams: string[]) =>
    awaitDerivation(run, { ...options, streams, readAgain: () => Promise.reject(new Error('not before it is due')) })

  await wait(['scores'])
  await wait(['biomarkers'])

  expect(said).toEqual([
    'upstream has not finished deriving from what was pushed for 1 profile: read again at 2026-01-31 06:10 UTC where a worker and a scheduler run, or by the next vitalsync sync',
  ])
})
