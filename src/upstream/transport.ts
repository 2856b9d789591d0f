import { StringDecoder } from 'node:string_decoder'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { type Dispatcher, Pool } from 'undici'
import { SECOND } from '../window.ts'

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export type HttpRequest = {
  readonly method: HttpMethod
  readonly path: string
  readonly headers: string[]
  readonly body?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Takes over the body, piece by piece, once it has grown past `wholeBytesMax`. */
  readonly stream?: ((status: number) => TextSink | undefined) | undefined
}

export type TextSink = { push(text: string): void }

export type HttpAnswer = {
  readonly status: number
  readonly date: string | undefined
  readonly retryAfter: string | undefined
  /** Empty when a sink took the body. */
  readonly text: string
  readonly sink: TextSink | undefined
}

export type Transport = {
  send(request: HttpRequest): Promise<HttpAnswer>
  close(): Promise<void>
}

/**
 * Why there is no answer. `unsent`: upstream never saw the request. `lost`: it may have acted on it. `oversized`: the
 * answer was larger than we take. `aborted`: our own caller gave up. The words carry nothing of the request.
 */
export type TroubleKind = 'unsent' | 'lost' | 'oversized' | 'garbled' | 'aborted'

export class TransportTrouble extends Error {
  readonly kind: TroubleKind
  readonly code: string

  constructor(kind: TroubleKind, code: string, cause?: unknown) {
    super(code, cause === undefined ? undefined : { cause })
    this.name = 'TransportTrouble'
    this.kind = kind
    this.code = code
  }
}

export const transportDefaults = {
  connections: 64,
  connectMs: 5 * SECOND,
  headersMs: 20 * SECOND,
  /** Between two pieces of a body. */
  bodyMs: 10 * SECOND,
  /** From sending to the last byte, so that a trickle that never pauses ends too. */
  totalMs: 60 * SECOND,
  keepAliveMs: 30 * SECOND,
  bodyBytesMax: 64 * 1024 * 1024,
  /** Above this an answer is read piece by piece. */
  wholeBytesMax: 1024 * 1024,
}

export type TransportLimits = typeof transportDefaults

/** One undici pool for one origin. Follows no redirect, repeats nothing, knows nothing of tokens. */
export function openTransport(url: string, limits: TransportLimits = transportDefaults): Transport {
  const pool = new Pool(new URL(url).origin, {
    connections: limits.connections,
    pipelining: 1,
    allowH2: false,
    connectTimeout: limits.connectMs,
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.bodyMs,
    keepAliveTimeout: limits.keepAliveMs,
    maxHeaderSize: 32 * 1024,
  })
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        const exchange = new Exchange({ request, limits, resolve, reject })
        if (!exchange.start()) return
        const { method, path, headers, body } = request
        try {
          pool.dispatch({ method, path, headers, body: body ?? null }, exchange)
        } catch (cause) {
          exchange.fail(new TransportTrouble('unsent', codeOf(cause), cause))
        }
      }),
    close: () => pool.destroy(),
  }
}

type ExchangeParts = {
  request: HttpRequest
  limits: TransportLimits
  resolve: (answer: HttpAnswer) => void
  reject: (trouble: TransportTrouble) => void
}

/** One request and its answer, as undici's handler. Settles its promise exactly once. */
class Exchange implements Dispatcher.DispatchHandler {
  private readonly parts: ExchangeParts
  private controller: Dispatcher.DispatchController | undefined
  private deadline: NodeJS.Timeout | undefined
  private settled = false
  private status = 0
  private headers: Record<string, string | string[] | undefined> = {}
  private chunks: Buffer[] = []
  private bytes = 0
  private sink: TextSink | undefined
  private decoder: StringDecoder | undefined
  private onAbort: (() => void) | undefined

  constructor(parts: ExchangeParts) {
    this.parts = parts
  }

