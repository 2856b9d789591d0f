import { dayNumberAt, dayNumberFromText, dayText } from '../../base/time/local-time.ts'
import { SECOND } from '../../base/time/units.ts'
import { neighbourDays } from '../derive/day/logs-by-day.ts'
import type { Cohort } from '../derive/model/cohort.ts'
import {
  type DerivationInputs,
  deleteMarks,
  lockAgainstErasure,
  type MarkedDay,
  markEveryStoredDay,
  markSingleDays,
  readDerivationInputs,
  readMarks,
  recordDerivation,
  splitMark,
  tryLockProfile,
} from '../store/derivation-queue.ts'
import { countLogsByDay, nextLogStartMs, readDaysOfStarts } from '../store/logs-of-days.ts'
import { type Queryable, type ServicePool, withTransaction } from '../store/service-pool.ts'
import { readRecentDays } from '../store/stored-day-facts.ts'
import { endWaiting, forgetWaiting, readChange } from '../store/waiting-profiles.ts'
import { type DueDays, deriveDays, tooManyLogs } from './derive-days.ts'
import { nextChangeMs, recentDaysBack } from './next-change.ts'
import { costOfLogs, countLogs, factDaysOf, firstPortion, logDaysOf } from './portion.ts'

/** Marks that one transaction looks at. */
const marksMax = 120
/** The expected cost of one transaction. A single day whose logs cost more is derived all the same, up to `logsMax`. */
const portionBudgetMs = SECOND / 2
/** Logs around one day that fit into the memory of the thread: five days of eleven measurements at one a second. */
const logsAroundDayMax = 1_000_000
const offsetMinutesMax = 14 * 60

type RecomputeTask = {
  profileId: string
  nowAt: Date
  cohortOf(accountId: string): Promise<Cohort | null>
  /** Set by tests only, like `budgetMs`. */
  logsMax?: number
  budgetMs?: number
}

/**
 * Derives a portion of the due days of one profile in one transaction: the records are written and the marks are deleted
 * in one commit, so a kill at any instruction costs repeated work and nothing else. Days beyond the portion stay marked.
 * A deletion of the profile waits for the writing at the end, never for the reading and computing before it. 'busy' when
 * another process derives the profile, 'gone' when there is no such profile.
 */
export async function recomputeProfile(
  pool: ServicePool,
  { profileId, nowAt, cohortOf, logsMax = logsAroundDayMax, budgetMs = portionBudgetMs }: RecomputeTask,
): Promise<'derived' | 'busy' | 'gone'> {
  return withTransaction(pool, async (tx) => {
    if (!(await tryLockProfile(tx, profileId))) return 'busy'
    const change = await readChange(tx, profileId)
    const seen = await readMarks(tx, profileId, marksMax)
    const inputs = await readDerivationInputs(tx, profileId)
    if (!inputs) {
      await forgetWaiting(tx, [profileId])
      return 'gone'
    }
    const { person: demographics, sourcePriority, accountId } = inputs
    const queue = { pool, tx, profileId, nowAt }
    const marks = inputs.isOutdated ? await markAndReadEveryDay(queue) : seen
    const passed = await daysPassed(queue, inputs)
    const due = await choosePortion(queue, { marks, passed, budgetMs, logsMax })
    const task = { tx, profileId, demographics, sourcePriority, nowAt, cohort: await cohortOf(accountId), logsMax }
    const write = await deriveDays(task, due)
    if (!(await lockAgainstErasure(tx, profileId))) return 'gone'
    await write()
    await deleteMarks(tx, profileId, due.marks)
    const dueAt = await nextDueAt(tx, { profileId, nowAt })
    await recordDerivation(tx, { profileId, asOfAt: nowAt, dueAt, sourcePriority })
    await endWaiting(tx, profileId, change)
    return 'derived'
  })
}

/**
 * Marks are made outside of the transaction of the derivation: it would hold the rows that an upload waits for, and wait
 * for rows that the upload holds.
 */
type ProfileQueue = { pool: ServicePool; tx: Queryable; profileId: string; nowAt: Date }

async function markAndReadEveryDay({ pool, tx, profileId, nowAt }: ProfileQueue): Promise<MarkedDay[]> {
  await markEveryStoredDay(pool, profileId, nowAt)
  return readMarks(tx, profileId, marksMax)
}

type WholeTask = { marks: readonly MarkedDay[]; passed: readonly number[]; budgetMs: number; logsMax: number }

/** The earliest due days that one transaction has time for. A mark that is too much for it is split by days. */
async function choosePortion(queue: ProfileQueue, { marks, passed, budgetMs, logsMax }: WholeTask): Promise<DueDays> {
  const { pool, tx, profileId, nowAt } = queue
  const passedLogDays = logDaysOf(passed)
  const localDays = [...new Set([...logDaysOf(marks.flatMap(factDaysOf)), ...passedLogDays])].map(dayText)
  const logsOn = await countLogsByDay(tx, { profileId, localDays })
  const derivesPassedFacts = costOfLogs(passedLogDays, logsOn) <= budgetMs / 2
  if (!derivesPassedFacts) await markSingleDays(pool, { profileId, localDays: passed.map(dayText), nowAt })
  const first = firstPortion(marks, { logsOn, budgetMs })
  if (!first.tooLarge) {
    const [alone] = first.marks
    if (alone && first.marks.length === 1 && countLogs(logDaysOf(factDaysOf(alone)), logsOn) > logsMax)
      throw tooManyLogs(logsMax)
    return { marks: first.marks, passed, derivesPassedFacts }
  }
  const split = { profileId, mark: first.tooLarge, localDays: factDaysOf(first.tooLarge).map(dayText), nowAt }
  await withTransaction(pool, (queryable) => splitMark(queryable, split))
  const singles = await readMarks(tx, profileId, marksMax)
  return choosePortion(queue, { marks: singles, passed, budgetMs, logsMax })
}

/**
 * Local days, in any zone, that overlap the time since the last derivation, where time alone changes something in it; or
 * until it, if the clock was set back. A log from the future counts as a whole once it has begun, for the days around its start:
 * a night of the evening belongs to the next day.
 */
async function daysPassed(
  { tx, profileId, nowAt }: ProfileQueue,
  { asOfMs, dueAtMs }: DerivationInputs,
): Promise<number[]> {
  const nowMs = nowAt.getTime()
  if (asOfMs === null) return []
  if (nowMs >= asOfMs && (dueAtMs === null || dueAtMs > nowMs)) return []
  const span = { startMs: Math.min(asOfMs, nowMs), endMs: Math.max(asOfMs, nowMs) }
  const begun = await readDaysOfStarts(tx, { profileId, span })
  const bounds = begun
    ? [dayNumberFromText(begun.firstDay) - neighbourDays, dayNumberFromText(begun.lastDay) + neighbourDays]
    : []
  const first = Math.min(dayNumberAt(span.startMs, -offsetMinutesMax), ...bounds)
  const last = Math.max(dayNumberAt(span.endMs, offsetMinutesMax), ...bounds)
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
