import { mean, quantile } from '../derive/model/statistics.ts'

/** A reference figure of a person's day, and the value that this service derived for it. */
export type DayPair = { readonly reference: number; readonly derived: number }

/** The pairs of one person; a person is a number here, so that no name travels. */
type PairsOfPerson = readonly DayPair[]

/** Spearman's ρ with the ends of its 95 % bootstrap interval; null where there are too few pairs to say. */
export type Correlation = {
  readonly rho: number | null
  readonly from: number | null
  readonly upTo: number | null
  /** Pairs and persons that it is computed from. */
  readonly n: number
  readonly persons: number
}

const resamples = 400
const pairsMin = 10
/** With fewer persons, drawing persons again says nothing about other persons. */
const personsOfIntervalMin = 5

/** Moments of ranks: whatever a resample draws, ρ follows from their sums. */
type Moments = { n: number; x: number; y: number; xx: number; yy: number; xy: number }

/** Over all pairs of all persons: differences between people count too. */
export function correlationOverAll(persons: readonly PairsOfPerson[], random: () => number): Correlation {
  const all = persons.flat()
  const [x, y] = [ranksOf(all.map(({ reference }) => reference)), ranksOf(all.map(({ derived }) => derived))]
  let next = 0
  const moments = persons.map((person) => {
    const from = next
    next += person.length
    return momentsOf(x.slice(from, next), y.slice(from, next))
  })
  return correlationOf(moments, { random, rhoOf: (drawn) => pearson(summed(drawn)) })
}

/**
 * Within persons: the ρ of each person with at least ten pairs, weighted by their number. A difference between people
 * does not count.
 */
export function correlationWithin(persons: readonly PairsOfPerson[], random: () => number): Correlation {
  const moments = persons.flatMap((person) => {
    if (person.length < pairsMin) return []
    const ranks = momentsOf(
      ranksOf(person.map(({ reference }) => reference)),
      ranksOf(person.map(({ derived }) => derived)),
    )
    return pearson(ranks) === null ? [] : [ranks]
  })
  return correlationOf(moments, {
    random,
    rhoOf: (drawn) => {
      const weight = drawn.reduce((sum, { n }) => sum + n, 0)
      return weight === 0 ? null : drawn.reduce((sum, person) => sum + person.n * (pearson(person) ?? 0), 0) / weight
    },
  })
}

type CorrelationOptions = { random: () => number; rhoOf: (moments: readonly Moments[]) => number | null }

function correlationOf(moments: readonly Moments[], { random, rhoOf }: CorrelationOptions): Correlation {
  const n = moments.reduce((sum, sums) => sum + sums.n, 0)
  const known = moments.filter((sums) => sums.n > 0)
  const rho = n < pairsMin ? null : rhoOf(known)
  if (rho === null || known.length < personsOfIntervalMin) {
    return { rho, from: null, upTo: null, n, persons: known.length }
  }
  // Persons are drawn, not days: the days of one person are not independent.
  const drawn = Array.from({ length: resamples }, () =>
    rhoOf(known.flatMap(() => known[Math.floor(random() * known.length)] ?? [])),
  ).filter((rho) => rho !== null)
  return { rho, from: quantile(drawn, 0.025), upTo: quantile(drawn, 0.975), n, persons: known.length }
}

function momentsOf(x: readonly number[], y: readonly number[]): Moments {
  const moments = { n: x.length, x: 0, y: 0, xx: 0, yy: 0, xy: 0 }
  for (const [index, value] of x.entries()) {
    const other = y[index] ?? 0
    moments.x += value
    moments.y += other
    moments.xx += value * value
    moments.yy += other * other
    moments.xy += value * other
  }
  return moments
}

function summed(moments: readonly Moments[]): Moments {
  const total = { n: 0, x: 0, y: 0, xx: 0, yy: 0, xy: 0 }
  for (const sums of moments) {
    total.n += sums.n
    total.x += sums.x
    total.y += sums.y
    total.xx += sums.xx
    total.yy += sums.yy
    total.xy += sums.xy
  }
  return total
}

/** Pearson's correlation of the ranks, which is Spearman's ρ; null where one side never varies. */
function pearson({ n, x, y, xx, yy, xy }: Moments): number | null {
  const [ofX, ofY] = [xx - (x * x) / n, yy - (y * y) / n]
  if (n < 2 || ofX <= 1e-9 || ofY <= 1e-9) return null
  return Math.max(-1, Math.min(1, (xy - (x * y) / n) / Math.sqrt(ofX * ofY)))
}

/** Ranks from 0 to 1; equal values share the mean of their ranks. */
export function ranksOf(values: readonly number[]): number[] {
  const order = values.map((_, index) => index).sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0))
  const ranks = new Array<number>(values.length).fill(0)
  for (let from = 0; from < order.length; ) {
    let to = from
    while (to + 1 < order.length && values[order[to + 1] ?? 0] === values[order[from] ?? 0]) to += 1
    for (let place = from; place <= to; place += 1) ranks[order[place] ?? 0] = mean([from, to]) / values.length
    from = to + 1
  }
  return ranks
}
