import { expect } from 'vitest'
import { openPageBundle } from '../../../src/web/page-bundle.ts'
import { forwardedHeaders, openSession, readSession, send } from '../send.ts'
import { lineFor, test } from './console-world.ts'

const newKey = JSON.stringify({ account: 'nobody', kind: 'client', label: '' })

test('an open console answers only to names of this machine, and to no proxy', async ({ world: { sandbox } }) => {
  const statusFor = async (headers: Record<string, string>) =>
    (await readSession(`${sandbox.url}/console`, headers)).status

  expect(await statusFor({})).toBe(200)
  expect(await statusFor({ host: 'localhost:1', origin: 'http://localhost:1' })).toBe(200)
  expect(await statusFor({ host: 'attacker.example', origin: 'http://attacker.example' })).toBe(403)
  for (const name of forwardedHeaders) expect([name, await statusFor({ [name]: '203.0.113.7' })]).toEqual([name, 403])
})

test('a change needs the page’s own origin, a session and its token', async ({ world: { sandbox } }) => {
  const session = await openSession(`${sandbox.url}/console`)
  const make = async (changes: Record<string, string>) =>
    (await send(`${sandbox.url}/console/api/faults/clear`, { ...session, body: '{}', ...changes })).status

  expect(await make({})).toBe(200)
  expect(await make({ origin: 'http://attacker.example' })).toBe(403)
  expect(await make({ origin: '' })).toBe(403)
  expect(await make({ 'x-csrf-token': 'x'.repeat(43) })).toBe(403)
  expect(await make({ cookie: '' })).toBe(403)
})

test('its page runs nothing of others, and the rest of the service keeps its own rules', async ({
  world: { sandbox },
}) => {
  const page = await send(`${sandbox.url}/console/keys`)
  expect(page.headers['content-security-policy']).toContain("script-src 'self'; style-src 'self'")
  expect(page.headers['content-security-policy']).not.toContain('unsafe')
  expect(page.headers['set-cookie']).toBeUndefined()

  const health = await send(`${sandbox.url}/health`)
  expect(health.status).toBe(200)
  expect(health.headers['content-security-policy']).toBe("default-src 'none'; frame-ancestors 'none'")
})

for (const host of ['0.0.0.0', '127.0.0.1'])
  test(`without a password the console of a service that is no sandbox is closed on ${host}`, async ({ world }) => {
    const { url } = await world.serve(host)
    const here = url.replace('0.0.0.0', '127.0.0.1')
    for (const path of ['/console', '/console/api/session', '/console/api/keys']) {
      const { status, body } = await send(here + path)
      expect([path, status]).toEqual([path, 403])
      expect(body).toContain('CONSOLE_PASSWORD_FILE')
    }
    expect((await send(`${here}/health`)).status).toBe(200)
  })

test('with passwords it asks to sign in; the role look makes no key and gets no token; guesses are recorded, actions on unknown keys are not', async ({
  world,
}) => {
  const { url, logged } = await world.serve('127.0.0.1', [await lineFor('lena', 'look'), await lineFor('ada', 'act')])
  const stranger = await openSession(`${url}/console`)
  expect((await send(`${url}/console/api/keys`, { ...stranger, body: '{}' })).status).toBe(401)
  const signIn = (visitor: Record<string, string>, name: string, password: string) =>
    send(`${url}/console/api/sign-in`, { ...visitor, body: JSON.stringify({ name, password }) })
  const enter = async (name: string) => {
    const visitor = await openSession(`${url}/console`)
    const { headers, body } = await signIn(visitor, name, 'correct horse battery')
    const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
    return { ...visitor, cookie, 'x-csrf-token': JSON.parse(body).csrf }
  }

  const lena = await enter('lena')
  const keys = await send(`${url}/console/api/keys`, { ...lena, body: '{}' })
  expect(keys.status).toBe(200)
  const keyId = JSON.parse(keys.body)[0].publicId
  expect((await send(`${url}/console/api/keys/make`, { ...lena, body: newKey })).status).toBe(403)
  expect((await send(`${url}/console/api/token`, { ...lena, body: JSON.stringify({ keyId }) })).status).toBe(403)
  expect((await send(`${url}/console/api/people`, { ...lena, body: JSON.stringify({ keyId }) })).status).toBe(400)

  const ada = await enter('ada')
  expect((await send(`${url}/console/api/keys/make`, { ...ada, body: newKey })).status).toBe(200)
  for (const name of ['keys/revoke', 'token']) {
    const answer = await send(`${url}/console/api/${name}`, { ...ada, body: JSON.stringify({ keyId: 'nothing' }) })
    expect([name, answer.status, answer.body]).toEqual([name, 404, expect.stringContaining('no such key')])
  }
  const visitor = await openSession(`${url}/console`)
  expect((await signIn(visitor, 'ada', 'wrong')).status).toBe(401)
  const guesses = await Promise.all(Array.from({ length: 10 }, () => signIn(visitor, 'nobody', 'guess')))
  expect(guesses.map(({ status }) => status)).toContain(429)

  const told = logged.map((line) => JSON.parse(line)).filter(({ security }) => security === 'console action')
  expect(told.slice(0, 4)).toMatchObject([
    { who: 'lena', role: 'look', action: 'sign-in' },
    { who: 'ada', role: 'act', action: 'sign-in' },
    { who: 'ada', role: 'act', action: 'keys/make' },
    { who: 'ada', action: 'sign-in refused', address: '127.0.0.1', requestId: expect.stringMatching(/./) },
  ])
  expect(logged.join()).not.toMatch(/battery|guess|wrong/)
})

test('a service that is no sandbox asks to sign in, and shows the role look its permitted views', async ({
  visit,
  world,
}) => {
  const { url } = await world.serve('127.0.0.1', [await lineFor('lena', 'look')])
  const page = await visit('/keys', { baseURL: url })
  await page.getByRole('textbox', { name: 'Name' }).fill('lena')
  await page.getByLabel('Password').fill('correct horse battery')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'API keys' }).waitFor()
  await page.getByText('lena (looks)').waitFor()
  expect(await page.getByRole('button', { name: 'Make key' }).count()).toBe(0)
  expect(await page.getByRole('link', { name: 'Faults' }).count()).toBe(0)
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByText(/^Sample people.+ belong to the sandbox, which npx vitalsync sandbox starts/).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Password').waitFor()
})

test('the first load is at most 150 KB compressed', async () => {
  const { files } = await openPageBundle(new URL('../../../src/service/console/browser/', import.meta.url))
  const sizes = [...files.values()].map(({ br }) => br.length)
  expect(sizes.length).toBeGreaterThan(1)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150 * 1024)
})
