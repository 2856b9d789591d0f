import { z } from 'zod'
import { externalIdSchema } from '../../base/contract/authentication.ts'
import { scoreTypes } from '../../base/contract/score.ts'
import { authenticateAccount } from '../http/authenticate.ts'
import { QUERY_NOTES_HEADER, queryNotes } from '../http/query-notes.ts'
import { parseQueryString } from '../http/query-parameters.ts'
import { badRequest, unknownProfile } from '../http/request-error.ts'
import { parsePart } from '../http/route.ts'
import { type DescribedRoute, parameterNames } from '../reference/openapi.ts'
import type { ServiceExtension } from '../reference/service-extension.ts'
import { findProfileId } from '../store/service-profiles.ts'
import { explainStored, logsExplainedMax } from './explain-stored.ts'
import { explanationSchema } from './explanation-schema.ts'
import { startRecompute } from './start-recompute.ts'

/** A route beside the 28 operations. Called by the account, like every route with an externalId. */
const explainPath = '/api/v1/profile/explain'

const pathSchema = z.object({ externalId: externalIdSchema })
const querySchema = z.object({
  date: z.iso
    .date({ error: 'must be a local date such as 2026-07-11' })
    .refine((date) => date >= '1900-01-01' && date <= '2199-12-31', {
      error: 'must lie between the years 1900 and 2199',
    }),
  score: z.enum(scoreTypes, { error: `must be one of ${scoreTypes.join(', ')}` }),
})

const explainRoute: DescribedRoute = {
  name: 'explain',
  method: 'GET',
  path: `${explainPath}/{externalId}`,
  caller: 'account',
  summary: 'Explain a score of a local day: its factors, what is missing, and the logs behind it',
  query: querySchema,
  answers: { 200: explanationSchema },
}

/** Adds the route that explains a score: `GET /api/v1/profile/explain/{externalId}?date=2026-07-11&score=sleep`. */
export const explainExtension: ServiceExtension = async ({ app, ...context }) => {
  const known = { parameters: parameterNames(querySchema), words: {} }
  app.get(`${explainPath}/:externalId`, { config: { operation: 'explain' } }, async (request, reply) => {
    const accountId = await authenticateAccount(context, request)
    const query = parseQueryString(request.query)
    const { date, score } = parsePart(querySchema, query, 'query')
    const { externalId } = parsePart(pathSchema, request.params, 'path')
    const profileId = await findProfileId(context.pool, { accountId, externalId })
    const explanation =
      profileId && (await explainStored(context.pool, { profileId, date, type: score, nowMs: context.clock() }))
    if (!explanation) throw unknownProfile()
    if (explanation === 'too many') {
      const errors = [`has more than ${logsExplainedMax} logs around it, which are too many to explain`]
      throw badRequest('query', [{ origin: 'date', errors }])
    }
    const notes = queryNotes(query, known)
    if (notes !== undefined) reply.header(QUERY_NOTES_HEADER, notes)
    return reply.send(explanation)
  })
  return { routes: [explainRoute] }
}

/** The derivation as part of a service: the recomputation in the background, and the route that explains. */
export const deriveExtension =
  ({ threads }: { threads: number }): ServiceExtension =>
  async (context) => {
    const described = await explainExtension(context)
    return { ...described, ...(await startRecompute({ ...context, threads })) }
  }
