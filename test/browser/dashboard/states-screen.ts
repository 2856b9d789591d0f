import pg from 'pg'
import type { BrowserContext } from 'playwright-core'
import { expect } from 'vitest'
import { readConfig } from '../../../config/env.ts'
import { createLog } from '../../../src/base/log.ts'
import { startDashboard } from '../../../src/dashboard/start-dashboard.ts'
import { template, within } from '../../support/fixtures.ts'
import { openTestPipeline } from '../../support/test-pipeline.ts'
import { findBarriers, openPage, overflowOf, skipWithoutBrowser } from '../open-browser.ts'
import { type DashboardWorld, test } from './dashboard-world.ts'

/** A dashboard on a warehouse that knows nobody. */
async function withFreshDashboard(
  { sandbox }: DashboardWorld,
  use: (url: string, databaseUrl: string) => Promise<void>,
) {
  await within(await template('warehouse'), async (databaseUrl) => {
    const upstream = { url: sandbox.url, clientId: sandbox.clientId, clientSecret: sandbox.clientSecret }
    const line = await openTestPipeline({ warehouseUrl: databaseUrl, queueUrl: databaseUrl, upstream })
    const { pipeline } = line
    const { tokenKeys } = pipeline
    const addresses = { databaseUrl, queueUrl: databaseUrl, upstream, tokenKeys, questionsKeys: tokenKeys }
    const log = createLog({ level: 'silent' })
    const dashboard = await startDashboard({
      pipeline,
      addresses,
      config: readConfig(line.settings),
      log,
      host: '127.0.0.1',
      port: 0,
    })
    await use(dashboard.url, databaseUrl).finally(async () => {
      await dashboard.close().catch(() => undefined) // its database may be away
      await line.close().catch(() => undefined)
    })
  })
}

const emptyViews = [
  ['/coverage', 'Nobody is known yet:'],
  ['/people', 'Nobody is known yet:'],
  ['/failures', 'No failures:'],
  ['/runs', 'No run yet.'],
  ['/quarantine', 'It is empty:'],
  ['/silence', 'Nobody was silent when it was judged last'],
  ['/', 'Nobody is known yet, so nothing is read.'],
] as const

test('a fresh warehouse says in each view that there is nothing and what to do; a warehouse that is away is reported, and tried again', async ({
  browser,
  world,
  skip,
}) => {
  if (!browser) return skipWithoutBrowser(skip)
  await withFreshDashboard(world, async (url, databaseUrl) => {
    const opened = await openPage(browser, { viewport: { width: 360, height: 800 } })
    const { page } = opened
    for (const [path, text] of emptyViews) {
      await page.goto(url + path)
      await page.getByText(text).waitFor()
      expect({ path, overflow: await overflowOf(page) }).toEqual({ path, overflow: 0 })
      expect(await findBarriers(page)).toEqual([])
    }
    opened.expectNoErrors()
    const name = new URL(databaseUrl).pathname.slice(1)
    await allowConnections(databaseUrl, name, false)
    await page.getByRole('link', { name: 'Failures', exact: true }).click()
    // Until the warehouse is known to be away, the answer speaks of the database.
    const isAway = page.getByRole('alert').getByText(/^The (?:database|warehouse) does not answer\.$/)
    await isAway.first().waitFor()
    expect(await findBarriers(page)).toEqual([])
    // The first screen is there to say what is away: it does not wait for it.
    await page.goto(`${url}/`)
    await page.locator('.sentence').waitFor()
    await page.getByRole('link', { name: 'Failures', exact: true }).click()
    await isAway.first().waitFor()
    await allowConnections(databaseUrl, name, true)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('No failures:').waitFor()
    await opened.close()
  })
})

test('a warehouse that goes away is reported on every page by its second look; what was known is dimmed and dated until it is back', async ({
  browser,
  world,
  skip,
}) => {
  if (!browser) return skipWithoutBrowser(skip)
  await withFreshDashboard(world, async (url, databaseUrl) => {
    const opened = await openPage(browser)
    const context = opened.page.context()
    const tabs = await Promise.all(emptyViews.map(([path]) => openTab(context, url + path)))
    for (const [index, [, text]] of emptyViews.entries()) await tabs[index]?.page.getByText(text).waitFor()
    const name = new URL(databaseUrl).pathname.slice(1)
    await allowConnections(databaseUrl, name, false)
    const looks = tabs.map(({ looks: before }) => before())
    const notice = ({ page }: Tab) => page.getByRole('alert').getByText('The warehouse does not answer.')
    for (const [index, tab] of tabs.entries()) {
      await notice(tab).waitFor()
      expect(tab.looksAtNotice() - (looks[index] ?? 0), emptyViews[index]?.[0]).toBeLessThanOrEqual(2)
    }
    const people = tabs[1]?.page
    await people
      ?.locator('.stale')
      .getByText(/^As of .+ ago|^As of just now/)
      .waitFor()
    if (people) expect(await findBarriers(people)).toEqual([])
    await allowConnections(databaseUrl, name, true)
    for (const tab of tabs) await notice(tab).waitFor({ state: 'detached' })
    for (const { page } of tabs) await page.locator('.stale').waitFor({ state: 'detached' })
    await opened.close()
  })
})

type Tab = Awaited<ReturnType<typeof openTab>>

/** A tab that counts its looks at the state, and knows how many there had been when a notice appeared. */
async function openTab(context: BrowserContext, address: string) {
  const page = await context.newPage()
  let [looks, looksAtNotice] = [0, 0]
  page.on('response', async (response) => {
    if (!response.url().endsWith('/api/now')) return
    looks += 1
    const now = await response.json().catch(() => undefined)
    if (now?.isWarehouseAway && looksAtNotice === 0) looksAtNotice = looks
  })
  await page.goto(address)
  return { page, looks: () => looks, looksAtNotice: () => looksAtNotice }
}

/** A database that nobody may connect to is away, for all that its clients see. */
async function allowConnections(databaseUrl: string, name: string, allowed: boolean): Promise<void> {
  const admin = new pg.Client({ connectionString: databaseUrl.replace(`/${name}`, '/postgres') })
  await admin.connect()
  await admin.query(`alter database ${name} with allow_connections ${allowed}`)
  if (!allowed) await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  await admin.end()
}
