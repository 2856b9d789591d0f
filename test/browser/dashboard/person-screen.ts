import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { findBarriers, overflowOf } from '../open-browser.ts'
import { openSession, send } from '../send.ts'
import { test } from './dashboard-world.ts'
import { oddNames } from './faulty-people.ts'

test('a person is found by name; health values are shown after a switch, and each look is recorded', async ({
  visit,
  world,
}) => {
  const [one] = world.sandbox.people()
  const page = await visit('/people')
  await page.getByRole('searchbox').fill(one?.externalId ?? '')
  await page.getByRole('link', { name: one?.externalId ?? '' }).click()
  await page.getByText('They are switched off.').waitFor()
  expect(await world.rows(`select from warehouse.audit where external_id = $1`, [one?.externalId])).toEqual([])

  await page.getByRole('checkbox', { name: 'Health values' }).check()
  await page.getByRole('img', { name: /^Scores of \d+ days/ }).waitFor()
  await page.getByRole('img', { name: 'Parts of sleep' }).waitFor()
  await page.getByRole('img', { name: /^Stages of sleep of \d+ nights/ }).waitFor()
  await page.getByRole('region', { name: /^Devices of the person/ }).waitFor()
  await page.getByText('sleep duration').first().waitFor()
  await page
    .getByText(/minutes, goal \d+$/)
    .first()
    .waitFor()
  expect(await page.getByRole('link', { name: 'data-logs' }).count()).toBe(0)
  expect(await findBarriers(page)).toEqual([])
  const looks = await world.rows(`select action from warehouse.audit where external_id = $1 order by at`, [
    one?.externalId,
  ])
  expect(looks).toEqual([{ action: 'look at values' }, { action: 'look at explanation' }])

  await page
    .getByRole('button', { name: /\d: data$/ })
    .last()
    .click()
  await page.getByRole('heading', { name: /^Why \d{4}/ }).waitFor()
})

/** How many pixels of the screen one of each drawing takes: less than one makes its texts unreadable. */
const drawingScales = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll<SVGSVGElement>('.fitted svg')].map(
      (drawing) => drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width,
    ),
  )

test('the texts of charts keep their size on a telephone, and the newest day is in view', async ({ visit, world }) => {
  const [one] = world.sandbox.people()
  const [found] = await world.rows('select id from vitalsync.profiles where external_id = $1', [one?.externalId])
  const page = await visit(`/people/${found?.['id']}`, { viewport: { width: 360, height: 800 } })
  await page.getByRole('checkbox', { name: 'Health values' }).check()
  await page.getByRole('img', { name: 'Parts of sleep' }).waitFor()
  await page.getByLabel('Score', { exact: true }).selectOption('activity')
  await page.getByRole('img', { name: 'Parts of activity' }).waitFor()
  expect(new URL(page.url()).search).toBe('?score=activity')
  const scales = await drawingScales(page)
  expect(scales.length).toBeGreaterThan(4)
  expect(scales.filter((scale) => Math.abs(scale - 1) > 0.01)).toEqual([])
  const newest = await page.locator('.strip .cell:last-child').first().boundingBox()
  expect(newest && newest.x + newest.width).toBeLessThanOrEqual(360)
  expect(await overflowOf(page)).toBe(0)
})

test('names are masked where they stand, at once, and shown again', async ({ visit, world }) => {
  const [one] = world.sandbox.people()
  const name = one?.externalId ?? ''
  const page = await visit(`/people?search=${name}`)
  await page.getByRole('link', { name }).waitFor()
  await page.getByRole('checkbox', { name: 'Mask names' }).check()
  await page.getByText('names that are masked cannot be searched').waitFor()
  await page.getByLabel('Search').fill('')
  await page
    .getByRole('link', { name: /^person \d+$/ })
    .first()
    .waitFor()
  expect(await page.getByRole('link', { name }).count()).toBe(0)
  const maskedName = await page
    .getByRole('link', { name: /^person \d+$/ })
    .first()
    .textContent()
  await page.getByLabel('Search').fill(maskedName?.replace('person ', '') ?? '')
  await expect.poll(() => page.getByRole('link', { name: /^person \d+$/ }).count()).toBe(1)
  await page.goto(new URL(`/coverage?search=${name}`, page.url()).href)
  await page.getByText('names that are masked cannot be searched').waitFor()
  await page.goto(new URL(`/people?search=${name}`, page.url()).href)
  await page.getByRole('checkbox', { name: 'Mask names' }).uncheck()
  await page.getByRole('link', { name }).waitFor()
})

test('a person is erased only after a question that says what goes', async ({ visit, world }) => {
  const page = await visit('/people', { viewport: { width: 360, height: 800 }, colorScheme: 'dark' })
  await page.getByRole('link', { name: oddNames.long }).click()
  await page.getByRole('button', { name: 'Erase', exact: true }).waitFor()
  expect(await overflowOf(page)).toBe(0)
  await page.getByRole('button', { name: 'Erase', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/This person goes for good, upstream and here: \d+ rows?/).waitFor()
  await dialog.getByText(`vitalsync profiles erase ${oddNames.long}`).waitFor()
  expect(await world.rows('select 1 from vitalsync.profiles where external_id = $1', [oddNames.long])).toHaveLength(1)
  await dialog.getByRole('button', { name: 'Erase', exact: true }).click()
  const account = dialog.getByText(/^Erased: \d+ rows are gone here/)
  await account.waitFor()
  // The counts change with the erasure, and the page is asked for a person who is gone no more.
  const failures = page.getByRole('navigation').getByRole('link', { name: /^Failures/ })
  const { length: left } = await world.rows('select from vitalsync.failures union all select from vitalsync.refusals')
  expect(left).toBeGreaterThan(0) // No number would also mean that the page has not counted yet.
  await expect.poll(() => failures.textContent()).toBe(`Failures${left}`)
  for (let looks = 0; looks < 3; looks += 1)
    await page.waitForResponse((response) => response.url().endsWith('/api/now'))
  expect(await account.isVisible()).toBe(true)
  expect(await world.rows('select 1 from vitalsync.profiles where external_id = $1', [oddNames.long])).toEqual([])
  expect(await world.rows(`select who, external_id from warehouse.audit where action = 'person/erase'`)).toEqual([
    { who: 'local', external_id: null },
  ])
})

test('the reason of a missing score is said once, not for each of its factors, with the minutes that lacked', async ({
  world,
}) => {
  const [person] = world.sandbox.people()
  const [found] = await world.rows('select id from vitalsync.profiles where external_id = $1', [person?.externalId])
  const body = JSON.stringify({ profileId: String(found?.['id']), date: '2020-01-01' })

  const { body: answer } = await send(`${world.url}/api/person/day-scores`, {
    ...(await openSession(world.url)),
    body,
  })

  const { missing } = JSON.parse(answer)
  expect(missing).toHaveLength(5)
  for (const { reason, factors } of missing)
    expect({ reason, factors }).toEqual({ reason: expect.stringContaining('no log tells of this day'), factors: [] })
  const reasons: string[] = missing.map(({ reason }: { reason: string }) => reason)
  expect(reasons.filter((reason) => /wear: 0 of 600 minutes needed/.test(reason))).not.toEqual([])
  expect(reasons.filter((reason) => /main sleep: 0 of 180 minutes needed/.test(reason))).not.toEqual([])
})
