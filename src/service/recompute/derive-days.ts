import { createHash } from 'node:crypto'
import { Problem } from '../../base/errors.ts'
import { dayNumberFromText, dayText } from '../../base/time/local-time.ts'
import { type DayFacts, parseDayFacts } from '../derive/day/facts.ts'
import { factsOfDays } from '../derive/day/facts-of-days.ts'
import { neighbourDays } from '../derive/day/logs-by-day.ts'
import type { DataLog } from '../derive/day/parsed-log.ts'
import {
  createDerivation,
  type DayOutcome,
  type Derivation,
  dayOutcomeOf,
  parseDayOutcome,
} from '../derive/days/derivation.ts'
import type { Cohort } from '../derive/model/cohort.ts'
import type { Demographics } from '../derive/model/demographics.ts'
import { monthArchetypeDrafts } from '../derive/records/archetype-records.ts'
import { comparedUnit, type Draft, dayUnit, monthUnit, servedBody, weekUnit } from '../derive/records/draft.ts'
import { draftsOfComparedDay, draftsOfDay, draftsOfWeek } from '../derive/records/drafts-by-unit.ts'
import type { MarkedDay } from '../store/derivation-queue.ts'
import {
  type DerivedRecordRow,
  deleteDerivedRecords,
  readDerivedRecords,
  type StoredDerivedRecord,
  storeDerivedRecords,
} from '../store/derived-records.ts'
import { readLogsOfDays } from '../store/logs-of-days.ts'
import type { Queryable } from '../store/service-pool.ts'
import { deleteDays, readDayFacts, type StoredDay, storeDays } from '../store/stored-day-facts.ts'
import { factDaysOf } from './portion.ts'
import { type DerivationUnits, factsLookBackDays, lastDayReached, outcomeDaysReached, unitsReached } from './reach.ts'

/** Days whose logs are in memory at once. */
const daysPerRead = 40

type ProfileDerivation = {
  tx: Queryable
  profileId: string
  demographics: Demographics
  sourcePriority: readonly string[]
  nowAt: Date
  cohort: Cohort | null
  logsMax: number
}

export type DueDays = {
  marks: readonly MarkedDay[]
  /** Days that time has passed over since the last derivation. */
  passed: readonly number[]
  /** Whether the facts of the passed days are derived here too; else they are marked. */
  derivesPassedFacts: boolean
}

/**
 * Derives the marked days, and the days that time has passed over. Returns the function that writes all changes: until it is
 * called, the database is only read.
 */
export async function deriveDays(task: ProfileDerivation, due: DueDays): Promise<() => Promise<void>> {
  const { profileId, demographics, nowAt, cohort } = task
  const passedFacts = due.derivesPassedFacts ? due.passed : []
  const wanted = [...new Set([...due.marks.flatMap(factDaysOf), ...passedFacts])].sort((a, b) => a - b)
  if (wanted.length === 0 && due.passed.length === 0) return async () => undefined
  const fresh = await freshFacts(task, wanted)
  const { stored, changed, heightFrom } = await changedDays(task, { wanted, fresh, passed: due.passed })
  const facts = new Map([...stored].map(([day, { facts }]) => [day, facts]))
  for (const day of wanted) facts.delete(day)
  for (const [day, dayFacts] of fresh) facts.set(day, dayFacts)
  const reached = outcomeDaysReached({ changed, heightFrom }, facts.keys())
  // An outcome follows from the demographics as well, which may have changed while the facts did not.
  const candidates = new Set([...reached, ...wanted, ...due.passed].filter((day) => facts.has(day)))
  const derivation = createDerivation({
    profileId,
    demographics,
    asOfMs: nowAt.getTime(),
    facts: [...facts.values()],
    cohort,
    known: unchangedOutcomes(stored, { facts, candidates }),
  })
  const outcomes = changedOutcomes(derivation, { candidates, stored })
  const gone = wanted.filter((day) => stored.has(day) && !facts.has(day))
  // A week or month takes its dates from the offset of its last day, which may change while the day's outcome does not.
  const touched = new Set([...outcomes.keys(), ...changed])
  const units = unitsReached({ changed: touched, passed: due.passed }, facts.keys())
  return async () => {
    await storeFacts(task, { days: new Set([...changed, ...outcomes.keys()]), facts, outcomes, stored, gone })
    await writeUnits(task.tx, { derivation, units, nowAt })
  }
}

