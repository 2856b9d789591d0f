import type { MemberState } from '../../src/pipeline/fleet/budget.ts'

export const noWaiters = { nightly: 0, manual: 0, backfill: 0 }

export function memberState(
  member: string,
  demand: Partial<MemberState['demand']>,
  more: Partial<MemberState> = {},
): MemberState {
  const idle = { member, holds: 0, waiting: noWaiters, answersPerSecond: 0, latencyMs: 0 }
  return { ...idle, demand: { ...noWaiters, ...demand }, ...more }
}
