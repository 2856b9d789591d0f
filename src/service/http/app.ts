import { randomUUID } from 'node:crypto'
import { Socket } from 'node:net'
import fastify, { type FastifyRequest } from 'fastify'
import { SECOND } from '../../base/time/units.ts'
import type { ServiceApp, ServiceContext } from './context.ts'
import { rejectExpectHeader, rejectMalformedRequest, requestErrorOf, sendRequestError } from './error-responses.ts'
import { RequestError } from './request-error.ts'
import type { ServiceRoute } from './service-route.ts'

export type AppTimeouts = {
  /** How long a request may take to arrive, slow senders included. */
  requestTimeoutMs: number
  /** How long a caller may read no byte of its answer before the connection is closed. */
  answerTimeoutMs: number
}

type KnownRoute = Pick<ServiceRoute, 'method' | 'path'>

type AppOptions = AppTimeouts & {
  trustedProxies: readonly string[]
  /** The described routes. Extensions may add to them until the app listens. */
  routes: readonly KnownRoute[]
}

const bodyBytesMax = 1024 * 1024
const keepAliveTimeoutMs = 75 * SECOND

/** The HTTP server without routes: how requests are read, how errors are answered, and the headers of every answer. */
export function createServiceApp(context: ServiceContext, options: AppOptions): ServiceApp {
  const { requestTimeoutMs, trustedProxies, routes } = options
  const app = fastify({
    logger: false,
    bodyLimit: bodyBytesMax,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionTimeout: 0,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    genReqId: (request) => requestIdOf(request.headers['x-request-id']),
    routerOptions: { maxParamLength: 1500 },
    clientErrorHandler: rejectMalformedRequest,
    http: { connectionsCheckingInterval: Math.min(SECOND, requestTimeoutMs), headersTimeout: requestTimeoutMs },
    frameworkErrors: (error, request, reply) =>
      void sendRequestError(reply, requestErrorOf(error, context.log, request.id)),
  })
  app.server.on('checkExpectation', rejectExpectHeader)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => context.bodies.parse(request, bytes),
  )
  app.setErrorHandler((error, request, reply) =>
    sendRequestError(reply, requestErrorOf(error, context.log, request.id)),
  )
  app.setNotFoundHandler((request, reply) => sendRequestError(reply, unknownRoute(routes, request)))
  addAnswerHooks(app, context, options)
  return app
}

function addAnswerHooks(app: ServiceApp, context: ServiceContext, { answerTimeoutMs, routes }: AppOptions): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    reply.header('date', new Date(context.clock()).toUTCString())
    // Answers hold health data: nobody in between keeps them, guesses their type, or shows them in a frame.
    reply.headers({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    })
    const coding = request.headers['content-encoding']
    // Content codings are words in any case (RFC 9110, 8.4.1); x-gzip is another name of gzip.
    if (coding !== undefined)
      request.headers['content-encoding'] = coding
        .trim()
        .toLowerCase()
        .replace(/^x-gzip$/, 'gzip')
    // An unknown route is answered before the body is read: a fault in the body would hide it.
    if (request.is404) throw unknownRoute(routes, request)
  })
  app.addHook('onSend', (request, _reply, payload, done) => {
    // Holds until the answer has been sent; then Node sets the timeout of the kept-alive connection.
    const { socket } = request.raw
    if (socket instanceof Socket) socket.setTimeout(answerTimeoutMs) // an injected request has no socket
    done(null, payload)
  })
}

/** A path that exists under other methods answers 405 and names them. */
function unknownRoute(
  routes: readonly KnownRoute[],
  { method, url }: Pick<FastifyRequest, 'method' | 'url'>,
): RequestError {
  const path = url.split('?', 1)[0] ?? ''
  const allowed = routes
    .filter((route) => new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
    .map((route) => route.method)
  if (allowed.length === 0) return new RequestError({ status: 404, location: 'route' })
  const methods = [...new Set(allowed)].join(', ')
  const errors = [{ origin: '', errors: [`${method} is not one of ${methods}`] }]
  return new RequestError({ status: 405, location: 'route', errors, headers: { allow: methods } })
}

function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID()
}
