import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { test as base, expect } from 'vitest'
import { readConfig } from '../../../config/env.ts'
import { createLog } from '../../../src/base/log.ts'
import { startDashboard } from '../../../src/dashboard/start-dashboard.ts'
import { migrateWarehouse } from '../../../src/operations/migrate-warehouse.ts'
import { startWarehouse } from '../../chaos/crash-postgres.ts'
import { openTestPipeline, type TestPipeline } from '../../support/test-pipeline.ts'
import { openPage, skipWithoutBrowser, withBrowser } from '../open-browser.ts'
import { openSession, send } from '../send.ts'

type World = {
  readonly url: string
  readonly profileId: string
  readonly rows: TestPipeline['rows']
  freeze(): void
  thaw(): void
  stop(): Promise<void>
}

const test = base.extend<{ world: World }>({
  /** A dashboard on a Postgres of the test's own, which can be frozen and stopped. */
  world: async ({}, use) => {
    const postgres = await startWarehouse()
    const { databaseUrl } = postgres
    const upstream = { url: 'http://127.0.0.1:1', clientId: 'nobody', clientSecret: 'nothing' }
    const line = await openTestPipeline({ warehouseUrl: databaseUrl, queueUrl: databaseUrl, upstream })
    const [profileId = ''] = await line.addProfiles('ada')
    const { pipeline } = line
    const { tokenKeys } = pipeline
    await migrateWarehouse(databaseUrl, () => undefined, tokenKeys[0])
    const dashboard = await startDashboard({
      pipeline,
      addresses: { databaseUrl, queueUrl: databaseUrl, upstream, tokenKeys, questionsKeys: tokenKeys },
      config: readConfig(line.settings),
      log: createLog({ level: 'silent' }),
      host: '127.0.0.1',
      port: 0,
    })
    const postmaster = Number((await readFile(join(postgres.dataFolder, 'postmaster.pid'), 'utf8')).split('\n')[0])
    const signal = (name: NodeJS.Signals) => {
      // The postmaster first: it starts no process meanwhile.
      process.kill(postmaster, name)
      const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(postmaster)], { encoding: 'utf8' })
      for (const pid of children.trim().split(/\s+/)) process.kill(Number(pid), name)
    }
    const thaw = () => signal('SIGCONT')
    let isStopped = false
    const stop = async () => {
      isStopped = true
      await postgres.close()
    }
    await use({ url: dashboard.url, profileId, rows: line.rows, freeze: () => signal('SIGSTOP'), thaw, stop })
    if (!isStopped) thaw() // a test that failed leaves it frozen
    await dashboard.close().catch(() => undefined) // its database is away
    await line.close().catch(() => undefined)
    if (!isStopped) await stop()
  },
})

const addresses = ({ profileId }: World) => [
  '/',
  '/coverage',
  '/people',
  `/people/${profileId}`,
  '/silence',
  '/failures',
  '/runs',
  '/runs/1',
  '/questions',
  '/quarantine',
  '/audit',
]

const REPORTED_WITHIN_MS = 5000
const notice = (page: Page) => page.getByRole('alert').getByText('The warehouse does not answer.').first()

test('a warehouse that is frozen, and one that is stopped, is reported within five seconds by each page, open or just opened', {
  timeout: 300_000,
}, async ({ world, skip }) => {
  await withBrowser(async (browser) => {
    if (!browser) return skipWithoutBrowser(skip)
    const opened = await openPage(browser)
    const context = opened.page.context()
    const open = async (path: string) => {
      const page = await context.newPage()
      // From its first question on: how soon a browser loads a page is not the dashboard's.
      const asked = page.waitForRequest('**/api/**').then(() => performance.now())
      await page.goto(world.url + path)
      return { path, page, beganMs: await asked }
    }
    const late: string[] = []
    const reported = async ({ path, page }: { path: string; page: Page }, sinceMs: number, state: string) => {
      await notice(page).waitFor()
      const tookMs = performance.now() - sinceMs
      if (tookMs > REPORTED_WITHIN_MS) late.push(`${path}, ${state}: ${Math.round(tookMs)} ms`)
    }
    const tabs: Array<Awaited<ReturnType<typeof open>>> = []
    for (const path of addresses(world)) tabs.push(await open(path))
    for (const { page } of tabs) await page.locator('h1').first().waitFor()

    for (const [state, end] of [
      ['frozen', async () => world.freeze()],
      ['stopped', world.stop],
    ] as const) {
      const awayMs = performance.now()
      const ending = end()
      await Promise.all(tabs.map((tab) => reported(tab, awayMs, state)))
      for (const path of addresses(world)) {
        const tab = await open(path)
        await reported(tab, tab.beganMs, `${state} before it was opened`)
        await tab.page.close()
      }
      if (state === 'frozen') {
        world.thaw()
        for (const { page } of tabs) await notice(page).waitFor({ state: 'detached' })
      }
      await ending
    }
    expect(late).toEqual([])
    await opened.close()
  })
})

test('a question about a frozen warehouse is given up within five seconds', { timeout: 120_000 }, async ({ world }) => {
  const session = await openSession(world.url)
  const { profileId } = world
  const asked = {
    people: { search: '' },
    person: { profileId },
    why: { profileId, date: '2026-03-01' },
    coverage: { stream: 'scores', from: 0, count: 10, lastDay: '2026-03-01', days: 7 },
    'failure-groups': {},
    runs: {},
    run: { runId: '1' },
    'quarantine-groups': {},
    audit: {},
  }
  const answerTo = async ([name, query]: [string, object]) => {
    const beganMs = performance.now()
    const { status } = await send(`${world.url}/api/${name}`, { ...session, body: JSON.stringify(query) })
    return { name, status, isInTime: performance.now() - beganMs < REPORTED_WITHIN_MS }
  }

  world.freeze()
  const answers = await Promise.all(Object.entries(asked).map(answerTo))

  expect(answers).toEqual(Object.keys(asked).map((name) => ({ name, status: 503, isInTime: true })))
  world.thaw()
  await expect.poll(async () => (await answerTo(['people', { search: '' }])).status, { timeout: 60_000 }).toBe(200)
  await world.stop()
})

test('a question that is given up ends, and gives back its place', { timeout: 120_000 }, async ({ world }) => {
  const { url } = world
  const visit = await openSession(url)
  const { headers } = await send(`${url}/api/session`, { ...visit, body: JSON.stringify({ values: true }) })
  const session = { ...visit, cookie: `${visit.cookie}; ${headers['set-cookie']?.[0]?.split(';')[0]}` }
  const ask = (sql: string) => send(`${url}/api/question`, { ...session, body: JSON.stringify({ sql }) })
  expect((await ask('select 1')).body).toContain('[[1]]')

  const asked = ['select pg_sleep(18)', 'select pg_sleep(19)'].map(ask)
  const sleeping = `select 1 from pg_stat_activity where application_name = 'vitalsync question'`
  await expect.poll(() => world.rows(sleeping)).toHaveLength(2)
  world.freeze()
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([503, 503])
  world.thaw()

  const beganMs = performance.now()
  await expect.poll(async () => (await ask('select 1')).body, { timeout: 60_000 }).toContain('[[1]]')
  expect(performance.now() - beganMs).toBeLessThan(4000)
  await world.stop()
})
