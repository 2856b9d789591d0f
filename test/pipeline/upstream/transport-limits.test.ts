import { expect, onTestFinished, test } from 'vitest'
import { type HttpRequest, transportDefaults } from '../../../src/pipeline/upstream/http.ts'
import { openTransport } from '../../../src/pipeline/upstream/transport.ts'
import { http, type RawRequest, startRawServer } from '../../support/raw-server.ts'

const request: HttpRequest = { method: 'GET', path: '/', headers: [] }
/** Longer than any test waits: only the one limit that a test shortens may end an exchange. */
const patient = {
  ...transportDefaults,
  connectTimeoutMs: 1e8,
  headersTimeoutMs: 1e8,
  bodyTimeoutMs: 1e8,
  totalTimeoutMs: 1e8,
}

async function open(limits: Partial<typeof transportDefaults>, answer: (request: RawRequest) => void, scheme = 'http') {
  const server = await startRawServer(answer)
  const transport = openTransport(server.url.replace('http', scheme), { ...patient, ...limits })
  onTestFinished(async () => {
    await transport.close()
    await server.close()
  })
  return { server, send: () => transport.send(request).catch((error: unknown) => error) }
}

const half: (request: RawRequest) => void = ({ socket }) =>
  void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n[')
const silent = () => undefined

test.for<[string, Partial<typeof transportDefaults>, (request: RawRequest) => void, string, object]>([
  [
    'a connection',
    { connectTimeoutMs: 50 },
    silent,
    'https',
    {
      kind: 'unsent',
      code: 'UND_ERR_CONNECT_TIMEOUT',
      cause: expect.objectContaining({ message: expect.stringContaining('timeout: 50ms') }),
    },
  ],
  ['a head', { headersTimeoutMs: 50 }, silent, 'http', { kind: 'lost', code: 'UND_ERR_HEADERS_TIMEOUT' }],
  ['the next piece of a body', { bodyTimeoutMs: 50 }, half, 'http', { kind: 'lost', code: 'UND_ERR_BODY_TIMEOUT' }],
  ['the whole answer', { totalTimeoutMs: 50 }, half, 'http', { kind: 'lost', code: 'total timeout' }],
])('%s has its own time', async ([, limits, answer, scheme, expected]) => {
  const { send } = await open(limits, answer, scheme)

  expect(await send()).toMatchObject(expected)
})

test('no more connections are opened than the limit says, and no request waits behind another on its connection', async () => {
  const held: RawRequest[] = []
  const { send, server } = await open({ connectionsMax: 3 }, (request) => void held.push(request))
  const answers = Array.from({ length: 7 }, send)
  await expect.poll(() => held.length).toBe(3)
  expect(new Set(server.requests.map(({ socket }) => socket)).size).toBe(3)
  for (let answered = 0; answered < 7; answered += 1) {
    await expect.poll(() => held.length).toBeGreaterThan(0)
    held.shift()?.socket.write(http(200, '[]'))
  }

  expect((await Promise.all(answers)).map((answer) => (answer as { status: number }).status)).toEqual(
    Array(7).fill(200),
  )
  expect(new Set(server.requests.map(({ socket }) => socket)).size).toBe(3)
})

test('a request that cannot be made is one that upstream never saw', async () => {
  const transport = openTransport('http://127.0.0.1:1', transportDefaults)
  onTestFinished(() => transport.close())
  const sent = transport.send({ ...request, path: 'no path' }).catch((error: unknown) => error)

  expect(await sent).toMatchObject({ kind: 'unsent', code: 'UND_ERR_INVALID_ARG' })
})
