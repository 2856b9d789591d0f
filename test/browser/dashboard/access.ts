import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { expect } from 'vitest'
import { createLog } from '../../../src/base/log.ts'
import { openPageBundle } from '../../../src/web/page-bundle.ts'
import { forwardedHeaders, openSession, readSession, send } from '../send.ts'
import { test } from './dashboard-world.ts'
import { serveWithPasswords } from './visitor.ts'

/** Passes every guard: the cause itself is unknown. */
const retry = JSON.stringify({ cause: '0'.repeat(32) })

test('on loopback only names of this machine are answered, and no proxy', async ({ world: { url } }) => {
  const foreign = await readSession(url, { host: 'attacker.example', origin: 'http://attacker.example' })
  const rebound = await send(`${url}/`, { host: `127.0.0.1.attacker.example:${new URL(url).port}` })

  expect([foreign.status, rebound.status]).toEqual([403, 403])
  expect((await send(`${url}/`, { host: 'localhost:1' })).status).toBe(200)
  for (const name of forwardedHeaders) {
    const { status, body } = await readSession(url, { [name]: '203.0.113.7' })
    expect([name, status, body]).toEqual([name, 403, expect.stringContaining('DASHBOARD_PASSWORD_FILE')])
  }
})

test('a whole address as target is refused, and is no fault of the page', async ({ world: { url } }) => {
  const { hostname, port } = new URL(url)
  const status = await new Promise((resolve) =>
    request({ hostname, port, path: `${url}/api/session` }, ({ statusCode }) => resolve(statusCode)).end(),
  )
  expect(status).toBe(400)
})

test('an address that is no text is refused with the headers of every answer', async ({ world: { url } }) => {
  for (const path of ['/%ff', '/api/%c3%28', '/people/%']) {
    const { status, headers, body } = await send(url + path)
    expect([path, status, body]).toEqual([path, 400, expect.not.stringContaining(path)])
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
    })
  }
})

test('cookies that are too large are refused with the headers of every answer, and the way out', async ({
  world: { url },
}) => {
  const { status, headers, body } = await send(`${url}/`, { cookie: 'x'.repeat(20_000) })
  expect([status, body]).toEqual([431, expect.stringContaining('delete them in the browser')])
  expect(headers).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
  })
})

test('a character that no text has is a fault of the request, wherever it stands', async ({ world: { url } }) => {
  const session = await openSession(url)
  const asked: Array<[string, object]> = [
    ['people', { search: 'a\0' }],
    ['audit', { who: '\0' }],
    ['runs', { kind: '\0' }],
    ['question', { sql: "select '\0'" }],
    ['failures/retry', { ids: ['x', '\0'] }],
  ]
  const ask = ([name, query]: [string, object]) =>
    send(`${url}/api/${name}`, { ...session, body: JSON.stringify(query) })
  const answers = await Promise.all(asked.map(ask))
  expect(answers.map(({ status }) => status)).toEqual(asked.map(() => 400))
  expect(answers.map(({ body }) => body)).toEqual(asked.map(() => expect.stringContaining('a character')))
})

test('a day outside the centuries of health data is a fault of the request, which names it', async ({
  world: { url },
}) => {
  const session = await openSession(url)
  const day = '2026-01-01'
  const about = { stream: 'scores', profileId: '1', profileIds: '1', score: 'sleep', again: 'false' }
  const rows = { stream: 'scores', from: 0, count: 1, days: 1 }
  const asked: Array<[name: string, culprit: string, query: object]> = [
    ['coverage', 'lastDay', rows],
    ['why', 'date', { profileId: '1' }],
    ['person/explanation', 'date', { profileId: '1', score: 'sleep' }],
    ['person/day-scores', 'date', { profileId: '1' }],
    ['coverage/plan', 'fromDay', { ...about, toDay: day }],
    ['coverage/plan', 'toDay', { ...about, fromDay: day }],
    ['coverage/backfill', 'fromDay', { stream: 'scores', profileIds: ['1'], toDay: day, again: false }],
    ['coverage/backfill', 'toDay', { stream: 'scores', profileIds: ['1'], fromDay: day, again: false }],
  ]
  for (const [name, culprit, query] of asked)
    for (const wrong of ['0000-01-01', '0001-01-01', '1899-12-31', '2200-01-01', '9999-12-31', '2026-02-29', 'today']) {
      const { status, body } = await send(`${url}/api/${name}`, {
        ...session,
        body: JSON.stringify({ ...query, [culprit]: wrong }),
      })
      expect([name, culprit, wrong, status, body]).toEqual([
        ...[name, culprit, wrong, 400],
        expect.stringContaining(`"hint":"${culprit}: must be a day such as 2026-07-11, from 1900 to 2199"`),
      ])
    }
})

