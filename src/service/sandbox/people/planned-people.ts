import { dayNumberFromText } from '../../../base/time/local-time.ts'
import { DAY, HOUR } from '../../../base/time/units.ts'
import type { SampleLog } from './sample-logs.ts'
import { logsOf } from './sample-people.ts'
import { createSamplePerson, personKinds, type SamplePerson } from './sample-person.ts'
import { createSeededRandom } from './seeded-random.ts'

/** One local day of a planned person. */
type PlannedDay = {
  /** Days since 1970. */
  readonly day: number
  /** The logs that were recorded on the day, and that upstream knows once they are handed in. */
  readonly logs: readonly SampleLog[]
  /** When the logs are handed in by the person's phone. Undefined: they reach upstream by another road, if any. */
  readonly handedInAtMs: number | undefined
  /** Whether upstream derives from the logs. */
  readonly isDerived: boolean
  /** Why the day has no records, where it has none: when it settles, and in the end, when late logs have come. */
  readonly truth: { readonly atFirst: string; readonly atLast: string }
}

export type PlannedPerson = {
  readonly externalId: string
  readonly plan: PlanName
  readonly days: readonly PlannedDay[]
}

/** A day, and its number since the first day. */
type Planning = { readonly number: number; readonly day: number }

type Plan = {
  readonly kind: SamplePerson['kind']
  /** The types of logs that the person's devices write. */
  readonly writes?: (log: SampleLog) => boolean
  /** Which logs of the days are missing, beside what happens on the day itself. */
  readonly loses?: (
    log: SampleLog,
    at: { readonly isTouched: (days: (number: number) => boolean) => boolean },
  ) => boolean
  readonly onDay: (planning: Planning) => Partial<Omit<PlannedDay, 'day' | 'truth'>> & Pick<PlannedDay, 'truth'>
}

const isWorn = (log: SampleLog) => ['activity', 'heart', 'sleep', 'exercise', 'oxygen'].includes(log.logType)
const isRevoked = (number: number) => (number >= 30 && number < 50) || (number >= 75 && number < 85)
const isDead = (number: number) => number >= 40 && number < 60
const sure = (truth: string) => ({ truth: { atFirst: truth, atLast: truth } })

/** On the morning after the day, wherever on earth it was. */
const handedInSoon = (day: number) => (day + 1) * DAY + 9 * HOUR

/** Every habit needs some days before anything happens. */
const QUIET_DAYS = 14
/** The phone is away once in five weeks: an absence of the last four weeks would be a habit. */
const AWAY_EVERY_DAYS = 35
const awayDaysOf = (person: string, number: number) => {
  const turn = Math.floor(number / AWAY_EVERY_DAYS)
  const random = createSeededRandom(person, 'away', turn)
  const [start, length] = [QUIET_DAYS + random.integer(0, 3), random.integer(4, 8)]
  const within = number - turn * AWAY_EVERY_DAYS
  return within >= start && within < start + length ? start + length - 1 - within : undefined
}

/** A growing delay reaches six days after a hundred days. */
const DELAY_GROWTH_MS = 0.06 * DAY

/** Whether chance picks a day: never two days in a row, so that each day stands for itself. */
const isPicked = (seed: string, number: number, share: number): boolean =>
  number >= QUIET_DAYS &&
  createSeededRandom(seed, 'picked', number).chance(share) &&
  !createSeededRandom(seed, 'picked', number - 1).chance(share)

