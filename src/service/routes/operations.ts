import type { Registry } from 'prom-client'
import { openApiOf } from '../openapi.ts'
import { referencePage } from '../reference-page.ts'
import { unavailable } from '../refusal.ts'
import type { App, Room, RouteDefinition } from '../route.ts'

const readyTimeoutMs = 2_000

/** What those who run the service ask it: is it alive, is it ready, how is it doing, what does it serve. */
export function addOperationsRoutes(
  app: App,
  parts: { room: Room; registry: Registry; routes: readonly RouteDefinition[]; isStopping(): boolean },
): void {
  const document = openApiOf(parts.routes)
  const documentText = JSON.stringify(document)
  const page = referencePage(document)

  app.get('/health', { config: { operation: 'health' } }, async () => ({ status: 'up' }))

  app.get('/ready', { config: { operation: 'ready' } }, async () => {
    if (parts.isStopping()) throw unavailable('the service is stopping')
    const timeout = AbortSignal.timeout(readyTimeoutMs)
    await Promise.race([
      parts.room.pool.query('select 1 from service.accounts limit 1'),
      new Promise((_resolve, reject) => {
        timeout.addEventListener('abort', () => reject(unavailable('the database does not answer')))
      }),
    ])
    return { status: 'ready' }
  })

  app.get('/metrics', { config: { operation: 'metrics' } }, async (_request, reply) =>
    reply.header('content-type', parts.registry.contentType).send(await parts.registry.metrics()),
  )

  app.get('/openapi.json', { config: { operation: 'openapi' } }, async (_request, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(documentText),
  )

  app.get('/docs', { config: { operation: 'docs' } }, async (_request, reply) =>
    reply.header('content-type', 'text/html; charset=utf-8').send(page),
  )
}
