import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { startProgram } from '../support/run-program.ts'
import { openBrowser, shiftClock } from './shifted-browser.ts'

/**
 * Makes all pictures of the documents from a run of the whole product: npm run pictures. With a folder, each of them also dark, as wide
 * as a phone, and in forced colours, for a look: npm run pictures -- /tmp/looks. The clock is set to one day (test/any-day), so that a picture
 * shows the same dates whenever it is made.
 */

const folder = fileURLToPath(new URL('../../docs/pictures/', import.meta.url))
const [looks] = process.argv.slice(2)

/** On a busy machine the first sync takes long. */
const WAIT_MAX_MS = 120_000

const variants: Readonly<Record<string, BrowserContextOptions>> = {
  dark: { colorScheme: 'dark' },
  phone: { viewport: { width: 360, height: 780 } },
  forced: { forcedColors: 'active' },
}

type Places = { readonly dashboard: string; readonly console: string }
type Picture = {
  readonly name: string
  readonly height?: number
  /** Leads to what the picture shows. */
  show(page: Page, places: Places): Promise<void>
}

const PERSON = 'SampleProfile-night-owl-1'
/** Nobody sends data of this person. */
const WITHOUT_SCORE = 'SampleProfile-newcomer-1'

const loaded = (page: Page) =>
  page
    .getByText(/^Loading/)
    .first()
    .waitFor({ state: 'hidden' })

async function open(page: Page, address: string) {
  await page.goto(address)
  await page.locator('h1').first().waitFor()
  await loaded(page)
}

/** Once everything was counted, and nothing is under way. */
async function openNow(page: Page, dashboard: string) {
  await open(page, `${dashboard}/`)
  await page
    .locator('.sentence')
    .filter({ hasNotText: /Looking|Counting|under way/ })
    .waitFor()
  await page
    .getByText(/^Counting/)
    .first()
    .waitFor({ state: 'hidden' })
}

async function findPerson(page: Page, { dashboard }: Places, name: string) {
  await openNow(page, dashboard)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Go to' }).fill(name)
  await page.getByRole('option', { name: new RegExp(name) }).waitFor()
}

async function openPerson(page: Page, places: Places, name: string) {
  await findPerson(page, places, name)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: new RegExp(name) }).waitFor()
  await loaded(page)
}

const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

const pictures: readonly Picture[] = [
  {
    name: 'dashboard-now',
    show: (page, { dashboard }) => openNow(page, dashboard),
  },
  {
    name: 'dashboard-coverage',
    async show(page, { dashboard }) {
      await open(page, `${dashboard}/coverage?stream=scores&days=28`)
      await page.locator('canvas').first().waitFor()
    },
  },
  {
    name: 'dashboard-person',
    height: 1320,
    async show(page, places) {
      await openPerson(page, places, PERSON)
      await page.getByRole('checkbox', { name: 'Health values' }).check()
      await page.getByRole('heading', { name: 'Stages of sleep' }).waitFor()
      await page.getByText(/of its weight$/).waitFor() // asked for after the scores are there
      await loaded(page)
    },
  },
  { name: 'dashboard-step-1', height: 420, show: (page, places) => findPerson(page, places, WITHOUT_SCORE) },
  { name: 'dashboard-step-2', height: 560, show: (page, places) => openPerson(page, places, WITHOUT_SCORE) },
  {
    name: 'dashboard-step-3',
    height: 960,
    async show(page, places) {
      await openPerson(page, places, WITHOUT_SCORE)
      await page.getByRole('button', { name: new RegExp(`^scores \\w+ ${dayBefore(5)}`) }).click()
      await page
        .getByRole('listitem')
        .filter({ hasText: /^No sleep score/ })
        .waitFor()
      await loaded(page)
    },
  },
  {
    name: 'console-query',
    async show(page, { console: address }) {
      await open(page, `${address}/query/scoresOf`)
      await page.getByRole('button', { name: 'Send' }).click()
      await page
        .getByText(/^200\b/)
        .first()
        .waitFor()
    },
  },
  { name: 'console-people', show: (page, { console: address }) => open(page, `${address}/people`) },
]

async function take(browser: Browser, places: Places, { picture, file, options = {} }: Shot): Promise<void> {
  const viewport = { width: 1280, height: picture.height ?? 960 }
  const context = await browser.newContext({ viewport, locale: 'en-GB', timezoneId: 'UTC', ...options })
  context.setDefaultTimeout(WAIT_MAX_MS)
  await shiftClock(context)
  const page = await context.newPage()
  await picture.show(page, places)
  await page.mouse.move(0, 0)
  await page.screenshot({ path: file })
  await context.close()
  process.stdout.write(`${file}\n`)
}

type Shot = { readonly picture: Picture; readonly file: string; readonly options?: BrowserContextOptions }

async function takeAll(browser: Browser, places: Places): Promise<void> {
  for (const picture of pictures) await take(browser, places, { picture, file: join(folder, `${picture.name}.png`) })
  if (looks === undefined) return
  await mkdir(looks, { recursive: true })
  for (const picture of pictures)
    for (const [variant, options] of Object.entries(variants))
      await take(browser, places, { picture, file: join(looks, `${picture.name}-${variant}.png`), options })
}

/** Some scores do not fit, and a back-fill reads the month again: a picture without trouble would not show what the pages are for. */
async function makeTrouble(home: string, run: (...words: string[]) => Promise<unknown>): Promise<void> {
  const running = JSON.parse(await readFile(join(home, 'data', 'running.json'), 'utf8'))
  const { controlToken } = JSON.parse(await readFile(join(home, 'data', 'sandbox-credentials.json'), 'utf8'))
  const headers = { authorization: `Bearer ${controlToken}`, 'content-type': 'application/json' }
  const profiles = ['SampleProfile-runner-1', 'SampleProfile-traveller-1']
  const body = JSON.stringify([{ name: 'odd-records', rate: 0.03, operations: ['scoresOf'], profiles }])
  const faults = `${running.upstream.url}/__control/faults`
  await fetch(faults, { method: 'PUT', headers, body })
  const chosen = profiles.flatMap((name) => ['--profile', name])
  await run('backfill', '--again', '--from', dayBefore(20), '--stream', 'scores', ...chosen)
  await fetch(faults, { method: 'DELETE', headers })
}

const home = await mkdtemp(join(tmpdir(), 'vitalsync-pictures-'))
const env = { VITALSYNC_DATA: join(home, 'data'), DASHBOARD_PORT: '0' }
const up = startProgram(['up'], { cwd: home, env })
const browser = await openBrowser()
try {
  await up.said(/Working by schedule/)
  const addressAfter = (label: string) => new RegExp(`${label}:\\s+(\\S+)`).exec(up.stdout() + up.stderr())?.[1] ?? ''
  await makeTrouble(home, (...words) => startProgram(words, { cwd: home, env }).ended)
  await takeAll(browser, { dashboard: addressAfter('Dashboard'), console: addressAfter('Its console') })
} finally {
  await browser.close()
  up.kill('SIGINT')
  await up.ended
  await rm(home, { recursive: true, force: true })
}
