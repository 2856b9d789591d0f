import {
  type DayMinutes,
  hasMinute,
  type LogKind,
  noMinutes,
  type StreamNeeds,
} from '../../base/contract/log-evidence.ts'
import { dayText } from '../../base/time/local-time.ts'
import { DAY, HOUR } from '../../base/time/units.ts'

/*
 * Why a day that was read and has settled has no record, by what was handed in. Pure, and a function of the evidence alone: in which order
 * the evidence came does not matter. docs/reference/empty-days.md is held against this file.
 */

export const emptyCauses = [
  'nothing_sent',
  'sent_late_expected',
  'not_worn',
  'partly_sent',
  'sent_not_derived',
  'not_through_us',
  'unknown',
] as const
export type EmptyCause = (typeof emptyCauses)[number]

/** The figures of the rules. */
export const emptyRules = {
  /**
   * How many days before and after the day are looked at. A push makes due again at least as many days after and before its logs
   * (`touchedBy` in config/streams.ts), so that a day is explained again whenever evidence that it looks at has changed.
   */
  daysBefore: 90,
  daysAfter: 6,
  /** A kind is usual where it is on this share of the days with logs, in these days up to the last day on which it came. */
  usualShare: 0.6,
  usualDays: 28,
  /** How many days with logs a habit needs. */
  habitDaysMin: 5,
  /** The usual delay: this quantile of the delays of the days before, and half as much again. Longer delays are those of a back-fill. */
  delayQuantile: 0.95,
  delayMargin: 1.5,
  delayGraceMs: 12 * HOUR,
  delayMaxMs: 14 * DAY,
  /** A day with fewer hours in which a log proves wear was not worn. */
  wornHoursMin: 4,
  /** The wear of a valid day in the derivation, and enough for certain. */
  validMinutes: 600,
  certainMinutes: 660,
  /** The shortest night of the derivation is three hours; one of this length is a night for certain. */
  certainNightMinutes: 240,
  /** A missing night is the sender's fault only where other logs prove that the device was worn in this many hours of it. */
  nightHoursMin: 4,
} as const

/** The logs of one kind on one day. */
export type KindOfDay = {
  readonly minutes: DayMinutes
  readonly firstParcel: number
  readonly lastParcel: number
  readonly device: string
  readonly isRevised: boolean
}

/** The kinds of logs that touch one day, and when the first of the logs was handed in. */
export type DayLogs = { readonly kinds: readonly LogKind[]; readonly firstAtMs: number }

export type EmptyDay = {
  /** The local day, in days since 1970. */
  readonly day: number
  readonly needs: StreamNeeds
  /** The days from `daysBefore` to `daysAfter` on which logs were recorded, by their number. */
  readonly around: ReadonlyMap<number, DayLogs>
  /** The logs of the day, and of the evening before, whose night ends on the day. */
  readonly logs: ReadonlyMap<LogKind, KindOfDay>
  readonly eveningBefore: ReadonlyMap<LogKind, KindOfDay>
  /** Logs of the day wait to be pushed, or were refused: upstream did not accept them. */
  readonly isWaiting: boolean
  readonly isRefused: boolean
  readonly nowMs: number
}

/** The reasons of a cause. No value of a log. */
export type CauseEvidence = {
  /** The kinds of logs that touch the day. */
  readonly kinds?: readonly LogKind[]
  /** Minutes in which a log proves wear, and in how many hours they lie. */
  readonly wornMinutes?: number
  readonly wornHours?: number
  /** The usual kinds that did not come, each with the day on which it came last. */
  readonly missing?: ReadonlyArray<{ readonly kind: LogKind; readonly last: string }>
  /** The nearest days with logs. */
  readonly before?: string
  readonly after?: string
  /** How late this person's logs usually come, in hours. */
  readonly usualDelayHours?: number
  readonly expectedAt?: string
  /** The oldest and the newest parcel with logs of the day. */
  readonly parcels?: readonly [number, number]
  readonly devices?: readonly string[]
  /** A log of the day moved: minutes that it has left may still count. */
  readonly revised?: true
  readonly waiting?: true
  readonly refused?: true
}

export type Explained = {
  readonly cause: EmptyCause
  readonly evidence: CauseEvidence
  /** When the day begins to count as `nothing_sent`, after `sent_late_expected`. */
  readonly untilMs?: number
}

