import { randomUUID } from 'node:crypto'
import { Socket } from 'node:net'
import compress from '@fastify/compress'
import rateLimit from '@fastify/rate-limit'
import fastify, { type FastifyRequest } from 'fastify'
import { externalIdSchema } from '../contract/auth.ts'
import { operations } from '../contract/operations.ts'
import { UsageProblem } from '../errors.ts'
import type { Log } from '../log.ts'
import { parseBody } from './body.ts'
import { answerBrokenRequest, answerExpectation, refusalOf, sendRefusal } from './failures.ts'
import { admit, tokenOf } from './gate.ts'
import { observe } from './observe.ts'
import { readQuery } from './query-lists.ts'
import { badRequest, Refusal, unavailable } from './refusal.ts'
import { type App, type Clock, callerOf, parsePart, type Room, type RouteDefinition, urlOf } from './route.ts'
import { authRoutes } from './routes/auth.ts'
import { derivedRoutes } from './routes/derived.ts'
import { metadataRoutes } from './routes/metadata.ts'
import { addOperationsRoutes } from './routes/operations.ts'
import { profileRoutes } from './routes/profiles.ts'
import { tagRoutes } from './routes/tags.ts'
import { refuseTooManyLogs, uploadRoutes } from './routes/upload.ts'
import { openIdentities } from './store/identities.ts'
import { openPool } from './store/pool.ts'
import { createDerivedReader } from './store/reads.ts'
import { forgetOldTokens } from './store/tokens.ts'
import { createTurns } from './turns.ts'

/** The 28 operations. */
export const routes: readonly RouteDefinition[] = [
  ...authRoutes,
  ...profileRoutes,
  ...uploadRoutes,
  ...tagRoutes,
  ...derivedRoutes,
  ...metadataRoutes,
]

export type Limits = {
  bodyBytesMax: number
  /** Requests a minute for one token; one caller without a token counts by address. */
  requestsPerMinute: number
  /** How long a request may take to arrive, slow senders included. */
  requestTimeoutMs: number
  /** How long a caller may take not one byte of its answer. */
  answerTimeoutMs: number
  keepAliveTimeoutMs: number
  connectionsMax: number
  statementTimeoutMs: number
  /** Memory for answers that may be sent again. */
  keptBytesMax: number
  /** How long requests in flight may take to end when the service stops. */
  drainMs: number
}

const defaultLimits = {
  bodyBytesMax: 1024 * 1024,
  requestsPerMinute: 600_000,
  requestTimeoutMs: 30_000,
  answerTimeoutMs: 30_000,
  keepAliveTimeoutMs: 75_000,
  connectionsMax: 10,
  statementTimeoutMs: 20_000,
  keptBytesMax: 128 * 1024 * 1024,
  drainMs: 10_000,
} as const satisfies Limits

/**
 * Something that is built into a service beside the 28 operations: the recomputation, an extra route, a sandbox's
 * faults (as hooks of the app) and control. Called before the service listens; what it opens it closes.
 */
export type Extension = (
  room: Room & { app: App; databaseUrl: string },
) => Promise<{ close?(): Promise<void> } | undefined>

export type ServiceOptions = {
  databaseUrl: string
  /** 0 takes a free one. */
  port: number
  host?: string
  log: Log
  clock?: Clock
  limits?: Partial<Limits>
  extensions?: readonly Extension[]
}

export type Service = { url: string; room: Room; close(): Promise<void> }

/** Serves the interface from a database whose tables are there already. Closing answers what is in flight, then ends. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { databaseUrl, log, clock = Date.now } = options
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const pool = openPool({ databaseUrl, log, ...limits })
  const identities = await openIdentities({ pool, databaseUrl, log })
  const derived = createDerivedReader(pool, limits.keptBytesMax)
  const room: Room = { pool, identities, derived, turns: createTurns(uploadsAtOnceMax), clock, log }
  const app = createApp(room, limits)
  const closers: Array<() => Promise<void>> = [() => identities.close(), () => pool.end()]

  const state = { stopping: false }
  const close = once(async () => {
    state.stopping = true
    // A kept-alive connection whose last answer has just gone out would else hold the server open for a minute.
    const sweep = setInterval(() => app.server.closeIdleConnections(), 50)
    const drain = setTimeout(() => app.server.closeAllConnections(), limits.drainMs)
    await app.close()
    clearInterval(sweep)
    clearTimeout(drain)
    for (const end of closers) await end()
  })
  try {
    app.addHook('onRequest', async (_request, reply) => {
      if (!state.stopping) return
      reply.header('connection', 'close')
      throw unavailable('the service is stopping')
    })
    await app.register(compress, {
      encodings: ['gzip', 'deflate', 'identity'],
      requestEncodings: ['gzip', 'deflate', 'identity'],
      threshold: 1024,
      zlibOptions: { level: 4 },
    })
    await app.register(rateLimit, { global: false })
    const registry = observe(app, room)
    for (const extend of options.extensions ?? []) {
      const extension = await extend({ ...room, app, databaseUrl })
      if (extension?.close) closers.unshift(() => extension.close?.() ?? Promise.resolve())
    }
    addOperationsRoutes(app, { room, registry, routes, isStopping: () => state.stopping })
    addRoutes(app, room, limits)
    closers.unshift(startForgetting(room))
    const place = { port: options.port, host: options.host ?? '127.0.0.1' }
    const url = await app.listen(place).catch((cause: Error) => {
      throw new UsageProblem(`listen on ${place.host}, port ${place.port}: ${cause.message}`, {
        hint: 'Something else answers there, or this user may not: choose another port, or 0 for a free one.',
        cause,
      })
    })
    return { url, room, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Less than half of the connections to the database: the others are for whoever reads. */
