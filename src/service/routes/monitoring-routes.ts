import type { Registry } from 'prom-client'
import { exposeMetrics } from '../../base/monitoring/exposition.ts'
import { endsWithin } from '../../base/sleep.ts'
import { namesThisMachine } from '../../base/text/readable.ts'
import type { Route } from '../../web/route.ts'
import { RequestError, unavailable } from '../http/request-error.ts'
import type { ServiceRoute } from '../http/service-route.ts'
import { openApiOf } from '../reference/openapi.ts'
import { referencePage, referencePagePolicy } from '../reference/reference-page.ts'
import type { ServicePool } from '../store/service-pool.ts'

const readyTimeoutMs = 2_000

/** Routes for operators: liveness, readiness, metrics, and the reference. */
export function monitoringRoutes(service: {
  pool: ServicePool
  /** For names of this machine. Absent: the metrics are served elsewhere, or not at all. */
  registry: Registry | undefined
  routes: readonly ServiceRoute[]
  isStopping(): boolean
}): ReadonlyArray<Route<object>> {
  const { pool, registry, routes, isStopping } = service
  let described: ReturnType<typeof describe> | undefined
  const reference = () => {
    described ??= describe(routes)
    return described
  }
  const get = (name: string, path: string, run: Route<object>['run']) =>
    ({ name, method: 'GET', path, caller: 'anyone', run }) as const
  const ready = async () => {
    if (isStopping()) throw unavailable('the service is stopping')
    const answered = pool.query('select 1 from service.accounts limit 1')
    if (!(await endsWithin(answered, readyTimeoutMs))) throw unavailable('the database does not answer')
    await answered
    return { json: { status: 'ready' } }
  }
  const metrics = (shown: Registry) =>
    get('metrics', '/metrics', async ({ request }) => {
      if (!namesThisMachine(request.headers.host)) throw new RequestError({ status: 403, location: 'header' })
      const { contentType, text } = await exposeMetrics(shown, request.headers.accept)
      return { bytes: text, headers: { 'content-type': contentType, vary: 'accept' } }
    })
  return [
    get('health', '/health', async () => ({ json: { status: 'up' } })),
    get('ready', '/ready', ready),
    ...(registry ? [metrics(registry)] : []),
    get('openapi', '/openapi.json', async () => ({ bytes: reference().documentText })),
    get('docs', '/docs', async () => reference().page),
  ]
}

/** Takes a tenth of a second: done when it is first asked for, so that a service starts without it. */
function describe(routes: readonly ServiceRoute[]) {
  const document = openApiOf(routes)
  const page = {
    bytes: referencePage(document, routes),
    headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': referencePagePolicy },
  }
  return { documentText: JSON.stringify(document), page }
}
