import { expect } from 'vitest'
import { soon } from '../../support/fixtures.ts'
import { findBarriers, overflowOf } from '../open-browser.ts'
import { type ConsoleWorld, test } from './console-world.ts'

const script = '<script>document.title="ran"</script><img src=x onerror="document.title=1">'
const bidi = '\u202egnirts desrever\u2066 \u0007end'

const json = { 'content-type': 'application/json' }

async function addHostilePeople({ sandbox }: ConsoleWorld): Promise<void> {
  const register = (externalId: string) =>
    fetch(`${sandbox.url}/api/v1/oauth/profile/register/appId`, {
      method: 'POST',
      headers: { ...json, AppId: sandbox.appId, AppSecret: sandbox.appSecret },
      body: JSON.stringify({ externalId }),
    })
  const answer = await register(script)
  const { profileToken } = await answer.json()
  const headers = { ...json, authorization: `profile ${profileToken}` }
  const tag = { type: 'event', name: script, value: bidi, source: 'a', startDateTime: '2026-01-01T00:00:00Z' }
  const tags = await fetch(`${sandbox.url}/api/v1/profile/tag`, { method: 'POST', headers, body: JSON.stringify(tag) })
  expect(tags.status).toBe(200)
}

test('names, tags and answers of others are texts: they run nothing, hide nothing and break nothing', async ({
  visit,
  world,
}) => {
  await addHostilePeople(world)
  const page = await visit('/faults', { viewport: { width: 360, height: 800 } })
  await page
    .getByRole('row', { name: /registerByApp/ })
    .first()
    .waitFor()
  expect(await page.content()).not.toContain('document.title') // the journal names sample people only
  expect(await overflowOf(page)).toBe(0)

  await page.goto(`${world.sandbox.url}/console/query/tagsOf`)
  await page.getByLabel('Person (externalId)').fill(script)
  await page.getByLabel('startDateTime').fill('')
  await page.getByLabel('endDateTime').fill('')
  await page.getByRole('button', { name: 'Send' }).click()
  const body = page.getByLabel('Body of the answer')
  await expect.poll(() => body.innerText(), soon).toContain('<script>')
  expect(await body.innerText()).not.toMatch(/[\u202e\u2066]/)
  expect(await page.title()).toBe('Query builder · vitalsync console')
  expect(await overflowOf(page)).toBe(0)
})

const views = [
  '/',
  '/query/scoresOf',
  '/query/uploadLogs',
  '/keys',
  '/people',
  '/faults',
  '/demo',
  '/reference',
  '/reference/uploadTags',
  '/authentication',
  '/no-such-view',
]

/** The pages to check in the other colours: together they hold each part once. */
const variedViews = ['/', '/query/scoresOf', '/people', '/faults', '/demo']

for (const [colorScheme, width, examined] of [
  ['dark', 360, views],
  ['light', 1920, variedViews],
] as const)
  test(`all views are usable by everybody, ${colorScheme} and ${width} pixels wide`, async ({ visit, world }) => {
    const page = await visit('/', { colorScheme, viewport: { width, height: 900 } })
    for (const view of views) {
      await page.goto(`${world.sandbox.url}/console${view}`)
      await page.locator('main h1').waitFor()
      await expect.poll(() => page.locator('main').getByText('Loading').count(), soon).toBe(0)
      expect([view, await overflowOf(page)]).toEqual([view, 0])
      if (examined.includes(view)) expect([view, await findBarriers(page)]).toEqual([view, []])
    }
  })

test('on a telephone a new secret and its buttons stand in the dialog, and no address leaves its panel', async ({
  visit,
  world,
}) => {
  const page = await visit('/keys', { viewport: { width: 360, height: 800 } })
  await page.getByRole('button', { name: 'Make key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Make key' }).click()
  await dialog.getByText('The secret is shown now and never again.').waitFor()
  for (const copy of await dialog.getByRole('button', { name: /^Copy/ }).all())
    expect((await copy.boundingBox())?.height).toBeLessThan(40)

  await page.goto(`${world.sandbox.url}/console`)
  const address = page.getByText(/__control$/)
  const [inner, outer] = [await address.boundingBox(), await page.getByLabel('Addresses').boundingBox()]
  expect(inner && inner.x + inner.width).toBeLessThanOrEqual((outer?.x ?? 0) + (outer?.width ?? 0))
})

test('a query is sent by the keyboard alone', async ({ visit }) => {
  const page = await visit('/query/searchProfiles')
  await page.getByLabel('searchParameter').waitFor()
  const focused = () => page.evaluate('document.activeElement.innerText ?? ""')
  for (let tabs = 0; (await focused()) !== 'Send' && tabs < 60; tabs += 1) await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByText('200 OK').waitFor()
})
