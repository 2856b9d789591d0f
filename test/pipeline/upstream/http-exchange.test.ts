import { getEventListeners } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type HttpRequest, type TransportErrorKind, transportDefaults } from '../../../src/pipeline/upstream/http.ts'
import { ExchangeDeadlines, HttpExchange } from '../../../src/pipeline/upstream/http-exchange.ts'

/** A controller of undici that only notes what it is asked. */
function createController() {
  const aborts: Error[] = []
  const controller: Dispatcher.DispatchController = {
    aborted: false,
    paused: false,
    reason: null,
    abort: (reason) => void aborts.push(reason),
    pause: () => undefined,
    resume: () => undefined,
  }
  return { controller, aborts }
}

/** An exchange in the hands of the test, which plays undici. */
function open(request: Partial<HttpRequest> = {}, limits = {}, deadlines = new ExchangeDeadlines(60_000)) {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  promise.catch(() => undefined)
  const { controller, aborts } = createController()
  const exchange = new HttpExchange({
    request: { method: 'GET', path: '/', headers: [], ...request },
    limits: { ...transportDefaults, ...limits },
    deadlines,
    resolve,
    reject,
  })
  const answer = async (status: number, headers: Record<string, string | string[]>, ...chunks: Buffer[]) => {
    exchange.onRequestStart(controller)
    exchange.onResponseStart(controller, status, headers)
    for (const chunk of chunks) exchange.onResponseData(controller, chunk)
    exchange.onResponseEnd()
    return promise.catch((error: unknown) => error)
  }
  const end = () => promise.catch((error: unknown) => error)
  return { exchange, controller, aborts, answer, end }
}

const withCode = (code: string, error: Error = new Error('x')) => Object.assign(error, { code })

describe('a connection that failed', () => {
  test.for<[TransportErrorKind, readonly string[]]>([
    [
      'unsent',
      [
        'ECONNREFUSED ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH EADDRNOTAVAIL UND_ERR_CONNECT_TIMEOUT UND_ERR_INVALID_ARG',
        'CERT_HAS_EXPIRED DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE',
        'UNABLE_TO_GET_ISSUER_CERT_LOCALLY ERR_TLS_CERT_ALTNAME_INVALID ERR_SSL_WRONG_VERSION_NUMBER ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
      ].flatMap((codes) => codes.split(' ')),
    ],
    ['lost', 'ECONNRESET EPIPE UND_ERR_SOCKET UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT ETIMEDOUT'.split(' ')],
  ])('is %s: upstream never saw the request, or may have acted', async ([kind, codes]) => {
    for (const code of codes) {
      const { exchange, controller, end } = open()
      exchange.onRequestStart(controller)
      exchange.onResponseError(controller, withCode(code))
      expect(await end(), code).toMatchObject({ name: 'TransportError', kind, code, cause: expect.any(Error) })

      const named = open()
      const error = new AggregateError([withCode(code), withCode('ECONNRESET')])
      named.exchange.onResponseError(named.controller, error)
      expect(await named.end(), `${code} of the first address`).toMatchObject({ kind, code, cause: error })
    }
  })
})

test('an interim answer (1xx) is skipped: the final answer counts', async () => {
  const { exchange, controller, answer } = open()
  exchange.onResponseStart(controller, 103, { etag: '"early"', 'content-length': '99999999999' })

  expect(await answer(200, { etag: '"late"' })).toMatchObject({ status: 200, tag: '"late"' })
})

