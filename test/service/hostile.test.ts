import { connect, type Socket } from 'node:net'
import { deflateSync, gzipSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import { test as base, soon } from '../support/fixtures.ts'
import { call, originsOf, registerProfile, type ServiceWorld, stepsLog, test, withService } from './service-world.ts'

const upload = '/api/v1/profile/data/log'

const post = async (world: ServiceWorld, raw: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  call(world, upload, { method: 'POST', auth: (await registerProfile(world)).auth, raw, headers })

describe('a body', () => {
  test.for([
    ['half an array', '[{"id":'],
    ['nothing', ''],
    ['white space', '   \n'],
    ['a comment', '[/* */]'],
    ['single quotes', "[{'a':1}]"],
    ['NaN', '[{"value":NaN}]'],
    ['two documents', '[][]'],
    ['a trailing comma', '[1,]'],
    ['a byte order mark of UTF-16', '\ufeff\ufeff[]'],
    ['XML', '<a/>'],
    ['an unclosed string', '["'],
    ['a backslash at the end', '["\\'],
  ])('of %s is refused', async ([, raw], { world }) => {
    expect((await post(world, raw as string)).status).toBe(400)
  })

  test('that is not UTF-8 is refused', async ({ world }) => {
    expect((await post(world, new Uint8Array([0x5b, 0x22, 0xff, 0xfe, 0x22, 0x5d]))).status).toBe(400)
  })

  test.for([33, 1000, 100_000])('nested %i deep is refused', async (depth, { world }) => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const raw = `${open.repeat(depth)}1${close.repeat(depth)}`
      expect((await post(world, raw)).status).toBe(400)
    }
  })

  test('nested deep in a key that no schema reads is refused too', async ({ world }) => {
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
    const log = (depth: number) =>
      JSON.stringify([stepsLog({ unread: 0 })]).replace('"unread":0', `"unread":${nested(depth)}`)

    expect((await post(world, log(30))).status).toBe(200)
    expect((await post(world, log(31))).status).toBe(400)
  })

  test('with brackets in a string is not deep', async ({ world }) => {
    const log = stepsLog({ source: '[{"\\'.repeat(30) })

    expect((await post(world, JSON.stringify([log]))).status).toBe(200)
  })

  test('with a number beyond all numbers is refused in its place', async ({ world }) => {
    const raw = JSON.stringify([stepsLog()]).replace('"value":812', '"value":1e400')
    const answer = await post(world, raw)

    expect(answer.status).toBe(400)
    expect(originsOf(answer)).toEqual(['[0].value'])
  })

  test('with duplicate keys is read once: the last one counts', async ({ world }) => {
    const raw = JSON.stringify([stepsLog()]).replace('"value":812', '"value":"x","value":3')

    expect((await post(world, raw)).status).toBe(200)
  })

  test.for(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'])(
    'with the key %s is harmless',
    async (key, { world }) => {
      const raw = JSON.stringify([stepsLog({ additionalProperties: {} })]).replace(
        '"additionalProperties":{}',
        `"additionalProperties":{"${key}":"x"},"${key}":{"polluted":true}`,
      )

      expect([200, 400]).toContain((await post(world, raw)).status)
      expect((await call(world, '/health')).json.polluted).toBeUndefined()
      expect((await post(world, JSON.stringify([stepsLog()]))).status).toBe(200)
    },
  )

  test.for([
    ['text/plain', 415],
    ['application/xml', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    ['application/json; charset=utf-8', 200],
    ['APPLICATION/JSON', 200],
    ['application/jsonp', 415],
    ['', 415],
  ] as const)('as %s is %i', async ([type, status], { world }) => {
    expect((await post(world, JSON.stringify([stepsLog()]), { 'content-type': type })).status).toBe(status)
  })

  test.for([
    ['gzip', 400],
    ['deflate', 400],
    ['snappy', 415],
    ['gzip, gzip', 415],
    ['identity', 200],
  ] as const)('plain, but called %s, is %i', async ([encoding, status], { world }) => {
    expect((await post(world, JSON.stringify([stepsLog()]), { 'content-encoding': encoding })).status).toBe(status)
  })

  test.for(['gzip', 'GZIP', 'Gzip', 'x-gzip', 'Deflate'])(
    'packed and called %s is unpacked',
    async (encoding, { world }) => {
      const text = JSON.stringify([stepsLog()])
      const packed = encoding === 'Deflate' ? deflateSync(text) : gzipSync(text)

      expect((await post(world, new Uint8Array(packed), { 'content-encoding': encoding })).status).toBe(200)
    },
  )

  test('is not even read without a token', async ({ world }) => {
    const raw = `[${' '.repeat(5_000_000)}]`

    expect((await call(world, upload, { method: 'POST', raw })).status).toBe(401)
  })

  test('of the largest size leaves no memory behind', async ({ world, inside }) => {
    const { auth } = await registerProfile(world)
    const raw = `[${'{},'.repeat(349_000)}{}]`
    const send = () => call(world, upload, { method: 'POST', auth, raw })
    for (let round = 0; round < 5; round += 1) await send()
    globalThis.gc?.()
    const before = process.memoryUsage().rss

    for (let round = 0; round < 60; round += 1) expect((await send()).status).toBe(413)

    expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024)
    expect(inside.log.length).toBeLessThan(10_000)
  })

  test('with a thousand faulty entries names the first hundred faults and stays small', async ({ world }) => {
    const answer = await post(world, JSON.stringify(Array.from({ length: 1000 }, () => ({}))))

    expect(answer.status).toBe(400)
    expect(originsOf(answer)).toHaveLength(100)
    expect(answer.text.length).toBeLessThan(50_000)
  })
})