  start(): boolean {
    const { signal } = this.parts.request
    if (signal?.aborted) {
      this.fail(new TransportTrouble('aborted', 'aborted', signal.reason))
      return false
    }
    if (signal !== undefined) {
      this.onAbort = () => this.fail(new TransportTrouble('aborted', 'aborted', signal.reason))
      signal.addEventListener('abort', this.onAbort, { once: true })
    }
    const { totalMs } = this.parts.limits
    this.deadline = setTimeout(() => this.fail(new TransportTrouble('lost', 'total timeout')), totalMs)
    return true
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.settled) controller.abort(new TransportTrouble('aborted', 'settled before it was sent'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Exchange['headers']): void {
    if (status < 200) return
    this.status = status
    this.headers = headers
    if (Number(headers['content-length'] ?? 0) > this.parts.limits.bodyBytesMax) this.tooLarge()
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.settled) return
    const { bodyBytesMax, wholeBytesMax } = this.parts.limits
    this.bytes += chunk.length
    if (this.bytes > bodyBytesMax) this.tooLarge()
    else if (this.sink !== undefined) this.feed(chunk)
    else {
      this.chunks.push(chunk)
      if (this.bytes > wholeBytesMax && this.headers['content-encoding'] === undefined) this.startStreaming()
    }
  }

  onResponseEnd(): void {
    const encoding = this.headers['content-encoding']
    if (this.sink !== undefined) this.feed(undefined)
    else if (encoding !== undefined && encoding !== 'identity' && this.bytes > 0) {
      this.unpack(String(encoding))
      return
    }
    if (!this.settled) this.succeed(this.wholeText())
  }

  private wholeText(): string {
    const [first] = this.chunks
    if (first === undefined) return ''
    return (this.chunks.length === 1 ? first : Buffer.concat(this.chunks)).toString('utf8')
  }

  onResponseError(_: Dispatcher.DispatchController, cause: Error): void {
    const code = codeOf(cause)
    const kind = unsentCodes.has(code) || isCertificate(code) ? 'unsent' : 'lost'
    this.fail(cause instanceof TransportTrouble ? cause : new TransportTrouble(kind, code, cause))
  }

  fail(trouble: TransportTrouble): void {
    if (this.settled) return
    this.settle()
    this.parts.reject(trouble)
    this.controller?.abort(trouble)
  }

  private startStreaming(): void {
    this.sink = this.parts.request.stream?.(this.status)
    if (this.sink === undefined) return
    this.decoder = new StringDecoder('utf8')
    for (const chunk of this.chunks) this.feed(chunk)
    this.chunks = []
  }

  private feed(chunk: Buffer | undefined): void {
    const text = chunk === undefined ? this.decoder?.end() : this.decoder?.write(chunk)
    try {
      if (text) this.sink?.push(text)
    } catch (cause) {
      this.fail(new TransportTrouble('garbled', 'not the JSON that was expected', cause))
    }
  }

  private unpack(encoding: string): void {
    const unpackOne = unpackers[encoding]
    if (unpackOne === undefined) {
      this.fail(new TransportTrouble('garbled', 'unknown content-encoding'))
      return
    }
    unpackOne(Buffer.concat(this.chunks), { maxOutputLength: this.parts.limits.bodyBytesMax }).then(
      (body) => this.settled || this.succeed(body.toString('utf8')),
      (cause) => {
        const tooLarge = codeOf(cause) === 'ERR_BUFFER_TOO_LARGE'
        this.fail(new TransportTrouble(tooLarge ? 'oversized' : 'garbled', codeOf(cause), cause))
      },
    )
  }

  private tooLarge(): void {
    this.fail(new TransportTrouble('oversized', `an answer of more than ${this.parts.limits.bodyBytesMax} bytes`))
  }

  private succeed(text: string): void {
    this.settle()
    this.parts.resolve({
      status: this.status,
      date: first(this.headers['date']),
      retryAfter: first(this.headers['retry-after']),
      text,
      sink: this.sink,
    })
  }

  private settle(): void {
    this.settled = true
    clearTimeout(this.deadline)
    if (this.onAbort !== undefined) this.parts.request.signal?.removeEventListener('abort', this.onAbort)
  }
}

const unpackers: Record<string, (packed: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}

/** Failures to get a connection at all: the request never left. */
const unsentCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_INVALID_ARG',
])

function isCertificate(code: string): boolean {
  return code.includes('CERT') || code.startsWith('ERR_TLS') || code.startsWith('ERR_SSL')
}

function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  if ('code' in cause && typeof cause.code === 'string') return cause.code
  // undici reports the failures of all addresses of one name together.
  if (cause instanceof AggregateError) return codeOf(cause.errors[0])
  return cause.name
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}
