import { expect, onTestFinished, test } from 'vitest'
import { demographicInputSchema as schema } from '../../../src/base/contract/demographic.ts'
import { operations } from '../../../src/base/contract/operations.ts'
import { NotThere, Rejected, RetryLater, Unanswered } from '../../../src/base/errors.ts'
import type { TransportLimits } from '../../../src/pipeline/upstream/http.ts'
import { acceptEncodingFor } from '../../../src/pipeline/upstream/transport.ts'
import { http, type RawRequest, type RawServer, startRawServer } from '../../support/raw-server.ts'
import { dataLogs, listByName, scores } from '../../support/stream-by-name.ts'
import {
  ada,
  nightlyCall,
  type OpenedUpstream,
  openTestUpstream,
  type UpstreamParts,
} from '../../support/test-upstream.ts'

const score = '{"type":"sleep","scoreDateTime":"2026-03-03T00:00:00+12:00","value":0.710}'
const token = http(200, '{"accountToken":"t","expiresIn":86400}')
const profileToken = http(200, '{"profileToken":"p","expiresIn":86400,"refreshToken":"r"}')
const quick: Partial<TransportLimits> = {
  connectTimeoutMs: 500,
  headersTimeoutMs: 1000,
  bodyTimeoutMs: 1000,
  totalTimeoutMs: 2500,
}

type Answer = (request: RawRequest, asked: number) => void

/** Tokens are answered well; every other request goes to `answer` with its number. */
async function open(
  answer: Answer,
  parts: Partial<UpstreamParts> = {},
): Promise<OpenedUpstream & { server: RawServer; asked: () => number }> {
  let asked = 0
  const server = await startRawServer((request) => {
    if (request.head.includes('/oauth/account/token')) request.socket.write(token)
    else if (request.head.includes('/oauth/profile/token')) request.socket.write(profileToken)
    else {
      asked += 1
      answer(request, asked)
    }
  })
  const opened = openTestUpstream({
    url: server.url,
    transport: { ...quick, ...parts.transport },
    ...withoutTransport(parts),
  })
  onTestFinished(async () => {
    await opened.close()
    await server.close()
  })
  return { ...opened, server, asked: () => asked }
}

function withoutTransport({ transport: _, ...rest }: Partial<UpstreamParts>) {
  return rest
}

const read = ({ upstream }: OpenedUpstream) => upstream.read(scores, ada, nightlyCall)
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no failure',
    (error: unknown) => error,
  )

