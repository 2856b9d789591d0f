import { describe, expect } from 'vitest'
import { json, openSandboxWorld, runner, type SandboxWorld, send, test } from '../service/sandbox/sandbox-world.ts'

const paths = ['/health', '/docs', '/openapi.json', '/metrics', '/api/v1/profile/score', '/__control', '/console']

/** The status of each path for a request with these headers. */
const statuses = async ({ sandbox: { url } }: SandboxWorld, headers: Record<string, string>) =>
  Promise.all(paths.map(async (path) => (await send(url + path, { headers })).status))

const all = (status: number) => paths.map(() => status)

test('a sandbox on loopback answers to names of this machine only, on each path', async ({ world }) => {
  const { port } = new URL(world.sandbox.url)
  const served = [200, 200, 200, 200, 401, 401, 200]

  for (const host of ['127.0.0.1', `localhost:${port}`, 'LOCALHOST', '127.0.0.2', '[::1]:80'])
    expect([host, await statuses(world, { host })]).toEqual([host, served])
  for (const host of [
    'attacker.example',
    `127.0.0.1.attacker.example:${port}`,
    'localhost.attacker.example',
    'localhost.',
    'service',
    '0.0.0.0',
    '192.168.1.7',
    '[::]',
  ])
    expect([host, await statuses(world, { host })]).toEqual([host, all(403)])
})

test('no page of another site reaches a sandbox, but by a link that the visitor follows', async ({ world }) => {
  const { host } = new URL(world.sandbox.url)
  const served = [200, 200, 200, 200, 401, 401, 200]

  expect(await statuses(world, { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' })).toEqual(served)
  for (const origin of ['http://attacker.example', 'null', `http://${host}.attacker.example`, 'http://127.0.0.1:1'])
    expect([origin, await statuses(world, { origin })]).toEqual([origin, all(403)])
  for (const site of ['cross-site', 'same-site']) {
    expect(await statuses(world, { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors' })).toEqual(all(403))
    const link = { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate' }
    expect(await statuses(world, link)).toEqual(served)
    for (const path of ['/api/v1/oauth/account/token', '/__control/tokens/revoke'])
      expect((await send(world.sandbox.url + path, { method: 'POST', headers: link })).status).toBe(403)
  }
})

test('a service worker, which only another server at this port can have left, is removed on each path', async ({
  world,
}) => {
  const headers = { 'service-worker': 'script', 'sec-fetch-site': 'same-origin' }
  for (const path of [...paths, '/worker', '/console/worker', '/console/files/x', '/%ff']) {
    const answer = await send(world.sandbox.url + path, { headers })
    expect([path, answer.headers['clear-site-data']]).toEqual([path, '"storage"'])
  }
})

test('beyond loopback a sandbox answers to addresses, and to the names that are given', async ({ serviceUrl }) => {
  const names = ['service', 'sandbox.example.org']
  const world = await openSandboxWorld({ databaseUrl: serviceUrl, profiles: 1, host: '0.0.0.0', names })
  const statusFor = async (host: string) =>
    (await send(`${world.sandbox.url.replace('0.0.0.0', '127.0.0.1')}/health`, { headers: { host } })).status

  for (const host of ['127.0.0.1', 'localhost', '10.1.2.3:8080', 'service:8080', 'Sandbox.Example.org'])
    expect([host, await statusFor(host)]).toEqual([host, 200])
  for (const host of ['attacker.example', 'services', 'x.service'])
    expect([host, await statusFor(host)]).toEqual([host, 403])
  await world.sandbox.close()
})

describe('the control routes', () => {
  test('take a token, which no key and no token of the interface is', async ({ world }) => {
    const { controlUrl, controlToken, clientSecret, appSecret } = world.sandbox
    const account = await world.accountToken()
    const statusFor = async (authorization: string | undefined, path = '/clock') =>
      (await send(controlUrl + path, authorization === undefined ? {} : { headers: { authorization } })).status

    expect(await statusFor(`Bearer ${controlToken}`)).toBe(200)
    for (const wrong of ['', clientSecret, appSecret, account, controlToken.slice(1), `${controlToken}x`])
      expect(await statusFor(`Bearer ${wrong}`)).toBe(401)
    for (const wrong of [undefined, controlToken, `account ${controlToken}`, `account ${account}`])
      expect(await statusFor(wrong)).toBe(401)
    for (const path of ['', '/journal?last=9', '/people', `/ledger/${runner}`, '/faults', '/derivation'])
      expect([path, await statusFor(undefined, path)]).toEqual([path, 401])
    expect((await send(`${controlUrl}/tokens/revoke`, { method: 'POST' })).status).toBe(401)
    expect((await send(controlUrl, { headers: { authorization: `Bearer ${controlToken}` } })).status).toBe(200)
  })

  test('show sample people only, not the people of an import', async ({ world }) => {
    const { appId, appSecret } = world.sandbox
    const headers = { appid: appId, appsecret: appSecret }
    await world.api('oauth/profile/register/appId', {
      method: 'POST',
      headers,
      body: { externalId: 'imported person' },
    })
    await world.profileToken(runner)
    await world.profileToken('imported person')

    expect((await world.control('GET', '/ledger/imported%20person')).status).toBe(404)
    expect((await world.control('GET', `/ledger/${runner}`)).status).toBe(200)
    const journal = await world.control('GET', '/journal?last=20')
    expect(json(journal).operations.registerByApp).toEqual({ 201: 1 })
    expect(journal.text).toContain(runner)
    expect(journal.text).not.toContain('imported person')
    const [made] = json(await world.control('POST', '/people', { kind: 'newcomer' })).made
    expect((await world.control('GET', `/ledger/${made}`)).status).toBe(200)
  })
})
