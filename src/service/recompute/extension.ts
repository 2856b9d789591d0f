import { z } from 'zod'
import { externalIdSchema } from '../../base/contract/authentication.ts'
import { scoreTypes } from '../../base/contract/score.ts'
import { dayNumberFromText, dayText } from '../../base/time/local-days.ts'
import { parseDayFacts } from '../derive/day/facts.ts'
import { neighbourDays } from '../derive/day/logs-by-day.ts'
import type { ScoreType } from '../derive/days/scores.ts'
import { type Explanation, explainScore } from '../derive/records/explanation.ts'
import { authenticateAccount } from '../http/authenticate.ts'
import { QUERY_NOTES_HEADER, queryNotes } from '../http/query-notes.ts'
import { parseQueryString } from '../http/query-parameters.ts'
import { badRequest, unknownProfile } from '../http/request-error.ts'
import { parsePart } from '../http/route.ts'
import { type DescribedRoute, parameterNames } from '../reference/openapi.ts'
import type { ServiceExtension } from '../reference/service-extension.ts'
import { readDerivationInputs } from '../store/derivation-queue.ts'
import { countLogsByDay, readLogsOfDays } from '../store/logs-of-days.ts'
import { type ServicePool, withTransaction } from '../store/service-pool.ts'
import { findProfileId } from '../store/service-profiles.ts'
import { readDayFacts } from '../store/stored-day-facts.ts'
import { explanationSchema } from './explanation-schema.ts'
import { countLogs, logDaysOf } from './portion.ts'
import { factsLookBackDays } from './reach.ts'
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

/** An explanation is computed where requests are answered: more logs would delay all of them. */
const logsExplainedMax = 50_000

/**
 * Explains a score from the stored logs and facts, as it would be derived now. Undefined when there is no such profile;
 * 'too many' when more than `logsExplainedMax` logs lie around the day.
 */
async function explainStored(
  pool: ServicePool,
  { profileId, date, type, nowMs }: { profileId: string; date: string; type: ScoreType; nowMs: number },
): Promise<Explanation | 'too many' | undefined> {
  return withTransaction(pool, async (tx) => {
    const state = await readDerivationInputs(tx, profileId)
    if (!state) return undefined
    const day = dayNumberFromText(date)
    const near = { firstDay: dayText(day - neighbourDays), lastDay: dayText(day + neighbourDays) }
    const logDays = logDaysOf([day])
    const logsOn = await countLogsByDay(tx, { profileId, localDays: [...logDays].map(dayText) })
    if (countLogs(logDays, logsOn) > logsExplainedMax) return 'too many'
    const logs = await readLogsOfDays(tx, { profileId, ...near, countMax: logsExplainedMax })
    const days = await readDayFacts(tx, { profileId, firstDay: dayText(day - factsLookBackDays), lastDay: date })
    const facts = days.map((stored) => parseDayFacts(stored.facts))
    const { person: demographics, sourcePriority } = state
    return explainScore({ logs, facts, demographics, sourcePriority, asOfMs: nowMs, day, type })
  })
}