const passing: Array<[string, (request: RawRequest) => void]> = [
  ['resets the connection', ({ socket }) => void socket.resetAndDestroy()],
  ['hangs up without a word', ({ socket }) => void socket.end()],
  ['hangs up within the head', ({ socket }) => void socket.end('HTTP/1.1 200 OK\r\ncontent-le')],
  ['hangs up within the body', ({ socket }) => void socket.end(http(200, `[${score}]`).slice(0, -20))],
  ['promises more than it sends', ({ socket }) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n[]')],
  [
    'sends more than it promised',
    ({ socket }) => void socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[${score}]`),
  ],
  ['speaks no HTTP', ({ socket }) => void socket.end('SSH-2.0-OpenSSH_9.2\r\n\r\n')],
  [
    'cuts a chunked body',
    ({ socket }) => void socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n[{"ty'),
  ],
  ['answers with a page instead of JSON', ({ socket }) => void socket.write(http(200, '<html>Sign in</html>'))],
  ['answers with an object instead of a list', ({ socket }) => void socket.write(http(200, '{"message":"later"}'))],
  ['answers with nothing at all', ({ socket }) => void socket.write(http(200))],
  ['answers with white space', ({ socket }) => void socket.write(http(200, ' \n'.repeat(40)))],
  ['answers with a part of the list', ({ socket }) => void socket.write(http(206, `[${score}]`))],
  ['answers with a list that does not end', ({ socket }) => void socket.write(http(200, `[${score},`))],
  ['says bad gateway', ({ socket }) => void socket.write(http(502))],
  ['says gateway timeout', ({ socket }) => void socket.write(http(504))],
  ['says unavailable', ({ socket }) => void socket.write(http(503, '', ['retry-after: 0']))],
  ['says too many', ({ socket }) => void socket.write(http(429, '', ['retry-after: 1']))],
  ['says request timeout', ({ socket }) => void socket.write(http(408))],
  ['closes what it kept alive', ({ socket }) => void socket.destroy()],
]

test.for(passing)('a read survives an upstream that once %s', async ([, fault]) => {
  const opened = await open((request, asked) =>
    asked === 1 ? fault(request) : request.socket.write(http(200, `[${score}]`)),
  )

  expect((await read(opened)).records.map(({ raw }) => raw)).toEqual([score])
  expect(opened.asked()).toBe(2)
})

test.for(passing.filter(([name]) => !/says (un|too|req)/.test(name)))(
  'a read of an upstream that always %s ends, after three tries, as unanswered',
  async ([, fault]) => {
    const opened = await open(fault)

    expect(await failure(read(opened))).toBeInstanceOf(Unanswered)
    expect(opened.asked()).toBe(3)
  },
)

test('an answer that stalls, and one that trickles without end, are cut off by time', { timeout: 60_000 }, async () => {
  const timers: NodeJS.Timeout[] = []
  onTestFinished(() => timers.forEach(clearInterval))
  const stalled = await open(() => undefined)
  const halted = await open(({ socket }) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n['))
  const trickling = await open(({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 500000\r\n\r\n')
    timers.push(setInterval(() => socket.write(' '), 50))
  })

  const failures = await Promise.all([stalled, halted, trickling].map((opened) => failure(read(opened))))

  expect(failures.every((error) => error instanceof Unanswered)).toBe(true)
  expect(String(failures[2])).toContain('total timeout')
})

test('a server that half-closes its side and then answers nothing more is no hang', async () => {
  const opened = await open(({ socket }, asked) => {
    if (asked === 1) socket.end(http(200, '[]', ['connection: close']))
    else socket.write(http(200, `[${score}]`))
  })

  expect((await read(opened)).records).toEqual([])
  expect((await read(opened)).records).toHaveLength(1)
})

test('bytes that a server sends after its answer are never taken for the next answer', async () => {
  const forged = '[{"type":"forged","scoreDateTime":"2026-01-01T00:00:00Z"}]'
  const opened = await open(({ socket }, asked) => {
    socket.write(asked === 1 ? http(200, '[]') + http(200, forged) : http(200, `[${score}]`))
  })

  const readings = [await read(opened), await read(opened), await read(opened)]

  expect(readings.flatMap(({ records }) => records.map(({ fields }) => fields['type']))).not.toContain('forged')
})

test('a body that is too large is given up, whether it says so or not', async () => {
  const limits = { bodyBytesMax: 10_000, bufferedBytesMax: 1_000_000 }
  const honest = await open(({ socket }) => void socket.write(http(200, ' '.repeat(20_000))), { transport: limits })
  const silent = await open(
    ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      for (let chunk = 0; chunk < 20; chunk += 1) socket.write(`400\r\n${' '.repeat(1024)}\r\n`)
    },
    { transport: limits },
  )

  for (const opened of [honest, silent]) {
    expect(await failure(read(opened))).toBeInstanceOf(Rejected)
    expect(opened.asked()).toBe(1)
  }
})

test('a large answer is read piece by piece, digit for digit, wherever the pieces break', async () => {
  const records = Array.from(
    { length: 400 },
    (_, index) =>
      `{"type":"s\\"[é😀]\\\\","scoreDateTime":"2026-03-03T00:00:00Z","value":0.${index}00,"note":"${'x'.repeat(index)}"}`,
  )
  const body = Buffer.from(` [ ${records.join(' ,\n')} ] `)
  const opened = await open(
    ({ socket }) => {
      socket.setNoDelay(true)
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`)
      for (let at = 0; at < body.length; at += 37) socket.write(body.subarray(at, at + 37))
    },
    { transport: { bufferedBytesMax: 100 } },
  )

  const reading = await read(opened)

  expect(reading.invalid).toEqual([])
  expect(reading.records.map(({ raw }) => raw)).toEqual(records)
})

test('an invalid record costs its neighbours nothing, and is reported by its path without its value', async () => {
  const odd = ['{"type":"sleep","value":"secret-value"}', '7', '{"type":}', '{"type":"x","scoreDateTime":"soon"}']
  const body = `[${[score, ...odd, score].join(',')}]`
  const opened = await open(({ socket }) => void socket.write(http(200, body)))

  const reading = await read(opened)

  expect(reading.records.map(({ raw }) => raw)).toEqual([score, score])
  expect(reading.invalid.map(({ raw }) => raw)).toEqual(odd)
  expect(reading.invalid.map(({ path }) => path)).toEqual(['value', '', '', 'scoreDateTime'])
  expect(JSON.stringify(reading.invalid.map(({ reason }) => reason))).not.toMatch(/secret|soon/)
})

test('nothing found is a reading, however it is said', async () => {
  for (const answer of ['HTTP/1.1 204 No Content\r\n\r\n', http(200, '[]'), http(200, ' [ ] \n')]) {
    const opened = await open(({ socket }) => void socket.write(answer))
    expect(await read(opened)).toMatchObject({ records: [], invalid: [] })
  }
})

test('a tag that is held is sent, and a 304 to it is a reading without records that is unchanged', async () => {
  const answers = [
    http(200, `[${score}]`, ['etag: "r1"', 'derivation-state: pending']),
    'HTTP/1.1 304 Not Modified\r\netag: "r1"\r\nderivation-state: finished\r\n\r\n',
    'HTTP/1.1 304 Not Modified\r\n\r\n',
  ]
  const opened = await open(({ socket }, asked) => void socket.write(answers[asked - 1] ?? http(200, '[]')))
  const readHeld = (heldTag?: string) => opened.upstream.read(scores, { ...ada, heldTag }, nightlyCall)

  expect(await readHeld()).toMatchObject({ unchanged: false, tag: '"r1"', word: 'pending' })
  expect(await readHeld('"r1"')).toMatchObject({ unchanged: true, tag: '"r1"', word: 'finished', records: [] })
  expect(await readHeld('"r1"')).toMatchObject({ unchanged: true, tag: '"r1"', word: undefined })
  expect(await readHeld('"r1"')).toMatchObject({ unchanged: false, tag: undefined })
  const heads = opened.server.requests.map(({ head }) => head).filter((head) => head.includes('/score/'))
  expect(heads.map((head) => /if-none-match: (.*)/i.exec(head)?.[1])).toEqual([undefined, '"r1"', '"r1"', '"r1"'])
})

test('a 304 that nobody asked for is no answer, and a 304 about another tag is not about the tag that is held', async () => {
  const opened = await open(({ socket }) => void socket.write('HTTP/1.1 304 Not Modified\r\netag: "r1"\r\n\r\n'))

  expect(await failure(read(opened))).toBeInstanceOf(Unanswered)
  expect(await opened.upstream.read(scores, { ...ada, heldTag: '"r2"' }, nightlyCall)).toMatchObject({ tag: '"r1"' })
})

test.for([
  ['etag: W/"r1"'],
  ['etag: ""'],
  ['etag: r1'],
  ['etag: "r1", "r2"'],
  ['etag: "r1"', 'etag: "r2"'],
  [`etag: "${'x'.repeat(201)}"`],
])('%o is a tag that counts as none', async (headers) => {
  const opened = await open(({ socket }) => void socket.write(http(200, '[]', headers)))

  expect((await read(opened)).tag).toBeUndefined()
})

test.for([
  [['derivation-state: finished', 'derivation-state: pending'], 'pending'],
  [['derivation-state: finished, pending'], 'pending'],
  [['derivation-state: done'], 'pending'],
  [['derivation-state:'], 'pending'],
  [['derivation-state: Finished '], 'finished'],
] as const)('of %o the word is %s', async ([headers, word]) => {
  const opened = await open(({ socket }) => void socket.write(http(200, '[]', [...headers])))

  expect((await read(opened)).word).toBe(word)
})

test('sentAtMs is read before sending, and serverAtMs is upstream’s own', async () => {
  let nowMs = 1_000_000
  const date = 'Tue, 03 Mar 2026 12:00:00 GMT'
  const opened = await open(
    ({ socket }) => {
      nowMs += 60_000
      socket.write(http(200, '[]', [`date: ${date}`]))
    },
    { clock: () => nowMs },
  )

  const reading = await read(opened)

  expect(reading.sentAtMs).toBe(1_000_000)
  expect(reading.serverAtMs).toBe(Date.parse(date))
})

test('Retry-After beyond a few seconds goes to the queue with its time, and the request is not repeated', async () => {
  const opened = await open(({ socket }) => void socket.write(http(429, '', ['retry-after: 77'])))

  const error = await failure(read(opened))

  expect(error).toBeInstanceOf(RetryLater)
  expect((error as RetryLater).waitMs).toBe(77_000)
  expect(opened.asked()).toBe(1)
})

test('logs are sent again after a lost answer, everything else that writes is not', async () => {
  const once =
    (fault: Answer): Answer =>
    (request, asked) =>
      asked === 1 ? fault(request, asked) : void request.socket.write(http(200, '{"received":1}'))
  const lose: Answer = ({ socket }) => void socket.destroy()

  const logs = await open(once(lose))
  await logs.upstream.pushItems(ada, { stream: dataLogs, items: [{ id: 'a' }] }, nightlyCall)
  expect(logs.asked()).toBe(2)
  expect(new Set(logs.server.requests.slice(-2).map(({ body }) => body)).size).toBe(1)

  const stream = listByName('tags')
  const tags = await open(once(lose))
  const pushed = tags.upstream.pushItems(ada, { stream, items: [{ type: 'event' }] }, nightlyCall)
  expect(await failure(pushed)).toBeInstanceOf(Unanswered)
  expect(tags.asked()).toBe(1)

  for (const name of ['updateDemographic', 'replaceDemographic', 'updateDeviceInformation'] as const) {
    const { upstream, asked } = await open(once(lose))
    const pushed = upstream.pushSnapshot(ada, { operation: operations[name], schema, body: { age: 3 } }, nightlyCall)
    expect(await failure(pushed)).toBeInstanceOf(Unanswered)
    expect(asked()).toBe(1)
  }
})

test('redirects are not followed: they would carry the token along', async () => {
  const opened = await open(({ socket }) => void socket.write(http(302, '', ['location: http://127.0.0.1:1/'])))

  const error = await failure(read(opened))

  expect(error).toMatchObject({ name: 'Rejected', status: 302, hint: expect.stringContaining('UPSTREAM_URL') })
  expect(opened.asked()).toBe(1)
})

test('refusals of upstream have different errors: not there, removed, rejected with its words by index', async () => {
  const refusal = {
    title: 'Bad Request',
    errors: [
      { origin: '[3].startDateTime', errors: ['must be a date-time, got "2026-99-99" for ada'] },
      { origin: '[7].unit', errors: ['is required'] },
    ],
  }
  const answers = [http(404), http(410), http(400, JSON.stringify(refusal))]
  const opened = await open(({ socket }, asked) => void socket.write(answers[asked - 1] ?? ''))

  expect(await failure(read(opened))).toMatchObject({ removed: false })
  expect(await failure(read(opened))).toSatisfy((error) => error instanceof NotThere && error.removed)
  const rejected = await failure(
    opened.upstream.pushItems(ada, { stream: dataLogs, items: [{ id: 'a' }] }, nightlyCall),
  )

  expect(rejected).toMatchObject({
    status: 400,
    details: [
      { path: '[3].startDateTime', reasons: ['must be a date-time, got "…" for …'] },
      { path: '[7].unit', reasons: ['is required'] },
    ],
  })
})

test('an upstream that is not there is waited for in the queue', async () => {
  const server = await startRawServer(() => undefined)
  await server.close()
  const opened = openTestUpstream({ url: server.url })
  onTestFinished(opened.close)

  const error = await failure(read(opened))

  expect(error).toBeInstanceOf(RetryLater)
  expect((error as RetryLater).hint).toContain('UPSTREAM_URL')
})

test('a caller that gives up ends the request at once, and its place in the budget is free again', async () => {
  const leaving = new AbortController()
  const opened = await open(() => leaving.abort())

  const error = await failure(opened.upstream.read(scores, ada, { ...nightlyCall, signal: leaving.signal }))

  expect(String(error)).toContain('given up by its caller')
  expect(opened.rateLimiter.state().inFlight).toBe(0)
})

test('packed answers are unpacked, within the same bound', async () => {
  const { gzipSync } = await import('node:zlib')
  const send = (packed: Buffer) => (request: RawRequest) => {
    request.socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`)
    request.socket.write(packed)
  }
  const honest = await open(send(gzipSync(`[${score}]`)))
  const shouted = await open(({ socket }) => {
    const packed = gzipSync(`[${score}]`)
    socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: GZIP\r\ncontent-length: ${packed.length}\r\n\r\n`)
    socket.write(packed)
  })
  expect((await read(shouted)).records).toHaveLength(1)
  const bomb = await open(send(gzipSync(' '.repeat(5_000_000))), { transport: { bodyBytesMax: 100_000 } })

  expect((await read(honest)).records).toHaveLength(1)
  expect(await failure(read(bomb))).toBeInstanceOf(Rejected)
})

test('packed answers are asked for where upstream is not on this machine', async () => {
  const opened = await open(({ socket }) => void socket.write(http(200, '[]')))
  const far = await open(({ socket }) => void socket.write(http(200, '[]')), { transport: { acceptEncoding: 'gzip' } })
  await read(opened)
  await read(far)

  expect(opened.server.requests.at(-1)?.head).not.toMatch(/accept-encoding/i)
  expect(far.server.requests.at(-1)?.head).toMatch(/^accept-encoding: gzip$/im)
  for (const url of ['http://localhost:1', 'http://127.0.0.1', 'http://127.8.9.1/x', 'http://[::1]:80'])
    expect(acceptEncodingFor(url), url).toBe('')
  for (const url of ['https://api.example.com/', 'http://127.example.com', 'http://10.0.0.1'])
    expect(acceptEncodingFor(url), url).toBe('gzip')
})

test('a name that would change the path is refused here and never sent', async () => {
  const opened = await open(({ socket }) => void socket.write(http(200, '[]')))

  for (const externalId of ['', '.', '..', '\ud800']) {
    expect(await failure(opened.upstream.read(scores, { profileId: '1', externalId }, nightlyCall))).toBeInstanceOf(
      Rejected,
    )
  }
  await opened.upstream.read(scores, { profileId: '1', externalId: '../a?b=c#d/é %2e' }, nightlyCall)

  expect(opened.asked()).toBe(1)
  expect(opened.server.requests.at(-1)?.head).toContain('/score/..%2Fa%3Fb%3Dc%23d%2F%C3%A9%20%252e HTTP')
})