const uploadsAtOnceMax = 4

const forgetEveryMs = 3_600_000

/** Takes tokens away, now and then, that nobody can use any more. A miss costs nothing: the next hour takes them. */
function startForgetting({ pool, clock, log }: Room): () => Promise<void> {
  const timer = setInterval(() => {
    forgetOldTokens(pool, clock()).catch((error: { code?: string }) =>
      log.warn({ code: error.code }, 'old tokens are still there'),
    )
  }, forgetEveryMs)
  return async () => clearInterval(timer)
}

function createApp(room: Room, limits: Limits): App {
  const app = fastify({
    logger: false,
    bodyLimit: limits.bodyBytesMax,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionTimeout: 0,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    genReqId: (request) => requestIdOf(request.headers['x-request-id']),
    routerOptions: { maxParamLength: 1500 },
    clientErrorHandler: answerBrokenRequest,
    http: {
      connectionsCheckingInterval: Math.min(1000, limits.requestTimeoutMs),
      headersTimeout: limits.requestTimeoutMs,
    },
    frameworkErrors: (error, request, reply) => void sendRefusal(reply, refusalOf(error, room.log, request.id)),
  })
  app.server.on('checkExpectation', answerExpectation)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: unknown, bytes: Buffer) => parseBody(bytes),
  )
  app.setErrorHandler((error, request, reply) => sendRefusal(reply, refusalOf(error, room.log, request.id)))
  app.setNotFoundHandler((request, reply) => sendRefusal(reply, notFound(request.method, request.url)))
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    reply.header('date', new Date(room.clock()).toUTCString())
    // Before the body is looked at: what is wrong with it does not matter to a route that is not there.
    if (request.is404) throw notFound(request.method, request.url)
  })
  app.addHook('onSend', (request, _reply, payload, done) => {
    // Until the answer has gone out; Node then puts the time of a kept-alive connection in its place.
    const { socket } = request.raw
    if (socket instanceof Socket) socket.setTimeout(limits.answerTimeoutMs) // an injected request has none
    done(null, payload)
  })
  return app
}

function addRoutes(app: App, room: Room, limits: Limits): void {
  const pace = app.createRateLimit({
    max: limits.requestsPerMinute,
    timeWindow: 60_000,
    keyGenerator: paceKeyOf,
  })
  for (const route of routes) {
    const { method } = operations[route.operation]
    app.route({
      method,
      url: urlOf(route.operation),
      config: { operation: route.operation },
      ...(route.bodyBytesMax === undefined ? {} : { bodyLimit: route.bodyBytesMax }),
      onRequest: async (request) => {
        await admit(room, route, request)
        const pacing = await pace(request)
        if (!pacing.isAllowed && pacing.isExceeded) throw tooMany(pacing.ttlInSeconds)
      },
      handler: async (request, reply) => {
        if (route.operation === 'uploadLogs') refuseTooManyLogs(request.body)
        const { externalId } = Object(request.params) as { externalId?: string }
        const bodyless = request.body === undefined && route.bodyRequired === false
        const { accountId, profileId } = callerOf(request)
        const run = async () =>
          route.run({
            room,
            accountId,
            profileId: profileId ?? '',
            externalId: externalId === undefined ? '' : parsePathPart(externalId),
            body: route.body && !bodyless ? parsePart(route.body, request.body, 'body') : undefined,
            query: route.query ? parsePart(route.query, readQuery(request.query), 'query') : undefined,
            request,
          })
        const answer = await (route.inTurn ? room.turns.take(run) : run())
        reply.code(answer.status)
        const body = answer.bytes ?? (answer.json === undefined ? undefined : JSON.stringify(answer.json))
        if (body === undefined) return reply.send()
        return reply.header('content-type', 'application/json; charset=utf-8').send(body)
      },
    })
  }
}

/** A token where one was looked at; else the address, for a header that nobody looks at could be anything. */
function paceKeyOf(request: FastifyRequest): string {
  const caller = callers.get(request.routeOptions.config.operation ?? '')
  return (caller === 'account' || caller === 'profile' ? tokenOf(request)?.secret : undefined) ?? request.ip
}

const callers = new Map<string, string>(Object.entries(operations).map(([name, { caller }]) => [name, caller]))

function parsePathPart(externalId: string): string {
  const parsed = externalIdSchema.safeParse(externalId)
  if (parsed.success) return parsed.data
  throw badRequest('path', [{ origin: 'externalId', errors: parsed.error.issues.map((issue) => issue.message) }])
}

function tooMany(seconds: number): Refusal {
  const faults = [{ origin: '', errors: ['too many requests with this token'] }]
  return new Refusal({ status: 429, location: 'service', faults, headers: { 'retry-after': String(seconds) } })
}

/** A path that exists under other methods answers 405 and names them. */
function notFound(method: string, url: string): Refusal {
  const path = url.split('?', 1)[0] ?? ''
  const allowed = Object.values(operations)
    .filter((operation) => new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
    .map((operation) => operation.method)
  if (allowed.length === 0) return new Refusal({ status: 404, location: 'route' })
  const methods = [...new Set(allowed)].join(', ')
  const faults = [{ origin: '', errors: [`${method} is not one of ${methods}`] }]
  return new Refusal({ status: 405, location: 'route', faults, headers: { allow: methods } })
}

function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID()
}

function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= work()
    return running
  }
}
