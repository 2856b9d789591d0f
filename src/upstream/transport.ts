import { Pool } from 'undici'
import { SECOND } from '../window.ts'
import { codeOf, Deadlines, Exchange } from './exchange.ts'

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
  /** Empty when a sink took it. */
  readonly body: Buffer
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
  const deadlines = new Deadlines(limits.totalMs)
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        const exchange = new Exchange({ request, limits, deadlines, resolve, reject })
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
