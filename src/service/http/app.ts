import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import fastify, { type FastifyRequest } from 'fastify'
import type { Log } from '../../base/log.ts'
import { isOutage } from '../../base/postgres/postgres-errors.ts'
import { SECOND } from '../../base/time/units.ts'
import { answerMalformed, slowSenderOptions } from '../../web/listen.ts'
import { removesWorker } from '../../web/page-guard.ts'
import { jsonContentType } from '../../web/route.ts'
import type { ServiceApp, ServiceContext } from './context.ts'
import { badRequest, RequestError, unavailable } from './request-error.ts'

export type AppTimeouts = {
  /** How long a request may take to arrive, slow senders included. */
  requestTimeoutMs: number
  /** How long a caller may read no byte of its answer before the connection is closed. */
  answerTimeoutMs: number
}

type AppOptions = AppTimeouts & { trustedProxies: readonly string[] }

const bodyBytesMax = 1024 * 1024
const keepAliveTimeoutMs = 75 * SECOND

/** The HTTP server without routes: how requests are read, how errors are answered, and the headers of every answer. */
export function createServiceApp(context: ServiceContext, options: AppOptions): ServiceApp {
  const { requestTimeoutMs, trustedProxies } = options
  const { http, ...slowSenders } = slowSenderOptions(requestTimeoutMs)
  const app = fastify({
    ...slowSenders,
    logger: false,
    bodyLimit: bodyBytesMax,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionTimeout: 0,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    genReqId: (request) => requestIdOf(request.headers['x-request-id']),
    routerOptions: { maxParamLength: 1500 },
    clientErrorHandler: answerMalformed((status) =>
      lastAnswer(new RequestError({ status }), randomUUID(), context.clock()),
    ),
    http: { ...http, requireHostHeader: false }, // Node would answer without a body: a hook below refuses such a request
    // The router's own refusals, which no hook sees.
    frameworkErrors(error, request, reply) {
      reply.headers(answerHeaders(request.id, context.clock()))
      removesWorker(request, reply)
      sendRequestError(reply, requestErrorOf(error, context.log, request.id))
    },
  })
  app.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    rejectExpectHeader(request, response, context.clock()),
  )
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => context.bodies.parse(request, bytes),
  )
  app.setErrorHandler((error, request, reply) =>
    sendRequestError(reply, requestErrorOf(error, context.log, request.id)),
  )
  const methodsOf = collectMethods(app)
  app.setNotFoundHandler((request, reply) => sendRequestError(reply, unknownRoute(methodsOf, request)))
  addAnswerHooks(app, context, { ...options, methodsOf })
  return app
}

/** Headers of every answer. Answers hold health data: nobody in between keeps them, guesses their type, or shows them in a frame. */
const answerHeaders = (requestId: string, nowMs: number) => ({
  'x-request-id': requestId,
  date: new Date(nowMs).toUTCString(),
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
})

/** The methods of the routes at a path, of all that are ever added to the app. */
type MethodsOf = (path: string) => readonly string[]

function collectMethods(app: ServiceApp): MethodsOf {
  const known: Array<{ pattern: RegExp; methods: readonly string[] }> = []
  app.addHook('onRoute', ({ url, method }) => {
    const pattern = url.replaceAll(/[.]/g, '\\.').replaceAll('*', '.*').replaceAll(/:\w+/g, '[^/]+')
    known.push({ pattern: new RegExp(`^${pattern}$`), methods: [method].flat().filter((name) => name !== 'HEAD') })
  })
  return (path) => [...new Set(known.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods))]
}

function addAnswerHooks(
  app: ServiceApp,
  context: ServiceContext,
  { answerTimeoutMs, methodsOf }: AppOptions & { methodsOf: MethodsOf },
): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(answerHeaders(request.id, context.clock()))
    removesWorker(request, reply)
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1')
      throw badRequest('header', [{ origin: 'Host', errors: ['is missing, and HTTP/1.1 requires it'] }])
    const coding = request.headers['content-encoding']
    // Content codings are words in any case (RFC 9110, 8.4.1); x-gzip is another name of gzip.
    if (coding !== undefined)
      request.headers['content-encoding'] = coding
        .trim()
        .toLowerCase()
        .replace(/^x-gzip$/, 'gzip')
    // An unknown route is answered before the body is read: a fault in the body would hide it.
    if (request.is404) throw unknownRoute(methodsOf, request)
  })
  app.addHook('onSend', (request, _reply, payload, done) => {
    // Holds until the answer has been sent; then Node sets the timeout of the kept-alive connection.
    const { socket } = request.raw
    if (socket instanceof Socket) socket.setTimeout(answerTimeoutMs) // an injected request has no socket
    done(null, payload)
  })
}

