import { describe, expect, test } from 'vitest'
import { type OperationName, operations } from '../../../src/base/contract/operations.ts'
import { NotThere, Rejected, RetryLater, Unanswered } from '../../../src/base/errors.ts'
import type { RequestOutcome } from '../../../src/pipeline/fleet/budget.ts'
import { type HttpRequest, type HttpResponse, TransportError } from '../../../src/pipeline/upstream/http.ts'
import {
  AttemptError,
  createSender,
  type OperationCall,
  type TimedResponse,
} from '../../../src/pipeline/upstream/sender.ts'
import { createTelemetry } from '../../../src/pipeline/upstream/telemetry.ts'
import { answer } from '../../support/http-answer.ts'

const beginMs = Date.parse('2026-03-03T12:00:00Z')

type Given = HttpResponse | TransportError
type World = {
  answers: readonly Given[]
  random: number
  /** How long each request takes by the sender's clock. */
  latencyMs: number
  permit: () => Promise<void> | undefined
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** A sender whose transport gives the answers in turn, the last one again and again. Permits, pauses and requests are noted. */
function open(given: Partial<World> = {}) {
  const { answers = [answer(200)], random = 0.5, latencyMs = 7, permit, sleep } = given
  let nowMs = beginMs
  const seen = {
    requests: [] as HttpRequest[],
    acquired: [] as Array<AbortSignal | undefined>,
    released: [] as RequestOutcome[],
    lanes: [] as string[],
    pauses: [] as Array<{ ms: number; signal: AbortSignal | undefined }>,
    retries: [] as string[],
    ended: [] as Array<{ result: number | string; attempt: number; latencyMs: number }>,
  }
  const send = createSender({
    transport: {
      async send(request) {
        seen.requests.push(request)
        nowMs += latencyMs
        const scripted = answers[Math.min(seen.requests.length, answers.length) - 1]
        if (scripted === undefined || scripted instanceof TransportError) throw scripted
        return scripted
      },
      close: async () => undefined,
    },
    rateLimiter: {
      acquire(lane, signal) {
        seen.acquired.push(signal)
        seen.lanes.push(`${lane} taken`)
        return permit?.()
      },
      release(lane, outcome) {
        seen.released.push(outcome)
        seen.lanes.push(`${lane} given back`)
      },
      state: () => {
        throw new Error('a sender asks for no state')
      },
      close: async () => undefined,
    },
    telemetry: {
      ...createTelemetry(),
      retried: ({ name }) => void seen.retries.push(name),
      end: (_, { operation: __, ...request }) => void seen.ended.push(request),
    },
    basePath: '',
    clock: () => nowMs,
    random: () => random,
    async sleep(ms, signal) {
      seen.pauses.push({ ms, signal })
      await sleep?.(ms, signal)
    },
  })
  const call = (name: OperationName, more: Partial<OperationCall<TimedResponse>> = {}) =>
    send({ operation: operations[name], externalId: 'ada', lane: 'manual', secrets: [], parse: (it) => it, ...more })
  const failure = async (name: OperationName, more: Partial<OperationCall<TimedResponse>> = {}) =>
    call(name, more).then(
      () => 'no failure',
      (error: unknown) => error,
    )
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { seen, call, failure, advance }
}

const retried = { read: 3, uploadOfLogs: 3, otherWrite: 1 }
const once = { read: 1, uploadOfLogs: 1, otherWrite: 1 }
const lost = (kind: TransportError['kind']) => new TransportError(kind, 'x')

/** Every answer that is a failure: how often it is sent, and what its caller gets. */
const failures: ReadonlyArray<[string, readonly Given[], typeof retried, new (...given: never[]) => Error]> = [
  ['busy', [408, 429, 503].map((status) => answer(status)), retried, RetryLater],
  ['a gateway that fails', [502, 504].map((status) => answer(status)), retried, Unanswered],
  ['a fault of upstream’s own', [500, 501, 505, 507, 508, 511, 599].map((status) => answer(status)), once, Unanswered],
  [
    'a refusal',
    [400, 402, 403, 405, 406, 409, 411, 413, 415, 418, 422, 425, 428, 431, 451, 499].map((status) => answer(status)),
    once,
    Rejected,
  ],
  ['a redirect', [300, 301, 302, 303, 305, 307, 308].map((status) => answer(status)), once, Rejected],
  ['not there', [404, 410].map((status) => answer(status)), once, NotThere],
  ['a success that says nothing', [203, 205, 206, 207, 226, 304].map((status) => answer(status)), retried, Unanswered],
  ['unsent', [lost('unsent')], retried, RetryLater],
  ['no whole answer', [lost('lost'), lost('garbled')], retried, Unanswered],
  ['too large', [lost('oversized')], once, Rejected],
  ['given up', [lost('aborted')], once, Unanswered],
]

test.for<[string, Partial<OperationCall<TimedResponse>>, string[]]>([
  ['nothing of its own', {}, []],
  ['its caller', { identity: ['authorization', 'account t'] }, ['authorization', 'account t']],
  ['the tag that it holds', { heldTag: '"a"' }, ['if-none-match', '"a"']],
  ['that its body is JSON', { body: '[]' }, ['content-type', 'application/json']],
])('the headers of a request name %s', async ([, call, headers]) => {
  const world = open()
  await world.call('scoresOf', call)

  expect(world.seen.requests.map((request) => request.headers)).toEqual([headers])
})

describe('each failure', () => {
  test.for(failures)('%s: the number of requests and the error follow from it', async ([, givens, tries, thrown]) => {
    for (const given of givens) {
      const name = given instanceof TransportError ? given.kind : String(given.status)
      for (const [operation, expected] of [
        ['scoresOf', tries.read],
        ['uploadLogs', tries.uploadOfLogs],
        ['uploadTagsOf', tries.otherWrite],
      ] as const) {
        const { seen, failure } = open({ answers: [given] })

        const error = await failure(operation)
        expect(error, `${name} of ${operation}`).toBeInstanceOf(thrown)
        if (retried === tries && Number(name) < 400)
          expect(String(error)).toContain(`(status ${name} says nothing here)`)
        expect(seen.requests.length, `${name} of ${operation}`).toBe(expected)
        expect(seen.released.length).toBe(seen.acquired.length)
      }
    }
  })

  test('401 is the caller’s to renew: it is sent once, and comes out as it is', async () => {
    const { seen, failure } = open({ answers: [answer(401)] })

    expect(await failure('scoresOf')).toSatisfy(
      (error) => error instanceof AttemptError && error.intent.kind === 'renew',
    )
    expect(seen.requests).toHaveLength(1)
  })

  test('of writes the client itself repeats uploads of logs and requests for tokens, no other', async () => {
    const repeated: string[] = []
    for (const { name, method } of Object.values(operations)) {
      const { seen, failure } = open({ answers: [lost('lost')] })
      await failure(name)
      if (seen.requests.length > 1 && method !== 'GET') repeated.push(name)
      if (method === 'GET') expect(seen.requests, name).toHaveLength(3)
    }
    expect(repeated).toEqual(['accountToken', 'profileToken', 'uploadLogs'])
  })
})

test('each permit is given back once, whatever the answer; 429 and 503 say overloaded, nothing else does', async () => {
  const statuses = Array.from({ length: 400 }, (_, index) => answer(200 + index))
  const kinds = (['unsent', 'lost', 'garbled', 'oversized', 'aborted'] as const).map(lost)
  for (const given of [...statuses, ...kinds]) {
    const { seen, failure } = open({ answers: [given] })
    await failure('scoresOf', { parse: () => expect.unreachable() as never }).catch(() => undefined)

    const overloads = given instanceof TransportError ? false : [429, 503].includes(given.status)
    expect(seen.released).toHaveLength(seen.requests.length)
    expect(seen.acquired).toHaveLength(seen.requests.length)
    expect(seen.released.every(({ overloaded }) => overloaded === overloads)).toBe(true)
    expect(seen.released.every(({ latencyMs }) => latencyMs === 7)).toBe(true)
  }
})

test('a permit that is refused is not given back, and nothing is sent', async () => {
  const refused = new RetryLater('full', { waitMs: 1 })
  const { seen, failure } = open({ permit: () => Promise.reject(refused) })

  expect(await failure('scoresOf')).toBe(refused)
  expect(seen.requests).toEqual([])
  expect(seen.released).toEqual([])
})

test('a name that cannot stand in a path takes no permit', async () => {
  const { seen, failure } = open()

  expect(await failure('scoresOf', { externalId: '..' })).toMatchObject({
    ...{ name: 'Rejected', status: 0, message: "call scoresOf: this profile's name cannot stand in a path" },
    hint: 'It is empty, a dot, two dots, the last word of another address, or not well-formed text.',
  })
  expect(seen.acquired).toEqual([])
})

describe('the pauses between tries', () => {
  test.for<[number, number[]]>([
    [0, [100, 200]],
    [0.5, [200, 400]],
    [0.999, [299.8, 599.6]],
  ])('with chance %d they are %o ms: each twice as long, and jittered', async ([random, expected]) => {
    const { seen, failure } = open({ answers: [lost('lost')], random })
    await failure('scoresOf')
    expect(seen.retries).toEqual(['scoresOf', 'scoresOf'])

    expect(seen.pauses.map(({ ms }) => Math.round(ms * 10) / 10)).toEqual(expected)
  })

  test.for<[number, string | undefined, number[]]>([
    [429, '0', [200, 400]],
    [429, '1', [1000, 1000]],
    [503, '2', [2000, 2000]],
    [502, '2', [2000, 2000]],
    [504, '1', [1000, 1000]],
    [408, '1', [1000, 1000]],
    [429, '2.001', []],
    [502, '3', []],
  ])(
    '%i with Retry-After %s is sent again after %o ms, and beyond 2 s left to the queue',
    async ([status, retryAfter, expected]) => {
      const { seen, failure } = open({ answers: [answer(status, { retryAfter })] })

      expect(await failure('scoresOf')).toBeInstanceOf(RetryLater)
      expect(seen.pauses.map(({ ms }) => ms)).toEqual(expected)
      expect(seen.requests).toHaveLength(expected.length + 1)
    },
  )

  test('the attempts of a call are numbered from one', async () => {
    const { seen, call } = open({ answers: [lost('lost'), answer(502), answer(200)] })
    await call('scoresOf')

    expect(seen.ended.map(({ result, attempt }) => [result, attempt])).toEqual([
      ['lost', 1],
      [502, 2],
      [200, 3],
    ])
  })
})

test('a pause that is a date is measured by upstream’s clock, also for the fleet', async () => {
  const dates = { retryAfter: 'Tue, 03 Mar 2026 12:00:40 GMT', date: 'Tue, 03 Mar 2026 11:59:00 GMT' }
  const { seen, failure } = open({ answers: [answer(503, dates)] })

  expect(await failure('scoresOf')).toMatchObject({ waitMs: 100_000 })
  expect(seen.released).toEqual([{ latencyMs: 7, overloaded: true, retryAfterMs: 100_000 }])
})

describe('a caller that gives up', () => {
  test('reaches the wait for a permit, the request and the pause', async () => {
    const { signal } = new AbortController()
    const { seen, failure } = open({ answers: [lost('lost')] })
    await failure('scoresOf', { signal })

    expect(new Set(seen.acquired)).toEqual(new Set([signal]))
    expect(new Set(seen.requests.map((request) => request.signal))).toEqual(new Set([signal]))
    expect(new Set(seen.pauses.map((pause) => pause.signal))).toEqual(new Set([signal]))
    expect(seen.pauses).toHaveLength(2)
  })

  test('gets no second attempt, and nothing waits for it', async () => {
    const leaving = new AbortController()
    const { seen, failure } = open({ answers: [lost('lost')], permit: () => void leaving.abort() as undefined })

    expect(await failure('scoresOf', { signal: leaving.signal })).toBeInstanceOf(Unanswered)
    expect(seen.requests).toHaveLength(1)
    expect(seen.pauses).toEqual([])
  })

  test.for([1, 2])('within pause %i fails as unanswered, and sends nothing more', async (pause) => {
    const leaving = new AbortController()
    let pauses = 0
    const sleep = async (_: number, signal?: AbortSignal) => {
      pauses += 1
      if (pauses === pause) leaving.abort()
      if (signal?.aborted) throw new DOMException('This operation was aborted', 'AbortError')
    }
    const { seen, failure } = open({ answers: [lost('lost')], sleep })

    expect(await failure('scoresOf', { signal: leaving.signal })).toMatchObject({
      name: 'Unanswered',
      message: 'call scoresOf: given up by its caller',
    })
    expect(seen.requests).toHaveLength(pause)
  })
})

test('sentAtMs is read after the permit came, before the request', async () => {
  const world = open({
    permit: async () => {
      world.advance(5000)
    },
  })

  expect((await world.call('scoresOf')).sentAtMs).toBe(beginMs + 5000)
  expect(world.seen.ended[0]?.latencyMs).toBe(7)
})

test('an error of our own in a parser is no answer of upstream’s', async () => {
  const { seen, failure } = open()
  const ours = new TypeError('a bug')
  const parse = () => {
    throw ours
  }

  expect(await failure('scoresOf', { parse })).toBe(ours)
  expect(seen.requests).toHaveLength(1)
})

test('each permit is given back in the lane in which it was taken, also after a failure', async () => {
  const { seen, call } = open({ answers: [answer(503), answer(200)] })

  await call('scoresOf', { lane: 'backfill' })

  expect(seen.lanes).toEqual(['backfill taken', 'backfill given back', 'backfill taken', 'backfill given back'])
})
