import { isUpload, type Peer } from '../support/peer.ts'
import { daysAgoMs } from '../support/sample-scores.ts'
import type { TestPipeline } from '../support/test-pipeline.ts'

type Chance = (below: number) => number

/** A score that upstream has derived, or will have at `atMs`, from a log that it accepted at `acceptedMs`. */
type Derived = { readonly person: string; readonly days: number; value: number; acceptedMs: number; atMs: number }

/** The change that the test pushes: the score of `days` days ago becomes this value. */
export type LateLog = { readonly person: string; readonly days: number; readonly value: number }

const keyOf = ({ person, days }: Pick<LateLog, 'person' | 'days'>) => `${person} ${days}`
const scoreTime = (days: number) => new Date(daysAgoMs(days)).toISOString()

/**
 * Lets a peer without tags and without a word derive late: a log changes the score of its day some time after it was
 * accepted, by a heavy-tailed law up to `latenessMaxMs`.
 */
export function deriveLate(peer: Peer, people: readonly string[], { chance, latenessMaxMs }: LateOptions) {
  const derived: Derived[] = []
  const lateness = () => Math.min(latenessMaxMs, 400 / ((chance(1000) + 1) / 1000) ** (1 / 1.2))
  for (const person of people) peer.give(person, 'scores', []) // upstream knows them before their first token
  const answer = peer.answer
  peer.answer = (seen) => {
    const nowMs = Date.now()
    for (const person of people) peer.give(person, 'scores', recordsAt(derived, person, nowMs))
    const reply = answer(seen)
    if (isUpload(seen)) {
      for (const log of JSON.parse(seen.body) as LateLog[]) {
        const { person, days, value } = log
        // A log that is sent twice changes nothing; a later value of a day is derived after the values before it.
        const before = derived.filter((record) => keyOf(record) === keyOf(log))
        if (before.some((record) => record.value === value)) continue
        const afterMs = Math.max(0, ...before.map(({ atMs }) => atMs))
        derived.push({ person, days, value, acceptedMs: nowMs, atMs: Math.max(afterMs, nowMs + lateness()) })
      }
    }
    return reply
  }
  return {
    derived,
    valueAt: (log: Pick<LateLog, 'person' | 'days'>, atMs: number) =>
      valuesAt(
        derived.filter((record) => keyOf(record) === keyOf(log)),
        atMs,
      ).at(-1)?.value,
  }
}

type LateOptions = { readonly chance: Chance; readonly latenessMaxMs: number }
export type LateUpstream = ReturnType<typeof deriveLate>

const valuesAt = (derived: readonly Derived[], nowMs: number) => derived.filter(({ atMs }) => atMs <= nowMs)

function recordsAt(derived: readonly Derived[], person: string, nowMs: number): object[] {
  const newest = new Map(
    valuesAt(derived, nowMs)
      .filter((value) => value.person === person)
      .map((value) => [value.days, value]),
  )
  return [...newest.values()].map(({ days, value }) => ({
    type: 'sleep',
    scoreDateTime: scoreTime(days),
    value,
    state: 'medium',
  }))
}

type Covered = { readonly person: string; readonly days: number; readonly value: number | null }

/** The days that are called covered and have nothing left to push, with the stored score, in one snapshot. */
async function coveredDays(line: TestPipeline, days: readonly number[]): Promise<Covered[]> {
  const rows = await line.rows(
    `select p.external_id as person, d.days, s.value
     from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id
     cross join unnest($1::int[], $2::timestamptz[]) as d(days, at)
     left join vitalsync.scores s on s.profile_id = p.id and s.score_date_time = d.at and s.gone_at is null
     where l.stream = 'scores' and l.covered @> d.at
       and not exists (select from vitalsync.parcels o where o.profile_id = p.id)`,
    [days, days.map(scoreTime)],
  )
  return rows as Covered[]
}

/**
 * The days that are called covered, and that upstream will still change, or has changed before the ledger was looked at. A
 * log that upstream accepted while it was looked at is left out.
 */
export async function brokenPromises(
  line: TestPipeline,
  late: LateUpstream,
  days: readonly number[],
): Promise<string[]> {
  const beforeMs = Date.now()
  const covered = await coveredDays(line, days)
  return covered.flatMap((day) => {
    const logs = late.derived.filter((record) => keyOf(record) === keyOf(day))
    if (logs.some(({ acceptedMs }) => acceptedMs >= beforeMs)) return []
    const coming = logs.filter(({ atMs }) => atMs > beforeMs)
    if (coming.length > 0) return [`${keyOf(day)} is covered, and upstream changes it in ${coming[0]?.atMs}`]
    const truth = late.valueAt(day, beforeMs)
    return day.value === (truth ?? null) ? [] : [`${keyOf(day)} is covered with ${day.value}, upstream has ${truth}`]
  })
}

/** How many of all days are covered and as upstream has them. */
export async function agreeingDays(line: TestPipeline, late: LateUpstream, days: readonly number[]): Promise<number> {
  const covered = await coveredDays(line, days)
  return covered.filter((day) => day.value === (late.valueAt(day, Date.now()) ?? null)).length
}
