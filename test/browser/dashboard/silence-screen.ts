import { expect } from 'vitest'
import { setCohorts } from '../../../src/pipeline/warehouse/profiles/stored-profiles.ts'
import { judgeSilence } from '../../../src/pipeline/warehouse/silence/judge-silence.ts'
import { findBarriers, overflowOf } from '../open-browser.ts'
import { test } from './dashboard-world.ts'

test('silent people come into the list with what came last, and into the groups in which they are', async ({
  visit,
  world,
}) => {
  const page = await visit('/silence', { viewport: { width: 360, height: 800 } })
  await page.getByText('Nobody was silent').waitFor()
  const [person] = await world.rows('select id::text, external_id as name from vitalsync.profiles order by id limit 1')
  const { id, name } = person ?? {}
  await world.rows(
    `insert into vitalsync.log_days (profile_id, local_date, kind, minutes, first_at, last_at, first_parcel, last_parcel, device, revised)
     select $1, (now() - n * interval '1 day')::date, 'steps', b'1'::bit(1440), now() - n * interval '1 day', now() - n * interval '1 day', 1, 1, 'a <b>watch', false
     from generate_series(4, 24) n on conflict do nothing`,
    [id],
  )
  await world.rows('update vitalsync.profiles set uploaded = true')
  await judgeSilence(world.pipeline.pool)

  await page.getByRole('link', { name: String(name), exact: true }).waitFor()
  await page.getByText('a <b>watch steps').waitFor()
  await page.getByText('a <b>watch', { exact: true }).waitFor()
  expect(await overflowOf(page)).toBe(0)
  expect(await findBarriers(page)).toEqual([])
  await page.getByRole('combobox', { name: 'State' }).selectOption('kind_stopped')
  await page.getByText('Nobody was silent').waitFor()
  expect(new URL(page.url()).search).toBe('?state=kind_stopped')
})

test('valid days of each cohort are drawn week by week, and read under the pointer and by the arrow keys', async ({
  visit,
  world,
}) => {
  const people = await world.rows('select id::text, external_id as name from vitalsync.profiles order by id limit 2')
  const [ada, bob] = people.map(({ name }) => String(name))
  await setCohorts(world.pipeline.pool, [
    { externalId: ada ?? '', cohort: 'a <b>cohort' },
    { externalId: bob ?? '', cohort: 'control' },
  ])
  const monday = "date_trunc('week', now() at time zone 'UTC')::date"
  await world.rows(`update vitalsync.profiles set wanted_from = ${monday} - 14`)
  await world.rows('delete from vitalsync.log_days')
  await world.rows(
    `insert into vitalsync.log_days (profile_id, local_date, kind, minutes, first_at, last_at, first_parcel, last_parcel, device, revised)
     select $1, ${monday} - n, kind, ~b'0'::bit(1440), now(), now(), 1, 1, 'watch', false
     from generate_series(1, 10) n, unnest(array['heart', 'sleep']) kind where n > 3 or kind = 'heart'`,
    [people[0]?.['id']],
  )
  const page = await visit('/silence', { viewport: { width: 360, height: 800 } })
  const chart = page.getByRole('img', { name: 'valid days of activity by week; arrows read the values' })
  const reads = (value: RegExp) => page.locator('.value').getByText(value).waitFor()

  await chart.focus()
  await page.keyboard.press('Home')
  await reads(/: a <b>cohort 42.86 · control 0$/)
  await page.keyboard.press('ArrowRight')
  await reads(/: a <b>cohort 100 · control 0$/)
  await chart.hover({ position: { x: 60, y: 20 } })
  await reads(/: a <b>cohort 42.86 · control 0$/)
  expect(await overflowOf(page)).toBe(0)
  expect(await findBarriers(page)).toEqual([])
  await page.getByRole('combobox', { name: 'Measure' }).selectOption('sleep')
  await page.getByRole('img', { name: 'valid days of sleep by week; arrows read the values' }).focus()
  await page.keyboard.press('Home')
  await page.keyboard.press('ArrowRight')
  await reads(/: a <b>cohort 57.14 · control 0$/)
})