/** Derives facts from some days' logs at a time, because marked days may be years apart. */
async function freshFacts(task: ProfileDerivation, wanted: readonly number[]): Promise<Map<number, DayFacts>> {
  const fresh = new Map<number, DayFacts>()
  const { demographics, sourcePriority, nowAt } = task
  for (let index = 0; index < wanted.length; ) {
    const first = wanted[index] ?? 0
    const days = wanted.slice(index, index + daysPerRead).filter((day) => day < first + daysPerRead)
    const logs = await logsAround(task, { first, last: days.at(-1) ?? first })
    for (const facts of factsOfDays({ logs, demographics, sourcePriority, asOfMs: nowAt.getTime() }, days))
      fresh.set(facts.day, facts)
    index += days.length
  }
  return fresh
}

async function logsAround(
  { tx, profileId, logsMax }: ProfileDerivation,
  { first, last }: { first: number; last: number },
): Promise<DataLog[]> {
  const near = { firstDay: dayText(first - neighbourDays), lastDay: dayText(last + neighbourDays) }
  const logs = await readLogsOfDays(tx, { profileId, ...near, countMax: logsMax + 1 })
  if (logs.length > logsMax) throw tooManyLogs(logsMax)
  return logs
}

export function tooManyLogs(logsMax: number): Problem {
  return new Problem(`derive profile: there are more than ${logsMax} logs around one day`, {
    hint: 'No device writes that many. Delete what does not belong there; the profile is tried again every hour.',
  })
}

type StoredDays = ReadonlyMap<number, { facts: DayFacts; text: string; outcome: string | null }>

/** The stored days around the wanted days, and which of the wanted days have other facts now than the stored facts. */
async function changedDays(
  { tx, profileId }: ProfileDerivation,
  {
    wanted,
    fresh,
    passed,
  }: { wanted: readonly number[]; fresh: ReadonlyMap<number, DayFacts>; passed: readonly number[] },
) {
  const days = [...wanted, ...passed]
  const [first, last] = [Math.min(...days), Math.max(...days)]
  const firstDay = dayText(first - factsLookBackDays)
  const readUntil = async (lastDay: string) => parseStoredDays(await readDayFacts(tx, { profileId, firstDay, lastDay }))
  const near = await readUntil(dayText(lastDayReached(last)))
  const changed = wanted.filter((day) => textOf(fresh.get(day)) !== near.get(day)?.text)
  const heights = changed.filter((day) => hasHeight(fresh.get(day)) || hasHeight(near.get(day)?.facts))
  const heightFrom = heights[0] ?? Number.POSITIVE_INFINITY
  const stored = heights.length === 0 ? near : await readUntil('9999-12-31')
  return { stored, changed, heightFrom }
}

function parseStoredDays(days: readonly StoredDay[]): StoredDays {
  return new Map(
    days.map(({ localDay, facts, outcome }) => [
      dayNumberFromText(localDay),
      { facts: parseDayFacts(facts), text: facts, outcome },
    ]),
  )
}

function unchangedOutcomes(
  stored: StoredDays,
  { facts, candidates }: { facts: ReadonlyMap<number, DayFacts>; candidates: ReadonlySet<number> },
): Map<number, DayOutcome> {
  return new Map(
    [...stored].flatMap(([day, { outcome }]): [number, DayOutcome][] =>
      // A day whose facts were deleted has no outcome, even if one is stored.
      outcome === null || candidates.has(day) || !facts.has(day) ? [] : [[day, parseDayOutcome(outcome)]],
    ),
  )
}

