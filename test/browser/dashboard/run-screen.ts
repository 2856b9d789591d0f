import { expect } from 'vitest'
import { findBarriers, overflowOf } from '../open-browser.ts'
import { test } from './dashboard-world.ts'
import { addFailure, oddNames } from './faulty-people.ts'

/** Nightlies of four minutes each, and one of sixteen minutes that asked as often. */
const addNightlies = `
  insert into vitalsync.runs (kind, state, started_at, ended_at, enqueued, enqueued_all, done, requests, rows_read, rows_written)
  select 'nightly', 'done', now() - (n + 1) * interval '1 hour', now() - (n + 1) * interval '1 hour'
    + case when n = 0 then interval '16 minutes' else interval '4 minutes' end, 100, true, 100, 800, 24000, 500
  from generate_series(15, 0, -1) n returning id`

test('a slow run says by how much, and beside the fourteen before it why; who failed is two clicks away', async ({
  visit,
  world,
}) => {
  const slow = (await world.rows(addNightlies)).at(-1)
  const [person] = await world.rows('select id from vitalsync.profiles where external_id = $1', [oddNames.script])
  await addFailure(world.rows, String(person?.['id']))
  await world.rows(`update vitalsync.failures set last_at = now() - interval '50 minutes' where profile_id = $1`, [
    person?.['id'],
  ])
  const page = await visit('/runs?kind=nightly')
  await page.getByRole('navigation', { name: /^\d+ runs of/ }).waitFor()
  await page
    .getByRole('row', { name: new RegExp(`^nightly ${slow?.['id']} `) })
    .getByText('4.0 × the usual')
    .waitFor()
  expect(await findBarriers(page)).toEqual([])
  await page.getByRole('link', { name: `nightly ${slow?.['id']}`, exact: true }).click()
  const beside = page.getByRole('region', { name: /^Beside former runs/ })
  await beside.getByRole('row', { name: /^took 16 min 4 min 4\.0 ×/ }).waitFor()
  await beside.getByRole('row', { name: /^requests a second 0\.8 3\.3 0\.3 ×/ }).waitFor()
  await page.getByRole('link', { name: oddNames.script }).first().waitFor()
})

test('a run that is under way says at which stage it is held up', async ({ visit, world }) => {
  const run = await world.pipeline.runs.create('backfill', {})
  const page = await visit(`/runs/${run.id}`, { viewport: { width: 360, height: 800 }, colorScheme: 'dark' })
  const stages = page.getByRole('region', { name: /^Stages of the run/ })
  await stages
    .getByRole('row', { name: /^plan and enqueue 0 enqueued, and it goes on the others wait for this/ })
    .waitFor()
  await stages.getByRole('row', { name: /^upstream derives 0 of \d+ people/ }).waitFor()
  expect(await overflowOf(page)).toBe(0)
  expect(await findBarriers(page)).toEqual([])
  await world.pipeline.runs.end(run.id, 'stopped')
})
