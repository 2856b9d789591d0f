import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../src/base/log.ts'
import { cleanHar, parseHar } from '../../../src/operations/contract/clean-har.ts'
import { replayHar } from '../../../src/operations/contract/replay-har.ts'
import { startSandbox } from '../../../src/service/start-sandbox.ts'
import { test as pipelineTest, template, within } from '../../support/fixtures.ts'
import { openTestPipeline } from '../../support/test-pipeline.ts'

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
const score = {
  id: 'aaaaaaaa-bbbb-4ccc-8ddd-plant0000001',
  type: 'sleep',
  state: 'plant-state',
  scoreDateTime: '2026-03-02T00:00:00+01:00',
  value: 73519735.7351,
  kept_name: { '2026-03-02': 'plant-by-date', plant4711: true },
  factors: [{ name: 'sleep_duration', unit: 'minute', value: 431943194 }],
}
const entry = (path: string, more: object = {}, content: object = {}) => ({
  startedDateTime: '2026-03-03T07:08:09.123Z',
  pageref: 'plant-page',
  serverIPAddress: '10.9.8.7',
  comment: 'plant-comment',
  request: {
    method: 'GET',
    url: `https://${['plant-user', 'plant-password'].join(':')}@plant-host.example${path}`,
    headers: [{ name: 'Authorization', value: 'Bearer plant-token' }],
    cookies: [{ name: 'plant-cookie-name', value: 'plant-cookie' }],
    queryString: [{ name: 'plant-query-name', value: 'plant-query' }],
    postData: {
      mimeType: 'x',
      text: JSON.stringify({ clientSecret: 'plant-secret' }),
      params: [{ name: 'plant-param', value: 'plant' }],
    },
  },
  response: {
    status: 200,
    statusText: 'plant-status',
    headers: [
      { name: 'Set-Cookie', value: 'plant-set-cookie' },
      { name: 'ETag', value: '"plant-tag"' },
      { name: 'x-plant', value: 'plant-header' },
      { name: 'content-type', value: 'application/json; plant=plant' },
      { name: 'retry-after', value: '7' },
      { name: 'Link', value: '<https://plant-host.example/api/v1/profile/tag/plant-person?page=2>; rel="next"' },
      { name: 'derivation-state', value: 'plant-state' },
    ],
    redirectURL: 'https://plant-redirect',
    content: content,
    ...more,
  },
})
const scorePath =
  '/api/v1/profile/score/plant-person?startDateTime=2026-03-01T00%3A00%3A00Z&types=sleep&plant-a=plant%20b'
const session = {
  log: {
    version: '1.2',
    pages: [{ title: 'plant-title', id: 'plant-page' }],
    browser: { name: 'plant-browser' },
    entries: [
      entry(
        scorePath,
        {},
        {
          mimeType: 'plant/plant',
          text: JSON.stringify([score, { ...score, scoreDateTime: '2026-03-09T00:00:00+01:00' }]),
        },
      ),
      entry(
        '/api/v1/profile/tag/plant-person',
        {},
        { text: base64([{ name: 'sleep', value: 'plant-tag-value', type: 'event' }]), encoding: 'base64' },
      ),
      entry('/plant/path#plant-hash', { status: 404 }, { text: '<html>plant-html</html>' }),
      entry(
        '/api/v1/oauth/account/token',
        {},
        { text: JSON.stringify({ accessToken: 'plant-access', expiresIn: 360093600 }) },
      ),
    ],
  },
}

const clean = () => JSON.stringify(cleanHar(parseHar(JSON.stringify(session), 'clean')))

