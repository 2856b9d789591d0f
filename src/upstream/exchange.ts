import { StringDecoder } from 'node:string_decoder'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { SECOND } from '../window.ts'
import {
  type HttpAnswer,
  type HttpRequest,
  type TextSink,
  type TransportLimits,
  TransportTrouble,
} from './transport.ts'

/**
 * Ends exchanges that take too long. All have the same time, so the oldest is always first and one slow ticking timer
 * serves them all; a timer each would cost every request more than its share.
 */
export class Deadlines {
  private readonly startedAtMs = new Map<Exchange, number>()
  private readonly totalMs: number
  private timer: NodeJS.Timeout | undefined

  constructor(totalMs: number) {
    this.totalMs = totalMs
  }

  add(exchange: Exchange): void {
    this.startedAtMs.set(exchange, performance.now())
    this.timer ??= setInterval(() => this.tick(), Math.min(this.totalMs / 4, SECOND)).unref()
  }

  delete(exchange: Exchange): void {
    this.startedAtMs.delete(exchange)
  }

  private tick(): void {
    const lateMs = performance.now() - this.totalMs
    for (const [exchange, startedAtMs] of this.startedAtMs) {
      if (startedAtMs > lateMs) return
      exchange.fail(new TransportTrouble('lost', 'total timeout'))
    }
    if (this.startedAtMs.size > 0) return
    clearInterval(this.timer)
    this.timer = undefined
  }
}

type ExchangeParts = {
  request: HttpRequest
  limits: TransportLimits
  deadlines: Deadlines
  resolve: (answer: HttpAnswer) => void
  reject: (trouble: TransportTrouble) => void
}

/** One request and its answer, as undici's handler. Settles its promise exactly once. */
export class Exchange implements Dispatcher.DispatchHandler {
  private readonly parts: ExchangeParts
  private controller: Dispatcher.DispatchController | undefined
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
    this.parts.deadlines.add(this)
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
    if (!this.settled) this.succeed(this.wholeBody())
  }

  private wholeBody(): Buffer {
    const [first] = this.chunks
    return this.chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.chunks)
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
      (body) => this.settled || this.succeed(body),
      (cause) => {
        const tooLarge = codeOf(cause) === 'ERR_BUFFER_TOO_LARGE'
        this.fail(new TransportTrouble(tooLarge ? 'oversized' : 'garbled', codeOf(cause), cause))
      },
    )
  }

  private tooLarge(): void {
    this.fail(new TransportTrouble('oversized', `an answer of more than ${this.parts.limits.bodyBytesMax} bytes`))
  }

  private succeed(body: Buffer): void {
    this.settle()
    this.parts.resolve({
      status: this.status,
      date: first(this.headers['date']),
      retryAfter: first(this.headers['retry-after']),
      body: this.sink === undefined ? body : NOTHING,
      sink: this.sink,
    })
  }

  private settle(): void {
    this.settled = true
    this.parts.deadlines.delete(this)
    if (this.onAbort !== undefined) this.parts.request.signal?.removeEventListener('abort', this.onAbort)
  }
}

const NOTHING = Buffer.alloc(0)

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

export function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  if ('code' in cause && typeof cause.code === 'string') return cause.code
  // undici reports the failures of all addresses of one name together.
  if (cause instanceof AggregateError) return codeOf(cause.errors[0])
  return cause.name
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}
