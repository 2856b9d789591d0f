import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { soon } from '../../support/fixtures.ts'
import { findBarriers, overflowOf } from '../open-browser.ts'
import { openSession, readSession, send } from '../send.ts'
import { test } from './dashboard-world.ts'
import { serveWithPasswords } from './visitor.ts'

async function signIn(page: Page): Promise<void> {
  await page.getByRole('textbox', { name: 'Name' }).fill('ada')
  await page.getByLabel('Password').fill('correct horse battery')
  await page.keyboard.press('Enter')
  await page.getByText('ada (looks)').waitFor()
}

test('a visitor signs in, looks and cannot act; a session that has ended asks again', async ({ visit, world }) => {
  const { url } = await serveWithPasswords(world)
  const page = await visit('/failures', { baseURL: url, viewport: { width: 360, height: 800 }, colorScheme: 'dark' })
  await page.getByRole('textbox', { name: 'Name' }).waitFor()
  expect(await overflowOf(page)).toBe(0)
  expect(await findBarriers(page)).toEqual([])
  await page.getByRole('textbox', { name: 'Name' }).fill('ada')
  await page.getByLabel('Password').fill('wrong')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('Name or password is wrong.').waitFor()
  await page.getByLabel('Password').fill('correct horse battery')
  await page.keyboard.press('Enter')
  await page.getByText('ada (looks)').waitFor()
  await page.getByRole('table').waitFor()
  expect(await page.getByRole('button', { name: /^(Retry|Discard)/ }).count()).toBe(0)

  await page.context().clearCookies()
  await page.getByRole('link', { name: 'Runs', exact: true }).click()
  await signIn(page)
  await page.reload()
  await page.getByText('ada (looks)').waitFor()
})

test('another port of the host gets the cookie, and no session by it', async ({ visit, world }) => {
  const { url } = await serveWithPasswords(world)
  const page = await visit('/', { baseURL: url })
  await signIn(page)
  const heard: IncomingMessage[] = []
  const neighbour = createServer((request, response) => void response.end(String(heard.push(request))))
  await new Promise<void>((resolve) => neighbour.listen(0, '127.0.0.1', resolve))
  const { port } = neighbour.address() as AddressInfo // of TCP
  await page.goto(`http://127.0.0.1:${port}/`)
  neighbour.close()
  const { cookie = '' } = heard[0]?.headers ?? {}
  expect(cookie).toContain(`vitalsync-${new URL(url).port}=`)

  const { body } = await readSession(url, { cookie })
  expect(JSON.parse(body)).toMatchObject({ actor: null })
  const copied = { cookie, 'x-csrf-token': JSON.parse(body).csrf, origin: url, method: 'POST', body: '{}' }
  expect((await send(`${url}/api/now`, copied)).status).toBe(403)
  await page.goto(url)
  await page.getByText('ada (looks)').waitFor()
})

test('a sign-out in one tab ends the state that another tab shows', async ({ visit, world }) => {
  const { url } = await serveWithPasswords(world)
  const page = await visit('/', { baseURL: url })
  await signIn(page)
  const other = await page.context().newPage()
  await other.goto(`${url}/`)
  await other.locator('.sentence').waitFor()
  const asked = other.waitForRequest('**/api/now')
  const { cookie = '', 'x-csrf-token': token = '' } = await (await asked).allHeaders()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Password').waitFor()

  await other.getByLabel('Password').waitFor()
  expect(await other.locator('.sentence').count()).toBe(0)
  const copied = { method: 'POST', origin: url, cookie, 'x-csrf-token': token, body: '{}' }
  expect((await send(`${url}/api/now`, copied)).status).toBe(401)
})

