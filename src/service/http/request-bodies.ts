import { finished, pipeline, type Readable, Transform } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Release } from '../../base/semaphore.ts'
import type { ConcurrencyLimiter } from './concurrency-limiter.ts'
import { accountOf } from './request-caller.ts'
import { badRequest, RequestError, tooManyRequests, unavailable } from './request-error.ts'

/** Bytes of bodies that are held at once, received or expected: while they arrive, wait for a permit, and are worked on. */
export type BodyLimits = { heldBytesMax: number; heldBytesPerAccountMax: number }

/** JSON is packed twenty times as densely at most; only a bomb reaches a thousand times. */
const densityMax = 100
/** Such a body is parsed and stored within milliseconds. */
const lightBytes = 16 * 1024
/** Up to here density does not matter. */
const freeBytes = 64 * 1024

export type RequestBodies = ReturnType<typeof createRequestBodies>

type HeldBody = { readonly closing: AbortController; isWorkedOn: boolean; leave?: Release | undefined }

export function createRequestBodies(limiter: ConcurrencyLimiter, limits: BodyLimits) {
  const bodies = new WeakMap<FastifyRequest, HeldBody>()
  const heldBytes = createHeldBytes(limits)

  return {
    /** Before a body is read: refuses it when too many are held. As a hook `preParsing`, after the one that unpacks. */
    receive: (request: FastifyRequest, reply: FastifyReply, payload: Readable) => {
      if (!hasBody(request)) return payload
      const bytes = expectedBytes(request)
      const account = accountOf(request)
      heldBytes.take(account, bytes)
      const body: HeldBody = { closing: new AbortController(), isWorkedOn: false }
      bodies.set(request, body)
      finished(reply.raw, () => {
        heldBytes.giveBack(account, bytes)
        body.closing.abort()
        if (!body.isWorkedOn) body.leave?.()
      })
      return isPacked(request) ? boundedDensity(payload) : payload
    },
    /** Parses a body. For an operation with limited concurrency only once it has its permit: parsed bodies take the most memory. */
    parse: async (request: FastifyRequest, bytes: Buffer) => {
      const { config } = request.routeOptions
      const body = bodies.get(request)
      if (config.limitsConcurrency && body) {
        const isLight = bytes.length <= lightBytes
        const { signal } = body.closing
        body.leave = await limiter.enter({ group: accountOf(request), isLight, signal })
        if (signal.aborted) body.leave?.()
        if (signal.aborted || !body.leave) throw unavailable('the caller has left')
      }
      return bytes.length === 0 && config.bodyRequired === false ? undefined : parseBody(bytes)
    },
    /** Works on a request, and gives its permit back at the end. */
    work: async <T>(request: FastifyRequest, run: () => Promise<T>) => {
      const body = bodies.get(request)
      if (body) body.isWorkedOn = true
      try {
        return await run()
      } finally {
        body?.leave?.()
      }
    },
  }
}

/** Bytes by account and in all. */
function createHeldBytes({ heldBytesMax, heldBytesPerAccountMax }: BodyLimits) {
  const byAccount = new Map<string, number>()
  let all = 0
  return {
    take(account: string, bytes: number): void {
      const held = (byAccount.get(account) ?? 0) + bytes
      if (held > heldBytesPerAccountMax) throw tooManyRequests('too many bodies of this account are under way', 1)
      if (all + bytes > heldBytesMax) throw unavailable('too many bodies are under way')
      byAccount.set(account, held)
      all += bytes
    },
    giveBack(account: string, bytes: number): void {
      const held = (byAccount.get(account) ?? 0) - bytes
      if (held <= 0) byAccount.delete(account)
      else byAccount.set(account, held)
      all -= bytes
    },
  }
}

const hasBody = ({ headers }: FastifyRequest) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const isPacked = ({ headers }: FastifyRequest) => (headers['content-encoding'] ?? 'identity') !== 'identity'

/** The length that the request announces; unpacked as densely as may be, and never more than the route reads. */
function expectedBytes(request: FastifyRequest): number {
  const { bodyLimit } = request.routeOptions
  const announced = Number(request.headers['content-length'] ?? bodyLimit)
  const most = isPacked(request) ? Math.max(freeBytes, announced * densityMax) : announced
  return Math.min(most, bodyLimit)
}

/** The unpacked stream, ended with 413 when it is packed more densely than JSON is. */
function boundedDensity(unpacked: Readable): Readable {
  const packedBytes = () => Number(Reflect.get(unpacked, 'receivedEncodedLength') ?? 0)
  let bytes = 0
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > freeBytes && bytes > densityMax * packedBytes())
        done(tooLarge(`is packed more than ${densityMax} times`))
      else done(null, chunk)
    },
  })
  // Fastify compares the announced length with this one.
  Object.defineProperty(bounded, 'receivedEncodedLength', { get: packedBytes })
  pipeline(unpacked, bounded, () => undefined) // the reader of the result gets every error
  return bounded
}

const depthMax = 32
/** Values in one body: a thousand logs with fifty properties each have 70,000. Each costs far more memory than its text. */
const valuesMax = 100_000

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Parses a JSON body; throws a 400 when it is not UTF-8, not JSON, or nested deeper than any shape of the interface. */
function parseBody(bytes: Buffer): unknown {
  if (bytes.length === 0) throw unreadable('must not be empty')
  checkStructure(bytes)
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw unreadable('must be UTF-8')
  }
  try {
    return JSON.parse(text)
  } catch {
    throw unreadable('must be JSON')
  }
}

function tooLarge(reason: string) {
  return new RequestError({ status: 413, location: 'body', errors: [{ origin: '', errors: [reason] }] })
}

function unreadable(reason: string) {
  return badRequest('body', [{ origin: '', errors: [reason] }])
}

const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d]
const comma = 0x2c

/** Counts brackets and commas outside of strings. Text that is not JSON passes: JSON.parse rejects it later. */
function checkStructure(bytes: Buffer): void {
  let [depth, values] = [0, 1]
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === quote) at = endOfString(bytes, at + 1)
    else if (byte === openBracket || byte === openBrace) [depth, values] = [depth + 1, values + 1]
    else if (byte === closeBracket || byte === closeBrace) depth -= 1
    else if (byte === comma) values += 1
    if (depth > depthMax) throw unreadable(`must not be nested deeper than ${depthMax}`)
    if (values > valuesMax) throw tooLarge(`must not have more than ${valuesMax} values`)
  }
}

/** The end of the string that began before `from`: the first quote with an even number of backslashes before it. */
function endOfString(bytes: Buffer, from: number): number {
  let end = bytes.indexOf(quote, from)
  while (end !== -1) {
    let slashes = 0
    while (end - 1 - slashes >= from && bytes[end - 1 - slashes] === backslash) slashes += 1
    if (slashes % 2 === 0) return end
    end = bytes.indexOf(quote, end + 1)
  }
  return bytes.length
}