test('an action on what does not exist is refused with the reason, and leaves no line in the audit', async ({
  world,
}) => {
  const session = await openSession(world.url)
  const nobody = '999999999'
  const cause = '0'.repeat(32)
  const day = '2026-01-01'
  const ended = await world.pipeline.runs.create('backfill', {})
  await world.pipeline.runs.end(ended.id, 'stopped')
  const acts: Array<[string, object, number, RegExp]> = [
    ['run/stop', { runId: nobody }, 404, /no run has this id/],
    ['run/stop', { runId: ended.id }, 400, /is stopped/],
    ['run/go-on', { runId: nobody }, 404, /no run has this id/],
    ['failures/retry', { cause }, 404, /none of these is recorded/],
    ['failures/retry', { ids: [`job:${nobody}:sync-profile`] }, 404, /none of these is recorded/],
    ['failures/discard', { cause }, 404, /none of these is recorded/],
    ['failures/discard', { ids: ['nothing'] }, 404, /none of these is recorded/],
    ['quarantine/replay', { cause }, 404, /none of these is in quarantine/],
    ['quarantine/replay', { ids: [nobody] }, 404, /none of these is in quarantine/],
    ['quarantine/discard', { cause }, 404, /none of these is in quarantine/],
    ['quarantine/discard', { ids: [nobody] }, 404, /none of these is in quarantine/],
    ['person/erase', { profileId: nobody }, 404, /nobody has this id/],
    [
      'coverage/backfill',
      { stream: 'scores', profileIds: [nobody], fromDay: day, toDay: day, again: false },
      404,
      /nobody has one of these ids/,
    ],
  ]
  const countLines = () => world.rows('select count(*)::int as lines from warehouse.audit')
  const before = await countLines()
  for (const [name, body, status, reason] of acts) {
    const answer = await send(`${world.url}/api/${name}`, { ...session, body: JSON.stringify(body) })
    expect([name, answer.status, answer.body]).toEqual([name, status, expect.stringMatching(reason)])
  }
  expect(await countLines()).toEqual(before)
})

test('a change needs the page’s own origin, a session and its token', async ({ world: { url } }) => {
  const session = await openSession(url)
  const sendRetry = (changes: Record<string, string>) =>
    send(`${url}/api/failures/retry`, { ...session, body: retry, ...changes }).then(({ status }) => status)

  expect(await sendRetry({})).toBe(404)
  expect(await sendRetry({ origin: 'http://attacker.example' })).toBe(403)
  expect(await sendRetry({ origin: '' })).toBe(403)
  expect(await sendRetry({ 'x-csrf-token': '' })).toBe(403)
  expect(await sendRetry({ 'x-csrf-token': 'x'.repeat(43) })).toBe(403)
  expect(await sendRetry({ cookie: '' })).toBe(403)
})

const questions = {
  question: { sql: 'select 1' },
  people: { search: 'ada' },
  'person/values': { profileId: '1' },
  'person/explanation': { profileId: '1', date: '2026-03-01', score: 'sleep' },
  'quarantine/record': { id: '1' },
}

