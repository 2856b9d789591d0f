import { judgeTrend } from '../../../src/service/derive/days/trend-judgement.ts'
import { createSeededRandom } from '../../../src/service/sandbox/people/seeded-random.ts'
import { drawnShare, realDays, realNoise } from './real-noise.ts'

/**
 * How often the judgement finds a change, in lives with the noise of real people's weeks (`weekly-noise.csv`). The seeds
 * are fixed, so the rates are too, and the constants of the test were chosen on the lives of other seeds (`trend rates`). `npm run trends`
 * prints the table of docs/reference/derivation.md.
 */
const lives = 1000
const weeks = 16
const firstDay = 7 * (weeks - 4)
const days = 7 * weeks

/** The name by which a measure is judged, the measure of the file, and the goal for a decline of 30 % over four weeks. */
const measures = [
  ['resting_heart_rate', 'resting_heart_rate', 98],
  ['sleep', 'sleep_score', 97],
  ['sleep_duration', 'sleep_duration', 95],
  ['readiness', 'readiness_score', 88],
  ['heart_rate_variability', 'hrv_rmssd', 70],
  ['activity', 'activity_score', 74],
  ['steps', 'steps', 26],
] as const

/** The share of its size that a change has on a day. */
type Course = (day: number) => number
const steadily = (day: number) => Math.max(0, day - firstDay + 1) / 28
const suddenly = (day: number) => (day >= firstDay ? 1 : 0)
/** As fast as the decline over four weeks, but for longer. */
const sinceWeeks = (count: number) => (day: number) => Math.max(0, day - (days - 7 * count) + 1) / 28

type Kind = { readonly correlated: boolean; readonly irregular?: boolean }
type Change = { readonly size: number; readonly course: Course }

/** The percentage of lives with a trend, of a change in its direction; in lives without a change, in any. */
function rateOf(measure: (typeof measures)[number], kind: Kind, { size, course }: Change): number {
  const [name, row] = measure
  const real = realNoise(row)
  const noise = kind.correlated ? real : { ...real, weekCorrelation: 0 }
  let found = 0
  for (let life = 0; life < lives; life += 1) {
    const random = createSeededRandom('trend rates, held out', name, life)
    // The middle of the least regular tenth is 1.645 deviations from the median person.
    const share = kind.irregular ? Math.exp(1.645 * real.weekSpread) : drawnShare(random, real)
    const values = realDays(random, noise, { weeks, share }).flatMap((value, day): [number, number][] =>
      value === null ? [] : [[day, value * (1 + size * course(day))]],
    )
    const { state } = judgeTrend({
      name,
      firstDay,
      values: values.filter(([day]) => day >= firstDay),
      earlier: values.filter(([day]) => day < firstDay),
    })
    if (size === 0 ? state !== 'stable' : state === (size > 0 ? 'increasing' : 'decreasing')) found += 1
  }
  return (100 * found) / lives
}

const none: Change = { size: 0, course: () => 0 }
const changes: Readonly<Record<'decline' | 'step' | 'since5' | 'since6' | 'since8' | 'since10', Change>> = {
  decline: { size: -0.3, course: steadily },
  step: { size: -0.3, course: suddenly },
  since5: { size: 0.3, course: sinceWeeks(5) },
  since6: { size: 0.3, course: sinceWeeks(6) },
  since8: { size: 0.3, course: sinceWeeks(8) },
  since10: { size: 0.3, course: sinceWeeks(10) },
}

/** The rates of each measure, on weeks as correlated as real ones or on independent ones. */
export const trendRates = (correlated: boolean) =>
  measures.map((measure) => ({
    name: measure[0],
    goal: measure[2],
    falseAlarms: rateOf(measure, { correlated }, none),
    falseAlarmsOfIrregular: rateOf(measure, { correlated, irregular: true }, none),
    found: Object.fromEntries(
      Object.entries(changes).map(([name, change]) => [name, rateOf(measure, { correlated }, change)]),
    ) as Record<keyof typeof changes, number>,
  }))

export type TrendRates = ReturnType<typeof trendRates>

/** The lines of the table in docs/reference/derivation.md, without its head. */
export function trendLines(correlated: TrendRates, independent: TrendRates): string[] {
  const percent = (value: number) => value.toFixed(value < 10 ? 1 : 0)
  return correlated.map(({ name, goal, falseAlarms, falseAlarmsOfIrregular, found }, index) => {
    const other = independent[index]
    const cells = [
      `\`${name}\``,
      `${percent(falseAlarms)} / ${percent(other?.falseAlarms ?? 0)}`,
      percent(falseAlarmsOfIrregular),
      `${percent(found.decline)} / ${percent(other?.found.decline ?? 0)}`,
      String(goal),
      percent(found.step),
      [found.since5, found.since6, found.since8, found.since10].map(percent).join(', '),
    ]
    return `| ${cells.join(' | ')} |`
  })
}

if (import.meta.main) {
  const head =
    '| measure | false alarms | of the least regular tenth | decline | goal | step | rise since 5, 6, 8, 10 weeks |'
  console.log([head, '|---|---|---|---|---|---|---|', ...trendLines(trendRates(true), trendRates(false))].join('\n'))
}
