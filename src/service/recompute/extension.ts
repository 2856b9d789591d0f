import { z } from 'zod'
import { scoreTypes } from '../../base/contract/score.ts'
import { type Explanation, explainOperation, explanationSchema } from '../../base/contract/score-explanation.ts'
import { dayNumberFromText, dayText } from '../../base/time/local-time.ts'
import { parseDayFacts } from '../derive/day/facts.ts'
import { neighbourDays } from '../derive/day/logs-by-day.ts'
import type { ScoreType } from '../derive/days/scores.ts'
import { explainScore } from '../derive/records/explanation.ts'
import { badRequest, unknownProfile } from '../http/request-error.ts'
import { defineRoute, type ServiceExtension } from '../http/service-route.ts'
import { readDerivationInputs } from '../store/derivation-queue.ts'
import { countLogsByDay, readLogsOfDays } from '../store/logs-of-days.ts'
import { type ServicePool, withinReadTime, withTransaction } from '../store/service-pool.ts'
import { findProfileId } from '../store/service-profiles.ts'
import { readDayFacts } from '../store/stored-day-facts.ts'
import { countLogs, logDaysOf } from './portion.ts'
import { factsLookBackDays } from './reach.ts'
import { startRecompute } from './start-recompute.ts'

/** `GET /api/v1/profile/explain/{externalId}?date=2026-07-11&score=sleep` */
export const explainRoute = defineRoute({
  ...explainOperation,
  summary: 'Explain a score of a local day: its factors, what is missing, and the logs behind it',
  query: z.object({
    date: z.iso
      .date({ error: 'must be a local date such as 2026-07-11' })
      .refine((date) => date >= '1900-01-01' && date <= '2199-12-31', {
        error: 'must lie between the years 1900 and 2199',
      }),
    score: z.enum(scoreTypes, { error: `must be one of ${scoreTypes.join(', ')}` }),
  }),
  answers: { 200: explanationSchema },
  async run({ context: { pool, reads, clock }, accountId, externalId, query: { date, score: type } }) {
    const profileId = await findProfileId(reads, { accountId, externalId })
    const explanation =
      profileId && (await withinReadTime(explainStored(pool, { profileId, date, type, nowMs: clock() })))
    if (!explanation) throw unknownProfile()
    if (explanation !== 'too many') return { json: explanation }
    const errors = [`has more than ${logsExplainedMax} logs around it, which are too many to explain`]
    throw badRequest('query', [{ origin: 'date', errors }])
  },
})

/** The derivation as part of a service: the recomputation in the background, and the route that explains. */
export const deriveExtension =
  ({ threads }: { threads: number }): ServiceExtension =>
  async (context) => {
    return { routes: [explainRoute], ...(await startRecompute({ ...context, threads })) }
  }

/** An explanation is computed in the thread that answers requests: more logs would delay all requests. */
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
