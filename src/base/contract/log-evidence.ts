import { checkedInstant } from '../time/instant.ts'
import type { Span } from '../time/spans.ts'
import { DAY, HOUR, MINUTE } from '../time/units.ts'

/**
 * The kinds of logs, by which an empty day is explained. `zero`: intervals with the value zero, as of a watch on the table: something
 * was sent, and nothing was worn.
 */
export const logKinds = [
  'steps',
  'movement',
  'heart',
  'vitals',
  'sleep',
  'exercise',
  'energy',
  'body',
  'zero',
  'other',
] as const
export type LogKind = (typeof logKinds)[number]

/** The evidence of one log: that it was handed in, and when it was recorded. No value. */
export type LogEvidence = {
  readonly kind: LogKind
  /** The offset of the log, in minutes east of UTC: it says to which local day the log belongs. */
  readonly offsetMinutes: number
  readonly device: string
  /** The log covers the minutes between its start and its end. A total over hours covers none that could be named. */
  readonly isTimed: boolean
  /** When the log was handed in; absent: when it is added. */
  readonly handedInAtMs?: number | undefined
}

/** A sample of the heart rate and the like stands for this long, as in the derivation. */
const SAMPLE_MS = 5 * MINUTE

/** An amount over a longer time is a total: nobody knows in which of its minutes it was recorded. */
const TIMED_MAX_MS = 6 * HOUR

const kindsByType: Readonly<Record<string, LogKind>> = {
  steps: 'steps',
  sleep_stage_awake: 'other',
  sleep_stage_awake_in_or_out_of_bed: 'other',
  sleep_stage_out_of_bed: 'other',
  vo2_max: 'other',
  body_temperature: 'body',
  basal_body_temperature: 'body',
  heart_rate: 'heart',
}

const kindsByLogType: Readonly<Record<string, LogKind>> = {
  activity: 'movement',
  sleep: 'sleep',
  heart: 'vitals',
  oxygen: 'vitals',
  temperature: 'vitals',
  exercise: 'exercise',
  energy: 'energy',
  body: 'body',
  blood: 'body',
}

const amounts: ReadonlySet<LogKind> = new Set(['steps', 'movement', 'energy'])

/** The evidence of a log whose fields the schema of data logs has accepted. */
export function evidenceOfLog(fields: Readonly<Record<string, unknown>>): LogEvidence {
  const { logType, dataType, value, deviceType, startDateTime, endDateTime, periodicity } = fields
  const start = checkedInstant(String(startDateTime))
  const lastsMs = checkedInstant(String(endDateTime)).epochMs - start.epochMs
  const named = kindsByType[String(dataType)] ?? kindsByLogType[String(logType)] ?? 'other'
  const isAmount = amounts.has(named)
  return {
    kind: isAmount && value === 0 ? 'zero' : named,
    offsetMinutes: start.offsetMinutes,
    device: String(deviceType),
    isTimed: lastsMs <= DAY && !(isAmount && (lastsMs > TIMED_MAX_MS || (periodicity ?? null) !== null)),
  }
}

const MINUTES_OF_DAY = 1440

/** Which minutes of one local day are covered. The first bit of the first byte is the first minute, as Postgres keeps bits. */
export type DayMinutes = Uint8Array

export const noMinutes = (): DayMinutes => new Uint8Array(MINUTES_OF_DAY / 8)

export const hasMinute = (minutes: DayMinutes, minute: number): boolean =>
  ((minutes[minute >> 3] ?? 0) & (128 >> (minute & 7))) !== 0

/** Calls `mark` with each local day that a log touches, and the minutes [from, to) of the day that it covers. */
export function markMinutes(
  { startMs, endMs }: Span,
  { offsetMinutes, isTimed }: Pick<LogEvidence, 'offsetMinutes' | 'isTimed'>,
  mark: (day: number, from: number, to: number) => void,
): void {
  const first = Math.floor(startMs / MINUTE) + offsetMinutes
  const firstDay = Math.floor(first / MINUTES_OF_DAY)
  if (!isTimed) {
    mark(firstDay, 0, 0)
    return
  }
  // A sample of the last minutes says nothing about the next day.
  const end =
    endMs > startMs
      ? Math.ceil(endMs / MINUTE) + offsetMinutes
      : Math.min(first + SAMPLE_MS / MINUTE, (firstDay + 1) * MINUTES_OF_DAY)
  for (let day = firstDay, from = first; from < end; day += 1) {
    const to = Math.min(end, (day + 1) * MINUTES_OF_DAY)
    mark(day, from - day * MINUTES_OF_DAY, to - day * MINUTES_OF_DAY)
    from = to
  }
}

/** Sets the bits of the minutes [from, to): whole bytes at once. */
export function coverMinutes(minutes: DayMinutes, from: number, to: number): void {
  if (from >= to) return
  const [first, last] = [from >> 3, (to - 1) >> 3]
  const head = 0xff >> (from & 7)
  const tail = 0xff << (7 - ((to - 1) & 7))
  if (first === last) minutes[first] = (minutes[first] ?? 0) | (head & tail)
  else {
    minutes[first] = (minutes[first] ?? 0) | head
    minutes.fill(0xff, first + 1, last)
    minutes[last] = (minutes[last] ?? 0) | tail
  }
}

/** Logs of any of these kinds are enough. `alone`: nothing else is needed, so that logs without a record are upstream's to explain. */
export type StreamNeeds = { readonly anyOf: readonly LogKind[]; readonly alone: boolean }