describe('an exchange settles once', () => {
  test('and then leaves no listener at its signal', async () => {
    const { signal } = new AbortController()
    for (const settle of [
      (opened: ReturnType<typeof open>) => opened.answer(200, {}, Buffer.from('[]')),
      async ({ exchange, controller }: ReturnType<typeof open>) =>
        exchange.onResponseError(controller, withCode('ECONNRESET')),
    ]) {
      const opened = open({ signal })
      expect(opened.exchange.start()).toBe(true)
      expect(getEventListeners(signal, 'abort')).toHaveLength(1)
      await settle(opened)
      expect(getEventListeners(signal, 'abort')).toEqual([])
    }
  })

  test('a signal that has aborted before: nothing is sent', async () => {
    const { exchange, end } = open({ signal: AbortSignal.abort('gone') })

    expect(exchange.start()).toBe(false)
    expect(await end()).toMatchObject({ kind: 'aborted', code: 'aborted', cause: 'gone' })
  })

  test('given up before undici began: it is stopped before it is sent', async () => {
    const leaving = new AbortController()
    const { exchange, controller, aborts, end } = open({ signal: leaving.signal })
    exchange.start()
    leaving.abort()
    expect(aborts).toEqual([])
    exchange.onRequestStart(controller)

    expect(aborts).toMatchObject([{ kind: 'aborted', code: 'settled before it was sent' }])
    expect(await end()).toMatchObject({ kind: 'aborted', code: 'aborted' })
  })

  test('given up while the answer comes: the connection ends, and the rest of the answer is dropped', async () => {
    const leaving = new AbortController()
    const { exchange, controller, aborts, end } = open({ signal: leaving.signal })
    exchange.start()
    exchange.onRequestStart(controller)
    exchange.onResponseStart(controller, 200, {})
    leaving.abort()
    exchange.onResponseData(controller, Buffer.from('[]'))
    exchange.onResponseEnd()
    exchange.onResponseError(controller, withCode('ECONNRESET'))

    expect(aborts).toHaveLength(1)
    expect(await end()).toMatchObject({ kind: 'aborted' })
  })

  test('given up while the answer is unpacked', async () => {
    const leaving = new AbortController()
    const { exchange, controller, end } = open({ signal: leaving.signal })
    exchange.start()
    exchange.onResponseStart(controller, 200, { 'content-encoding': 'gzip' })
    exchange.onResponseData(controller, gzipSync('[]'))
    exchange.onResponseEnd()
    leaving.abort()

    expect(await end()).toMatchObject({ kind: 'aborted' })
  })
})

describe('the size of a body', () => {
  const limits = { bodyBytesMax: 100, bufferedBytesMax: 40 }
  test.for<[string, Record<string, string>, number[], string]>([
    ['as large as may be', {}, [100], 'an answer'],
    ['as large as may be, as it says', { 'content-length': '100' }, [60, 40], 'an answer'],
    ['a byte more', {}, [60, 41], 'oversized'],
    ['a byte more, as it says', { 'content-length': '101' }, [], 'oversized'],
  ])('a body %s is taken or oversized', async ([, headers, sizes, outcome]) => {
    const { answer } = open({}, limits)
    const chunks = sizes.map((size) => Buffer.alloc(size, ' '))
    const ended = await answer(200, headers, ...chunks)

    const oversized = { kind: 'oversized', code: 'an answer of more than 100 bytes' }
    expect(ended).toMatchObject(outcome === 'oversized' ? oversized : { status: 200, body: Buffer.concat(chunks) })
  })

  test.for([
    [100, 'an answer'],
    [101, 'oversized'],
  ] as const)('a body of %i bytes once unpacked is %s', async ([size, outcome]) => {
    const { answer } = open({}, limits)
    const ended = await answer(200, { 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(size, ' ')))

    expect(ended).toMatchObject(outcome === 'oversized' ? { kind: outcome } : { status: 200 })
  })

  test.for<[number, number]>([
    [40, 0],
    [41, 41],
  ])('of %i bytes a sink takes %i', async ([size, taken]) => {
    const pushed: string[] = []
    const sink = { push: (text: string) => void pushed.push(text) }
    const { answer } = open({ sinkFor: (status) => (status === 200 ? sink : undefined) }, limits)
    const ended = await answer(200, {}, Buffer.alloc(size, 'x'))

    expect(pushed.join('')).toHaveLength(taken)
    expect(ended).toMatchObject({ sink: taken > 0 ? sink : undefined, body: Buffer.alloc(size - taken, 'x') })
  })

  test('a sink takes no error and nothing packed, and gets the rest of a letter that was cut off', async () => {
    const pushed: string[] = []
    const sinkFor = (status: number) =>
      status === 200 ? { push: (text: string) => void pushed.push(text) } : undefined
    const text = Buffer.from(Array.from({ length: 60 }, (_, index) => (index * 7919) % 128))
    const packed = gzipSync(text)
    expect(packed.length).toBeGreaterThan(limits.bufferedBytesMax)

    expect(await open({ sinkFor }, limits).answer(404, {}, text)).toMatchObject({ body: text })
    const unpacked = await open({ sinkFor }, limits).answer(200, { 'content-encoding': 'gzip' }, packed)
    expect(unpacked).toMatchObject({ body: text, sink: undefined })
    expect(pushed).toEqual([])
    await open({ sinkFor }, limits).answer(200, {}, Buffer.alloc(50, 'x'), Buffer.of(0xc3))
    expect(pushed.join('')).toBe(`${'x'.repeat(50)}\ufffd`)
  })
})

