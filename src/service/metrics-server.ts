import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Registry } from 'prom-client'
import { UsageProblem } from '../errors.ts'

type MetricsServerOptions = { registry: Registry; host: string; port: number }

/** Serves the metrics, and nothing else, on a port of their own: whoever may ask for records need not see them. */
export async function openMetricsServer({ registry, host, port }: MetricsServerOptions): Promise<{ close(): void }> {
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': registry.contentType, 'cache-control': 'no-store' })
    response.end(await registry.metrics())
  })
  server.listen(port, host)
  await once(server, 'listening').catch((cause: Error) => {
    throw new UsageProblem(`listen for metrics on ${host}, port ${port}: ${cause.message}`, {
      hint: 'Choose another METRICS_PORT.',
      cause,
    })
  })
  return {
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
