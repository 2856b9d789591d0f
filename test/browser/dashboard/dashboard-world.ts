import type { Browser } from 'playwright-core'
import { test as base } from 'vitest'
import { readConfig } from '../../../config/env.ts'
import { createLog } from '../../../src/base/log.ts'
import { startDashboard } from '../../../src/dashboard/start-dashboard.ts'
import { migrateWarehouse } from '../../../src/operations/migrate-warehouse.ts'
import { type Sandbox, startSandbox } from '../../../src/service/start-sandbox.ts'
import { template, within } from '../../support/fixtures.ts'
import { openTestPipeline, type TestPipeline } from '../../support/test-pipeline.ts'
import { type Visit, withBrowser, withVisits } from '../open-browser.ts'
import { addFaultyPeople } from './faulty-people.ts'

export type DashboardWorld = TestPipeline & {
  readonly sandbox: Sandbox
  readonly url: string
  /** Another dashboard on the same pipeline, with other settings. */
  serve(
    settings: Readonly<Record<string, string>>,
    options?: { host?: string; requestTimeoutMs?: number },
  ): Promise<{ url: string }>
}

const PEOPLE = 3
const DAYS = 12

/** One world for all tests of a file: people of the sandbox, synced, and some with faults. */
export const test = base.extend<{
  $file: { browser: Browser | undefined; shared: DashboardWorld }
  $test: { world: DashboardWorld; visit: Visit }
}>({
  browser: [async ({}, use) => withBrowser(use), { scope: 'file' }],
  shared: [
    async ({}, use) => {
      const service = await template('service')
      const warehouse = await template('warehouse')
      await within(service, (serviceUrl) =>
        within(warehouse, (warehouseUrl) => withWorld({ serviceUrl, warehouseUrl }, use)),
      )
    },
    { scope: 'file' },
  ],
  world: async ({ shared }, use) => use(shared),
  visit: [
    async ({ browser, shared, skip }, use) => withVisits({ browser, skip, url: shared.url }, use),
    { scope: 'test' },
  ],
})

async function withWorld(
  { serviceUrl, warehouseUrl }: { serviceUrl: string; warehouseUrl: string },
  use: (world: DashboardWorld) => Promise<void>,
): Promise<void> {
  const log = createLog({ level: 'silent' })
  const sandbox = await startSandbox({
    databaseUrl: serviceUrl,
    port: 0,
    profiles: PEOPLE,
    days: DAYS,
    seed: 'dash',
    log,
  })
  await sandbox.derived()
  const line = await openTestPipeline({
    warehouseUrl,
    queueUrl: warehouseUrl,
    upstream: sandbox,
    settings: { HISTORY_DAYS: String(DAYS), DASHBOARD_PORT: '0' },
  })
  line.work()
  await line.addProfiles(...sandbox.people().map(({ externalId }) => externalId))
  await line.tick('sync')
  await line.idle()
  await addFaultyPeople(line)
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
  const serve: DashboardWorld['serve'] = async (settings, options = {}) => {
    const own = readConfig({ ...line.settings, ...settings })
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
    await sandbox.close()
  }
}