/** The texts of the outcomes that differ from the stored text. */
function changedOutcomes(
  derivation: Derivation,
  { candidates, stored }: { candidates: ReadonlySet<number>; stored: StoredDays },
): Map<number, string> {
  const outcomes = new Map<number, string>()
  for (const day of candidates) {
    const dayFacts = derivation.factsOn(day)
    const text = dayFacts && JSON.stringify(dayOutcomeOf(derivation, dayFacts))
    if (text !== undefined && text !== stored.get(day)?.outcome) outcomes.set(day, text)
  }
  return outcomes
}

function textOf(facts: DayFacts | undefined): string | undefined {
  return facts && JSON.stringify(facts)
}

function hasHeight(facts: DayFacts | undefined): boolean {
  return facts?.measures['height'] !== undefined
}

type FactsToStore = {
  days: ReadonlySet<number>
  facts: ReadonlyMap<number, DayFacts>
  outcomes: ReadonlyMap<number, string>
  stored: StoredDays
  gone: readonly number[]
}

async function storeFacts(
  { tx, profileId }: ProfileDerivation,
  { days, facts, outcomes, stored, gone }: FactsToStore,
): Promise<void> {
  const rows = [...days].flatMap((day) => {
    const dayFacts = facts.get(day)
    if (!dayFacts) return []
    const outcome = outcomes.get(day) ?? stored.get(day)?.outcome ?? null
    return [{ localDay: dayText(day), facts: JSON.stringify(dayFacts), outcome, hasHeight: hasHeight(dayFacts) }]
  })
  await storeDays(tx, profileId, rows)
  await deleteDays(tx, profileId, gone.map(dayText))
}

/**
 * Derives the records of some units again and writes the changes. A record with the same content is not written; a
 * changed record keeps its id and `createdAt` and gets the next version; a record that is no longer derived is deleted.
 */
async function writeUnits(
  tx: Queryable,
  { derivation, units, nowAt }: { derivation: Derivation; units: DerivationUnits; nowAt: Date },
): Promise<void> {
  const names = [
    ...units.days.map(dayUnit),
    ...units.compared.map(comparedUnit),
    ...units.mondays.map(weekUnit),
    ...units.months.map(monthUnit),
  ]
  if (names.length === 0) return
  const { profileId } = derivation
  const stored = await readDerivedRecords(tx, { profileId, units: names })
  const drafts = [
    ...units.days.flatMap((day) => draftsOfDay(derivation, day)),
    ...units.compared.flatMap((day) => draftsOfComparedDay(derivation, day)),
    ...units.mondays.flatMap((monday) => draftsOfWeek(derivation, monday)),
    ...units.months.flatMap((first) => monthArchetypeDrafts(derivation, first)),
  ]
  const records = drafts.flatMap((draft) => changedRecordOf(draft, { before: stored.get(draft.id), nowAt }) ?? [])
  const derived = new Set(drafts.map(({ id }) => id))
  const gone = [...stored.keys()].filter((id) => !derived.has(id))
  await storeDerivedRecords(tx, { profileId, nowAt, records })
  await deleteDerivedRecords(tx, profileId, gone)
}

function changedRecordOf(
  draft: Draft,
  { before, nowAt }: { before: StoredDerivedRecord | undefined; nowAt: Date },
): DerivedRecordRow | null {
  const content = createHash('md5')
    .update(JSON.stringify([draft.body, draft.startMs, draft.endMs]))
    .digest('base64')
  if (before?.content === content) return null
  const version = (before?.version ?? 0) + 1
  const createdAtIso = before?.createdAtIso ?? nowAt.toISOString()
  const { body: _, ...rest } = draft
  const body = JSON.stringify(servedBody(draft, { createdAt: createdAtIso, version }))
  return { ...rest, version, createdAtIso, content, body }
}
