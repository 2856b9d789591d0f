import { Problem } from '../../errors.ts'
import type { Cohort } from '../derive/cohort.ts'
import { createDerivation, type Outcome, outcomeOf } from '../derive/derivation.ts'
import { factsOf } from '../derive/derive.ts'
import type { DayFacts } from '../derive/facts.ts'
import { dayAt, dayNumber, dayText } from '../derive/local-time.ts'
import type { Log, Person } from '../derive/log.ts'
import { modelVersion } from '../derive/model.ts'
import { neighbourDays } from '../derive/shelf.ts'
import { dropDays, keepDays, nextLogAt, readDays, readLogs, recentDays, type StoredDay } from '../store/derived-days.ts'
import { type Pool, type Queryable, withTransaction } from '../store/pool.ts'
import {
  eatMarks,
  lockProfile,
  type MarkedDay,
  markEveryDay,
  noteDerived,
  type ProfileState,
  readMarks,
  readState,
} from '../store/recompute.ts'
import { nextChangeAt, recentDaysBack } from './due.ts'
import { factDaysAround, factsLookBack, lastReach, outcomeDaysAfter, unitsAfter } from './reach.ts'
import { writeUnits } from './units.ts'

/** Bounds on one transaction: marked days eaten, and days whose logs are in memory at once. */
const marksMax = 120
const daysPerRead = 40
const logsPerReadMax = 300_000
const offsetMinutesMax = 14 * 60

export type Recomputed = {
  readonly days: number
  readonly outcomes: number
  readonly written: number
  readonly dropped: number
}

type Task = {
  tx: Queryable
  profileId: string
  person: Person
  sourcePriority: readonly string[]
  now: Date
  cohort: Cohort | null
  logsMax: number
}

export type RecomputeTask = {
  profileId: string
  now: Date
  cohortOf(accountId: string): Promise<Cohort | null>
  /** Logs in memory at once, at most. */
  logsMax?: number
}

/**
 * Derives what is due of one profile in one transaction: what it wrote and the marks it ate are one commit, so being
 * killed at any instruction costs repeated work and nothing else. 'busy' when another process has the profile.
 */
export async function recomputeProfile(
  pool: Pool,
  { profileId, now, cohortOf, logsMax = logsPerReadMax }: RecomputeTask,
): Promise<Recomputed | 'busy' | 'gone'> {
  return withTransaction(pool, async (tx) => {
    if (!(await lockProfile(tx, profileId))) return 'busy'
    const seen = await readMarks(tx, profileId, marksMax)
    const state = await readState(tx, profileId)
    if (!state) return 'gone'
    const { person, sourcePriority, accountId } = state
    const marks = isDerivedOtherwise(state) ? await everyDay(tx, { profileId, now }) : seen
    const task = { tx, profileId, person, sourcePriority, now, cohort: await cohortOf(accountId), logsMax }
    const done = await deriveDays(task, { marks, passed: daysPassed(state.asOf, now.getTime()) })
    await eatMarks(tx, profileId, marks)
    await noteDerived(tx, { profileId, asOf: now, dueAt: await dueAt(task), sourcePriority })
    return done
  })
}

/** Whether the days there are were derived by another model, or by another order of sources than the account has now. */
function isDerivedOtherwise({ derivedBy, sourcePriority }: ProfileState): boolean {
  if (derivedBy === null) return false
  return (
    derivedBy.modelVersion !== modelVersion ||
    JSON.stringify(derivedBy.sourcePriority) !== JSON.stringify(sourcePriority)
  )
}

async function everyDay(tx: Queryable, { profileId, now }: { profileId: string; now: Date }): Promise<MarkedDay[]> {
  await markEveryDay(tx, profileId, now)
  return readMarks(tx, profileId, marksMax)
}

/** Local days, wherever on earth, that were going on at some time since the last derivation (or, the clock set back, until it). */
function daysPassed(before: number | null, now: number): number[] {
  if (before === null) return []
  const first = dayAt(Math.min(before, now), -offsetMinutesMax)
  const last = dayAt(Math.max(before, now), offsetMinutesMax)
  return Array.from({ length: last - first + 1 }, (_, place) => first + place)
}

async function deriveDays(
  task: Task,
  due: { marks: readonly MarkedDay[]; passed: readonly number[] },
): Promise<Recomputed> {
  const { profileId, person, now, cohort } = task
  const marked = due.marks.map(({ localDay }) => dayNumber(localDay))
  const wanted = [...new Set([...marked.flatMap(factDaysAround), ...due.passed])].sort((a, b) => a - b)
  const [first, last] = [wanted[0], wanted.at(-1)]
  if (first === undefined || last === undefined) return { days: 0, outcomes: 0, written: 0, dropped: 0 }
  const fresh = await freshFacts(task, wanted)
  const { stored, changed, heightFrom } = await changedDays(task, { wanted, fresh })
  const facts = new Map([...stored].map(([day, { facts }]) => [day, facts]))
  for (const day of wanted) facts.delete(day)
  for (const [day, own] of fresh) facts.set(day, own)

  const candidates = new Set(
    [...outcomeDaysAfter({ changed, heightFrom }, facts.keys()), ...marked, ...due.passed].filter((day) =>
      facts.has(day),
    ),
  )
  const known = new Map(
    [...stored].flatMap(([day, { outcome }]): [number, Outcome][] =>
      // A day of which nothing is left comes to nothing, whatever it came to before.
      outcome === null || candidates.has(day) || !facts.has(day) ? [] : [[day, JSON.parse(outcome)]],
    ),
  )
  const derivation = createDerivation({
    profileId,
    person,
    asOf: now.getTime(),
    facts: [...facts.values()],
    cohort,
    known,
  })
  const gone = wanted.filter((day) => stored.has(day) && !facts.has(day))
  const outcomes = new Map<number, string>()
  for (const day of candidates) {
    const own = facts.get(day)
    const text = own && JSON.stringify(outcomeOf(derivation, own))
    if (text !== undefined && text !== stored.get(day)?.outcome) outcomes.set(day, text)
  }
  await keep(task, { days: new Set([...changed, ...outcomes.keys()]), facts, outcomes, stored, gone })
  // Weeks and months are dated, and end, by the offset of their last day: it may change though the day comes to the same.
  const touched = new Set([...outcomes.keys(), ...changed, ...gone])
  const units = unitsAfter({ changed: touched, passed: due.passed }, facts.keys())
  const { written, dropped } = await writeUnits(task.tx, { derivation, units, now })
  return { days: changed.length, outcomes: outcomes.size, written, dropped }
}

