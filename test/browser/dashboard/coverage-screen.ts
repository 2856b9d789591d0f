import { expect } from 'vitest'
import { findBarriers, overflowOf } from '../open-browser.ts'
import { test } from './dashboard-world.ts'

test('the worst come first; a cell tells why, by keyboard too; a marked area is read again at a told cost', async ({
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
  const [run] = await world.rows(`select kind, params from vitalsync.runs order by id desc limit 1`)
  expect(run).toMatchObject({ kind: 'backfill', params: { streams: ['scores'], again: true } })
  await world.idle()
})

test('the map fits 360 pixels, has no barriers, and answers a search for nobody', async ({ visit }) => {
  const page = await visit('/coverage?days=7', { viewport: { width: 360, height: 800 }, colorScheme: 'dark' })
  await page.getByRole('button', { name: 'Refused 1' }).waitFor()
  expect(await overflowOf(page)).toBe(0)
  expect(await findBarriers(page)).toEqual([])
  await page.getByRole('searchbox').fill('nobody is called so')
  await page.getByRole('searchbox').blur()
  await page.getByText('Nobody fits.').waitFor()
})
