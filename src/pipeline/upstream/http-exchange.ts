import { StringDecoder } from 'node:string_decoder'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { DERIVATION_STATE_HEADER } from '../../base/contract/derivation-state.ts'
import { onAbort } from '../../base/on-abort.ts'
import { SECOND } from '../../base/time/units.ts'
import { type HttpRequest, type HttpResponse, type TextSink, TransportError, type TransportLimits } from './http.ts'

/**
 * Ends exchanges that take too long. All exchanges have the same time limit, so the oldest is always first and one slow
 * timer serves all of them; a timer for each exchange would make every request dearer.
 */
export class ExchangeDeadlines {
  private readonly startedAtMs = new Map<HttpExchange, number>()
  private readonly totalMs: number
  private timer: NodeJS.Timeout | undefined

  constructor(totalMs: number) {
    this.totalMs = totalMs
  }

  add(exchange: HttpExchange): void {
    this.startedAtMs.set(exchange, performance.now())
    this.timer ??= setInterval(() => this.tick(), Math.min(this.totalMs / 4, SECOND)).unref()
  }

  delete(exchange: HttpExchange): void {
    this.startedAtMs.delete(exchange)
  }

  private tick(): void {
    const lateMs = performance.now() - this.totalMs
    for (const [exchange, startedAtMs] of this.startedAtMs) {
      if (startedAtMs > lateMs) return
      exchange.fail(new TransportError('lost', 'total timeout'))
    }
    clearInterval(this.timer)
    this.timer = undefined
  }
}

type HttpExchangeDeps = {
  request: HttpRequest
  limits: TransportLimits
  deadlines: ExchangeDeadlines
  resolve: (response: HttpResponse) => void
  reject: (error: TransportError) => void
}

/** One request and its answer, as a dispatch handler of undici. Settles its promise exactly once. */
export class HttpExchange implements Dispatcher.DispatchHandler {
  private readonly deps: HttpExchangeDeps
  private controller: Dispatcher.DispatchController | undefined
  private settled = false
  private status = 0
  private headers: Record<string, string | string[] | undefined> = {}
  private chunks: Buffer[] = []
  private bytes = 0
  private sink: TextSink | undefined
  private decoder: StringDecoder | undefined
  private stopListening: (() => void) | undefined

  constructor(deps: HttpExchangeDeps) {
    this.deps = deps
  }

  start(): boolean {
    const { signal } = this.deps.request
    if (signal?.aborted) {
      this.fail(new TransportError('aborted', 'aborted', signal.reason))
      return false
    }
    if (signal !== undefined) {
      this.stopListening = onAbort(signal, () => this.fail(new TransportError('aborted', 'aborted', signal.reason)))
    }
    this.deps.deadlines.add(this)
    return true
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.settled) controller.abort(new TransportError('aborted', 'settled before it was sent'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: HttpExchange['headers']): void {
    if (status < 200) return
    this.status = status
    this.headers = headers
    this.deps.request.onHeaders?.(headers)
    if (Number(headers['content-length'] ?? 0) > this.deps.limits.bodyBytesMax) this.failOversized()
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.settled) return
    const { bodyBytesMax, bufferedBytesMax } = this.deps.limits
    this.bytes += chunk.length
    if (this.bytes > bodyBytesMax) this.failOversized()
    else if (this.sink !== undefined) this.pushToSink(chunk)
    else {
      this.chunks.push(chunk)
      if (this.bytes > bufferedBytesMax && this.headers['content-encoding'] === undefined) this.startStreaming()
    }
  }

  onResponseEnd(): void {
    const encoding = firstHeader(this.headers['content-encoding'])?.trim().toLowerCase()
    if (this.sink !== undefined) this.pushToSink(undefined)
    else if (encoding !== undefined && encoding !== 'identity' && this.bytes > 0) {
      this.decompress(encoding)
      return
    }
    if (!this.settled) this.succeed(this.bufferedBody())
  }

  private bufferedBody(): Buffer {
    const [first] = this.chunks
    return this.chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.chunks)
  }

  onResponseError(_: Dispatcher.DispatchController, cause: Error): void {
    const code = errorCodeOf(cause)
    const kind = unsentCodes.has(code) || isCertificateError(code) ? 'unsent' : 'lost'
    this.fail(cause instanceof TransportError ? cause : new TransportError(kind, code, cause))
  }

  fail(error: TransportError): void {
    if (this.settled) return
    this.settle()
    this.deps.reject(error)
    this.controller?.abort(error)
  }

  private startStreaming(): void {
    this.sink = this.deps.request.sinkFor?.(this.status)
    if (this.sink === undefined) return
    this.decoder = new StringDecoder('utf8')
    for (const chunk of this.chunks) this.pushToSink(chunk)
    this.chunks = []
  }

  private pushToSink(chunk: Buffer | undefined): void {
    const text = chunk === undefined ? this.decoder?.end() : this.decoder?.write(chunk)
    try {
      if (text) this.sink?.push(text)
    } catch (cause) {
      this.fail(new TransportError('garbled', 'not the JSON that was expected', cause))
    }
  }

  private decompress(encoding: string): void {
    const decompress = decompressors[encoding]
    if (decompress === undefined) {
      this.fail(new TransportError('garbled', 'unknown content-encoding'))
      return
    }
    decompress(Buffer.concat(this.chunks), { maxOutputLength: this.deps.limits.bodyBytesMax }).then(
      (body) => this.settled || this.succeed(body),
      (cause) => {
        const kind = errorCodeOf(cause) === 'ERR_BUFFER_TOO_LARGE' ? 'oversized' : 'garbled'
        this.fail(new TransportError(kind, errorCodeOf(cause), cause))
      },
    )
  }

  private failOversized(): void {
    this.fail(new TransportError('oversized', `an answer of more than ${this.deps.limits.bodyBytesMax} bytes`))
  }

  private succeed(body: Buffer): void {
    this.settle()
    this.deps.resolve({
      status: this.status,
      date: firstHeader(this.headers['date']),
      retryAfter: firstHeader(this.headers['retry-after']),
      tag: wholeHeader(this.headers['etag']),
      derivationState: wholeHeader(this.headers[DERIVATION_STATE_HEADER]),
      hasNextPage: /\brel="?next\b/i.test(wholeHeader(this.headers['link']) ?? ''),
      requestId: plainWord(firstHeader(this.headers['x-request-id'])),
      body: this.sink === undefined ? body : EMPTY_BODY,
      sink: this.sink,
    })
  }

  private settle(): void {
    this.settled = true
    this.deps.deadlines.delete(this)
    this.stopListening?.()
  }
}

const EMPTY_BODY = Buffer.alloc(0)

const decompressors: Record<string, (compressed: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}

/** Codes of a connection that could not be made: the request was never sent. */
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

function isCertificateError(code: string): boolean {
  return /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO_/.test(code)
}

function errorCodeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  if ('code' in cause && typeof cause.code === 'string') return cause.code
  // undici reports the failures of all addresses of a host name together.
  if (cause instanceof AggregateError) return errorCodeOf(cause.errors[0])
  return cause.name
}

function firstHeader(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

/** Nothing else of a header may stand in a log. */
const plainWord = (text: string | undefined) => (text !== undefined && /^[\w.-]{1,64}$/.test(text) ? text : undefined)

/** A header that came twice is one text that nobody means: neither of the two is believed. */
function wholeHeader(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header
}
