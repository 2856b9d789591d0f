import { mean, median } from '../model/statistics.ts'

/** Three thresholds make four bands, 0 to 3. A value on a threshold belongs above it. */
export function bandOf(thresholds: readonly number[], value: number): number {
  return thresholds.filter((threshold) => value >= threshold).length
}

type HysteresisRules = {
  /** The margin of a person whose periods hardly differ. */
  readonly leastMargin: (threshold: number) => number
  /** The margin of all others, in deviations of the person's periods. */
  readonly deviations: number
  /** The share of the margin that the mean of two periods in a row needs. */
  readonly pairShare: number
}

const differencesMin = 3
/** The median distance of two independent normal values, in their deviations: 0.6745 × √2. */
const medianDifference = 0.9539

/**
 * The band of a person after several periods (oldest first, null where too little was known), with hysteresis by the
 * person's own variability: the band changes when a period is past a threshold by the margin, or when two periods in a row
 * are outside the band and their mean is past a threshold by a share of the margin.
 */
export function settledBand(
  thresholds: readonly number[],
  values: readonly (number | null)[],
  { leastMargin, deviations, pairShare }: HysteresisRules,
): number | null {
  if (values.at(-1) === null || values.length === 0) return null
  const ownMargin = deviations * spreadOf(values)
  let settled = bandOf(thresholds, openingValue(values))
  let before: number | null = null
  for (const value of values) {
    if (value !== null) {
      const bandPast = (by: number, of: number) =>
        bandBeyond(thresholds, { value: of, settled, marginOf: (one) => Math.max(leastMargin(one), ownMargin) * by })
      const alone = bandPast(1, value)
      const both = before !== null && bandOf(thresholds, before) !== settled && bandOf(thresholds, value) !== settled
      settled = alone === settled && both && before !== null ? bandPast(pairShare, (before + value) / 2) : alone
    }
    before = value
  }
  return settled
}

/** The deviation of a person's periods, from neighbours: a change of level counts once, not in every period after it. */
function spreadOf(values: readonly (number | null)[]): number {
  const differences = values.flatMap((value, index) => {
    const before = values[index - 1]
    return value === null || before === null || before === undefined ? [] : [Math.abs(value - before)]
  })
  return differences.length < differencesMin ? 0 : median(differences) / medianDifference
}

/** Where the replay begins: the middle of the first half, so that it hardly moves when the oldest period falls out. */
function openingValue(values: readonly (number | null)[]): number {
  const known = values.filter((value) => value !== null)
  const early = values.slice(0, Math.ceil(values.length / 2)).filter((value) => value !== null)
  return early.length >= differencesMin ? median(early) : (known[0] ?? mean(known))
}

type Beyond = { value: number; settled: number; marginOf: (threshold: number) => number }

/** The band of the value when it lies past a threshold of the settled band by the margin, else the settled band. */
function bandBeyond(thresholds: readonly number[], { value, settled, marginOf }: Beyond): number {
  const [below, above] = [thresholds[settled - 1], thresholds[settled]]
  if (above !== undefined && value > above + marginOf(above)) return bandOf(thresholds, value)
  if (below !== undefined && value < below - marginOf(below)) return bandOf(thresholds, value)
  return settled
}
