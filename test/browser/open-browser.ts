import AxeBuilder from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import { failIfRequired, noteOf } from '../support/programs.ts'
import { executablePath, openBrowser, shiftClock } from './shifted-browser.ts'

/** On a busy machine a page may take so long; each wait ends as soon as its moment has come. */
const WAIT_MAX_MS = 60_000

/** A window in which an answer at the end of a page would lie out of view. */
export const lowWindow: BrowserContextOptions = { viewport: { width: 1280, height: 420 } }

/** A page of a fresh visitor. Its errors are collected for `expectNoErrors`. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options })
  context.setDefaultTimeout(WAIT_MAX_MS)
  await shiftClock(context)
  const page = await context.newPage()
  const errors: string[] = []
  page.on('console', (message) => {
    // A refusal that the page shows is no fault of the page, though the browser notes it.
    const isRefusal = /status of (400|401|429)/.test(message.text())
    if (/^(error|warning)$/.test(message.type()) && !isRefusal)
      errors.push(`${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => errors.push(error.message))
  return {
    page,
    errors,
    expectNoErrors: () => expect(errors).toEqual([]),
    close: () => context.close(),
  }
}

/** A browser while `use` runs; none where there is none. */
export async function withBrowser(use: (browser: Browser | undefined) => Promise<void>): Promise<void> {
  const browser = executablePath ? await openBrowser() : undefined
  await use(browser)
  await browser?.close()
}

/** A test that has got no browser from `withBrowser`. */
export function skipWithoutBrowser(skip: (note: string) => never): never {
  failIfRequired('chromium')
  return skip(noteOf('chromium'))
}

export type Visit = (path: string, options?: BrowserContextOptions) => Promise<Page>

type Visits = {
  readonly browser: Browser | undefined
  readonly url: string
  readonly path?: string
  readonly skip: (why: string) => never
}

/** Opens pages of an address, each as a visitor of its own. A fault on a page fails the test. */
export async function withVisits(
  { browser, url, path: base = '', skip }: Visits,
  use: (visit: Visit) => Promise<void>,
): Promise<void> {
  if (!browser) return skipWithoutBrowser(skip)
  const opened: Array<Awaited<ReturnType<typeof openPage>>> = []
  await use(async (path, options = {}) => {
    const page = await openPage(browser, options)
    opened.push(page)
    await page.page.goto((options.baseURL ?? url) + base + path)
    return page.page
  })
  for (const page of opened) {
    page.expectNoErrors()
    await page.close()
  }
}

/** The parts that a screen reader or a keyboard could not use, by axe. */
export async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(AxeBuilder.source)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } } // added above
    type Violation = { id: string; nodes: Array<{ html: string; failureSummary?: string }> }
    const { violations } = await axe.run()
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.html} ${node.failureSummary ?? ''}`),
    )
  })
}

/** How many pixels the page is wider than the window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - innerWidth')