test.for([
  ['gzip', gzipSync('[1]'), '[1]'],
  ['x-gzip', gzipSync('[1]'), '[1]'],
  [' GZIP ', gzipSync('[1]'), '[1]'],
  ['identity', Buffer.from('[1]'), '[1]'],
  ['Identity', Buffer.from('[1]'), '[1]'],
  ['gzip', Buffer.alloc(0), ''],
  ['gzip', Buffer.from('[1]'), { kind: 'garbled', code: 'Z_DATA_ERROR' }],
  ['zstd', Buffer.from('[1]'), { kind: 'garbled', code: 'unknown content-encoding' }],
] as const)('what comes as %s is unpacked, or makes no sense', async ([coding, body, expected]) => {
  const { answer } = open()
  const ended = await answer(200, { 'content-encoding': coding }, ...(body.length > 0 ? [body] : []))

  expect(ended).toMatchObject(typeof expected === 'string' ? { body: Buffer.from(expected) } : expected)
})

test('a sink that throws makes the answer one that makes no sense', async () => {
  const sink = {
    push: () => {
      throw new SyntaxError('no list')
    },
  }
  const { answer, aborts } = open({ sinkFor: () => sink }, { bufferedBytesMax: 2 })

  const garbled = { kind: 'garbled', code: 'not the JSON that was expected' }
  expect(await answer(200, {}, Buffer.from('<html>'))).toMatchObject(garbled)
  expect(aborts).toHaveLength(1)
})

test.for<[string | string[] | undefined, boolean]>([
  ['</scores?page=2>; rel="next"', true],
  ['</scores?page=2>; rel=next', true],
  ['</scores?page=2>; REL="NEXT"', true],
  ['</scores?page=2>; rel="prev"', false],
  ['</next>; rel="nextish"', false],
  [['</scores?page=1>; rel="prev"', '</scores?page=3>; rel="next"'], true],
  [undefined, false],
])('an answer with the link %s has a next page: %s', async ([link, hasNextPage]) => {
  expect(await open().answer(200, link === undefined ? {} : { link })).toMatchObject({ hasNextPage })
})

test.for<[string | string[], string | undefined]>([
  ['a-1.b_2', 'a-1.b_2'],
  [['first', 'second'], 'first'],
  ['x'.repeat(64), 'x'.repeat(64)],
  ['x'.repeat(65), undefined],
  ['a b', undefined],
  ['=a', undefined],
  ['a=', undefined],
  ['', undefined],
])('of the id %s of a request stays %s', async ([id, requestId]) => {
  expect(await open().answer(200, { 'x-request-id': id })).toMatchObject({ requestId })
})

test('a header that came twice is one text, which is no tag and no word', async () => {
  const headers = { etag: ['"a"', '"b"'], 'derivation-state': ['finished', 'pending'] }
  expect(await open().answer(200, headers)).toMatchObject({ tag: '"a", "b"', derivationState: 'finished, pending' })
})

describe('the time of an exchange', () => {
  test('that has less than four seconds ends at most a quarter of it late', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { exchange, end } = open({}, {}, new ExchangeDeadlines(400))
    exchange.start()
    vi.advanceTimersByTime(500)

    expect(await Promise.race([end(), setImmediate('under way')])).toMatchObject({ code: 'total timeout' })
  })

  test('ends each exchange at most a second after its time, and keeps no timer when none is under way', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const deadlines = new ExchangeDeadlines(60_000)
    const startAnother = () => {
      const opened = open({}, {}, deadlines)
      opened.exchange.start()
      return opened
    }
    const first = startAnother()
    vi.advanceTimersByTime(30_000)
    const answered = startAnother()
    const second = startAnother()
    await answered.answer(200, {})
    const isOver = async ({ end }: typeof first) =>
      (await Promise.race([end(), setImmediate('under way')])) !== 'under way'

    vi.advanceTimersByTime(29_900)
    expect([await isOver(first), await isOver(second)]).toEqual([false, false])
    vi.advanceTimersByTime(1_100)
    expect([await isOver(first), await isOver(second)]).toEqual([true, false])
    expect(await first.end()).toMatchObject({ kind: 'lost', code: 'total timeout' })
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(30_000)
    expect(await isOver(second)).toBe(true)
    expect(vi.getTimerCount()).toBe(0)

    const third = startAnother()
    vi.advanceTimersByTime(61_000)
    expect(await isOver(third)).toBe(true)
  })
})
