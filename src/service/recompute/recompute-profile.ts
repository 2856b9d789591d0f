import { dayNumberAt, dayText } from '../../time/local-days.ts'
import type { Cohort } from '../derive/model/cohort.ts'
import { modelVersion } from '../derive/model/model.ts'
import {
  type DerivationInputs,
  deleteMarks,
  type MarkedDay,
  markEveryStoredDay,
  readDerivationInputs,
  readMarks,
  recordDerivation,
  tryLockProfile,
} from '../store/derivation-queue.ts'
import { nextLogStartMs } from '../store/logs-of-days.ts'
import { type Queryable, type ServicePool, withTransaction } from '../store/service-pool.ts'
import { readRecentDays } from '../store/stored-day-facts.ts'
import { deriveDays, logsPerReadMax } from './derive-days.ts'
import { nextChangeMs, recentDaysBack } from './next-change.ts'

/** Bounds one transaction. */
const marksPerTransactionMax = 120
const offsetMinutesMax = 14 * 60

type RecomputeTask = {
  profileId: string
  nowAt: Date
  cohortOf(accountId: string): Promise<Cohort | null>
  /** Logs in memory at once, and days of one transaction, at most. Set by tests only. */
  logsMax?: number
  marksMax?: number
}

/**
 * Derives the due days of one profile in one transaction: the records are written and the marks are deleted in one
 * commit, so a kill at any instruction costs repeated work and nothing else. 'busy' when another process derives the
 * profile, 'gone' when there is no such profile.
 */
export async function recomputeProfile(
  pool: ServicePool,
  { profileId, nowAt, cohortOf, logsMax = logsPerReadMax, marksMax = marksPerTransactionMax }: RecomputeTask,
): Promise<'derived' | 'busy' | 'gone'> {
  return withTransaction(pool, async (tx) => {
    if (!(await tryLockProfile(tx, profileId))) return 'busy'
    const seen = await readMarks(tx, profileId, marksMax)
    const state = await readDerivationInputs(tx, profileId)
    if (!state) return 'gone'
    const { person: demographics, sourcePriority, accountId } = state
    const marks = isOutdated(state) ? await markAndReadEveryDay(tx, { profileId, nowAt, marksMax }) : seen
    const task = { tx, profileId, demographics, sourcePriority, nowAt, cohort: await cohortOf(accountId), logsMax }
    await deriveDays(task, { marks, passed: daysPassed(state.asOfMs, nowAt.getTime()) })
    await deleteMarks(tx, profileId, marks)
    const dueAt = await nextDueAt(tx, { profileId, nowAt })
    await recordDerivation(tx, { profileId, asOfAt: nowAt, dueAt, sourcePriority })
    return 'derived'
  })
}

/** Whether the stored days were derived by another model, or by another order of sources than the account has now. */
function isOutdated({ derivedBy, sourcePriority }: DerivationInputs): boolean {
  if (derivedBy === null) return false
  return (
    derivedBy.modelVersion !== modelVersion ||
    JSON.stringify(derivedBy.sourcePriority) !== JSON.stringify(sourcePriority)
  )
}

async function markAndReadEveryDay(
  tx: Queryable,
  { profileId, nowAt, marksMax }: { profileId: string; nowAt: Date; marksMax: number },
): Promise<MarkedDay[]> {
  await markEveryStoredDay(tx, profileId, nowAt)
  return readMarks(tx, profileId, marksMax)
}

/** Local days, in any zone, that overlap the time since the last derivation (or until it, if the clock was set back). */
function daysPassed(lastMs: number | null, nowMs: number): number[] {
  if (lastMs === null) return []
  const first = dayNumberAt(Math.min(lastMs, nowMs), -offsetMinutesMax)
  const last = dayNumberAt(Math.max(lastMs, nowMs), offsetMinutesMax)
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

/** When the profile is due again without an upload: a period ends, or a log from the future begins. */
async function nextDueAt(
  tx: Queryable,
  { profileId, nowAt }: { profileId: string; nowAt: Date },
): Promise<Date | null> {
  const firstDay = dayText(dayNumberAt(nowAt.getTime(), 0) - recentDaysBack)
  const days = await readRecentDays(tx, { profileId, firstDay })
  const dueMs = [nextChangeMs(days, nowAt.getTime()), await nextLogStartMs(tx, { profileId, nowAt })].filter(
    (ms) => ms !== null,
  )
  return dueMs.length === 0 ? null : new Date(Math.min(...dueMs))
}
