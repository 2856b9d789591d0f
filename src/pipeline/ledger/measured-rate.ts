/** The quantile of the normal distribution that 95 % confidence takes. The view `warehouse.verified` reckons with it too. */
const Z = 1.96

/** The rate with the Wilson interval, which also holds for few hits: no hit in a small sample proves little. */
export function measuredRateOf(hits: number, size: number) {
  const rate = hits / size
  const middle = rate + (Z * Z) / (2 * size)
  const spread = Z * Math.sqrt((rate * (1 - rate)) / size + (Z * Z) / (4 * size * size))
  const whole = 1 + (Z * Z) / size
  return { rate, rateFrom: Math.max(0, (middle - spread) / whole), rateUpTo: Math.min(1, (middle + spread) / whole) }
}
