import { expect } from 'vitest'
import { acceptDrift } from '../../../src/pipeline/warehouse/reports/drift-report.ts'
import { findBarriers, overflowOf } from '../open-browser.ts'
import { test } from './dashboard-world.ts'
import { hostile } from './faulty-people.ts'

test('what upstream says that is not known comes onto the first screen, units first, and leaves it once accepted', async ({
  visit,
  world,
}) => {
  const page = await visit('/', { viewport: { width: 360, height: 800 } })
  const panel = page.getByRole('region', { name: 'Drift: the rows' })
  await page.getByRole('heading', { name: 'Streams' }).waitFor()
  expect(await panel.count()).toBe(0)

  // Seven fields of one person, and a unit of two people whose words are a script.
  await world.rows(
    `insert into vitalsync.drift_people (profile_id, stream, what, path, detail, records, first_seen_at, last_seen_at)
     select id, 'scores', 'extra', 'field' || n, '', 1000, now() - interval '1 hour', now() - interval '1 hour'
       from (select id from vitalsync.profiles order by id limit 1) p, generate_series(1, 8) n
     union all select id, 'biomarkers', 'unit', 'unit', $1, 7, now() - interval '2 days', now() from
       (select id from vitalsync.profiles order by id limit 2) p`,
    [hostile.script],
  )
  await world.rows(
    'insert into vitalsync.drift (stream, what, path, detail) select distinct stream, what, path, detail from vitalsync.drift_people',
  )

  await panel.waitFor()
  const [first, ...others] = await panel
    .getByRole('row')
    .filter({ has: page.getByRole('cell') })
    .all()
  expect(await first?.getByRole('cell').allInnerTexts()).toEqual([
    'biomarkers',
    'unit',
    `unit ${hostile.script}`.slice(0, 120),
    '2',
    '14',
    expect.stringContaining('2'),
  ])
  expect(others).toHaveLength(7)
  await page.getByText('and 1 more: vitalsync drift list').waitFor()
  expect(await page.title()).toBe('Now · vitalsync')
  expect(await overflowOf(page)).toBe(0)
  expect(await findBarriers(page)).toEqual([])

  await acceptDrift(world.pipeline.pool, {}, 'ada')
  await panel.waitFor({ state: 'detached' })
})
