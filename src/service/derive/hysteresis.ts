/** Three edges make four bands, 0 to 3; a value on an edge belongs above it. */
export function bandOf(edges: readonly number[], value: number): number {
  return edges.filter((edge) => value >= edge).length
}

/**
 * The band a person is said to be in, after a row of periods (oldest first, null where too little was known). People do
 * not change kind every week: a band is left only when the value is past its edge by the margin, or for the second time.
 */
export function settledBand(
  edges: readonly number[],
  values: readonly (number | null)[],
  marginOf: (edge: number) => number,
): number | null {
  let settled: number | null = null
  let before: number | null = null
  for (const value of values) {
    if (value === null) {
      before = null
      continue
    }
    const band = bandOf(edges, value)
    if (settled === null || isPast(edges, { value, settled, marginOf }) || (band !== settled && before === band))
      settled = band
    before = band
  }
  return values.at(-1) === null ? null : settled
}

function isPast(
  edges: readonly number[],
  { value, settled, marginOf }: { value: number; settled: number; marginOf: (edge: number) => number },
): boolean {
  const [below, above] = [edges[settled - 1], edges[settled]]
  if (above !== undefined && value >= above) return value > above + marginOf(above)
  if (below !== undefined && value < below) return value < below - marginOf(below)
  return false
}
