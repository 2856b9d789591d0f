/**
 * The request budget of the whole fleet: how many requests a second and how many in flight, who goes first, and how the
 * budget shrinks when upstream is in trouble and grows when it is quiet. Pure: the decisions, and the shapes of the
 * shared state that `src/queue/budget-redis.ts` and `src/queue/budget-postgres.ts` keep.
 */

/** Most urgent first: nightly goes before manual, manual before backfill. */
export const lanes = ['nightly', 'manual', 'backfill'] as const
export type Lane = (typeof lanes)[number]

/** How a request ended, as far as the budget is concerned. */
export type Outcome = { readonly latencyMs: number; readonly overloaded: boolean; readonly retryAfterMs: number }

/** The gate every request to upstream passes. `enter` returns undefined when it may go at once. */
export type Budget = {
  enter(lane: Lane, signal: AbortSignal | undefined): Promise<void> | undefined
  leave(outcome: Outcome): void
  state(): BudgetState
  close(): Promise<void>
}

export type BudgetState = {
  readonly requestsPerSecond: number
  readonly inFlightMax: number
  readonly inFlight: number
  readonly waiting: Readonly<Record<Lane, number>>
  readonly pausedUntilMs: number
}

/** The bounds between which the budget moves. `requestsPerSecond: Infinity` leaves the rate to the requests in flight. */
export type BudgetLimits = { readonly requestsPerSecond: number; readonly inFlight: number }
