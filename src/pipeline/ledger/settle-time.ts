import { latenessBin, latenessOfBin } from './lateness.ts'

/** The bounds of every stream's settle time, and the intervals after a push at which its spans are read again. */
export type SettleSettings = {
  readonly minMs: number
  readonly maxMs: number
  /** See `SettleRule`. */
  readonly intervalsMs: readonly number[]
}

/** A stream that settles at once, such as a snapshot, does so within all bounds. */
export function boundedSettleMs(settleMs: number, { minMs, maxMs }: SettleSettings): number {
  return settleMs === 0 ? 0 : Math.max(minMs, Math.min(maxMs, settleMs))
}

/** A settle time hides later changes, so one profile in this many is always read longest. */
const CONTROL_SHARE = 16

/**
 * The settle time by which a profile is read. One profile of sixteen is always read as long as before lateness was measured:
 * else a short settle time would hide the late changes that should lengthen it.
 */
export function settleMsOf(profileId: string, measuredMs: number | null, { fallbackMs, settings }: Fallback): number {
  const isControl = Number(profileId) % CONTROL_SHARE === 0
  const wantedMs = isControl ? Math.max(fallbackMs, measuredMs ?? 0) : (measuredMs ?? fallbackMs)
  return fallbackMs === 0 ? 0 : boundedSettleMs(wantedMs, settings)
}

/** `fallbackMs`: the settle time of the stream's row in `config/streams.ts`, until enough is known. */
type Fallback = { readonly fallbackMs: number; readonly settings: SettleSettings }

/** The counts of one bin: records that were watched over it, and how many of these came or changed in it. */
export type LatenessBinCount = { readonly bin: number; readonly seen: number; readonly changes: number }

/**
 * `fallback`: not enough is known. `measured`: at most one record in ten thousand changed later. `extrapolated`: so few records
 * were watched that only "at most one in a thousand" is proven, and a margin is added. `longer`: more than one in a thousand
 * still changed at the end of what was watched.
 */
export type SettleBasis = 'fallback' | 'measured' | 'extrapolated' | 'longer'

export type SettleTime = {
  readonly settleMs: number
  readonly basis: SettleBasis
  /** Records that were watched at the age of the settle time, and how many of them changed later. */
  readonly watched: number
  readonly changedLater: number
}

/** How many days, and how many records watched up to the fallback's age, make enough evidence. */
export const DAYS_ENOUGH = 14
export const RECORDS_ENOUGH = 10_000

/** Shares of records that may change after the settle time, by the upper end of the 95 % interval. */
const SHARE_AIMED = 0.0001
const SHARE_MEASURABLE = 0.001
const SHARE_OF_TAIL = 0.01
/** Records were watched at least this far beyond the settle time: at the end of what was watched nothing can come later. */
const QUIET_BINS = 3

/** The least factor between the age after which one in a thousand changes and the settle time. */
const MARGIN_MIN = 2

type Measured = Fallback & { readonly counts: readonly LatenessBinCount[]; readonly days: number }

/** The settle time that the measured lateness asks for, within the bounds of the settings. */
export function settleTimeOf({ counts, days, fallbackMs, settings }: Measured): SettleTime {
  const bounded = (wantedMs: number, basis: SettleBasis, { watched, changedLater }: Age) => {
    const settleMs = boundedSettleMs(wantedMs, settings)
    return { settleMs, basis, watched, changedLater }
  }
  const lastBin = lastWatchedBin(counts)
  const ages = agesOf(counts, lastBin)
  const longest = ages[lastBin] ?? noAge
  if (days < DAYS_ENOUGH || lastBin < latenessBin(fallbackMs)) return bounded(fallbackMs, 'fallback', longest)
  const firstBin = (share: number) =>
    ages.findIndex((age, bin) => bin <= lastBin - QUIET_BINS && shareUpTo(age) <= share)
  const aimed = firstBin(SHARE_AIMED)
  if (aimed >= 0) return bounded(latenessOfBin(aimed), 'measured', ages[aimed] ?? noAge)
  const measurable = firstBin(SHARE_MEASURABLE)
  if (measurable < 0) return bounded(2 * latenessOfBin(lastBin), 'longer', longest)
  // A tail is extrapolated: by the factor between the ages of one in a hundred and of one in a thousand.
  const factor = latenessOfBin(measurable) / latenessOfBin(Math.max(0, firstBin(SHARE_OF_TAIL)))
  const settleMs = latenessOfBin(measurable) * Math.max(MARGIN_MIN, factor)
  return bounded(settleMs, 'extrapolated', ages[measurable] ?? noAge)
}

/** `rate`: how many records changed later, as a share; `variance`: of that share, as of counts of rare events. */
type Age = {
  readonly watched: number
  readonly changedLater: number
  readonly rate: number
  readonly variance: number
}
const noAge: Age = { watched: 0, changedLater: 0, rate: 1, variance: 0 }

/** The quantile of the normal distribution that 95 % confidence takes. */
const Z = 1.96
/** The rule of three: with no event among n, the rate is below 3 / n at 95 % confidence. */
const NO_EVENT = 3

/** The upper end of the share that changed later. */
const shareUpTo = ({ watched, rate, variance }: Age): number =>
  watched === 0 ? 1 : rate + Z * Math.sqrt(variance) + NO_EVENT / watched

/** The last bin up to which enough records were watched in every bin. */
function lastWatchedBin(counts: readonly LatenessBinCount[]): number {
  const seen = new Map(counts.map((count) => [count.bin, count.seen]))
  let last = -1
  while ((seen.get(last + 1) ?? 0) >= RECORDS_ENOUGH) last += 1
  return last
}

/**
 * For each bin up to the last watched one: what came in later bins. Each bin has its own rate, because fewer records are
 * watched at later ages: those of the profiles that are always read longest. Changes beyond the last watched bin, such as
 * silent differences, count as if they were among the fewest records watched.
 */
function agesOf(counts: readonly LatenessBinCount[], lastBin: number): Age[] {
  const ages: Age[] = []
  const beyond = counts.reduce((sum, { bin, changes }) => (bin > lastBin ? sum + changes : sum), 0)
  const byBin = new Map(counts.map((count) => [count.bin, count]))
  let [watched, changedLater, rate, variance] = [byBin.get(lastBin)?.seen ?? 0, beyond, 0, 0]
  for (let bin = lastBin; bin >= 0; bin -= 1) {
    const beyondRate = beyond / watched
    ages[bin] = { watched, changedLater, rate: rate + beyondRate, variance: variance + beyondRate / watched }
    const { seen = 1, changes = 0 } = byBin.get(bin) ?? {}
    watched = Math.min(watched, seen)
    changedLater += changes
    rate += changes / seen
    variance += changes / seen ** 2
  }
  return ages
}
