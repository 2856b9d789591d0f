/** Three thresholds make four bands, 0 to 3. A value on a threshold belongs above it. */
export function bandOf(thresholds: readonly number[], value: number): number {
  return thresholds.filter((threshold) => value >= threshold).length
}

/**
 * The band of a person after several periods (oldest first, null where too little was known), with hysteresis: the band
 * changes only when the value is past a threshold by the margin, or for the second time in a row.
 */
export function settledBand(
  thresholds: readonly number[],
  values: readonly (number | null)[],
  marginOf: (threshold: number) => number,
): number | null {
  let settled: number | null = null
  let before: number | null = null
  for (const value of values) {
    if (value === null) {
      before = null
      continue
    }
    const band = bandOf(thresholds, value)
    if (settled === null || isPast(thresholds, { value, settled, marginOf }) || (band !== settled && before === band))
      settled = band
    before = band
  }
  return values.at(-1) === null ? null : settled
}

function isPast(
  thresholds: readonly number[],
  { value, settled, marginOf }: { value: number; settled: number; marginOf: (threshold: number) => number },
): boolean {
  const [below, above] = [thresholds[settled - 1], thresholds[settled]]
  if (above !== undefined && value >= above) return value > above + marginOf(above)
  if (below !== undefined && value < below) return value < below - marginOf(below)
  return false
}
