import { dayNumberFromText, dayText } from '../../base/time/local-days.ts'
import { parseDayFacts } from '../derive/day/facts.ts'
import { neighbourDays } from '../derive/day/logs-by-day.ts'
import type { ScoreType } from '../derive/days/scores.ts'
import { type Explanation, explainScore } from '../derive/records/explanation.ts'
import { readDerivationInputs } from '../store/derivation-queue.ts'
import { countLogsByDay, readLogsOfDays } from '../store/logs-of-days.ts'
import { type ServicePool, withTransaction } from '../store/service-pool.ts'
import { readDayFacts } from '../store/stored-day-facts.ts'
import { countLogs, logDaysOf } from './portion.ts'
import { factsLookBackDays } from './reach.ts'

/** An explanation is computed where requests are answered: more logs would delay all of them. */
export const logsExplainedMax = 50_000

/**
 * Explains a score from the stored logs and facts, as it would be derived now. Undefined when there is no such profile;
 * 'too many' when more than `logsExplainedMax` logs lie around the day.
 */
export async function explainStored(
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
