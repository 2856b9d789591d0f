/** Measured values in words, each with its unit. */

/** Units that are words: of one, and of several. */
const unitWords: Readonly<Record<string, readonly [string, string]>> = {
  minute: ['minute', 'minutes'],
  hour: ['hour', 'hours'],
  floor: ['floor', 'floors'],
  percent: ['%', '%'],
  count: ['', ''],
  index: ['', ''],
}

/** Small values need the digits that large ones do not. */
const shownValue = (value: number): string =>
  value.toLocaleString('en', { maximumFractionDigits: Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0 })

/** `5.3 hours`, `94.4 %`, `11,195` */
export function shownMeasured(value: number, unit: string): string {
  const text = shownValue(value)
  const [single, several] = unitWords[unit] ?? [unit, unit]
  return `${text} ${text === '1' ? single : several}`.trimEnd()
}

/** `269 to 312 kcal` */
export const shownChange = (from: number, to: number, unit: string): string =>
  `${shownValue(from)} to ${shownMeasured(to, unit)}`

/** A value beside its goal, which may be more or less: `5.3 hours, goal 0` */
export const besideGoal = ({ value, unit, goal }: { value: number; unit: string; goal: number }): string =>
  `${shownMeasured(value, unit)}, goal ${shownValue(goal)}`
