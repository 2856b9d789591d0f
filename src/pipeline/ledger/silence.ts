import { type LogKind, logKinds } from '../../base/contract/log-evidence.ts'
import { DAY, HOUR } from '../../base/time/units.ts'

/*
 * The rules of silence, by the person's own habit. Pure, and a function of the times at which logs were handed in: their order does not
 * matter. docs/reference/silence.md is held against this file.
 */

export const silenceStates = ['all_stopped', 'kind_stopped', 'later_and_later', 'upstream_stopped'] as const
export type SilenceState = (typeof silenceStates)[number]

/** The figures of the rules. */
export const silenceRules = {
  /** How many days up to the last upload a habit is made of. */
  daysBefore: 90,
  /** How many intervals a habit needs. */
  intervalsMin: 5,
  /** The person's own longest usual interval: this quantile, or an interval that occurred this many times, if that is longer. */
  longShare: 0.95,
  recursMin: 3,
  /** How long beyond it a silence is not yet unusual. */
  graceHours: 20,
  /** From fewer intervals than these it is not seen how long they get: this many times the longest usual counts. */
  sureIntervals: 15,
  unsureFactor: 1.5,
  /** A person without a habit is silent after this time. */
  newcomerHours: 168,
  /** Data come later and later: of this many weeks each was later than the week before, and the last by at least these hours. */
  laterWeeks: 4,
  laterHours: 24,
  /** How long upstream may leave a person unanswered while half of all people are read. */
  upstreamHours: 72,
} as const

/** All kinds of logs together, one kind, or upstream. */
export type SilenceSubject = 'all' | 'upstream' | LogKind

/** Kinds that stop because of a permission or a sensor. */
const subjectKinds: readonly LogKind[] = logKinds.filter((kind) => kind !== 'zero' && kind !== 'other')

/** The uploads of one kind, in hours since 1970, in any order. */
export type KindUploads = {
  readonly kind: LogKind
  readonly hours: readonly number[]
  readonly lastAtMs: number
  readonly lastDay: number
  readonly device: string
}

export type PersonUploads = {
  readonly kinds: readonly KindUploads[]
  /** How many hours after its end each of the last days with logs was first handed in, by day. */
  readonly delays: readonly number[]
}

/** The hours between the uploads, the shortest first. `longHours` and what follows from it are undefined without a habit. */
export type Habit = {
  readonly intervals: readonly number[]
  readonly usualHours?: number
  readonly longHours?: number
  readonly silentAfterHours?: number
}

export type SubjectSilence = Omit<KindUploads, 'kind' | 'hours'> &
  Habit & { readonly subject: SilenceSubject; readonly state: SilenceState | undefined }

export function habitOf(hours: readonly number[]): Habit {
  const sorted = hours.toSorted((a, b) => a - b)
  const first = (sorted.at(-1) ?? 0) - silenceRules.daysBefore * 24
  // Uploads of neighbouring hours are one: an import that takes a while.
  const intervals = sorted
    .map((hour, index) => (hour >= first ? hour - (sorted[index - 1] ?? hour) : 0))
    .filter((interval) => interval > 1)
    .toSorted((a, b) => a - b)
  if (intervals.length < silenceRules.intervalsMin) return { intervals }
  const longHours = Math.max(quantile(intervals, silenceRules.longShare), intervals.at(-silenceRules.recursMin) ?? 0)
  const factor = intervals.length < silenceRules.sureIntervals ? silenceRules.unsureFactor : 1
  return {
    intervals,
    usualHours: quantile(intervals, 0.5),
    longHours,
    silentAfterHours: Math.ceil(longHours * factor) + silenceRules.graceHours,
  }
}

/** One row for all kinds together, and one for each kind. Whether all kinds have stopped is left to the time that passes. */
export function judgeUploads({ kinds, delays }: PersonUploads): SubjectSilence[] {
  if (kinds.length === 0) return []
  const last = kinds.reduce((newest, kind) => (isNewer(kind, newest) ? kind : newest))
  const habit = habitOf(kinds.flatMap(({ hours }) => hours))
  const all: SubjectSilence = {
    ...{ subject: 'all', lastAtMs: last.lastAtMs, device: last.device, ...habit },
    lastDay: Math.max(...kinds.map(({ lastDay }) => lastDay)),
    silentAfterHours: habit.silentAfterHours ?? silenceRules.newcomerHours,
    state: isLaterAndLater(delays) ? 'later_and_later' : undefined,
  }
  return [
    all,
    ...kinds
      .filter(({ kind }) => subjectKinds.includes(kind))
      .map(({ kind, hours, ...evidence }): SubjectSilence => {
        const kindHabit = habitOf(hours)
        const silentMs = all.lastAtMs - evidence.lastAtMs
        const isStopped = silentMs > (kindHabit.silentAfterHours ?? Number.POSITIVE_INFINITY) * HOUR
        return { subject: kind, ...evidence, ...kindHabit, state: isStopped ? 'kind_stopped' : undefined }
      }),
  ]
}

/** One import brings several kinds at the same time: the device then decides, as it does within a kind. */
const isNewer = (kind: KindUploads, other: KindUploads): boolean =>
  kind.lastAtMs > other.lastAtMs || (kind.lastAtMs === other.lastAtMs && kind.device > other.device)

/** The delay of an irregular person is short on some day of each week. */
function isLaterAndLater(delays: readonly number[]): boolean {
  const { laterWeeks, laterHours } = silenceRules
  if (delays.length < laterWeeks * 7) return false
  const weeks = Array.from({ length: laterWeeks }, (_, week) => {
    const end = delays.length - (laterWeeks - 1 - week) * 7
    return delays.slice(end - 7, end).toSorted((a, b) => a - b)
  })
  const medians = weeks.map((week) => quantile(week, 0.5))
  const [first = 0] = medians
  const isGrowing = medians.every((median, week) => week === 0 || median > (medians[week - 1] ?? 0))
  return isGrowing && (weeks.at(-1)?.[0] ?? 0) > first && (medians.at(-1) ?? 0) >= first + laterHours
}

const quantile = (sorted: readonly number[], share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0

/** Delays from the time of the first upload of each day. */
export const delayHours = (day: number, firstAtMs: number): number =>
  Math.max(0, Math.round((firstAtMs - (day + 1) * DAY) / HOUR))