describe('a path or query', () => {
  test.for([
    '/api/v1/profile/../../../etc/passwd',
    '/api/v1/profile/score/..%2f..%2fadmin',
    '/api/v1/profile/score/%2e%2e',
    '/api/v1//profile/score',
    '/api/v1/profile/score;a=b',
    '/api/v1/profile/SCORE',
    '/api/v1/profile/score/a/b',
    '/api/v2/profile/score',
    '/api/v1/profile/score/%zz',
    '/api/v1/profile/score/%ff%fe',
    `/api/v1/profile/score/${'x'.repeat(3000)}`,
    `/api/v1/profile/score/${'%F0%9F%8F%83'.repeat(90)}`,
    '/api/v1/profile/score?types=%zz',
    '/api/v1/profile/score?types=%00',
    '/api/v1/profile/score?types[99999]=a',
    '/api/v1/profile/score?types[__proto__]=a&__proto__[x]=y&constructor=z',
    `/api/v1/profile/score?types=${'a,'.repeat(200)}`,
    `/api/v1/profile/score?${'a=1&'.repeat(2000)}`,
    '/%',
    '/favicon.ico',
  ])('%s is answered, and not with a failure', async (path, { world }) => {
    const person = await registerProfile(world)
    for (const auth of [person.auth, person.account, undefined]) {
      const answer = await call(world, path, { auth })
      expect([200, 204, 400, 401, 404, 414]).toContain(answer.status)
    }
  })

  test('under another method is 405 and names the right ones', async ({ world }) => {
    const answer = await call(world, '/api/v1/profile/demographic', { method: 'DELETE' })

    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toBe('GET, PUT, PATCH')
  })

  test.for(['PUT', 'POST', 'QUERY', 'OPTIONS', 'PROPFIND'])(
    'under %s is 405 whatever the body',
    async (method, { world }) => {
      const ask = { method, raw: '{', headers: { 'content-type': 'text/plain' } }

      expect((await call(world, '/api/v1/profile/score', ask)).status).toBe(405)
      expect((await call(world, '/api/v1/nothing', ask)).status).toBe(404)
    },
  )

  test('that is unknown is 404 in the documented shape', async ({ world }) => {
    const answer = await call(world, '/api/v1/nothing')

    expect(answer.json).toMatchObject({ title: 'Not Found', statusCode: 404 })
  })
})

/** Sends bytes and gives back all that comes until the other side ends. */
async function converse(world: ServiceWorld, write: (socket: Socket) => void): Promise<string> {
  const { hostname, port } = new URL(world.url)
  const socket = connect(Number(port), hostname)
  let heard = ''
  socket.setEncoding('utf8').on('data', (text) => {
    heard += text
  })
  socket.once('connect', () => write(socket))
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
    socket.once('error', () => resolve())
  })
  return heard
}

const statusOf = (heard: string) => Number(heard.match(/^HTTP\/1\.1 (\d+)/)?.[1])
const bodyOf = (heard: string) => JSON.parse(heard.slice(heard.indexOf('\r\n\r\n') + 4))

const requestFor = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
const headersOfAll = [
  'cache-control: no-store',
  'x-content-type-options: nosniff',
  "content-security-policy: default-src 'none'; frame-ancestors 'none'",
  'date: fri, 20 nov 2026 12:00:00 gmt', // by the clock of the service
]

