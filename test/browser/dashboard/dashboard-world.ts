import type { Browser } from 'playwright-core'
import { test as base } from 'vitest'
import { readConfig } from '../../../config/env.ts'
import { createLog, type Log } from '../../../src/base/log.ts'
import { startDashboard } from '../../../src/dashboard/start-dashboard.ts'
import { migrateWarehouse } from '../../../src/operations/migrate-warehouse.ts'
import { type Sandbox, startSandbox } from '../../../src/service/start-sandbox.ts'
import { template, within } from '../../support/fixtures.ts'
import { openTestPipeline, type TestPipeline } from '../../support/test-pipeline.ts'
import { skipWithoutBrowser, type Visit, withBrowser, withVisits } from '../open-browser.ts'
import { addFaultyPeople } from './faulty-people.ts'

export type DashboardWorld = TestPipeline & {
  readonly sandbox: Sandbox
  readonly url: string
  /** Another dashboard on the same pipeline, with other settings. */
  serve(
    settings: Readonly<Record<string, string>>,
    options?: { host?: string; port?: number; requestTimeoutMs?: number; log?: Log },
  ): Promise<{ url: string }>
}

const PEOPLE = 3
const DAYS = 12

/** The tests of a file share a sandbox, and a warehouse to copy: its people are synced there, and some have faults. */
type Shared = { readonly sandbox: Sandbox; readonly warehouse: string }

export const test = base.extend<{
  $file: { browser: Browser | undefined; shared: Shared }
  $test: { present: Browser; world: DashboardWorld; visit: Visit }
}>({
  browser: [async ({}, use) => withBrowser(use), { scope: 'file' }],
  shared: [
    async ({}, use) => {
      const service = await template('service')
      const warehouse = await template('warehouse')
      await within(service, (serviceUrl) =>
        within(warehouse, (warehouseUrl) => withSandbox({ serviceUrl, warehouseUrl }, use)),
      )
    },
    { scope: 'file' },
  ],
  /** Comes before the world: a test that is skipped opens none. */
  present: [async ({ browser, skip }, use) => use(browser ?? skipWithoutBrowser(skip)), { scope: 'test' }],
  world: async ({ shared }, use) =>
    within(shared.warehouse, (warehouseUrl) => withWorld({ sandbox: shared.sandbox, warehouseUrl }, use)),
  visit: [
    async ({ present, world, skip }, use) => withVisits({ browser: present, skip, url: world.url }, use),
    { scope: 'test' },
  ],
})

const log = createLog({ level: 'silent' })
const settings = { HISTORY_DAYS: String(DAYS), DASHBOARD_PORT: '0' }

async function withSandbox(
  { serviceUrl, warehouseUrl }: { serviceUrl: string; warehouseUrl: string },
  use: (shared: Shared) => Promise<void>,
): Promise<void> {
  const sandbox = await startSandbox({
    databaseUrl: serviceUrl,
    port: 0,
    profiles: PEOPLE,
    days: DAYS,
    seed: 'dash',
    log,
  })
  await sandbox.derived()
  const line = await openTestPipeline({ warehouseUrl, queueUrl: warehouseUrl, upstream: sandbox, settings })
  line.work()
  await line.addProfiles(...sandbox.people().map(({ externalId }) => externalId))
  await line.tick('sync')
  await line.idle()
  await addFaultyPeople(line)
  await line.close()
  await use({ sandbox, warehouse: new URL(warehouseUrl).pathname.slice(1) })
  await sandbox.close()
}

async function withWorld(
  { sandbox, warehouseUrl }: { sandbox: Sandbox; warehouseUrl: string },
  use: (world: DashboardWorld) => Promise<void>,
): Promise<void> {
  const line = await openTestPipeline({ warehouseUrl, queueUrl: warehouseUrl, upstream: sandbox, settings })
  line.work()
  await migrateWarehouse(warehouseUrl, () => undefined, line.pipeline.tokenKeys[0])
  const { pipeline } = line
  const addresses = {
    databaseUrl: warehouseUrl,
    queueUrl: warehouseUrl,
    upstream: { url: sandbox.url, clientId: sandbox.clientId, clientSecret: sandbox.clientSecret },
    tokenKeys: pipeline.tokenKeys,
    questionsKeys: pipeline.tokenKeys,
  }
  const opened: Array<{ close(): Promise<void> }> = []
  const serve: DashboardWorld['serve'] = async (changes, options = {}) => {
    const own = readConfig({ ...line.settings, ...changes })
    const dashboard = await startDashboard({
      pipeline,
      addresses,
      config: own,
      log,
      host: '127.0.0.1',
      port: 0,
      ...options,
    })
    opened.push(dashboard)
    return dashboard
  }
  try {
    const { url: dashboardUrl } = await serve({})
    await use({ ...line, sandbox, url: dashboardUrl, serve })
  } finally {
    for (const dashboard of opened) await dashboard.close()
    await line.close()
  }
}
