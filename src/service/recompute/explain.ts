import { type Explanation, explainScore } from '../derive/explain.ts'
import { dayNumber, dayText } from '../derive/local-time.ts'
import type { ScoreType } from '../derive/scores.ts'
import { neighbourDays } from '../derive/shelf.ts'
import { readDays, readLogs } from '../store/derived-days.ts'
import { type Pool, withTransaction } from '../store/pool.ts'
import { readState } from '../store/recompute.ts'
import { factsLookBack } from './reach.ts'

/** As many as a day's neighbourhood may be derived from. */
const logsMax = 300_000

/** Explains a score from what is stored, as it would be derived now. Undefined when there is no such profile. */
export async function explainStored(
  pool: Pool,
  { profileId, date, type, now }: { profileId: string; date: string; type: ScoreType; now: number },
): Promise<Explanation | undefined> {
  return withTransaction(pool, async (tx) => {
    const state = await readState(tx, profileId)
    if (!state) return undefined
    const day = dayNumber(date)
    const near = { from: dayText(day - neighbourDays), to: dayText(day + neighbourDays) }
    const logs = await readLogs(tx, { profileId, ...near, countMax: logsMax })
    const days = await readDays(tx, { profileId, from: dayText(day - factsLookBack), to: date })
    const facts = days.map((one) => JSON.parse(one.facts))
    const { person, sourcePriority } = state
    return explainScore({ logs, facts, person, sourcePriority, asOf: now, day, type })
  })
}