describe('on the wire', () => {
  test.for([
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['a bad version', 'GET / HTTP/9.9\r\n\r\n', 400],
    ['an unknown method', 'BREW /health HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['two lengths', 'POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na', 400],
    [
      'length and chunks',
      'POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
    ['a header without end', `GET /health HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['a bad chunk', 'POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 400],
    ['a NUL in a header', 'GET /health HTTP/1.1\r\nHost: x\r\nX: a\u0000b\r\n\r\n', 400],
    ['no host', 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['a path that is no UTF-8', requestFor('/%ff'), 400],
    ['an externalId that is no UTF-8', requestFor('/api/v1/profile/score/%c3%28'), 400],
    ['a percent sign without a number', requestFor('/api/v1/profile/score/%zz'), 400],
    ['an externalId that is far too long', requestFor(`/api/v1/profile/score/${'x'.repeat(1501)}`), 400],
    ['an unknown path', requestFor('/nowhere'), 404],
    ['a method that the path has not', requestFor('/health').replace('GET', 'POST'), 405],
    ['an Expect header', requestFor('/health').replace('Host', 'Expect: the-unexpected\r\nHost'), 417],
  ] as const)('%s is refused, with the headers and the shape of every error', async ([, bytes, status], { world }) => {
    const heard = await converse(world, (socket) => socket.write(bytes))

    expect(statusOf(heard)).toBe(status)
    expect(bodyOf(heard)).toMatchObject({ title: expect.any(String), statusCode: status, errors: expect.any(Array) })
    expect(heard).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/)
    expect(heard).toMatch(/\r\ncontent-type: application\/json/)
    for (const header of headersOfAll) expect(heard.toLowerCase()).toContain(`\r\n${header}\r\n`)
  })

  test.for(['GET /%ff', 'GET /health'])('a refusal of %s repeats the id of the request', async (line, { world }) => {
    const head = [`${line} HTTP/1.1`, 'Host: x', 'Expect: the-unexpected', 'X-Request-Id: mine-1', '', '']
    const heard = await converse(world, (socket) => socket.write(head.join('\r\n')))

    expect(heard).toContain('\r\nx-request-id: mine-1\r\n')
  })

  test('HTTP/1.0 needs no host', async ({ world }) => {
    expect(statusOf(await converse(world, (socket) => socket.write('GET /health HTTP/1.0\r\n\r\n')))).toBe(200)
  })

  test('duplicate headers do not add up to a right one', async ({ world }) => {
    const { auth } = await registerProfile(world)
    const lines = ['GET /api/v1/profile/score HTTP/1.1', 'Host: x', 'Connection: close']
    const first = [...lines, 'Authorization: profile wrong', `Authorization: ${auth}`, '', ''].join('\r\n')
    const second = [...lines, `Authorization: ${auth}`, 'Authorization: profile wrong', '', ''].join('\r\n')

    expect(statusOf(await converse(world, (socket) => socket.write(first)))).toBe(401)
    expect([204, 401]).toContain(statusOf(await converse(world, (socket) => socket.write(second))))
  })

  test('a body that stops short and ends costs nothing', async ({ world }) => {
    const { auth } = await registerProfile(world)
    const head = ['POST /api/v1/profile/data/log HTTP/1.1', 'Host: x', `Authorization: ${auth}`]
    const request = [...head, 'Content-Type: application/json', 'Content-Length: 1000', '', '[{"id":'].join('\r\n')

    const heard = await converse(world, (socket) => socket.end(request))

    expect([400, Number.NaN]).toContain(statusOf(heard))
    expect((await call(world, '/health')).status).toBe(200)
  })

  base('who asks for a large answer and takes none of it is hung up on', async ({ serviceUrl }) => {
    await withService(serviceUrl, { answerTimeoutMs: 300 }, async (world) => {
      const { auth, externalId } = await registerProfile(world)
      // More than the buffers of two sockets hold, so that some bytes stay unread.
      await world.inside?.sql.query(
        `insert into service.derived (profile_id, id, kind, name, period_start, period_end, created_at, changed_at, body)
         select profile_id, gen_random_uuid(), 'score', 'sleep', now(), now(), now(), now(), to_json(repeat('x', 500000))::text
         from service.profiles, generate_series(1, 50) where external_id = $1`,
        [externalId],
      )
      const { hostname, port } = new URL(world.url)
      const socket = connect(Number(port), hostname)
      socket.pause()
      socket.write(`GET /api/v1/profile/score HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth}\r\n\r\n`)

      const metrics = async () => (await fetch(`${world.url}/metrics`)).text()
      await expect.poll(metrics, soon).toContain('requests_total{operation="scores",status="cut"} 1')

      let heard = 0
      socket.on('data', (chunk) => {
        heard += chunk.length
      })
      socket.resume()
      await new Promise((resolve) => socket.once('close', resolve))
      expect(heard).toBeLessThan(25_000_000)
    })
  })
})
