import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { MINUTE } from '../../../src/base/time/units.ts'
import { examineUpstream } from '../../../src/pipeline/upstream/examine-upstream.ts'
import { http, type RawRequest, startRawServer } from '../../support/raw-server.ts'

const token = '{"accountToken":"t"}'
const credentials = { clientId: 'id', clientSecret: 'secret' }

async function open(answer: string) {
  const server = await startRawServer(({ socket }) => void socket.write(answer))
  onTestFinished(() => server.close())
  const findings = await examineUpstream({ subject: 'upstream', url: `${server.url}/base/`, ...credentials })
  return { server, findings }
}

test.for<[number, string, string, string]>([
  [200, token, 'well', 'it takes the credentials'],
  [201, token, 'well', 'it takes the credentials'],
  [200, '<html>', 'wrong', 'it answers 200 without a token'],
  [200, '{}', 'wrong', 'it answers 200 without a token'],
  [204, '', 'wrong', 'it answers 204 without a token'],
  [299, token, 'wrong', 'it answers 299 without a token'],
  [300, '', 'unreachable', 'it answers 300'],
  [302, '', 'unreachable', 'it answers 302'],
  [400, '', 'wrong', 'it refuses the credentials (400)'],
  [401, '', 'wrong', 'it refuses the credentials (401)'],
  [403, '', 'wrong', 'it refuses the credentials (403)'],
  [404, '', 'wrong', 'it answers, but is no Profile Service (404)'],
  [429, '', 'unreachable', 'it answers 429'],
  [500, '', 'unreachable', 'it answers 500'],
  [503, '', 'unreachable', 'it answers 503'],
])('an upstream that answers %i %s is %s', async ([status, body, state, text]) => {
  const { findings } = await open(http(status, body))

  expect(findings).toEqual([expect.objectContaining({ subject: 'upstream', state, text })])
  expect(Boolean(findings[0]?.hint)).toBe(state !== 'well')
})

test.for([
  [10 * MINUTE, 'wrong', /^its clock is (600|599)\.\d s ahead/],
  [-10 * MINUTE, 'wrong', /^its clock is (600|599|601)\.\d s behind/],
  [0, 'well', /^its clock is [012]\.\d s /],
] as const)('a clock that is %i ms ahead is %s', async ([aheadMs, state, text]) => {
  const { findings } = await open(http(200, token, [`date: ${new Date(Date.now() + aheadMs).toUTCString()}`]))

  expect(findings[1]).toMatchObject({ state, text: expect.stringMatching(text) })
})

test('it is asked once, with the credentials, below its base address, and its connection is closed', async () => {
  const closed: Array<Promise<unknown>> = []
  const server = await startRawServer(({ socket }: RawRequest) => {
    closed.push(once(socket, 'end'))
    socket.write(http(200, token))
  })
  onTestFinished(() => server.close())
  await examineUpstream({ subject: 'upstream', url: `${server.url}/base/`, ...credentials })
  await Promise.all(closed)

  const [asked] = server.requests
  expect(asked?.head.toLowerCase()).toContain('\r\ncontent-type: application/json\r\n')
  expect(asked?.head.toLowerCase()).toContain('\r\naccept: application/json\r\n')
  expect(server.requests.map(({ head, body }) => [head.split('\r\n')[0], JSON.parse(body)])).toEqual([
    ['POST /base/api/v1/oauth/account/token HTTP/1.1', credentials],
  ])
})

test('an upstream that does not listen is unreachable, and the hint names its setting', async () => {
  const server = await startRawServer(() => undefined)
  await server.close()

  expect(await examineUpstream({ subject: 'upstream', url: server.url, ...credentials })).toEqual([
    {
      subject: 'upstream',
      state: 'unreachable',
      text: `the Profile Service at ${new URL(server.url).host}: nothing listens there`,
      hint: expect.stringContaining('UPSTREAM_URL'),
    },
  ])
})