test('no page of another site asks anything: not by a link, a picture, a form or a script', async ({ world }) => {
  const { url } = world
  const session = await openSession(url)
  await send(`${url}/api/session`, { ...session, body: JSON.stringify({ values: true }) })
  const audited = () => world.rows('select 1 from warehouse.audit')
  const before = await audited()

  for (const [name, query] of Object.entries(questions)) {
    const body = JSON.stringify(query)
    const statusOf = (path: string, headers: Record<string, string>) =>
      send(`${url}/api/${path}`, headers).then(({ status }) => status)
    expect(await statusOf(`${name}?${new URLSearchParams(query)}`, { cookie: session.cookie }), name).toBe(403)
    expect(await statusOf(name, { ...session, body, 'x-csrf-token': '' }), name).toBe(403)
    expect(await statusOf(name, { ...session, body, origin: 'http://attacker.example' }), name).toBe(403)
    expect(await statusOf(name, { ...session, body, 'content-type': 'text/plain', 'x-csrf-token': '' })).toBe(403)
    for (const site of ['cross-site', 'same-site', 'none'])
      expect(await statusOf(name, { ...session, body, 'sec-fetch-site': site }), `${name} ${site}`).toBe(403)
  }
  expect(await audited()).toEqual(before)

  const sites = ['cross-site', 'same-site', 'none', 'same-origin']
  const looks = (path: string, headers = {}) =>
    Promise.all(sites.map(async (site) => (await send(url + path, { ...headers, 'sec-fetch-site': site })).status))
  for (const path of ['/api/session/read', '/%61pi/session/read']) {
    expect(await looks(path, { ...session, body: '{}' })).toEqual([403, 403, 403, 200])
    expect((await send(url + path, { ...session, body: '{}' })).headers['cache-control'], path).toBe('no-store')
  }
  expect(await looks('/questions')).toEqual([200, 200, 200, 200])
  const own = { ...session, body: JSON.stringify(questions.people), 'sec-fetch-site': 'same-origin' }
  expect((await send(`${url}/api/people`, own)).status).toBe(200)
})

test('a page of another site that floods a dashboard keeps nobody from signing in', async ({ world }) => {
  const { url } = await serveWithPasswords(world)
  // Browsers send no Sec-Fetch-Site to an address of plain http beyond loopback, and no Origin for a picture.
  for (let number = 0; number < 130; number += 1) {
    const headers: Record<string, string> = number % 2 === 0 ? {} : { origin: 'http://attacker.example' }
    expect((await send(`${url}/api/session/read`, headers)).status).toBe(403)
    expect((await send(`${url}/api/session`, headers)).status).toBe(403)
  }
  expect((await readSession(url)).status).toBe(200)
})

test('a visitor who goes away gives back the place of the question, and is no fault in the log', async ({
  world: { serve, rows },
}) => {
  const lines: string[] = []
  const { url } = await serve(
    {},
    { log: createLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } }) },
  )
  const visit = await openSession(url)
  const { headers } = await send(`${url}/api/session`, { ...visit, body: JSON.stringify({ values: true }) })
  const session = { ...visit, cookie: `${visit.cookie}; ${headers['set-cookie']?.[0]?.split(';')[0]}` }
  const ask = (sql: string, signal?: AbortSignal) =>
    send(`${url}/api/question`, { ...session, body: JSON.stringify({ sql }) }, signal)
  const sleeping = () => rows(`select 1 from pg_stat_activity where application_name = 'vitalsync question'`)
  const visitor = new AbortController()
  const asked = ['select pg_sleep(18)', 'select pg_sleep(19)'].map((sql) => ask(sql, visitor.signal))
  await expect.poll(sleeping).toHaveLength(2)

  visitor.abort()

  await Promise.allSettled(asked)
  const startedAtMs = performance.now()
  expect((await ask('select 1')).body).toContain('[[1]]')
  expect(performance.now() - startedAtMs).toBeLessThan(5000)
  expect(lines).toEqual([])
})

test('a request that trickles in is ended, whether it stops in its head or in its body', async ({ world }) => {
  const { url } = await world.serve({}, { requestTimeoutMs: 300 })
  const { hostname, port, host, origin } = new URL(url)
  const body = `POST /api/people HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\nContent-Length: 100\r\n\r\n{`

  for (const start of ['GET / HTTP/1.1\r\nHost', body]) {
    const socket = connect(Number(port), hostname, () => socket.write(start))
    socket.resume()
    await once(socket, 'close')
  }
  expect((await send(`${url}/`)).status).toBe(200)
})

test('no page runs scripts or styles of others, and none is framed', async ({ world: { url } }) => {
  const { headers } = await send(`${url}/failures`)

  expect(headers['content-security-policy']).toContain("script-src 'self'; style-src 'self'")
  expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
  expect(headers['content-security-policy']).not.toContain('unsafe')
})

