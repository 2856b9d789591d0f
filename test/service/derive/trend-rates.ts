import { judgeTrend } from '../../../src/service/derive/days/trend-judgement.ts'
import { roundTo } from '../../../src/service/derive/model/statistics.ts'
import { createSeededRandom } from '../../../src/service/sandbox/people/seeded-random.ts'
import { drawnShare, realDays, realNoise } from './real-noise.ts'

/**
 * How often the judgement finds a change, in lives with the noise of real people's weeks (`weekly-noise.csv`). The seeds
 * are fixed, so the rates are too, and the constants of the test were chosen on the lives of other seeds. `npm run trends`
 * prints the table of docs/reference/derivation.md.
 */
const weeks = 16
const firstDay = 7 * (weeks - 4)
const days = 7 * weeks

/** The name by which a measure is judged, the measure of the file, and the goal for a decline of 30 % over four weeks. */
export const measures = [
  ['resting_heart_rate', 'resting_heart_rate', 98],
  ['sleep', 'sleep_score', 97],
  ['sleep_duration', 'sleep_duration', 95],
  ['readiness', 'readiness_score', 88],
  ['heart_rate_variability', 'hrv_rmssd', 70],
  ['activity', 'activity_score', 74],
  ['steps', 'steps', 26],
] as const

/** The share of the level that is added by a day. */
type Change = (day: number) => number
const unchanged: Change = () => 0
const declining: Change = (day) => (-0.3 * Math.max(0, day - firstDay + 1)) / 28
const stepping: Change = (day) => (day >= firstDay ? -0.3 : 0)
/** As fast as the decline over four weeks, but for longer. */
const rising = [5, 6, 8, 10].map(
  (count): Change =>
    (day) =>
      (0.3 * Math.max(0, day - (days - 7 * count) + 1)) / 28,
)

type Kind = { readonly lives: number; readonly correlated?: boolean; readonly irregular?: boolean }

/** For each change the percentage of lives with a trend in its direction; without a change, in either. */
function ratesOf([name, row]: (typeof measures)[number], kind: Kind, changes: readonly Change[]): number[] {
  const { lives, correlated = true, irregular = false } = kind
  const real = realNoise(row)
  const noise = correlated ? real : { ...real, weekCorrelation: 0 }
  const found = changes.map(() => 0)
  for (let life = 0; life < lives; life += 1) {
    const random = createSeededRandom('trend rates, held out', name, life)
    // The middle of the least regular tenth is 1.645 deviations from the median person.
    const share = irregular ? Math.exp(1.645 * real.weekSpread) : drawnShare(random, real)
    const values = realDays(random, noise, { weeks, share })
    for (const [index, change] of changes.entries())
      if (isFound(name, values, change)) found[index] = (found[index] ?? 0) + 1
  }
  return found.map((count) => (100 * count) / lives)
}

function isFound(name: string, unchangedValues: readonly (number | null)[], change: Change): boolean {
  const values = unchangedValues.flatMap((value, day): [number, number][] =>
    value === null ? [] : [[day, value * (1 + change(day))]],
  )
  const { state } = judgeTrend({
    name,
    firstDay,
    values: values.filter(([day]) => day >= firstDay),
    earlier: values.filter(([day]) => day < firstDay),
  })
  if (change === unchanged) return state !== 'stable'
  return state === (change(days - 1) > 0 ? 'increasing' : 'decreasing')
}

/** The figures of a row of the table, by column; the second of two is for weeks that are independent. */
export function rowOf(measure: (typeof measures)[number], lives: number): number[][] {
  const [none = 0, decline = 0, step = 0, ...rises] = ratesOf(measure, { lives }, [
    unchanged,
    declining,
    stepping,
    ...rising,
  ])
  const [ofIndependent = 0, foundInIndependent = 0] = ratesOf(measure, { lives, correlated: false }, [
    unchanged,
    declining,
  ])
  const ofIrregular = ratesOf(measure, { lives, irregular: true }, [unchanged])
  return [[none, ofIndependent], ofIrregular, [decline, foundInIndependent], [measure[2]], [step], rises]
}

if (import.meta.main) {
  const head =
    '| measure | false alarms | of the least regular tenth | decline | goal | step | rise since 5, 6, 8, 10 weeks |'
  console.log(`${head}\n|---|---|---|---|---|---|---|`)
  for (const measure of measures) {
    const cells = rowOf(measure, 20_000).map((rates) => rates.map((rate) => roundTo(rate, 1)).join(' / '))
    console.log(`| ${[`\`${measure[0]}\``, ...cells].join(' | ')} |`)
  }
}
