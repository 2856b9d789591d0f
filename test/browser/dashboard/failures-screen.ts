import { expect } from 'vitest'
import { findBarriers, overflowOf } from '../open-browser.ts'
import { test } from './dashboard-world.ts'
import { hostile, oddNames } from './faulty-people.ts'

test('failures are grouped by cause; a group is retried, and discarded after a question', async ({ visit, world }) => {
  const page = await visit('/failures')
  const row = page.getByRole('row', { name: /upstream answers 503/ })
  await row.getByRole('button', { name: /^Retry/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/^vitalsync failures retry --cause [0-9a-f]{32}$/).waitFor()
  await dialog.getByRole('button', { name: 'Retry', exact: true }).click()
  await dialog.getByText('1 failure will be tried again').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()

  await row.getByRole('button', { name: /^Discard/ }).click()
  expect(
    await world.rows(`select count(*)::int as n from vitalsync.failures where reason = 'upstream answers 503'`),
  ).toEqual([{ n: 1 }])
  await dialog.getByRole('button', { name: 'Discard', exact: true }).click()
  await dialog.getByText('1 failure discarded').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await row.waitFor({ state: 'detached' })
  expect(
    await world.rows("select who, role, action from warehouse.audit where action like 'failures%' order by at"),
  ).toEqual([
    { who: 'local', role: 'act', action: 'failures/retry' },
    { who: 'local', role: 'act', action: 'failures/discard' },
  ])
})

test('texts that upstream chose are shown, never run, and break no layout', async ({ visit }) => {
  const page = await visit('/failures', { viewport: { width: 360, height: 800 }, colorScheme: 'dark' })
  await page.getByText(hostile.script).first().waitFor()
  expect(await page.getByRole('table').textContent()).not.toMatch(/[\p{Cf}\u{202e}]/u)
  await page.getByRole('link', { name: hostile.script }).click()
  await page.getByRole('link', { name: oddNames.script }).waitFor()
  expect(await page.title()).toBe('Failures and retrying · vitalsync')
  expect(await overflowOf(page)).toBe(0)
  expect(await findBarriers(page)).toEqual([])
})

test('names can be masked, and stay masked', async ({ visit }) => {
  const page = await visit('/failures')
  await page.getByRole('link', { name: hostile.script }).click()
  await page.getByRole('link', { name: oddNames.script }).waitFor()
  await page.getByLabel('Mask names').check()
  await page.reload()
  await page.getByRole('link', { name: /^person \d+$/ }).waitFor()
  expect(await page.content()).not.toContain('onerror=alert(1)')
})