test('beyond loopback it does not start unless it asks who people are', async ({ world }) => {
  await expect(world.serve({}, { host: '0.0.0.0' })).rejects.toThrow(/nobody would be asked who they are/)
  await expect(world.serve({ DASHBOARD_TRUSTED_HEADER: 'x-user' })).rejects.toThrow(/needs TRUSTED_PROXIES/)
})

test('a visitor who only looks may not act; guesses are limited, and recorded', async ({ world }) => {
  const { url } = await serveWithPasswords(world)
  const visitor = await openSession(url)
  expect((await send(`${url}/api/now`, { ...visitor, body: '{}' })).status).toBe(401)
  const signIn = (name: string, password: string) =>
    send(`${url}/api/sign-in`, { ...visitor, body: JSON.stringify({ name, password }) })

  expect((await signIn('ada', 'wrong')).status).toBe(401)
  const entered = await signIn('ada', 'correct horse battery')
  const cookie = entered.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  expect(entered.headers['set-cookie']?.[0]).toMatch(/HttpOnly; SameSite=Strict$/)
  const session = { ...visitor, cookie, 'x-csrf-token': JSON.parse(entered.body).csrf }
  expect((await send(`${url}/api/now`, { ...session, body: '{}' })).status).toBe(200)
  expect((await send(`${url}/api/failures/retry`, { ...session, body: retry })).status).toBe(403)
  expect((await send(`${url}/api/audit`, { ...session, body: '{}' })).body).toContain('people who may act')

  const guesses = Array.from({ length: 10 }, () => signIn('nobody', 'guess'))
  expect((await Promise.all(guesses)).map(({ status }) => status)).toContain(429)
  expect(await world.rows(`select action from warehouse.audit where who = 'ada' order by at`)).toEqual([
    { action: 'sign-in refused' },
    { action: 'sign-in' },
  ])
})

test('a proxy’s header is believed from that proxy only; of a proxy on this machine the start warns', async ({
  world,
}) => {
  const settings = { DASHBOARD_TRUSTED_HEADER: 'x-user', DASHBOARD_ACTORS: 'ada' }
  const lines: string[] = []
  const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } })
  const beside = await world.serve({ ...settings, TRUSTED_PROXIES: '10.9.8.7' }, { log })
  expect(lines).toEqual([])
  const behind = await world.serve({ ...settings, TRUSTED_PROXIES: 'loopback' }, { log })
  expect(lines).toEqual([expect.stringContaining('each program of this machine')])
  const actorOf = async (url: string, name: string) =>
    JSON.parse((await readSession(url, { 'x-user': name })).body).actor

  expect(await actorOf(behind.url, 'ada')).toEqual({ name: 'ada', role: 'act' })
  expect(await actorOf(behind.url, 'eve')).toEqual({ name: 'eve', role: 'look' })
  expect(await actorOf(beside.url, 'ada')).toBe(null)
})

test('a visitor who makes sessions without end changes no switch of another visitor', async ({ world }) => {
  const { url } = await world.serve({ DASHBOARD_TRUSTED_HEADER: 'x-user', TRUSTED_PROXIES: 'loopback' })
  const visitor = await openSession(url)
  const mask = (name: string) =>
    send(`${url}/api/session`, { ...visitor, 'x-user': name, body: JSON.stringify({ masked: true }) })
  const ida = (await mask('ida')).headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  for (let number = 0; number < 1100; number += 1) await mask('eve')

  const { body } = await readSession(url, { 'x-user': 'ida', cookie: `${visitor.cookie}; ${ida}` })
  expect(JSON.parse(body)).toMatchObject({ actor: { name: 'ida' }, masked: true })
})

test('the first load is at most 150 KB compressed', async () => {
  const { files, script, style } = await openPageBundle(new URL('../../../src/dashboard/browser/', import.meta.url))
  const loaded = [...files.values()].filter(({ name }) => [script, style].includes(name) || name.startsWith('chunk'))

  expect(loaded.length).toBeGreaterThan(1)
  expect(loaded.reduce((sum, { br }) => sum + br.length, 0)).toBeLessThan(150 * 1024)
})
