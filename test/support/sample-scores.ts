import { DAY } from '../../src/base/time/units.ts'

const midnight = Math.floor(Date.now() / DAY) * DAY

/** Midnight UTC of a day in the past: 10 days ago has settled, 1 day ago has not. */
export const daysAgo = (days: number, laterMs = 0): string => new Date(midnight - days * DAY + laterMs).toISOString()
export const daysAgoMs = (days: number): number => midnight - days * DAY

export const scoreOf = (days: number, value: number, more: object = {}) => ({
  id: `score-${days}`,
  type: 'sleep',
  scoreDateTime: daysAgo(days),
  value,
  state: 'medium',
  createdAt: daysAgo(days),
  factors: [],
  ...more,
})
