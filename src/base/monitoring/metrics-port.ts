import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Registry } from 'prom-client'
import { UsageProblem } from '../errors.ts'
import { isLoopback, namesThisMachine } from '../text/readable.ts'
import { exposeMetrics } from './exposition.ts'

/** Why a process is not ready: one word of a closed list, which a metric carries, and a sentence for people. */
export type Unready = { readonly reason: string; readonly text: string }

type MetricsPortOptions = {
  readonly registry: Registry
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Asked at each request of /ready. Absent: /health and /ready are served elsewhere. */
  readonly unready?: () => readonly Unready[]
}

/** Serves the metrics on a port of their own: a caller who may ask for records need not see metrics, and the other way round. */
export async function openMetricsPort(options: MetricsPortOptions): Promise<{ readonly url: string; close(): void }> {
  const { host, port } = options
  const server = createServer((request, response) => {
    answer(options, request, response).catch(() => response.destroy())
  })
  server.listen(port, host)
  await once(server, 'listening').catch((cause: Error) => {
    throw new UsageProblem(`listen for metrics on ${host}, port ${port}: ${cause.message}`, {
      hint: 'Choose another METRICS_PORT, or 0 for a free one; METRICS_HOST must be an address of this machine.',
      cause,
    })
  })
  const address = server.address()
  const taken = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function answer(
  { registry, host, unready }: MetricsPortOptions,
  { method, url, headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = url?.split('?', 1)[0]
  if (isLoopback(host) && !namesThisMachine(headers.host))
    return send(response, 403, { status: 'only names of this machine' })
  if (method !== 'GET' && method !== 'HEAD') return send(response, 405, { status: 'only GET' })
  if (path === '/metrics') {
    const { contentType, text } = await exposeMetrics(registry, headers.accept)
    response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store', vary: 'accept' })
    return void response.end(text)
  }
  if (path === '/health' && unready) return send(response, 200, { status: 'up' })
  if (path === '/ready' && unready) {
    const reasons = unready()
    if (reasons.length === 0) return send(response, 200, { status: 'ready' })
    return send(response, 503, { status: 'not ready', reasons })
  }
  return send(response, 404, { status: 'not found' })
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(`${JSON.stringify(body)}\n`)
}
