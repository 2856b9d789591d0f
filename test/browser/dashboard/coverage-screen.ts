import { expect } from 'vitest'
import { findBarriers, overflowOf } from '../open-browser.ts'
import { test } from './dashboard-world.ts'

test('the worst come first; a cell says why, by keyboard too; a marked area is read again after its cost is shown', async ({
  visit,
  world,
}) => {
  const page = await visit('/coverage?days=28')
  const map = page.getByLabel(/^Coverage map/)
  await page.getByRole('button', { name: 'Refused 1' }).waitFor()
  await map.focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowLeft')
  await page
    .getByRole('status')
    .getByText(/: refused$|: quarantined$|: never read$/)
    .waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: /^Why \d{4}/ }).waitFor()
  await page.getByText('vitalsync ').first().waitFor()

  await map.focus()
  await page.keyboard.press('Shift+ArrowDown')
  await page.keyboard.press('Shift+ArrowLeft')
  await page.getByText(/\d+ requests?, about/).waitFor()
  await page.getByRole('button', { name: 'Read it again', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Read it again', exact: true }).click()
  await page.getByText(/Back-fill \d+ has begun/).waitFor()
  await page.getByRole('dialog').getByRole('link', { name: 'how it goes' }).waitFor()
  const [run] = await world.rows(`select kind, params from vitalsync.runs order by id desc limit 1`)
  expect(run).toMatchObject({ kind: 'backfill', params: { streams: ['scores'], again: true } })
  await world.idle()
})

test('the map fits 360 pixels, has no barriers, and answers a search for nobody', async ({ visit }) => {
  const page = await visit('/coverage?days=7', { viewport: { width: 360, height: 800 }, colorScheme: 'dark' })
  const map = page.getByLabel(/^Coverage map/)
  await page.getByRole('button', { name: 'Refused 1' }).waitFor()
  await map.hover({ position: { x: 200, y: 30 } })
  await page.getByText(/, \d{4}-\d{2}-\d{2}: /).waitFor()
  expect(await overflowOf(page)).toBe(0)
  expect(await findBarriers(page)).toEqual([])
  await page.getByRole('searchbox').fill('nobody is called so')
  await page.getByRole('searchbox').blur()
  await page.getByText('Nobody fits.').waitFor()
})

test('a search that is being typed outlives an answer that comes meanwhile', async ({ visit }) => {
  const page = await visit('/coverage?days=14')
  const { promise: typed, resolve: endTyping } = Promise.withResolvers<void>()
  await page.route('**/api/coverage', async (route) => {
    await typed
    await route.continue()
  })
  await page.getByRole('button', { name: '7 days' }).click()
  await page.getByRole('button', { name: 'Refused …' }).waitFor()
  await page.getByRole('searchbox').fill('nobody is called so')
  endTyping()
  await page.getByRole('button', { name: 'Refused 1' }).waitFor()
  await page.getByRole('searchbox').blur()
  await page.getByText('Nobody fits.').waitFor()
})

test('the streams show their trouble, the worst are in groups, and a year is a click from a day', async ({ visit }) => {
  const page = await visit('/coverage?stream=biomarkers')
  const row = page.getByRole('region', { name: /^Streams/ }).getByRole('row', { name: /^scores/ })
  await row.getByRole('cell', { name: '3', exact: true }).first().waitFor()
  await row.getByRole('button', { name: 'scores' }).click()
  await page.getByRole('button', { name: 'refused or quarantined 1' }).waitFor()
  await page.getByRole('button', { name: /^longest not read \d/ }).click()
  for (const zoom of ['year', 'day']) await page.getByRole('button', { name: zoom, exact: true }).click()
  await page.getByLabel('up to').fill('2026-01-31')
  await page.getByLabel('up to').press('Enter')
  await expect.poll(() => new URL(page.url()).search).toContain('days=1')
  await expect.poll(() => new URL(page.url()).search).toContain('lastDay=2026-01-31')
})
