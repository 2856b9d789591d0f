import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import rateLimit from '@fastify/rate-limit'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { test as base, expect } from 'vitest'
import { type Passwords, passwordLine, readPasswords } from '../../src/web/passwords.ts'
import { addSessions, addSignIn, csrfTokenOf, isOfItsPage, sessionLimits } from '../../src/web/sessions.ts'

type Visitor = { readonly cookie: string; readonly token: string }

type Page = {
  readonly app: FastifyInstance
  readonly recorded: object[]
  /** Asks for a token, as a page does when it is loaded. */
  load(from: Partial<Visitor> & { remoteAddress?: string }): Promise<Visitor & { status: number; who: string | null }>
  signIn(name: string, visitor: Visitor, remoteAddress: string): Promise<Visitor & { status: number }>
  signOut(visitor: Visitor): Promise<number>
  /** The look at each password lasts until `goOn`. */
  hold(): void
  goOn(): void
}

const actorOf = ({ session }: FastifyRequest) => session.actor

/** A page with sessions, and two people who may sign in. */
const test = base.extend<{ folder: string; passwords: Passwords | undefined; page: Page }>({
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-sessions-'))
    await use(folder)
    await rm(folder, { recursive: true })
  },
  passwords: async ({ folder }, use) => {
    const lines = await Promise.all(['ada', 'eve'].map((name) => passwordLine(name, 'look', 'secret')))
    await writeFile(join(folder, 'passwords'), lines.join('\n'))
    await use(await readPasswords(join(folder, 'passwords'), 'PASSWORDS'))
  },
  page: async ({ passwords }, use) => {
    const app = fastify({ trustProxy: true })
    const recorded: object[] = []
    await addSessions(app, 'page')
    await app.register(rateLimit, { global: false })
    app.get('/api/session', { config: sessionLimits }, async (request) => ({
      who: isOfItsPage(request) ? (actorOf(request)?.name ?? null) : null,
      csrf: csrfTokenOf(request),
    }))
    let looking = Promise.withResolvers<void>()
    looking.resolve()
    const hold = () => {
      looking = Promise.withResolvers()
    }
    addSignIn(app, {
      path: '',
      passwords: passwords && { roleOf: (...given) => looking.promise.then(() => passwords.roleOf(...given)) },
      turnMaxMs: 100,
      record: async (entry) => void recorded.push(entry),
    })
    const load: Page['load'] = async ({ cookie = '', token = '', remoteAddress = '10.0.0.1' }) => {
      const answer = await app.inject({
        url: '/api/session',
        headers: { cookie, 'x-csrf-token': token },
        remoteAddress,
      })
      const { who, csrf } = answer.json()
      return { status: answer.statusCode, who, token: csrf, cookie: cookieOf(answer.headers) ?? cookie }
    }
    const signIn: Page['signIn'] = async (name, { cookie, token }, remoteAddress) => {
      const headers = { cookie, 'x-csrf-token': token }
      const sent = { method: 'POST' as const, url: '/api/sign-in', headers, remoteAddress }
      const answer = await app.inject({ ...sent, payload: { name, password: 'secret' } })
      return { status: answer.statusCode, token: answer.json().csrf, cookie: cookieOf(answer.headers) ?? cookie }
    }
    const signOut: Page['signOut'] = async ({ cookie, token }) => {
      const headers = { cookie, 'x-csrf-token': token }
      return (await app.inject({ method: 'POST', url: '/api/sign-out', headers, payload: {} })).statusCode
    }
    await use({ app, recorded, load, signIn, signOut, hold, goOn: () => looking.resolve() })
    await app.close()
  },
})

const cookieOf = (headers: Record<string, unknown>) =>
  headers['set-cookie'] === undefined ? undefined : String([headers['set-cookie']].flat().at(-1)).split(';')[0]

const addressOf = (number: number) => `10.1.${number >> 8}.${number & 255}`

test('strangers sign nobody out, however many come, and none of them needs a place', async ({ page }) => {
  const first = await page.load({})
  const ada = await page.signIn('ada', await page.load({}), '10.0.0.2')
  for (let number = 0; number < 1100; number += 1) await page.load({ remoteAddress: addressOf(number) })

  expect((await page.load(ada)).who).toBe('ada')
  expect((await page.signIn('eve', first, '10.0.0.3')).status).toBe(200)
})

test('a stranger who asks without end is slowed down, and people who have signed in are not', async ({ page }) => {
  const ada = await page.signIn('ada', await page.load({}), '10.0.0.2')
  const statuses: number[] = []
  for (let number = 0; number < 130; number += 1) statuses.push((await page.load({ remoteAddress: '10.9.9.9' })).status)

  expect(statuses.slice(0, 100)).toEqual(Array(100).fill(200))
  expect(statuses.at(-1)).toBe(429)
  expect((await page.load({ ...ada, remoteAddress: '10.9.9.9' })).who).toBe('ada')
})

test('an IPv6 network is one stranger: who has a whole one may guess no more passwords', async ({ page }) => {
  const visitor = await page.load({})
  const guess = async (address: string) => (await page.signIn('mallory', visitor, address)).status
  for (let number = 0; number < 10; number += 1) expect(await guess(`2001:db8::${number}`)).toBe(401)

  expect(await guess('2001:db8::ffff')).toBe(429)
  expect(await guess('2001:db8:0:1::1')).toBe(401)
})

test('sessions of one person end the oldest of that person, and nobody else’s', async ({ page }) => {
  const eve = await page.signIn('eve', await page.load({}), addressOf(0))
  const sessions: Visitor[] = []
  for (let number = 1; number <= 22; number += 1)
    sessions.push(await page.signIn('ada', await page.load({ remoteAddress: addressOf(number) }), addressOf(number)))
  const loaded = await Promise.all([eve, ...sessions].map(page.load))

  expect(loaded.map(({ who }) => who)).toEqual(['eve', null, null, ...Array(20).fill('ada')])
})

