import type { Registry } from 'prom-client'
import { exposeMetrics } from '../../base/monitoring/exposition.ts'
import { endsWithin } from '../../base/sleep.ts'
import type { ServiceApp, ServiceContext } from '../http/context.ts'
import { jsonContentType, unavailable } from '../http/request-error.ts'
import { recordedExamples } from '../reference/examples.ts'
import { type DescribedRoute, openApiOf } from '../reference/openapi.ts'
import { referencePage, referencePagePolicy } from '../reference/reference-page.ts'

const readyTimeoutMs = 2_000

/** Routes for operators: liveness, readiness, metrics, and the reference. */
export function addMonitoringRoutes(
  app: ServiceApp,
  parts: {
    context: ServiceContext
    /** Absent: the metrics are served elsewhere, or not at all. */
    registry: Registry | undefined
    routes: readonly DescribedRoute[]
    isStopping(): boolean
  },
): void {
  const document = openApiOf(parts.routes)
  const documentText = JSON.stringify(document)
  const page = referencePage(document, recordedExamples)

  app.get('/health', { config: { operation: 'health' } }, async () => ({ status: 'up' }))

  app.get('/ready', { config: { operation: 'ready' } }, async () => {
    if (parts.isStopping()) throw unavailable('the service is stopping')
    const answered = parts.context.pool.query('select 1 from service.accounts limit 1')
    if (!(await endsWithin(answered, readyTimeoutMs))) throw unavailable('the database does not answer')
    await answered
    return { status: 'ready' }
  })

  const { registry } = parts
  if (registry) {
    app.get('/metrics', { config: { operation: 'metrics' } }, async (request, reply) => {
      const { contentType, text } = await exposeMetrics(registry, request.headers.accept)
      return reply.headers({ 'content-type': contentType, vary: 'accept' }).send(text)
    })
  }

  app.get('/openapi.json', { config: { operation: 'openapi' } }, async (_request, reply) =>
    reply.header('content-type', jsonContentType).send(documentText),
  )

  app.get('/docs', { config: { operation: 'docs' } }, async (_request, reply) =>
    reply
      .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': referencePagePolicy })
      .send(page),
  )
}