/** A path that exists under other methods answers 405 and names them. */
function unknownRoute(methodsOf: MethodsOf, { method, url }: Pick<FastifyRequest, 'method' | 'url'>): RequestError {
  const allowed = methodsOf(url.split('?', 1)[0] ?? '')
  if (allowed.length === 0) return new RequestError({ status: 404, location: 'route' })
  const methods = allowed.join(', ')
  const errors = [{ origin: '', errors: [`${method} is not one of ${methods}`] }]
  return new RequestError({ status: 405, location: 'route', errors, headers: { allow: methods } })
}

function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID()
}

/** Turns any error into an error response. Only an unexpected error is a 500, and only a 500 is logged as an error. */
function requestErrorOf(error: unknown, log: Log, requestId: string): RequestError {
  if (error instanceof RequestError) return error
  const { code, statusCode } = codesOf(error)
  const refusal = refusalsByCode[code]
  if (refusal) {
    const [status, location, origin, text] = refusal
    return new RequestError({ status, location, errors: [{ origin, errors: [text] }] })
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return new RequestError({ status: statusCode })
  if (isOutage(error)) {
    log.warn({ requestId, code }, 'the database did not answer')
    return unavailable('the database cannot be reached or is too busy: try again')
  }
  log.error({ requestId, code, at: stackFramesOf(error) }, 'a request failed')
  return new RequestError({ status: 500, location: 'service' })
}

function sendRequestError(reply: FastifyReply, error: RequestError): FastifyReply {
  for (const [name, value] of Object.entries(error.headers)) reply.header(name, value)
  return reply.code(error.status).header('content-type', jsonContentType).send(JSON.stringify(error.body))
}

type Refusal = readonly [status: number, location: 'body' | 'header' | 'path', origin: string, text: string]

const refusalsByCode: Readonly<Record<string, Refusal>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: [413, 'body', '', 'is too large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, 'header', '', 'Content-Type must be application/json'],
  FST_CP_ERR_INVALID_CONTENT_ENCODING: [415, 'header', '', 'Content-Encoding must be gzip, deflate or identity'],
  FST_CP_ERR_INVALID_CONTENT: [400, 'body', '', 'is not what its Content-Encoding says'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'body', '', 'is not as long as its Content-Length says'],
  FST_ERR_BAD_URL: [400, 'path', '', 'must be percent-encoded UTF-8'],
  FST_ERR_MAX_PARAM_LENGTH: [400, 'path', 'externalId', 'is too long'],
}

function codesOf(error: unknown): { code: string; statusCode: number | undefined } {
  const { code, statusCode } = Object(error) as { code?: unknown; statusCode?: unknown }
  return {
    code: typeof code === 'string' ? code : '',
    statusCode: typeof statusCode === 'number' ? statusCode : undefined,
  }
}

/** The stack frames without the message: a database writes values of the row at fault into its messages. */
function stackFramesOf(error: unknown): string[] {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 8)
    .map((line) => line.trim())
}

/** Answers 417 to an Expect header. */
function rejectExpectHeader({ headers }: IncomingMessage, response: ServerResponse, nowMs: number): void {
  const refusal = new RequestError({ status: 417, location: 'header' })
  const answer = lastAnswer(refusal, requestIdOf(headers['x-request-id']), nowMs)
  response.writeHead(refusal.status, answer.headers).end(answer.body)
}

/** An answer outside of the app, after which the connection closes. */
function lastAnswer(refusal: RequestError, requestId: string, nowMs: number) {
  const body = JSON.stringify(refusal.body)
  const headers = {
    ...answerHeaders(requestId, nowMs),
    'content-type': jsonContentType,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  return { headers, body }
}
