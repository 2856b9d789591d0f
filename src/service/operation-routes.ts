import type { FastifyReply, FastifyRequest } from 'fastify'
import { externalIdSchema } from '../base/contract/authentication.ts'
import { operations } from '../base/contract/operations.ts'
import { MINUTE } from '../base/time/units.ts'
import { authenticate, readAuthorization } from './http/authenticate.ts'
import type { ServiceApp, ServiceContext } from './http/context.ts'
import { QUERY_NOTES_HEADER, queryNotes } from './http/query-notes.ts'
import { parseQueryString } from './http/query-parameters.ts'
import { callerOf } from './http/request-caller.ts'
import { badRequest, jsonContentType, tooManyRequests } from './http/request-error.ts'
import { parsePart, type RouteAnswer, type RouteDefinition, routePatternOf } from './http/route.ts'
import { parameterNames } from './reference/openapi.ts'
import { authRoutes } from './routes/auth-routes.ts'
import { derivedRoutes } from './routes/derived-routes.ts'
import { metadataRoutes } from './routes/metadata-routes.ts'
import { profileRoutes } from './routes/profile-routes.ts'
import { tagRoutes } from './routes/tag-routes.ts'
import { refuseTooManyLogs, uploadRoutes } from './routes/upload-routes.ts'

/** The 28 operations. */
export const operationRoutes: readonly RouteDefinition[] = [
  ...authRoutes,
  ...profileRoutes,
  ...uploadRoutes,
  ...tagRoutes,
  ...derivedRoutes,
  ...metadataRoutes,
]

export type RateLimits = {
  /** For all tokens of one account together. */
  requestsPerMinute: number
  /** For one token; a caller without a token is counted by its address. */
  tokenRequestsPerMinute: number
}

/** Adds the 28 operations: authentication and the rate limits before the body is read, then parsing, then the work. */
export function addOperationRoutes(app: ServiceApp, context: ServiceContext, limits: RateLimits): void {
  const limitRates = rateLimitsOf(app, limits)
  for (const route of operationRoutes) {
    const { method } = operations[route.operation]
    const known = { parameters: parameterNames(route.query), words: route.words ?? {} }
    app.route({
      method,
      url: routePatternOf(route.operation),
      config: {
        operation: route.operation,
        bodyRequired: route.bodyRequired !== false,
        limitsConcurrency: route.limitsConcurrency ?? false,
      },
      ...(route.bodyBytesMax === undefined ? {} : { bodyLimit: route.bodyBytesMax }),
      onRequest: async (request) => {
        await authenticate(context, route, request)
        for (const limitRate of limitRates) {
          const rate = await limitRate(request)
          if (!rate.isAllowed && rate.isExceeded) throw tooManyRequests('too many requests', rate.ttlInSeconds)
        }
      },
      handler: async (request, reply) => {
        const query = parseQueryString(request.query)
        const answer = await context.bodies.work(request, async () => {
          if (route.operation === 'uploadLogs') refuseTooManyLogs(request.body)
          return route.run(routeCallOf(context, { route, request, query }))
        })
        const notes = queryNotes(query, known)
        if (notes !== undefined) reply.header(QUERY_NOTES_HEADER, notes)
        return sendAnswer(reply, answer)
      },
    })
  }
}

type Received = { route: RouteDefinition; request: FastifyRequest; query: Record<string, string | string[]> }

function routeCallOf(context: ServiceContext, { route, request, query }: Received) {
  const { externalId } = Object(request.params) as { externalId?: string }
  const bodyless = request.body === undefined && route.bodyRequired === false
  const { accountId, profileId, keyId } = callerOf(request)
  return {
    context,
    accountId,
    keyId,
    profileId: profileId ?? '',
    externalId: externalId === undefined ? '' : parseExternalId(externalId),
    body: route.body && !bodyless ? parsePart(route.body, request.body, 'body') : undefined,
    query: route.query ? parsePart(route.query, query, 'query') : undefined,
    request,
  }
}

function sendAnswer(reply: FastifyReply, answer: RouteAnswer): FastifyReply {
  reply.code(answer.status).headers(answer.headers ?? {})
  const body = answer.bytes ?? (answer.json === undefined ? undefined : JSON.stringify(answer.json))
  if (body === undefined) return reply.send()
  return reply.header('content-type', jsonContentType).send(body)
}

function rateLimitsOf(app: ServiceApp, { requestsPerMinute, tokenRequestsPerMinute }: RateLimits) {
  const limit = (max: number, keyGenerator: (request: FastifyRequest) => string) =>
    app.createRateLimit({ max, timeWindow: MINUTE, keyGenerator })
  return [limit(tokenRequestsPerMinute, rateLimitKeyOf), limit(requestsPerMinute, accountKeyOf)]
}

/** The account; the address where there is none. */
const accountKeyOf = (request: FastifyRequest) => callerOf(request).accountId || request.ip

/** The token where the operation checks one; else the address, because an unchecked header can hold anything. */
function rateLimitKeyOf(request: FastifyRequest): string {
  const caller = callerByOperation.get(request.routeOptions.config.operation ?? '')
  return (caller === 'account' || caller === 'profile' ? readAuthorization(request)?.secret : undefined) ?? request.ip
}

const callerByOperation = new Map<string, string>(
  Object.entries(operations).map(([name, { caller }]) => [name, caller]),
)

function parseExternalId(externalId: string): string {
  const parsed = externalIdSchema.safeParse(externalId)
  if (parsed.success) return parsed.data
  throw badRequest('path', [{ origin: 'externalId', errors: parsed.error.issues.map((issue) => issue.message) }])
}