/** The kinds that prove that a device was on the body, or a phone in the pocket. */
const wornKinds: readonly LogKind[] = ['steps', 'movement', 'heart', 'vitals', 'sleep', 'exercise']
/** The kinds by which the derivation proves wear. */
const validKinds: readonly LogKind[] = ['steps', 'heart', 'sleep', 'exercise']

export function explainEmptyDay(empty: EmptyDay): Explained {
  if (empty.around.size === 0) return { cause: 'not_through_us', evidence: {} }
  return empty.around.has(empty.day) ? explainByLogs(empty) : explainSilence(empty)
}

function explainSilence({ day, around, nowMs }: EmptyDay): Explained {
  const days = [...around.keys()].toSorted((a, b) => a - b)
  const before = days.findLast((other) => other < day)
  const after = days.find((other) => other > day)
  const delayMs = usualDelayMs(around, day)
  const evidence: CauseEvidence = {
    ...(before === undefined ? {} : { before: dayText(before) }),
    ...(after === undefined ? {} : { after: dayText(after) }),
    ...(delayMs === undefined ? {} : { usualDelayHours: Math.round((delayMs / HOUR) * 10) / 10 }),
  }
  // Once a later day was sent, the day itself had its turn.
  if (after !== undefined || delayMs === undefined) return { cause: 'nothing_sent', evidence }
  const untilMs = (day + 1) * DAY + delayMs * emptyRules.delayMargin + emptyRules.delayGraceMs
  if (nowMs >= untilMs) return { cause: 'nothing_sent', evidence }
  return {
    cause: 'sent_late_expected',
    evidence: { ...evidence, expectedAt: new Date(untilMs).toISOString() },
    untilMs,
  }
}

function explainByLogs(empty: EmptyDay): Explained {
  const { logs, needs, isWaiting, isRefused } = empty
  const worn = wearOf(empty, wornKinds)
  const evidence = { ...evidenceOf(empty), wornMinutes: worn.minutes, wornHours: worn.hours }
  if (isEnough(empty)) {
    if (isWaiting || isRefused || !needs.alone) return { cause: 'unknown', evidence }
    return { cause: 'sent_not_derived', evidence }
  }
  const missing = missingKinds(empty)
  const gone = missing.filter((kind) => isWornWithout(empty, kind))
  const lasts = (kinds: readonly LogKind[]) =>
    kinds.map((kind) => ({ kind, last: dayText(lastDayOf(empty, kind) ?? empty.day) }))
  if (gone.length > 0) return { cause: 'partly_sent', evidence: { ...evidence, missing: lasts(gone) } }
  const usual = wornKinds.filter((kind) => isUsual(empty, kind))
  // A person who sends one kind that proves wear: when it stops, a device that lies about and a permission that was revoked look alike.
  const isAmbiguous = usual.length < 2 && !usual.some((kind) => logs.has(kind))
  if (isAmbiguous && !logs.has('zero')) return { cause: 'unknown', evidence }
  // Two hundred steps make a day valid however short it was worn, and how many there were is not kept.
  const isShort = missing.length > 0 && !logs.has('steps') && worn.minutes < emptyRules.validMinutes
  const isBelow = worn.hours < emptyRules.wornHoursMin || isShort
  return { cause: isBelow ? 'not_worn' : 'unknown', evidence }
}

function evidenceOf({ logs, isWaiting, isRefused }: EmptyDay): CauseEvidence {
  const rows = [...logs.values()]
  const parcels = [
    Math.min(...rows.map(({ firstParcel }) => firstParcel)),
    Math.max(...rows.map(({ lastParcel }) => lastParcel)),
  ] as const
  return {
    kinds: [...logs.keys()].toSorted(),
    parcels,
    devices: [...new Set(rows.map(({ device }) => device))].toSorted(),
    ...(rows.some(({ isRevised }) => isRevised) ? { revised: true } : {}),
    ...(isWaiting ? { waiting: true } : {}),
    ...(isRefused ? { refused: true } : {}),
  }
}

/** Whether the logs of the day are certainly enough for a record of the stream. */
function isEnough(empty: EmptyDay): boolean {
  return empty.needs.anyOf.some((kind) =>
    kind === 'sleep'
      ? nightOf(empty, ['sleep']).minutes >= emptyRules.certainNightMinutes
      : empty.logs.has(kind) && wearOf(empty, validKinds).minutes >= emptyRules.certainMinutes,
  )
}