const plansOf = (seed: string) =>
  ({
    /** Some days on which no device recorded anything. */
    'switched-off': {
      kind: 'office-worker',
      loses: (_, { isTouched }) => isTouched((number) => isPicked(seed, number, 0.15)),
      onDay: () => sure('nothing_sent'),
    },
    /** The watch lies about: it goes on counting the energy of a resting body. */
    'not-worn': {
      kind: 'office-worker',
      loses: (log, { isTouched }) => isWorn(log) && isTouched((number) => isPicked(seed, number, 0.2)),
      onDay: () => sure('not_worn'),
    },
    /** Half a day of wear, too short for upstream, and with more than a few steps: nobody can say who is to blame. */
    'half-worn': {
      kind: 'two-devices',
      writes: (log) => log.deviceType === 'watch',
      loses: (log, { isTouched }) =>
        isWorn(log) && isTouched((number) => isPicked(seed, number, 0.2)) && !isBetween(log, '09:00', '15:00'),
      onDay: ({ number }) => ({ isDerived: !isPicked(seed, number, 0.2), ...sure('unknown') }),
    },
    /** A ring, whose app may not read sleep for a while. */
    'sleep-revoked': {
      kind: 'night-owl',
      writes: (log) => log.logType === 'sleep' || log.logType === 'heart',
      loses: (log, { isTouched }) => log.logType === 'sleep' && isTouched(isRevoked),
      onDay: () => sure('partly_sent'),
    },
    /** The sensor of movement is dead, and with it steps and sleep. */
    'sensor-dead': {
      kind: 'runner',
      writes: (log) => log.logType === 'sleep' || log.dataType === 'steps' || log.logType === 'heart',
      loses: (log, { isTouched }) => log.logType !== 'heart' && isTouched(isDead),
      onDay: () => sure('partly_sent'),
    },
    /** The phone is away for some days, then everything comes at once. */
    'phone-away': {
      kind: 'two-devices',
      onDay: ({ number, day }) => ({
        handedInAtMs: handedInSoon(day) + (awayDaysOf(seed, number) ?? 0) * DAY,
        truth: { atFirst: 'nothing_sent', atLast: 'data' },
      }),
    },
    'growing-delay': {
      kind: 'shift-worker',
      onDay: ({ number, day }) => ({
        handedInAtMs: handedInSoon(day) + number * DELAY_GROWTH_MS,
        truth: { atFirst: 'sent_late_expected', atLast: 'data' },
      }),
    },
    /** Upstream fails to derive from some days. */
    'not-derived': {
      kind: 'office-worker',
      onDay: ({ number }) => ({ isDerived: !isPicked(seed, number, 0.2), ...sure('sent_not_derived') }),
    },
    travel: { kind: 'traveller', onDay: () => sure('data') },
    /** Somebody else sends this person's data. On some days nobody does. */
    'other-road': {
      kind: 'phone-only',
      loses: (_, { isTouched }) => isTouched((number) => isPicked(seed, number, 0.2)),
      onDay: () => ({ handedInAtMs: undefined, ...sure('not_through_us') }),
    },
  }) as const satisfies Record<string, Plan>

export type PlanName = keyof ReturnType<typeof plansOf>
export const planNames = Object.keys(plansOf('')) as PlanName[] // the keys of a literal are its names

const isBetween = ({ startDateTime, endDateTime }: SampleLog, from: string, to: string) =>
  startDateTime.slice(11, 16) >= from &&
  endDateTime.slice(11, 16) <= to &&
  startDateTime.slice(0, 10) === endDateTime.slice(0, 10)

/** The local days that a log touches. */
const daysOf = ({ startDateTime, endDateTime }: SampleLog) => [
  dayNumberFromText(startDateTime),
  dayNumberFromText(endDateTime),
]

/** A person whose empty days have planned causes. The same seed gives the same person. */
export function plannedPerson(
  seed: string,
  number: number,
  { firstDay, days }: { readonly firstDay: number; readonly days: number },
): PlannedPerson {
  const name = planNames[number % planNames.length] ?? 'travel'
  const turn = Math.floor(number / planNames.length)
  const personSeed = `${seed}/planned/${number}`
  const plan: Plan = plansOf(personSeed)[name]
  const kind = personKinds.indexOf(plan.kind)
  const person = { ...createSamplePerson(personSeed, kind + personKinds.length * turn), detail: 'light' as const }
  const span = { startMs: firstDay * DAY - DAY, endMs: (firstDay + days) * DAY + DAY }
  const { writes = () => true, loses = () => false, onDay } = plan
  const logs = logsOf(person, span).filter((log) => {
    if (!writes(log)) return false
    const touched = daysOf(log).map((day) => day - firstDay)
    return !loses(log, { isTouched: (hit) => touched.some(hit) })
  })
  // A log is handed in with the day on which it ends.
  const byDay = Map.groupBy(logs, ({ endDateTime }) => dayNumberFromText(endDateTime))
  return {
    externalId: `PlannedProfile-${name}-${turn + 1}`,
    plan: name,
    days: Array.from({ length: days }, (_, at) => {
      const day = firstDay + at
      const recorded = { day, logs: byDay.get(day) ?? [], handedInAtMs: handedInSoon(day), isDerived: true }
      return { ...recorded, ...onDay({ number: at, day }) }
    }),
  }
}