// Planted numbers are long: a short one would also stand in the words of chance that take their places.
test('nothing that was planted in any place of a recorded session is in the clean one', () => {
  const text = clean()

  expect(text).not.toMatch(/plant|10\.9\.8|73519735|431943194|2026-03|360093600|"sleep_stage/i)
  const decoded = [...text.matchAll(/[A-Za-z0-9+/=]{16,}/g)].map(([part]) => Buffer.from(part, 'base64').toString())
  expect(decoded.join('\n')).not.toContain('plant')
  for (const kept of [
    '/api/v1/profile/score/',
    'types=sleep',
    'kept_name',
    'sleep_duration',
    'minute',
    'retry-after',
    'expiresIn',
  ])
    expect(text).toContain(kept)
})

test('a clean session keeps what is equal equal, and dates in order and at their distance', () => {
  const { log } = parseHar(clean(), 'read')
  const [first, tag] = log.entries.map(({ request }) => new URL(request.url).pathname.split('/').at(-1))
  const records: Array<Record<string, string>> = JSON.parse(log.entries[0]?.response.content.text ?? '')
  const [early = '', late = ''] = records.map(({ scoreDateTime }) => String(scoreDateTime))

  expect(first).toBe(tag)
  const links = log.entries.map(({ response }) => response.headers.find(({ name }) => name === 'link')?.value)
  expect(links[0]).toBe(`</api/v1/profile/tag/${tag}?page=2>; rel="next"`)
  expect(early).toMatch(/T00:00:00\+01:00$/)
  expect(Date.parse(late) - Date.parse(early)).toBe(7 * 86_400_000)
  expect(records[0]?.['id']).toBe(records[1]?.['id'])
  // A word of a tag may speak of a person, whatever the specification of scores says of it.
  expect(log.entries[1]?.response.content.text).not.toContain('sleep')
  expect(clean()).not.toBe(clean())
})

test('a recorded session is served by method, path and query, and what was not recorded is named', async () => {
  const twice = {
    log: { entries: [...session.log.entries, entry('/api/v1/profile/tag/plant-person', { status: 204 })] },
  }
  const unknown: string[] = []
  const replay = await replayHar(parseHar(JSON.stringify(twice), 'replay'), {
    port: 0,
    onUnknown: (key) => unknown.push(key),
  })
  onTestFinished(() => replay.close())

  const other = new URL(scorePath, replay.url)
  other.searchParams.delete('types')
  other.searchParams.append('types', 'sleep')
  const scores = await fetch(other)
  expect(scores.headers.get('etag')).toBe('"plant-tag"')
  expect(scores.headers.get('set-cookie')).toBe(null)
  expect(await scores.json()).toMatchObject([score, {}])
  const statuses = []
  for (let turn = 0; turn < 3; turn += 1)
    statuses.push((await fetch(`${replay.url}/api/v1/profile/tag/plant-person`)).status)
  expect(statuses).toEqual([200, 204, 204])

  const missing = await fetch(`${replay.url}/api/v1/profile/score/plant-person?types=wellbeing`)
  expect(missing.status).toBe(404)
  expect(await missing.json()).toMatchObject({
    title: expect.stringContaining('not recorded: GET /api/v1/profile/score/'),
  })
  expect(await fetch(new URL(scorePath, replay.url), { method: 'DELETE' })).toMatchObject({ status: 404 })
  expect(unknown).toHaveLength(2)
})

test('a file that is no recorded session is refused without a word of it', () => {
  for (const text of ['plant', '{"log":{"entries":[{"plant":1}]}}', '[]'])
    expect(() => parseHar(text, 'clean')).toThrow(/^clean: the file is no HTTP archive$/)
})

/** Passes requests on to a sandbox, and keeps them with their answers as a proxy saves them. */
async function startRecorder(upstream: string) {
  const entries: object[] = []
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '/', headers } = request
    const sent = await buffer(request)
    const forwarded = ['authorization', 'content-type', 'accept'].flatMap((name) =>
      headers[name] ? [[name, String(headers[name])] as [string, string]] : [],
    )
    const body = sent.length > 0 ? { body: sent } : {}
    const answer = await fetch(upstream + url, { method, headers: forwarded, ...body })
    const text = await answer.text()
    const received = [...answer.headers].filter(([name]) => !/^(content-|transfer-|connection|keep-)/.test(name))
    entries.push({
      request: { method, url: upstream + url },
      response: {
        status: answer.status,
        headers: received.map(([name, value]) => ({ name, value })),
        content: { text },
      },
    })
    response.writeHead(answer.status, Object.fromEntries(received)).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { entries, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } // of a server that listens on TCP
}

const streamTables = ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons', 'tags']

async function syncFrom(
  databaseUrl: string,
  upstream: { url: string; clientId?: string; clientSecret?: string },
  person: string,
) {
  const settings = { HISTORY_DAYS: '3600' }
  const line = await openTestPipeline({ warehouseUrl: databaseUrl, queueUrl: databaseUrl, upstream, settings })
  onTestFinished(() => line.close())
  await line.addProfiles(person)
  line.work()
  await line.tick('nightly')
  await line.idle()
  const counted = streamTables.map((name) => `select '${name}' as name, count(*)::int from vitalsync.${name}`)
  return {
    rows: await line.rows(counted.join(' union all ')),
    drift: await line.rows('select distinct stream, what, path, detail from vitalsync.drift_people order by 1, 2, 3'),
    left: await line.rows('select stream, reason from vitalsync.quarantine'),
  }
}

pipelineTest(
  'a recorded sync, cleaned and served, is synced to as many rows and no drift',
  { timeout: 120_000 },
  async ({ warehouseUrl }) => {
    await within('template0', async (serviceUrl) => {
      const log = createLog({ level: 'silent' })
      const sandbox = await startSandbox({ databaseUrl: serviceUrl, port: 0, profiles: 1, days: 20, seed: 'har', log })
      onTestFinished(() => sandbox.close())
      await sandbox.derived()
      const recorder = await startRecorder(sandbox.url)
      const { clientId, clientSecret } = sandbox
      const person = 'SampleProfile-office-worker-1'
      const recorded = await syncFrom(warehouseUrl, { url: recorder.url, clientId, clientSecret }, person)
      expect(recorded.rows.find(({ name }) => name === 'scores')?.['count']).toBeGreaterThan(20)

      const file = JSON.stringify(cleanHar(parseHar(JSON.stringify({ log: { entries: recorder.entries } }), 'clean')))
      expect(file).not.toContain(person)
      const unknown: string[] = []
      const replay = await replayHar(parseHar(file, 'replay'), { port: 0, onUnknown: (key) => unknown.push(key) })
      onTestFinished(() => replay.close())
      const [, name = ''] = /\/profile\/score\/([^?"/]+)/.exec(file) ?? []
      await within(await template('warehouse'), async (url) => {
        expect(await syncFrom(url, replay, decodeURIComponent(name))).toEqual({
          rows: recorded.rows,
          drift: [],
          left: [],
        })
      })
      expect(unknown).toEqual([])
    })
  },
)
