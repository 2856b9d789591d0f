import rateLimit from '@fastify/rate-limit'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Config } from '../../config/env.ts'
import { openCloseStack } from '../base/close-stack.ts'
import type { Log } from '../base/log.ts'
import { sleep } from '../base/sleep.ts'
import { SECOND } from '../base/time/units.ts'
import type { EngineAddresses } from '../operations/addresses.ts'
import { startFleetWatch } from '../operations/fleet-watch.ts'
import type { Pipeline } from '../operations/pipeline.ts'
import { createAudit } from '../pipeline/warehouse/audit/stored-audit.ts'
import { createDivision } from '../pipeline/warehouse/divided/division.ts'
import { openWarehousePool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
import { type Access, openAccess } from '../web/access.ts'
import { listen, slowSenderOptions } from '../web/listen.ts'
import { openPageBundle } from '../web/page-bundle.ts'
import { addPageGuard, frameworkErrors, malformedRequestAnswer } from '../web/page-guard.ts'
import { addPageQuestions, sendPageError } from '../web/page-questions.ts'
import { addPageRoutes } from '../web/page-routes.ts'
import {
  addSessions,
  addSignIn,
  csrfTokenOf,
  isOfItsPage,
  refusePage,
  requireCsrfToken,
  sessionLimits,
} from '../web/sessions.ts'
import { type DashboardContext, type DashboardRoute, defineRead, type Visit } from './dashboard-context.ts'
import { openNow } from './read-now.ts'
import { auditRoutes } from './routes/audit-routes.ts'
import { coverageRoutes } from './routes/coverage-routes.ts'
import { failureRoutes } from './routes/failure-routes.ts'
import { personRoutes } from './routes/person-routes.ts'
import { quarantineRoutes } from './routes/quarantine-routes.ts'
import { questionRoutes } from './routes/question-routes.ts'
import { runRoutes } from './routes/run-routes.ts'
import { silenceRoutes } from './routes/silence-routes.ts'

type DashboardOptions = {
  readonly pipeline: Pipeline
  readonly addresses: EngineAddresses
  readonly config: Config
  readonly log: Log
  readonly host: string
  /** 0 takes a free one; of several, the first that can be had. */
  readonly port: number | readonly number[]
  /** How long a request may take to arrive. */
  readonly requestTimeoutMs?: number
  /** Pages are bundled at the first request, or by `bundlePages`: the start does not wait for them. */
  readonly bundlesLater?: boolean
}

const READING_CONNECTIONS_MAX = 6
/** A look that takes longer is given up: the browser says so. */
const READING_MAX_MS = 20 * SECOND
const REQUEST_TIMEOUT_MS = 30 * SECOND
const BODY_BYTES_MAX = 256 * 1024

/** Serves the dashboard until closed. Reads through connections that may change nothing. */
export async function startDashboard(options: DashboardOptions) {
  const { pipeline, addresses, config, log, host, port, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options
  const closeStack = openCloseStack()
  const stop = new AbortController()
  try {
    const access = await openAccess(host, {
      page: 'dashboard',
      prefix: 'DASHBOARD',
      ...config.dashboard,
      trustedProxies: config.trustedProxies,
    })
    if (access.trustsThisMachine)
      log.warn(
        'DASHBOARD_TRUSTED_HEADER is believed from loopback: each program of this machine, and by DNS rebinding a page in its browser, can be anybody',
      )
    const bundle = () => openPageBundle(new URL('./browser/', import.meta.url))
    if (!options.bundlesLater) await bundle()
    const reading = openWarehousePool({
      databaseUrl: addresses.databaseUrl,
      connectionsMax: READING_CONNECTIONS_MAX,
      name: 'vitalsync dashboard',
      statementTimeoutMs: READING_MAX_MS,
      readOnly: true,
      division: createDivision(config.warehouseShards),
    })
    closeStack.add({ close: () => reading.end() }, 'reading pool')
    const watch = closeStack.add(startFleetWatch(pipeline, config, log), 'fleet watch')
    const audit = createAudit(pipeline)
    const context = { pipeline, reading, config, addresses, watch, audit, log, signal: stop.signal }
    const trustProxy = config.trustedProxies.length > 0 && [...config.trustedProxies]
    const app = fastify({
      ...slowSenderOptions(requestTimeoutMs),
      logger: false,
      bodyLimit: BODY_BYTES_MAX,
      trustProxy,
      forceCloseConnections: true,
      frameworkErrors,
      clientErrorHandler: malformedRequestAnswer,
    })
    closeStack.add(app, 'dashboard')
    closeStack.add({ close: () => stop.abort() }, 'actions')
    addPageGuard(app, { loopbackOnly: access.isOpen, passwordSetting: 'DASHBOARD_PASSWORD_FILE' })
    app.setErrorHandler((error, request, reply) => sendPageError(error, { log, request, reply, page: 'dashboard' }))
    const now = closeStack.add(openNow(context), 'state of the pipeline')
    const visits = await addVisits(app, context, access)
    const routes = dashboardRoutes(context, now)
    const record = audit.record
    addPageQuestions(app, { path: '', context, routes, visitOf: visits.of, record })
    addPageRoutes(app, { bundle, title: 'vitalsync', path: '' })
    await listen(app, {
      host,
      port,
      action: 'open dashboard',
      hint: 'Choose another port with DASHBOARD_PORT or --port; 0 takes a free one.',
    })
    return { url: urlOf(app, host), bundlePages: bundle, close: closeStack.close }
  } catch (error) {
    await closeStack.close().catch(() => undefined) // the first error is the cause
    throw error
  }
}

function urlOf(app: FastifyInstance, host: string): string {
  const address = app.server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Every question and action of the dashboard. */
const dashboardRoutes = (context: DashboardContext, now: ReturnType<typeof openNow>): readonly DashboardRoute[] => [
  defineRead({ name: 'now', query: z.object({}), answer: () => now.read() }),
  ...warehouseRoutes(context).map((route) => (route.caller === 'look' ? givenUpWhileAway(route, now) : route)),
]

const warehouseRoutes = (context: DashboardContext): readonly DashboardRoute[] => [
  ...failureRoutes,
  ...coverageRoutes(context),
  ...personRoutes,
  ...silenceRoutes,
  ...runRoutes,
  ...questionRoutes(),
  ...quarantineRoutes,
  ...auditRoutes,
]

const AWAY_POLL_MS = SECOND

/**
 * A question may take long on a warehouse that answers others meanwhile; on one that does not, it is given up. An action is not: nobody
 * could know whether it took effect.
 */
function givenUpWhileAway(route: DashboardRoute, now: ReturnType<typeof openNow>): DashboardRoute {
  const untilAway = async (signal: AbortSignal): Promise<never> => {
    for (;;) {
      await sleep(AWAY_POLL_MS, signal)
      if ((await now.read()).isWarehouseAway) refusePage(503, 'The warehouse does not answer.')
    }
  }
  return {
    ...route,
    async run(call) {
      const answered = new AbortController()
      try {
        return await Promise.race([route.run(call), untilAway(answered.signal)])
      } finally {
        answered.abort()
      }
    },
  }
}

declare module 'fastify' {
  interface Session {
    /** People are shown by our own ids. */
    masked?: boolean
    /** Health values are shown. */
    values?: boolean
  }
}

const settingsSchema = z.strictObject({ masked: z.boolean().optional(), values: z.boolean().optional() })

/** Sessions, sign-in, and the switches of a visit: names masked, health values shown. */
async function addVisits(app: FastifyInstance, context: DashboardContext, access: Access) {
  await addSessions(app, 'vitalsync')
  await app.register(rateLimit, { global: false })
  const of = (request: FastifyRequest): Visit | undefined => {
    const { actor = access.actorOf(request), masked = false, values = false } = request.session
    return actor && { actor, masked, values }
  }
  app.post('/api/session/read', { config: sessionLimits }, async (request) => {
    const visit = isOfItsPage(request) ? of(request) : undefined
    return { ...(visit ?? { actor: null, masked: false, values: false }), csrf: csrfTokenOf(request) }
  })
  addSignIn(app, {
    path: '',
    passwords: access.passwords,
    async record({ address, requestId, ...entry }) {
      if (entry.action === 'sign-in refused') context.log.warn({ address, requestId }, 'sign-in refused')
      await context.audit.record(entry)
    },
  })
  app.post('/api/session', async (request) => {
    requireCsrfToken(request)
    const visit = of(request) ?? refusePage(401, 'Sign in first.')
    const { masked, values } = settingsSchema.parse(request.body)
    request.session.settingsOf = visit.actor.name
    if (masked !== undefined) request.session.masked = masked
    if (values !== undefined && values !== visit.values) {
      request.session.values = values
      const { name, role } = visit.actor
      await context.audit.record({ who: name, role, action: values ? 'show values' : 'hide values' })
    }
    return of(request)
  })
  return {
    /** Undefined: sign in first. */
    of,
  }
}
