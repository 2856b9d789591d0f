import { expect } from 'vitest'
import { test } from './console-world.ts'

test('a key is made, shown once, works, and is revoked after a question', async ({ visit, world: { sandbox } }) => {
  const page = await visit('/keys')
  await page.getByLabel('Account').fill('acme')
  await page.getByLabel('Label').fill("Anna's laptop")
  await page.getByRole('button', { name: 'Make key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(`vitalsync service keys create --account acme --label 'Anna'\\''s laptop'`).waitFor()
  await dialog.getByRole('button', { name: 'Make key' }).click()
  await dialog.getByText('The secret is shown now and never again.').waitFor()
  const [, clientId = '', clientSecret = ''] = await dialog.locator('code').allInnerTexts()
  const askToken = () =>
    fetch(`${sandbox.url}/api/v1/oauth/account/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ clientId, clientSecret }),
    }).then(({ status }) => status)
  expect(await askToken()).toBe(200)

  await dialog.getByRole('button', { name: 'Close' }).click()
  const row = page.getByRole('row', { name: /Anna's laptop/ })
  await row.waitFor()
  expect(await page.content()).not.toContain(clientSecret)
  await row.getByRole('button', { name: `Revoke: ${clientId}` }).click()
  await dialog.getByText(/those of people too/).waitFor()
  expect(await askToken()).toBe(200)
  await dialog.getByRole('button', { name: 'Revoke', exact: true }).click()
  await dialog.getByText(/^Revoked/).waitFor()
  expect(await askToken()).toBe(401)
})

test('people are made, and live on with the clock; each button shows its curl', async ({
  visit,
  world: { sandbox },
}) => {
  const page = await visit('/people')
  await page.getByRole('button', { name: 'Make: phone-only' }).click()
  const dialog = page.getByRole('dialog')
  await dialog
    .getByText(`curl -X POST ${sandbox.url}/__control/people -H 'authorization: Bearer ${sandbox.controlToken}'`)
    .waitFor()
  await dialog.getByRole('button', { name: 'Make' }).click()
  await dialog.getByText('Made: SampleProfile-phone-only-1').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('row', { name: /SampleProfile-phone-only-1/ }).waitFor()
  expect(sandbox.people()).toContainEqual({ externalId: 'SampleProfile-phone-only-1', kind: 'phone-only' })

  const beforeMs = sandbox.clock.nowMs()
  await page.getByRole('button', { name: 'A day on', exact: true }).click()
  await dialog.getByRole('button', { name: 'A day on' }).click()
  await dialog.getByText(/The people recorded [\d,]+ logs meanwhile/).waitFor()
  expect(sandbox.clock.nowMs() - beforeMs).toBeGreaterThanOrEqual(24 * 3_600_000)
  await dialog.getByRole('button', { name: 'Close' }).click()
  await page.getByText('24 h ahead of this machine').waitFor()
})

test('a fault is switched on, strikes, and is seen to strike in the journal', async ({ visit, world: { sandbox } }) => {
  const faults = await visit('/faults')
  await faults.getByRole('button', { name: 'Switch on: throttle', exact: true }).click()
  const dialog = faults.getByRole('dialog')
  await dialog.getByLabel('At most so often').fill('1')
  await dialog.getByText('"timesMax":1').waitFor()
  await dialog.getByRole('button', { name: 'Switch on' }).click()
  await dialog.getByText(/It is on/).waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()

  const answer = await fetch(`${sandbox.url}/api/v1/oauth/account/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ clientId: sandbox.clientId, clientSecret: sandbox.clientSecret }),
  })
  expect(answer.status).toBe(429)
  await faults.getByRole('row', { name: /accountToken .*429 throttle/ }).waitFor()
  await faults.getByRole('row', { name: /throttle 100.0 % 1 of 1/ }).waitFor()
  await faults.getByRole('button', { name: 'Switch off: throttle' }).click()
  // Somebody else is faster: the row goes, and with it the button that opened the dialog.
  sandbox.faults.set([])
  await faults.getByText('No fault is on').waitFor()
  await dialog.getByRole('button', { name: 'Switch off' }).click()
  await dialog.getByText('It is off.').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await dialog.waitFor({ state: 'detached' })
})

test('the demo app registers, uploads a day, and shows the scores', async ({ visit, world: { sandbox } }) => {
  const page = await visit('/demo', { viewport: { width: 390, height: 844 } })
  await page.getByLabel('Your name here (externalId)').fill('demo person')
  await page.getByRole('button', { name: 'Sign up' }).click()
  await page.getByText('Hello, demo person').waitFor()
  await page.getByRole('button', { name: 'Send my day' }).click()
  await page.getByRole('img', { name: /^sleep: \d+ of 100$/ }).waitFor()
  await page.getByRole('img', { name: /^activity: \d+ of 100$/ }).waitFor()

  const { operations } = sandbox.journal.read()
  expect(operations.registerByApp?.['201']).toBeGreaterThan(0)
  expect(operations.uploadLogs?.['200']).toBeGreaterThan(0)
  expect(await page.content()).not.toContain(sandbox.appSecret)
})

test('a sample person signs in to the demo app, and sees the scores that are there', async ({
  visit,
  world: { sandbox },
}) => {
  const [person] = sandbox.people()
  const page = await visit('/demo', { viewport: { width: 390, height: 844 } })
  await page.getByLabel('Your name here (externalId)').fill(person?.externalId ?? '')
  await page.getByRole('button', { name: 'Sign in as a person who is known' }).click()
  await page.getByRole('img', { name: /^sleep: \d+ of 100$/ }).waitFor()
  expect(await page.content()).not.toContain(sandbox.clientSecret)
})
