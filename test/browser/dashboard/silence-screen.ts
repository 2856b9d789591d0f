import { expect } from 'vitest'
import { judgeSilence } from '../../../src/pipeline/warehouse/silence/judge-silence.ts'
import { findBarriers, overflowOf } from '../open-browser.ts'
import { test } from './dashboard-world.ts'

test('silent people come into the list with what came last, and into the groups in which they are', async ({
  visit,
  world,
}) => {
  const page = await visit('/silence', { viewport: { width: 360, height: 800 } })
  await page.getByText('Nobody has gone silent').waitFor()
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
  await page.getByText('Nobody has gone silent').waitFor()
  expect(new URL(page.url()).search).toBe('?state=kind_stopped')
})
