/// <reference path="./undici-pool.d.ts" />
// The pool alone: the rest of undici needs a newer Node than programs that import the client may have.
import Pool from 'undici/lib/dispatcher/pool.js'
import { type Transport, type TransportLimits, transportDefaults } from './http.ts'
import { ExchangeDeadlines, HttpExchange } from './http-exchange.ts'

/** The path of upstream's base address, without a slash at its end: every request path begins with it. */
export function basePathOf(url: string): string {
  return new URL(url).pathname.replace(/\/+$/, '')
}

/**
 * Which codings of answers are asked for: gzip, which a network pays back many times. Where upstream runs on this machine,
 * there is no network, and unpacking costs more than the bytes.
 */
export function acceptEncodingFor(url: string): string {
  const { hostname } = new URL(url)
  const isHere = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
  return isHere ? '' : 'gzip'
}

/** One undici pool for one origin. It follows no redirect, retries nothing and knows no tokens. */
export function openTransport(url: string, limits: TransportLimits = transportDefaults): Transport {
  const pool = new Pool(new URL(url).origin, {
    connections: limits.connectionsMax,
    pipelining: 1,
    allowH2: false,
    connectTimeout: limits.connectTimeoutMs,
    headersTimeout: limits.headersTimeoutMs,
    bodyTimeout: limits.bodyTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    maxHeaderSize: 32 * 1024,
  })
  const accepting = limits.acceptEncoding === '' ? [] : ['accept-encoding', limits.acceptEncoding]
  const deadlines = new ExchangeDeadlines(limits.totalTimeoutMs)
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        const exchange = new HttpExchange({ request, limits, deadlines, resolve, reject })
        if (!exchange.start()) return
        const { method, path, headers, body } = request
        pool.dispatch({ method, path, headers: [...headers, ...accepting], body: body ?? null }, exchange)
      }),
    close: () => pool.destroy(),
  }
}
