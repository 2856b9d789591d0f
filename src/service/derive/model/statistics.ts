/** Small statistics over plain arrays. All are pure and none changes its argument. */

/** Typed, because a typed array is sorted by value without a call for each comparison. */
const ascending = (values: readonly number[] | Float64Array) => Float64Array.from(values).sort()

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

export function mean(values: readonly number[]): number {
  return sum(values) / values.length
}

export function median(values: readonly number[] | Float64Array): number {
  return quantile(values, 0.5)
}

/** Linear between the order statistics; `share` from 0 to 1. */
export function quantile(values: readonly number[] | Float64Array, share: number): number {
  const sorted = ascending(values)
  const position = (sorted.length - 1) * share
  const below = sorted[Math.floor(position)] ?? Number.NaN
  const above = sorted[Math.ceil(position)] ?? Number.NaN
  return below + (above - below) * (position - Math.floor(position))
}

/** Median distance from the median, without the factor that makes it a standard deviation. */
export function medianDeviation(values: readonly number[]): number {
  const middle = median(values)
  return median(values.map((value) => Math.abs(value - middle)))
}

/** Share of `values` below `x`; values equal to `x` count half. */
export function midRank(values: readonly number[], x: number): number {
  const below = values.filter((value) => value < x).length
  const equal = values.filter((value) => value === x).length
  return (below + equal / 2) / values.length
}

/** Piecewise linear through the points, flat outside them. */
export function interpolate(points: readonly (readonly [number, number])[], x: number): number {
  let [beforeX, beforeY] = points[0] ?? [0, 0]
  if (x <= beforeX) return beforeY
  for (const [pointX, pointY] of points) {
    if (x <= pointX) return beforeY + ((pointY - beforeY) * (x - beforeX)) / (pointX - beforeX)
    beforeX = pointX
    beforeY = pointY
  }
  return beforeY
}

/** A cumulative curve without points of equal x but the last, so that it gives P(value <= x). Bands may start with zeros. */
export function withoutEqualNeighbours(curve: readonly [number, number][]): [number, number][] {
  return curve.filter(([x], index) => curve[index + 1]?.[0] !== x)
}

export const clockMinutes = 1440

/** Distance on the clock face, 0 to 720 minutes. */
export function clockDistance(a: number, b: number): number {
  const apart = Math.abs(a - b) % clockMinutes
  return Math.min(apart, clockMinutes - apart)
}

/** The clock time that is nearest to all others; where two are equally near, the middle between them. */
export function clockMedian(times: readonly number[]): number {
  const sorted = [...ascending(times)]
  const costs = sorted.map((time) => sum(sorted.map((other) => clockDistance(time, other))))
  const least = Math.min(...costs)
  const first = costs.findIndex((cost) => cost - least < 1e-9)
  const last = costs.findLastIndex((cost) => cost - least < 1e-9)
  const [from, to] = [sorted[first] ?? 0, sorted[last] ?? 0]
  const step = ((to - from + 1.5 * clockMinutes) % clockMinutes) - clockMinutes / 2
  return (from + step / 2 + clockMinutes) % clockMinutes
}

/** Median of the slopes between all pairs of points. */
export function theilSen(points: readonly (readonly [number, number])[]): number {
  const slopes = new Float64Array((points.length * (points.length - 1)) / 2)
  let count = 0
  for (let index = 0; index < points.length; index += 1) {
    const [x, y] = points[index] ?? [0, 0]
    for (let later = index + 1; later < points.length; later += 1) {
      const [laterX, laterY] = points[later] ?? [0, 0]
      slopes[count] = (laterY - y) / (laterX - x)
      count += 1
    }
  }
  return median(slopes)
}

/** Share of a standard normal below z (Abramowitz and Stegun 26.2.17, error below 7.5e-8). */
export function normalShare(z: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(z))
  const poly = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
  const tail = (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * poly
  return z >= 0 ? 1 - tail : tail
}

/** Exponentially weighted mean, oldest value first, seeded with the first; λ = 2 / (days + 1). */
export function weightedMean(values: readonly number[], days: number): number {
  const weight = 2 / (days + 1)
  return values.reduce((average, value, index) => (index === 0 ? value : average + weight * (value - average)), 0)
}

export function roundTo(value: number, digits: number): number {
  const scale = 10 ** digits
  const rounded = Math.round(value * scale + 1e-9 * Math.sign(value)) / scale
  return rounded === 0 ? 0 : rounded
}
