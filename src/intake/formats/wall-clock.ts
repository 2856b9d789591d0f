type WallTime = { year: number; month: number; day: number; hour: number; minute: number; second: number }

/** The milliseconds of a clock that shows this in UTC; undefined for a date or a time that there is not, and before 1900. */
export function wallClockMs({ year, month, day, hour, minute, second }: WallTime): number | undefined {
  // JavaScript takes a thirteenth month for the next January, and the year 26 for 1926.
  if (!(year >= 1900 && month >= 1 && month <= 12 && hour <= 23 && minute <= 59 && second <= 59)) return undefined
  const ms = Date.UTC(year, month - 1, day, hour, minute, second)
  return new Date(ms).getUTCDate() === day ? ms : undefined
}
