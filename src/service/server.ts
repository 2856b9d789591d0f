import type { Readable } from 'node:stream'
import compress from '@fastify/compress'
import rateLimit from '@fastify/rate-limit'
import type { onSendHookHandler, preParsingAsyncHookHandler } from 'fastify'
import { openCloseStack } from '../base/close-stack.ts'
import type { Log } from '../base/log.ts'
import { openMetricsPort } from '../base/monitoring/metrics-port.ts'
import type { OtlpExport } from '../base/monitoring/start-otlp.ts'
import { requireDirectConnection } from '../base/postgres/direct-connection.ts'
import { isLoopback } from '../base/text/readable.ts'
import { HOUR, SECOND } from '../base/time/units.ts'
import { listen } from '../web/listen.ts'
import { addRoutes } from '../web/route.ts'
import { type AppTimeouts, createServiceApp } from './http/app.ts'
import { createConcurrencyLimiter } from './http/concurrency-limiter.ts'
import type { Clock, ServiceApp, ServiceContext } from './http/context.ts'
import { codedTag, contentCodings } from './http/etag.ts'
import { createRefusalPacing, type RefusalLimits } from './http/refusal-pacing.ts'
import { type BodyLimits, createRequestBodies } from './http/request-bodies.ts'
import { unavailable } from './http/request-error.ts'
import { registerMetrics, registerRequestSpans } from './http/request-telemetry.ts'
import { logSecurity, warnOfExposure } from './http/security-log.ts'
import { parsePart, type ServiceAddition, type ServiceExtension } from './http/service-route.ts'
import { addServiceRoutes, operationRoutes, type RateLimits } from './operation-routes.ts'
import { monitoringRoutes } from './routes/monitoring-routes.ts'
import { deleteOldTokens } from './store/credentials/issued-tokens.ts'
import { openTokenCache } from './store/credentials/token-cache.ts'
import { createDerivedReader } from './store/derived-reader.ts'
import { createProfileSearch } from './store/profile-search.ts'
import { createServicePool, readsOf } from './store/service-pool.ts'

export type ServiceLimits = AppTimeouts &
  BodyLimits &
  RateLimits &
  RefusalLimits & {
    /** Memory of the cache of answers. */
    answerCacheBytesMax: number
  }

const defaultLimits = {
  requestsPerMinute: 600_000,
  tokenRequestsPerMinute: 300_000,
  refusedLoginsPerMinute: 60,
  refusedTokensPerMinute: 60_000,
  requestTimeoutMs: 30 * SECOND,
  answerTimeoutMs: 30 * SECOND,
  answerCacheBytesMax: 128 * 1024 * 1024,
  heldBytesMax: 128 * 1024 * 1024,
  heldBytesPerAccountMax: 64 * 1024 * 1024,
} as const satisfies ServiceLimits

const defaultHost = '127.0.0.1'
const portHint =
  'Another program uses the port, or this user may not open it: choose another port, or 0 for a free one.'
const connectionsMax = 10
const statementTimeoutMs = 20 * SECOND
/**
 * Uploads of less than half of the connections to the database: reads have the others. An account whose uploads would fill the
 * database's processors gives way as soon as another account uploads.
 */
const concurrentUploads = { concurrentMax: 4, groupMax: 3, groupMaxBesideOthers: 1 }
/** A search looks at all profiles of its account. One account has one at once, and all uploads but one. */
const concurrentSearches = { concurrentMax: 2, groupMax: 1 }
/** How long requests in flight may take to end when the service stops. */
const drainMs = 10 * SECOND
const tokenCleanupEveryMs = HOUR
/** The callers who asked the longest ago are forgotten first. */
const countedCallersMax = 50_000

type ServiceOptions = {
  databaseUrl: string
  /** 0 takes a free port; of several, the first that can be had. */
  port: number | readonly number[]
  host?: string
  /** Absent: the metrics are served on `port`, as long as it listens on this machine alone. */
  metricsPort?: number | undefined
  /** The address for `metricsPort`. */
  metricsHost?: string
  /** Proxies in front of the service: from them the caller's address is taken from `X-Forwarded-For`. */
  trustedProxies?: readonly string[]
  log: Log
  clock?: Clock
  limits?: Partial<ServiceLimits>
  /** Requests become spans, and the metrics are sent beside being served. */
  otlp?: Pick<OtlpExport, 'exportMetrics'> | undefined
}

/** `built` is what `build` returned. */
type Service<B> = { url: string; context: ServiceContext; built: B; close(): Promise<void> }

/** Builds an extension into the service, and returns what the extension returns. */
type Extend = <A extends ServiceAddition | undefined>(extension: ServiceExtension<A>) => Promise<A>

/**
 * Serves the interface from a database that is migrated already. `build` extends the service before it listens. Closing answers
 * the requests in flight, refuses new requests with 503, and then ends.
 */