/** Reads the logs in stretches, so that a year that comes at once does not have to fit into memory at once. */
async function freshFacts(task: Task, wanted: readonly number[]): Promise<Map<number, DayFacts>> {
  const fresh = new Map<number, DayFacts>()
  for (let [place, span] = [0, daysPerRead]; place < wanted.length; ) {
    const first = wanted[place] ?? 0
    const days = wanted.slice(place, place + span).filter((day) => day < first + span)
    const logs = await logsAround(task, { first, last: days.at(-1) ?? first })
    if (logs === 'too many' && span > 1) {
      span = Math.ceil(span / 2)
      continue
    }
    if (logs === 'too many') {
      throw new Problem(`derive profile: there are more than ${task.logsMax} logs around one day`, {
        hint: 'No device writes that many. Delete what does not belong there; the profile is tried again every hour.',
      })
    }
    const { person, sourcePriority, now } = task
    for (const facts of factsOf({ logs, person, sourcePriority, asOf: now.getTime() }, days))
      fresh.set(facts.day, facts)
    place += days.length
  }
  return fresh
}

async function logsAround(
  { tx, profileId, logsMax }: Task,
  { first, last }: { first: number; last: number },
): Promise<Log[] | 'too many'> {
  const [from, to] = [dayText(first - neighbourDays), dayText(last + neighbourDays)]
  const logs = await readLogs(tx, { profileId, from, to, countMax: logsMax + 1 })
  return logs.length > logsMax ? 'too many' : logs
}

type Known = { facts: DayFacts; text: string; outcome: string | null }

/** What is stored around the wanted days, and which of them say other things now than they did. */
async function changedDays(
  { tx, profileId }: Task,
  { wanted, fresh }: { wanted: readonly number[]; fresh: ReadonlyMap<number, DayFacts> },
) {
  const [first, last] = [wanted[0] ?? 0, wanted.at(-1) ?? 0]
  const from = dayText(first - factsLookBack)
  const near = parsed(await readDays(tx, { profileId, from, to: dayText(lastReach(last)) }))
  const changed = wanted.filter((day) => textOf(fresh.get(day)) !== near.get(day)?.text)
  const heights = changed.filter((day) => hasHeight(fresh.get(day)) || hasHeight(near.get(day)?.facts))
  const heightFrom = heights[0] ?? Number.POSITIVE_INFINITY
  const stored = heights.length === 0 ? near : parsed(await readDays(tx, { profileId, from, to: '9999-12-31' }))
  return { stored, changed, heightFrom }
}

function parsed(days: readonly StoredDay[]): Map<number, Known> {
  return new Map(
    days.map(({ localDay, facts, outcome }) => [
      dayNumber(localDay),
      { facts: JSON.parse(facts), text: facts, outcome },
    ]),
  )
}

function textOf(facts: DayFacts | undefined): string | undefined {
  return facts && JSON.stringify(facts)
}

function hasHeight(facts: DayFacts | undefined): boolean {
  return facts?.measures['height'] !== undefined
}

type ToKeep = {
  days: ReadonlySet<number>
  facts: ReadonlyMap<number, DayFacts>
  outcomes: ReadonlyMap<number, string>
  stored: ReadonlyMap<number, Known>
  gone: readonly number[]
}

async function keep({ tx, profileId }: Task, { days, facts, outcomes, stored, gone }: ToKeep): Promise<void> {
  const rows = [...days].flatMap((day) => {
    const own = facts.get(day)
    if (!own) return []
    const outcome = outcomes.get(day) ?? stored.get(day)?.outcome ?? null
    return [{ localDay: dayText(day), facts: JSON.stringify(own), outcome, hasHeight: hasHeight(own) }]
  })
  await keepDays(tx, profileId, rows)
  await dropDays(tx, profileId, gone.map(dayText))
}

async function dueAt({ tx, profileId, now }: Task): Promise<Date | null> {
  const from = dayText(dayAt(now.getTime(), 0) - recentDaysBack)
  const days = await recentDays(tx, { profileId, from })
  const instants = [nextChangeAt(days, now.getTime()), await nextLogAt(tx, { profileId, now })].filter(
    (at) => at !== null,
  )
  return instants.length === 0 ? null : new Date(Math.min(...instants))
}