test('a token belongs to its cookie, and ends with the sign-in', async ({ page }) => {
  const [one, other] = [await page.load({}), await page.load({})]
  expect((await page.signIn('ada', { cookie: one.cookie, token: other.token }, addressOf(0))).status).toBe(403)
  expect((await page.signIn('ada', { cookie: '', token: one.token }, addressOf(0))).status).toBe(403)
  const ada = await page.signIn('ada', one, addressOf(1))
  const both = `${one.cookie}; ${ada.cookie}`
  expect(await page.signOut({ cookie: both, token: one.token })).toBe(403)
  expect(await page.signOut({ cookie: both, token: ada.token })).toBe(200)
})

test('the cookie alone, which browsers send to other ports of the host too, opens no session', async ({ page }) => {
  const stranger = await page.load({})
  const ada = await page.signIn('ada', stranger, addressOf(0))
  const cookie = `${stranger.cookie}; ${ada.cookie}`
  for (const token of ['', stranger.token, 'x'.repeat(43)]) {
    const found = await page.load({ cookie, token })
    expect([found.who, found.token]).toEqual([null, stranger.token])
  }

  expect((await page.load({ cookie, token: ada.token })).who).toBe('ada')
  // A browser that has lost the token, and not the cookie.
  expect((await page.signIn('eve', { cookie, token: stranger.token }, addressOf(1))).status).toBe(200)
})

test('a password file to which other users may write lets nobody in', async ({ folder }) => {
  const file = join(folder, 'writable')
  await writeFile(file, await passwordLine('mallory', 'act', 'secret'))
  await chmod(file, 0o646)

  await expect(readPasswords(file, 'PASSWORDS')).rejects.toThrow('read PASSWORDS: other users may write to it')
})

test('a refused sign-in is recorded with its address and the id of its request', async ({ page }) => {
  await page.signIn('mallory', await page.load({}), '203.0.113.7')
  expect(page.recorded).toMatchObject([
    { who: 'mallory', action: 'sign-in refused', address: '203.0.113.7', requestId: expect.stringMatching(/./) },
  ])
})

test('a cookie of our name that another port of the host adds keeps nobody out', async ({ page }) => {
  const stranger = await page.load({})
  const ada = await page.signIn('ada', stranger, addressOf(0))
  const added = [stranger, ada].map(({ cookie }) => cookie.replace(/=.*/, '=x'))
  const empty = stranger.cookie.replace(/=.*/, '=')
  const all = [...added, stranger.cookie, ada.cookie].join('; ')

  expect((await page.load({ cookie: all, token: ada.token })).who).toBe('ada')
  expect((await page.signIn('ada', { cookie: all, token: ada.token }, addressOf(1))).status).toBe(200)
  expect((await page.signIn('ada', await page.load({ cookie: empty }), addressOf(2))).status).toBe(200)
})

test('over https each cookie has a name that no other host of the domain can set', async ({ page: { app } }) => {
  const https = { host: 'dash.example.org', 'x-forwarded-proto': 'https' }
  const loaded = await app.inject({ url: '/api/session', headers: https })
  const headers = { ...https, cookie: cookieOf(loaded.headers) ?? '', 'x-csrf-token': loaded.json().csrf }
  const payload = { name: 'ada', password: 'secret' }
  const entered = await app.inject({ method: 'POST', url: '/api/sign-in', headers, payload })

  expect(entered.statusCode).toBe(200)
  for (const answer of [loaded, entered])
    expect(String(answer.headers['set-cookie'])).toMatch(
      /^__Host-page-[^;]*; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    )
  const cookie = cookieOf(entered.headers) ?? ''
  const leaving = { ...https, cookie, 'x-csrf-token': entered.json().csrf }
  expect((await app.inject({ url: '/api/session', headers: leaving })).json().who).toBe('ada')
  await app.inject({ method: 'POST', url: '/api/sign-out', headers: leaving, payload: {} })
  const left = await app.inject({ url: '/api/session', headers: leaving })
  // Without Secure a browser keeps a cookie of such a name that is to be deleted.
  expect(left.headers['set-cookie']).toContainEqual(
    expect.stringMatching(/^__Host-page-https=; Max-Age=0; Path=\/;.*; Secure/),
  )
})

test('each cookie is for requests of the page itself, on plain http too', async ({ page: { app } }) => {
  const loaded = await app.inject({ url: '/api/session' })
  const headers = { cookie: cookieOf(loaded.headers) ?? '', 'x-csrf-token': loaded.json().csrf }
  const payload = { name: 'ada', password: 'secret' }
  const entered = await app.inject({ method: 'POST', url: '/api/sign-in', headers, payload })

  expect(entered.statusCode).toBe(200)
  for (const answer of [loaded, entered]) expect(String(answer.headers['set-cookie'])).toMatch(/; SameSite=Strict/)
})

test('guesses from many addresses are looked at one at a time, and who waits too long is refused', async ({ page }) => {
  const [first, second] = [await page.load({}), await page.load({})]
  page.hold()
  const looked = page.signIn('ada', first, '10.0.0.2')
  expect((await page.signIn('eve', second, '10.0.0.3')).status).toBe(503)
  page.goOn()
  expect((await looked).status).toBe(200)
  expect((await page.signIn('eve', second, '10.0.0.3')).status).toBe(200)
})

test.extend({ passwords: async ({}, use) => use(undefined) })(
  'a page without passwords refuses each sign-in at once',
  async ({ page }) => {
    for (const name of ['ada', 'eve'])
      expect((await page.signIn(name, await page.load({}), '10.0.0.2')).status, name).toBe(401)
  },
)