export async function startService<B = void>(
  options: ServiceOptions,
  build?: (extend: Extend) => Promise<B>,
): Promise<Service<B>> {
  const {
    databaseUrl,
    log,
    clock = Date.now,
    host = defaultHost,
    port,
    metricsPort,
    metricsHost = defaultHost,
  } = options
  warnOfExposure(log, { host, databaseUrl })
  const limits: ServiceLimits = { ...defaultLimits, ...options.limits }
  await requireDirectConnection(databaseUrl, 'DATABASE_URL')
  const opened = openCloseStack()
  const pool = createServicePool({ databaseUrl, log, connectionsMax, statementTimeoutMs })
  opened.add({ close: () => pool.end() }, 'database pool')
  const reads = readsOf(pool)
  const context: ServiceContext = {
    pool,
    reads,
    tokenCache: opened.add(await openTokenCache({ pool: reads, databaseUrl, log }), 'token cache'),
    profileSearch: createProfileSearch(reads),
    derived: createDerivedReader(reads, limits.answerCacheBytesMax),
    bodies: createRequestBodies(createConcurrencyLimiter(concurrentUploads), limits),
    searchLimiter: createConcurrencyLimiter(concurrentSearches),
    refusals: createRefusalPacing({ ...limits, clock, onLimit: (whom) => logSecurity(log, 'refusals paced', whom) }),
    clock,
    log,
  }
  const routes = [...operationRoutes]
  const app = createServiceApp(context, { ...limits, trustedProxies: options.trustedProxies ?? [] })
  let stopping = false
  const close = runOnce(async () => {
    stopping = true
    opened.add({ close: () => drain(app) }, 'HTTP server') // last in, first closed
    await opened.close()
  })
  try {
    await registerPlugins(app, { context, isStopping: () => stopping })
    if (options.otlp) registerRequestSpans(app)
    const registry = registerMetrics(app, context)
    options.otlp?.exportMetrics(registry)
    const built = (await build?.(async (extension) => {
      const addition = await extension({ ...context, app, databaseUrl, host, routes })
      routes.push(...(addition?.routes ?? []))
      opened.add({ close: async () => addition?.close?.() }, 'extension')
      return addition
    })) as B // without `build` there is nothing
    const servesMetrics = metricsPort === undefined && isLoopback(host)
    addRoutes(
      app,
      monitoringRoutes({ pool, registry: servesMetrics ? registry : undefined, routes, isStopping: () => stopping }),
      () => ({ callOf: () => ({}), parse: parsePart }),
    )
    if (metricsPort !== undefined) {
      opened.add(await openMetricsPort({ registry, host: metricsHost, port: metricsPort }), 'metrics port')
    }
    addServiceRoutes(app, { context, routes, limits })
    opened.add(startTokenCleanup(context), 'token cleanup')
    return { url: await listen(app, { host, port, action: 'listen', hint: portHint }), context, built, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function registerPlugins(
  app: ServiceApp,
  { context, isStopping }: { context: ServiceContext; isStopping(): boolean },
): Promise<void> {
  app.addHook('onRequest', async (_request, reply) => {
    if (!isStopping()) return
    reply.header('connection', 'close')
    throw unavailable('the service is stopping')
  })
  await app.register(compress, {
    encodings: [...contentCodings, 'identity'],
    requestEncodings: ['gzip', 'deflate', 'identity'],
    threshold: 1024,
    zlibOptions: { level: 4 },
  })
  afterCompression(app, context)
  await app.register(rateLimit, { global: false, cache: countedCallersMax })
}

/**
 * Bounds the unpacked body of a request, and gives a compressed answer the tag of its coding. These hooks of a route run
 * after those of the compression, which were added first.
 */
function afterCompression(app: ServiceApp, { bodies }: ServiceContext): void {
  app.addHook('onRoute', (route) => {
    const preParsing: preParsingAsyncHookHandler = async (request, reply, payload) =>
      bodies.receive(request, reply, payload as Readable) // a body is a socket's stream or its unpacked one
    const onSend: onSendHookHandler = (_request, reply, payload, done) => {
      const [tag, coding] = [reply.getHeader('etag'), reply.getHeader('content-encoding')]
      if (typeof tag === 'string' && typeof coding === 'string') reply.header('etag', codedTag(tag, coding))
      done(null, payload)
    }
    route.onSend = [...[route.onSend ?? []].flat(), onSend]
    route.preParsing = [...[route.preParsing ?? []].flat(), preParsing]
  })
}

/** Ends the server: requests in flight have `drainMs` to end, then their connections are closed. */
async function drain(app: ServiceApp): Promise<void> {
  // A kept-alive connection whose last answer was sent after `close` began keeps the server open until its timeout.
  const idleTimer = setInterval(() => app.server.closeIdleConnections(), 50)
  const drainTimer = setTimeout(() => app.server.closeAllConnections(), drainMs)
  try {
    await app.close()
  } finally {
    clearInterval(idleTimer)
    clearTimeout(drainTimer)
  }
}

/** Deletes expired tokens every hour. After a failure the next hour deletes them. */
function startTokenCleanup({ pool, clock, log }: ServiceContext): { close(): void } {
  const timer = setInterval(() => {
    deleteOldTokens(pool, clock()).catch((error: { code?: string }) =>
      log.warn({ code: error.code }, 'could not delete expired tokens'),
    )
  }, tokenCleanupEveryMs)
  return { close: () => clearInterval(timer) }
}

function runOnce(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= work()
    return running
  }
}