const missingKinds = (empty: EmptyDay): LogKind[] =>
  empty.needs.anyOf.filter((kind) => {
    const came = kind === 'sleep' ? nightOf(empty, ['sleep']).minutes > 0 : empty.logs.has(kind)
    return !came && isUsual(empty, kind)
  })

/** Whether logs prove that the device was worn when the missing kind would have been recorded. */
function isWornWithout(empty: EmptyDay, missing: LogKind): boolean {
  if (missing === 'sleep') return nightOf(empty, wornKinds, { from: 22, to: 8 }).hours >= emptyRules.nightHoursMin
  return wearOf(empty, wornKinds, { from: 8, to: 22 }).hours >= emptyRules.wornHoursMin
}

function isUsual({ day, around }: EmptyDay, kind: LogKind): boolean {
  const last = lastDayOf({ day, around }, kind)
  if (last === undefined) return false
  let days = 0
  let withKind = 0
  for (let before = last; before > last - emptyRules.usualDays; before -= 1) {
    const kinds = around.get(before)?.kinds
    if (!kinds) continue
    days += 1
    if (kinds.includes(kind)) withKind += 1
  }
  return days >= emptyRules.habitDaysMin && withKind >= days * emptyRules.usualShare
}

/** The last earlier day with a log of the kind, so far back that all days of the habit up to it are looked at. */
function lastDayOf({ day, around }: Pick<EmptyDay, 'day' | 'around'>, kind: LogKind): number | undefined {
  for (let before = day - 1; before - emptyRules.usualDays >= day - 1 - emptyRules.daysBefore; before -= 1) {
    if (around.get(before)?.kinds.includes(kind)) return before
  }
  return undefined
}

/** How long after its end a day of this person is usually handed in. Undefined: too few days are known. */
function usualDelayMs(around: EmptyDay['around'], day: number): number | undefined {
  const delays: number[] = []
  for (let before = day - 1; before >= day - emptyRules.usualDays; before -= 1) {
    const logs = around.get(before)
    if (!logs) continue
    const delayMs = Math.max(0, logs.firstAtMs - (before + 1) * DAY)
    if (delayMs <= emptyRules.delayMaxMs) delays.push(delayMs)
  }
  if (delays.length < emptyRules.habitDaysMin) return undefined
  delays.sort((a, b) => a - b)
  return delays[Math.ceil(delays.length * emptyRules.delayQuantile) - 1]
}

/** Hours of the clock, [from, to). */
type Hours = { readonly from: number; readonly to: number }
const WHOLE_DAY: Hours = { from: 0, to: 24 }

type Wear = { readonly minutes: number; readonly hours: number }

const wearOf = ({ logs }: EmptyDay, kinds: readonly LogKind[], hours: Hours = WHOLE_DAY): Wear =>
  countWear(logs, kinds, hours)

/** A night belongs to the day on which it ends, and begins at most six hours before it. */
function nightOf(
  { logs, eveningBefore }: EmptyDay,
  kinds: readonly LogKind[],
  hours: Hours = { from: 18, to: 18 },
): Wear {
  const evening = countWear(eveningBefore, kinds, { from: hours.from, to: 24 })
  const morning = countWear(logs, kinds, { from: 0, to: hours.to })
  return { minutes: evening.minutes + morning.minutes, hours: evening.hours + morning.hours }
}

/** The minutes that logs of any of these kinds cover, and the hours with such a minute. */
function countWear(logs: ReadonlyMap<LogKind, KindOfDay>, kinds: readonly LogKind[], { from, to }: Hours): Wear {
  const covered = noMinutes()
  for (const kind of kinds) {
    const bits = logs.get(kind)?.minutes
    if (bits) for (let at = 0; at < covered.length; at += 1) covered[at] = (covered[at] ?? 0) | (bits[at] ?? 0)
  }
  let [minutes, hours] = [0, 0]
  for (let hour = from; hour < to; hour += 1) {
    const before = minutes
    for (let minute = hour * 60; minute < (hour + 1) * 60; minute += 1) if (hasMinute(covered, minute)) minutes += 1
    if (minutes > before) hours += 1
  }
  return { minutes, hours }
}
