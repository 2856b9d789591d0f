import { hysteresis } from '../model/archetype-model.ts'
import { median } from '../model/statistics.ts'

/** Three thresholds make four bands, 0 to 3. A value on a threshold belongs above it. */
export function bandOf(thresholds: readonly number[], value: number): number {
  return thresholds.filter((threshold) => value >= threshold).length
}

/** The deviation of the periods of most people at a threshold, for a person of whom few periods are known. */
type UsualDeviation = (threshold: number) => number

/**
 * The band of a person after several periods (oldest first, null where too little was known), with hysteresis by the
 * deviation of the person's own periods: the band changes when one period is far past a threshold, when two known periods in a
 * row are both past it by nearly one deviation, or when four in a row are past it at all. So a change that is larger
 * than a deviation and stays is followed within two periods.
 */
export function settledBand(
  thresholds: readonly number[],
  values: readonly (number | null)[],
  usualDeviation: UsualDeviation,
): number | null {
  if (values.at(-1) === null) return null
  const known = values.filter((value) => value !== null)
  const deviationAt = ownDeviation(known, usualDeviation)
  let band = bandOf(thresholds, openingValue(values, known))
  for (const [index] of known.entries()) {
    const recent = (count: number) => (index < count - 1 ? [] : known.slice(index - count + 1, index + 1))
    const bandOfAll = (periods: readonly number[], deviations: number) =>
      bandBeyond(thresholds, { periods, band, marginOf: (threshold) => deviations * deviationAt(threshold) })
    const { alone, pair, persists } = hysteresis
    const moved = [bandOfAll(recent(1), alone), bandOfAll(recent(2), pair), bandOfAll(recent(persists), 0)]
    band = moved.find((next) => next !== band) ?? band
  }
  return band
}

/**
 * The deviation of a person's periods. It is taken from neighbours, so that a change of level counts once and not in every
 * period after it. The usual deviation counts for the differences that are not known yet.
 */
function ownDeviation(known: readonly number[], usualDeviation: UsualDeviation): UsualDeviation {
  const differences = known.slice(1).map((value, index) => Math.abs(value - (known[index] ?? value)))
  const measured = differences.length === 0 ? 0 : median(differences) / medianDifference
  const unknown = Math.max(0, 1 - differences.length / hysteresis.differences)
  return (threshold) => {
    const usual = usualDeviation(threshold)
    return Math.max(usual * hysteresis.least, Math.sqrt((1 - unknown) * measured ** 2 + unknown * usual ** 2))
  }
}

/** The median distance of two independent normal values, in their deviations: 0.6745 × √2. */
const medianDifference = 0.9539

/**
 * The state at the start of the replay: the first known period of a new person. Where the oldest period is one of many, the median of the
 * first half, which hardly moves when that period falls out.
 */
function openingValue(values: readonly (number | null)[], known: readonly number[]): number {
  const firstHalf = values.slice(0, Math.ceil(values.length / 2)).filter((value) => value !== null)
  return median(values[0] === null ? known.slice(0, 1) : firstHalf)
}

type Beyond = { periods: readonly number[]; band: number; marginOf: (threshold: number) => number }

/** The band of the mean of some periods when all of them lie past the same threshold of the band by the margin, else the band. */
function bandBeyond(thresholds: readonly number[], { periods, band, marginOf }: Beyond): number {
  if (periods.length === 0) return band
  const [below, above] = [thresholds[band - 1], thresholds[band]]
  const [least, most] = [Math.min(...periods), Math.max(...periods)]
  const isPast =
    (above !== undefined && least >= above + marginOf(above)) || (below !== undefined && most < below - marginOf(below))
  return isPast ? bandOf(thresholds, median(periods)) : band
}
