/** How many days the coverage map can show at once. */
export const MAP_DAYS_MAX = 400
const DAYS_SHOWN = 90

/** The days that an address asks for. It may hold anything: days that nobody can see are not drawn. */
export function mapDaysIn(text: string | null): number {
  const days = Number(text ?? DAYS_SHOWN)
  return Number.isInteger(days) && days >= 1 && days <= MAP_DAYS_MAX ? days : DAYS_SHOWN
}