test('an answer that comes after the sign-out shows nothing, and brings no session back', async ({ world }) => {
  const { url } = await serveWithPasswords(world)
  const visitor = await openSession(url)
  const entered = await send(`${url}/api/sign-in`, {
    ...visitor,
    body: JSON.stringify({ name: 'ada', password: 'correct horse battery' }),
  })
  const cookie = entered.headers['set-cookie']?.map((text) => text.split(';')[0]).join('; ') ?? ''
  const session = { ...visitor, cookie, 'x-csrf-token': JSON.parse(entered.body).csrf }
  const post = (path: string, body: object) => send(`${url}/api/${path}`, { ...session, body: JSON.stringify(body) })
  expect((await post('session', { values: true })).status).toBe(200)
  const lock = await world.pipeline.pool.connect()
  try {
    await lock.query('begin')
    await lock.query('set local idle_in_transaction_session_timeout = 0')
    await lock.query('lock table vitalsync.tags')
    const asked = post('question', { sql: 'select count(*) from warehouse.tags' })
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like 'declare question%'`
    await expect.poll(() => world.rows(waiting), soon).toHaveLength(1)
    expect((await post('sign-out', {})).status).toBe(200)
    await lock.query('commit')

    expect((await asked).status).toBe(401)
    expect((await post('now', {})).status).toBe(401)
  } finally {
    lock.release()
  }
})

test('a page on another port that adds cookies of our names keeps nobody from signing in', async ({ visit, world }) => {
  const { url } = await serveWithPasswords(world)
  const page = await visit('/')
  for (const name of ['vitalsync', 'vitalsync-visitor'])
    await page.evaluate(`document.cookie = '${name}-${new URL(url).port}=x; path=/api'`)
  await page.goto(url)
  await signIn(page)
})

test('a page whose session became that of another person shows who that is', async ({ visit, world }) => {
  const { url } = await serveWithPasswords(world)
  const page = await visit('/', { baseURL: url })
  await signIn(page)
  const other = await page.context().newPage()
  await other.goto(url)
  await other.getByText('ada (looks)').waitFor()
  await page.goto('about:blank')
  const body = JSON.stringify({ name: 'eve', password: 'correct horse battery' })
  const entered = await send(`${url}/api/sign-in`, { ...(await openSession(url)), body })
  const [name = '', value = ''] = (entered.headers['set-cookie']?.[0] ?? '').split(/[=;]/)
  await page.context().addCookies([{ name, value, url }])
  await other.evaluate((token) => localStorage.setItem('token', token), JSON.parse(entered.body).csrf)

  await other.getByText('eve (looks)').waitFor()
})

test('a visitor of two dashboards on one host stays signed in to both', async ({ visit, world }) => {
  const [first, second] = [await serveWithPasswords(world), await serveWithPasswords(world)]
  const page = await visit('/', { baseURL: first.url })
  await signIn(page)
  await page.goto(second.url)
  await signIn(page)
  await page.goto(first.url)
  await page.getByText('ada (looks)').waitFor()
  await page.getByLabel('Mask names').check()
  await page.goto(second.url)
  await page.getByText('ada (looks)').waitFor()
  expect(await page.getByLabel('Mask names').isChecked()).toBe(false)
  const cookies = await page.context().cookies()
  const names = [first, second].flatMap(({ url }) =>
    ['vitalsync', 'vitalsync-visitor'].map((name) => `${name}-${new URL(url).port}`),
  )
  expect(cookies.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
  expect(cookies.map(({ sameSite, httpOnly }) => [sameSite, httpOnly])).toEqual(names.map(() => ['Strict', true]))
})

test('a service worker that another server left at our port is removed, and the page comes', async ({
  present,
  world,
}) => {
  const worker = `onfetch = (event) => event.respondWith(new Response('not ours'))`
  const stranger = createServer(({ url }, response) => {
    const isScript = url === '/worker'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? worker : '<body>of a stranger')
  })
  await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve))
  const { port } = stranger.address() as AddressInfo // of TCP
  const page = await present.newPage()
  await page.goto(`http://127.0.0.1:${port}/`)
  await page.evaluate('navigator.serviceWorker.register("/worker").then(() => navigator.serviceWorker.ready)')
  stranger.closeAllConnections()
  await new Promise((resolve) => stranger.close(resolve))

  const { url } = await world.serve({}, { port })
  await page.goto(url)
  await page.getByText('not ours').waitFor()
  // The browser asks for the script a second after the last load.
  const title = () => page.goto(url).then(() => page.title())
  await expect.poll(title, { ...soon, interval: 3000 }).toMatch(/vitalsync$/)
  await page.close()
})

test('guesses are limited in the page as well, and the page says so', async ({ visit, world }) => {
  const { url } = await serveWithPasswords(world)
  const page = await visit('/', { baseURL: url })
  await page.getByRole('textbox', { name: 'Name' }).fill('ada')
  for (let guess = 0; guess < 11; guess += 1) {
    await page.getByLabel('Password').fill(`guess ${guess}`)
    const answered = page.waitForResponse(/\/api\/sign-in$/)
    await page.keyboard.press('Enter')
    expect((await answered).status()).toBe(guess < 10 ? 401 : 429)
  }
  await page
    .getByRole('alert')
    .getByText(/Rate limit/)
    .waitFor()
})

test('whom a trusted proxy names needs no password, and acts if the settings say so', async ({ visit, world }) => {
  const settings = { DASHBOARD_TRUSTED_HEADER: 'x-user', DASHBOARD_ACTORS: 'eve', TRUSTED_PROXIES: 'loopback' }
  const { url: baseURL } = await world.serve(settings)
  const actor = await visit('/failures', { baseURL, extraHTTPHeaders: { 'x-user': 'eve' } })
  await actor.getByText('eve (acts)').waitFor()
  await actor
    .getByRole('button', { name: /^Retry/ })
    .first()
    .waitFor()
  const visitor = await visit('/failures', { baseURL, extraHTTPHeaders: { 'x-user': 'ida' } })
  await visitor.getByText('ida (looks)').waitFor()
  await visitor.getByRole('table').waitFor()
  expect(await visitor.getByRole('button', { name: /^Retry/ }).count()).toBe(0)
})

test('with the keyboard alone a view is reached, a question is opened, and left', async ({ visit }) => {
  const page = await visit('/')
  await page.locator('.sentence').waitFor()
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')
  const tabTo = async (text: RegExp) => {
    for (let presses = 0; presses < 80; presses += 1) {
      await page.keyboard.press('Tab')
      if (text.test(await focused())) return
    }
    throw new Error(`tab to ${text}: nothing of this name takes the focus`)
  }
  await page.keyboard.press('Tab')
  expect(await focused()).toBe('To the content')
  await tabTo(/^Failures/)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Failures and retrying' }).waitFor()
  await page
    .getByRole('button', { name: /^Discard/ })
    .first()
    .waitFor()
  await tabTo(/^Discard$/)
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/will be forgotten/).waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(await focused()).toBe('Discard')
})
