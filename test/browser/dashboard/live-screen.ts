import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { overflowOf } from '../open-browser.ts'
import { test } from './dashboard-world.ts'
import { addFailure, oddNames } from './faulty-people.ts'

test('the page of a run that is under way follows it to its end, and the list beside it', async ({ visit, world }) => {
  const run = await world.pipeline.runs.create('backfill', {})
  const page = await visit(`/runs/${run.id}`)
  const figure = (name: string) => page.locator('.figures > div', { has: page.getByText(name, { exact: true }) })
  await figure('State').getByText('running').waitFor()
  await world.rows('update vitalsync.runs set done = 1234, requests = 5678 where id = $1', [run.id])
  await figure('People done').getByText('1,234').waitFor()
  await page
    .getByRole('row', { name: new RegExp(`^backfill ${run.id} `) })
    .getByText('5,678')
    .waitFor()
  await world.pipeline.runs.end(run.id, 'stopped')
  await figure('State').getByText('stopped').waitFor()
  await page.getByRole('button', { name: 'Go on', exact: true }).waitFor()
})

test('failures, quarantine and people come into their lists automatically', async ({ visit, world }) => {
  const [failures, quarantine, people] = [await visit('/failures'), await visit('/quarantine'), await visit('/people')]
  for (const page of [failures, quarantine]) await page.getByRole('table').first().waitFor()
  const [added = ''] = await world.addProfiles('a-person-who-came-later')
  await world.rows(`update vitalsync.profiles set due_at = 'infinity' where id = $1`, [added])
  await addFailure(world.rows, added)
  await world.rows(
    `insert into vitalsync.quarantine (profile_id, stream, direction, digest, path, reason, body, first_seen_at, last_seen_at)
     values ($1, 'scores', 'pull', sha256('later'), 'value', 'it came later', '{}', now(), now())`,
    [added],
  )

  await people.getByRole('link', { name: 'a-person-who-came-later' }).waitFor()
  await failures.getByRole('row', { name: /upstream answers 503/ }).waitFor()
  await quarantine.getByRole('link', { name: 'it came later' }).waitFor()
  await world.rows('delete from vitalsync.profiles where id = $1', [added])
  await quarantine.getByRole('link', { name: 'it came later' }).waitFor({ state: 'detached' })
})

test('a list that was read after the counts follows a change that the counts never show', async ({ visit, world }) => {
  const page = await visit('/failures')
  await page.getByRole('table').first().waitFor()
  const link = page.getByRole('navigation').getByRole('link', { name: /^Quarantine.*\d/ })
  await link.waitFor()
  const [person = ''] = await world.addProfiles('a-person-who-leaves-again')
  await world.rows(`update vitalsync.profiles set due_at = 'infinity' where id = $1`, [person])
  await world.rows(
    `insert into vitalsync.quarantine (profile_id, stream, direction, digest, path, reason, body, first_seen_at, last_seen_at)
     values ($1, 'scores', 'pull', sha256('leaves'), 'value', 'it leaves again', '{}', now(), now())`,
    [person],
  )
  await link.click()
  const record = page.getByRole('link', { name: 'it leaves again' })
  await record.waitFor()
  await world.rows('delete from vitalsync.profiles where id = $1', [person])
  await record.waitFor({ state: 'detached' })
})

test('each of many tabs of a browser loads, and says how old its state is', async ({ visit, world }) => {
  const page = await visit('/')
  const context = page.context()
  const tabs: Page[] = [page]
  while (tabs.length < 8) {
    const tab = await context.newPage()
    await tab.goto(`${world.url}/failures`)
    tabs.push(tab)
  }
  for (const tab of tabs)
    await tab
      .getByRole('status')
      .getByText(/^as of/)
      .first()
      .waitFor()
  for (const tab of tabs.slice(1))
    await tab
      .getByRole('region', { name: /^Failures by cause|By cause/ })
      .first()
      .waitFor()
})

test('quarantine counts every record, and shows them page by page', async ({ visit, world }) => {
  const [person] = await world.rows('select id from vitalsync.profiles where external_id = $1', [oddNames.script])
  await world.rows(
    `insert into vitalsync.quarantine (profile_id, stream, direction, digest, path, reason, body, first_seen_at, last_seen_at)
     select $1, 'scores', 'pull', sha256(n::text::bytea), 'value', 'one of many', '{}', now(), now() from generate_series(1, 620) n`,
    [person?.['id']],
  )
  const page = await visit('/quarantine', { viewport: { width: 360, height: 800 } })
  const group = page.getByRole('row', { name: /one of many/ })
  await group.getByRole('cell', { name: '620', exact: true }).waitFor()
  await group.getByRole('link', { name: 'one of many' }).click()
  const records = page.getByRole('region', { name: 'Records: the rows' })
  const newest = (await records.getByRole('link').first().textContent()) ?? ''
  await page.getByText('50 of 620').waitFor()
  await page.getByRole('button', { name: 'Older' }).click()
  await records.getByRole('link', { name: newest, exact: true }).waitFor({ state: 'detached' })
  expect(await overflowOf(page)).toBe(0)
  const shared = page.url()
  await page.goBack()
  await records.getByRole('link', { name: newest, exact: true }).waitFor()

  const other = await visit(shared.slice(world.url.length))
  const second = other.getByRole('region', { name: 'Records: the rows' }).getByRole('row')
  await second.nth(1).getByRole('checkbox').check()
  await second.nth(2).getByRole('checkbox').check()
  await other.getByRole('button', { name: /^Replay selected/ }).click()
  const dialog = other.getByRole('dialog')
  await dialog.getByText('2 records:').waitFor()
  expect(await dialog.getByRole('listitem').count()).toBe(2)
  await dialog.getByRole('button', { name: 'Replay selected', exact: true }).click()
  await dialog.getByText(/^2 to be read again\. The next sweep does it/).waitFor()
  await other
    .getByRole('row', { name: /one of many/ })
    .getByText('618')
    .waitFor()
})

test('Back takes back one choice at a time', async ({ visit }) => {
  const page = await visit('/coverage?stream=scores&days=28')
  await page.getByRole('button', { name: '7 days' }).click()
  await page.getByRole('combobox', { name: /^Stream/ }).selectOption('biomarkers')
  await page.getByRole('button', { name: /^Refused/ }).click()
  const search = () => new URL(page.url()).search
  expect(search()).toBe('?stream=biomarkers&days=7&only=refused')
  const steps = ['?stream=biomarkers&days=7', '?stream=scores&days=7', '?stream=scores&days=28']
  for (const step of steps) {
    await page.goBack()
    expect(search()).toBe(step)
  }
  await page.getByRole('button', { name: '28 days', pressed: true }).waitFor()
})
