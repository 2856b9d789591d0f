import type { FastifyRequest } from 'fastify'
import { externalIdSchema } from '../base/contract/authentication.ts'
import { dataLogsInputSchema, logsPerUploadMax, uploadAnswerSchema, uploadBytesMax } from '../base/contract/data-log.ts'
import { operations } from '../base/contract/operations.ts'
import { MINUTE } from '../base/time/units.ts'
import { addRoutes } from '../web/route.ts'
import { authenticate, readAuthorization } from './http/authenticate.ts'
import type { ServiceApp, ServiceContext } from './http/context.ts'
import { parseQueryString, QUERY_NOTES_HEADER, queryNotes } from './http/query-parameters.ts'
import { callerOf } from './http/request-caller.ts'
import { badRequest, RequestError, tooManyRequests, unauthorized } from './http/request-error.ts'
import { defineRoute, parsePart, type ServiceRoute } from './http/service-route.ts'
import { parameterNames } from './reference/openapi.ts'
import { authRoutes } from './routes/auth-routes.ts'
import { derivedRoutes } from './routes/derived-routes.ts'
import { metadataRoutes } from './routes/metadata-routes.ts'
import { profileRoutes } from './routes/profile-routes.ts'
import { tagRoutes } from './routes/tag-routes.ts'
import { storeDataLogs } from './store/data-logs.ts'

const uploadLogs = defineRoute({
  ...operations.uploadLogs,
  summary: 'Post data logs: all or nothing, idempotent by id',
  body: dataLogsInputSchema,
  answers: { 200: uploadAnswerSchema },
  bodyBytesMax: uploadBytesMax,
  entriesMax: logsPerUploadMax,
  writes: true,
  limitsConcurrency: true,
  async run({ context, profileId, body }) {
    const stored = await storeDataLogs(context.pool, { profileId, logs: body, nowAt: new Date(context.clock()) })
    if (!stored) throw unauthorized()
    return { status: 200, json: stored }
  },
})

/** The 28 operations. */
export const operationRoutes: readonly ServiceRoute[] = [
  ...authRoutes,
  ...profileRoutes,
  uploadLogs,
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

/** Adds routes of the interface: authentication and the rate limits before the body is read, then parsing, then the work. */
export function addServiceRoutes(
  app: ServiceApp,
  { context, routes, limits }: { context: ServiceContext; routes: readonly ServiceRoute[]; limits: RateLimits },
): void {
  const limitRates = rateLimitsOf(app, limits)
  addRoutes(app, routes, (route) => {
    const known = { parameters: parameterNames(route.query), words: route.words ?? {} }
    return {
      config: { caller: route.caller, limitsConcurrency: route.limitsConcurrency ?? false },
      async admit(request) {
        await authenticate(context, route, request)
        for (const limitRate of limitRates) {
          const rate = await limitRate(request)
          if (!rate.isAllowed && rate.isExceeded) throw tooManyRequests('too many requests', rate.ttlInSeconds)
        }
      },
      callOf(request) {
        const { externalId } = Object(request.params) as { externalId?: string }
        const { accountId, profileId = '', keyId } = callerOf(request)
        const parsedId = externalId === undefined ? '' : parseExternalId(externalId)
        return { context, accountId, keyId, profileId, externalId: parsedId }
      },
      parse: parsePart,
      async work({ request, reply }, run) {
        const query = parseQueryString(request.query)
        const answer = await context.bodies.work(request, async () => {
          refuseTooMany(request.body, route.entriesMax)
          return run(query)
        })
        const notes = queryNotes(query, known)
        if (notes !== undefined) reply.header(QUERY_NOTES_HEADER, notes)
        return answer
      },
    }
  })
}

function rateLimitsOf(app: ServiceApp, { requestsPerMinute, tokenRequestsPerMinute }: RateLimits) {
  const limit = (max: number, keyGenerator: (request: FastifyRequest) => string) =>
    app.createRateLimit({ max, timeWindow: MINUTE, keyGenerator })
  return [limit(tokenRequestsPerMinute, rateLimitKeyOf), limit(requestsPerMinute, accountKeyOf)]
}

/** The account; the address where there is none. */
const accountKeyOf = (request: FastifyRequest) => callerOf(request).accountId || request.ip

/** The token where the route checks one; else the address, because an unchecked header can hold anything. */
function rateLimitKeyOf(request: FastifyRequest): string {
  const { caller } = request.routeOptions.config
  return (caller === 'account' || caller === 'profile' ? readAuthorization(request)?.secret : undefined) ?? request.ip
}

function parseExternalId(externalId: string): string {
  const parsed = externalIdSchema.safeParse(externalId)
  if (parsed.success) return parsed.data
  throw badRequest('path', [{ origin: 'externalId', errors: parsed.error.issues.map((issue) => issue.message) }])
}

function refuseTooMany(body: unknown, entriesMax = Number.POSITIVE_INFINITY): void {
  if (!Array.isArray(body) || body.length <= entriesMax) return
  const errors = [{ origin: '', errors: [`must have at most ${entriesMax} entries`] }]
  throw new RequestError({ status: 413, location: 'body', errors })
}
