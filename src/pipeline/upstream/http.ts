import { SECOND } from '../../base/time/units.ts'

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly headers: string[]
  readonly body?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Gives the sink that takes the body piece by piece, once the body has grown past `bufferedBytesMax`. */
  readonly sinkFor?: ((status: number) => TextSink | undefined) | undefined
  /** Gets all headers of the answer: the ordinary client needs only those of `HttpResponse`. */
  readonly onHeaders?: ((headers: HttpHeaders) => void) | undefined
}

export type HttpHeaders = Readonly<Record<string, string | string[] | undefined>>

export type TextSink = { push(text: string): void }

export type HttpResponse = {
  readonly status: number
  readonly date: string | undefined
  readonly retryAfter: string | undefined
  /** The `ETag` header. */
  readonly tag: string | undefined
  readonly derivationState: string | undefined
  /** The `Link` header names a next page. */
  readonly hasNextPage?: boolean
  /** The `x-request-id` header, where it is a plain word. */
  readonly requestId?: string | undefined
  /** Empty when a sink took the body. */
  readonly body: Buffer
  readonly sink: TextSink | undefined
}

export type Transport = {
  send(request: HttpRequest): Promise<HttpResponse>
  close(): Promise<void>
}

/**
 * The reason why there is no answer. `unsent`: upstream never saw the request. `lost`: upstream may have acted on the
 * request. `garbled`: the answer cannot be read. `oversized`: the answer is larger than the limit. `aborted`: the caller
 * gave up. The words carry nothing of the request.
 */
export type TransportErrorKind = 'unsent' | 'lost' | 'oversized' | 'garbled' | 'aborted'

export class TransportError extends Error {
  readonly kind: TransportErrorKind
  readonly code: string

  constructor(kind: TransportErrorKind, code: string, cause?: unknown) {
    super(code, cause === undefined ? undefined : { cause })
    this.name = 'TransportError'
    this.kind = kind
    this.code = code
  }
}

export const transportDefaults = {
  connectionsMax: 64,
  connectTimeoutMs: 5 * SECOND,
  headersTimeoutMs: 20 * SECOND,
  /** Between two pieces of a body. */
  bodyTimeoutMs: 10 * SECOND,
  /** From sending to the last byte, so that a trickle that never pauses ends too. */
  totalTimeoutMs: 60 * SECOND,
  keepAliveTimeoutMs: 30 * SECOND,
  bodyBytesMax: 64 * 1024 * 1024,
  /** A larger answer is read piece by piece. */
  bufferedBytesMax: 1024 * 1024,
  /** The `Accept-Encoding` of requests; empty: none is sent. */
  acceptEncoding: '',
}

export type TransportLimits = typeof transportDefaults
