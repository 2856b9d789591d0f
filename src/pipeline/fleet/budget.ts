/**
 * The request budget of the whole fleet: the requests a second, the requests in flight, the order of urgency, and the
 * rules by which the budget decreases when upstream is overloaded and increases when it is not. Pure: the decisions, and
 * the shape of the state that `budget-store-redis.ts` and `budget-store-postgres.ts` of `src/pipeline/queue/` store.
 */

import { z } from 'zod'
import { SECOND } from '../../base/time/units.ts'

/** Most urgent first: nightly goes before manual, manual before backfill. */
export const lanes = ['nightly', 'manual', 'backfill'] as const
export type Lane = (typeof lanes)[number]

/** How a request ended, as far as the budget is concerned. */
export type RequestOutcome = { readonly latencyMs: number; readonly overloaded: boolean; readonly retryAfterMs: number }

/** The bounds between which the budget moves. `requestsPerSecond: Infinity` leaves the rate to the requests in flight. */
export type BudgetLimits = { readonly requestsPerSecond: number; readonly inFlight: number }

// Processes of different versions exchange these two objects during a rolling restart: their keys stay as they are.
const countSchema = z.number().nonnegative()
const byLaneSchema = z.object({ nightly: countSchema, manual: countSchema, backfill: countSchema })
const memberStateSchema = z.object({
  member: z.string(),
  /** Requests it may have in flight: raised only after the raise was seen to fit beside what the others hold. */
  holds: countSchema,
  demand: byLaneSchema,
  waiting: byLaneSchema,
  answersPerSecond: countSchema,
  latencyMs: countSchema,
})
const storedBudgetSchema = z.object({
  version: z.number(),
  /** Null stands for Infinity, which JSON cannot write. */
  requestsPerSecond: z.number().nullable(),
  inFlight: z.number(),
  pausedUntilMs: z.number(),
  cutAtMs: z.number(),
  grownAtMs: z.number(),
  /** The latency while upstream is not loaded; 0 while unknown. */
  quietLatencyMs: z.number(),
})

/** The state that one process shares with the others: its requests in flight and waiting in each lane, and upstream's answers. */
export type MemberState = Readonly<z.infer<typeof memberStateSchema>>

type StoredBudget = Readonly<z.infer<typeof storedBudgetSchema>>

/** The budget of the whole fleet at this moment. Changed by compare-and-set on `version`: one overload is one decrease. */
export type FleetBudget = Omit<StoredBudget, 'requestsPerSecond'> & { readonly requestsPerSecond: number }

export function storedBudgetOf(budget: FleetBudget): StoredBudget {
  const { requestsPerSecond } = budget
  return { ...budget, requestsPerSecond: Number.isFinite(requestsPerSecond) ? requestsPerSecond : null }
}

export function parseStoredBudget(stored: unknown): FleetBudget {
  const budget = storedBudgetSchema.parse(stored)
  return { ...budget, requestsPerSecond: budget.requestsPerSecond ?? Number.POSITIVE_INFINITY }
}

export function parseMemberState(stored: unknown): MemberState {
  return memberStateSchema.parse(stored)
}

/** `nowMs` is the store's own clock. */
type FleetState = { members: readonly MemberState[]; budget: FleetBudget | undefined; nowMs: number }

/** Shared by all processes. A member whose heartbeat is older than `MEMBER_TTL_MS` is dead and no longer counts. */
export type BudgetStore = {
  /** Writes our state and reads the state of all live members in one atomic step. */
  heartbeat(mine: MemberState): Promise<FleetState>
  /** Reads the state of all live members, and writes nothing. */
  read(): Promise<FleetState>
  /** False when another process changed the budget first. */
  compareAndSet(expected: FleetBudget | undefined, next: FleetBudget): Promise<boolean>
  /** Takes up to `wanted` requests out of this second, while fewer than `limit` requests of the second are taken. */
  acquireRatePermits(wanted: number, limit: number): Promise<{ granted: number; endsInMs: number }>
  removeMember(member: string): Promise<void>
  close(): Promise<void>
}

export const MEMBER_TTL_MS = 3 * SECOND

const DECREASE_FACTOR = 0.6
const LATENCY_DECREASE_FACTOR = 0.85
const DECREASE_INTERVAL_MS = SECOND
const INCREASE_FACTOR = 1.1
const QUIET_BEFORE_INCREASE_MS = 2 * SECOND
const INCREASE_INTERVAL_MS = 500
const RATE_COUNTS_AS_UNBOUNDED = 100_000
/** At this many answers a second the latency counts as measured. */
const MEASURED_ANSWERS_PER_SECOND = 10
/**
 * Decreases stop here: an upstream that refuses at random would otherwise stop the whole fleet. An upstream that bears
 * even fewer requests says so by Retry-After, or the configured limits say so.
 */
const BUDGET_MIN: BudgetLimits = { requestsPerSecond: 10, inFlight: 4 }

export function initialBudget(limits: BudgetLimits, nowMs: number): FleetBudget {
  return { version: 1, ...limits, pausedUntilMs: 0, cutAtMs: 0, grownAtMs: nowMs, quietLatencyMs: 0 }
}

/** A 429 or 503 of upstream. */
export type Overload = { readonly retryAfterMs: number; readonly answersPerSecond: number; readonly nowMs: number }

/** Both as one: the later, with the end of the longer pause. */
export const withEarlierOverload = (overload: Overload, { nowMs, retryAfterMs }: Overload): Overload => ({
  ...overload,
  retryAfterMs: Math.max(overload.retryAfterMs, nowMs + retryAfterMs - overload.nowMs),
})

/**
 * However many processes see one overload, a second has one decrease; the longest pause wins. The very budget is returned when it says all
 * of this already.
 */
export function decreaseBudget(budget: FleetBudget, overload: Overload): FleetBudget {
  const { retryAfterMs, answersPerSecond, nowMs } = overload
  const version = budget.version + 1
  const pausedUntilMs = Math.max(budget.pausedUntilMs, retryAfterMs > 0 ? nowMs + retryAfterMs : 0)
  if (nowMs - budget.cutAtMs < DECREASE_INTERVAL_MS)
    return pausedUntilMs === budget.pausedUntilMs ? budget : { ...budget, pausedUntilMs, version }
  const rate = Math.floor(Math.min(budget.requestsPerSecond, answersPerSecond) * DECREASE_FACTOR)
  const requestsPerSecond = Math.max(Math.min(BUDGET_MIN.requestsPerSecond, budget.requestsPerSecond), rate)
  const inFlight = decreasedInFlight(budget, DECREASE_FACTOR)
  return { ...budget, version, requestsPerSecond, inFlight, pausedUntilMs, cutAtMs: nowMs }
}

function decreasedInFlight({ inFlight }: FleetBudget, factor: number): number {
  return Math.max(Math.min(BUDGET_MIN.inFlight, inFlight), Math.floor(inFlight * factor))
}

type FleetLoad = { readonly members: readonly MemberState[]; readonly limits: BudgetLimits; readonly nowMs: number }

/** Fewer requests in flight when the answers of the whole fleet get slow; more when upstream is not loaded. */
export function adjustBudget(budget: FleetBudget, load: FleetLoad): FleetBudget {
  const { members, limits, nowMs } = load
  const { latencyMs, measured } = meanLatency(members)
  const { quietLatencyMs: quietMs } = budget
  if (measured && quietMs > 0 && latencyMs > 2.5 * quietMs + 50) {
    if (nowMs - budget.cutAtMs < 2 * DECREASE_INTERVAL_MS) return budget
    const inFlight = decreasedInFlight(budget, LATENCY_DECREASE_FACTOR)
    // The quiet latency rises a little each time, or a lasting change of upstream would throttle the fleet for ever.
    return { ...budget, version: budget.version + 1, inFlight, cutAtMs: nowMs, quietLatencyMs: quietMs * 1.1 }
  }
  const quiet = nowMs - budget.cutAtMs >= QUIET_BEFORE_INCREASE_MS && nowMs >= budget.pausedUntilMs
  if (!quiet || nowMs - budget.grownAtMs < INCREASE_INTERVAL_MS) return budget
  const newQuietMs = quietMs === 0 ? latencyMs : Math.min(latencyMs, quietMs * 1.02)
  const increased = increaseBudget(budget, limits)
  const changed = measured && (quietMs === 0 || Math.abs(newQuietMs - quietMs) > quietMs * 0.01)
  if (increased === undefined && !changed) return budget
  const quietLatencyMs = measured ? newQuietMs : quietMs
  return { ...budget, ...increased, version: budget.version + 1, grownAtMs: nowMs, quietLatencyMs }
}

function meanLatency(members: readonly MemberState[]): { latencyMs: number; measured: boolean } {
  const answersPerSecond = members.reduce((sum, member) => sum + member.answersPerSecond, 0)
  const weighted = members.reduce((sum, member) => sum + member.latencyMs * member.answersPerSecond, 0)
  return {
    latencyMs: weighted / (answersPerSecond || 1),
    measured: answersPerSecond >= MEASURED_ANSWERS_PER_SECOND,
  }
}

function increaseBudget(budget: FleetBudget, limits: BudgetLimits): BudgetLimits | undefined {
  const inFlight = Math.min(limits.inFlight, Math.ceil(budget.inFlight * INCREASE_FACTOR))
  const rate = Math.ceil(budget.requestsPerSecond * INCREASE_FACTOR)
  const requestsPerSecond =
    rate > RATE_COUNTS_AS_UNBOUNDED ? limits.requestsPerSecond : Math.min(limits.requestsPerSecond, rate)
  if (inFlight === budget.inFlight && requestsPerSecond === budget.requestsPerSecond) return undefined
  return { inFlight, requestsPerSecond }
}

/** The live members, and the requests that all of them together may have in flight. */
export type FleetView = { readonly members: readonly MemberState[]; readonly inFlight: number }

/**
 * How many requests `member` may have in flight: lane by lane in order of urgency, within a lane by max-min fair share. The shares are
 * whole and together the budget: where there are fewer permits than members, the first by name get one.
 * Permits that are left go evenly to the members that ask for any. A member that asks for none holds none: a process that
 * begins would have to wait until the idle ones, a dashboard say, had given theirs back.
 */
export function fairShareOf(member: string, { members, inFlight }: FleetView): number {
  const asking = members.filter(wantsPermits).toSorted((a, b) => (a.member < b.member ? -1 : 1))
  const mine = asking.findIndex((other) => other.member === member)
  if (mine < 0) return 0
  let left = inFlight
  let permits = 0
  for (const lane of lanes) {
    const shares = fairShares(
      asking.map(({ demand }) => demand[lane]),
      left,
    )
    permits += shares[mine] ?? 0
    left -= shares.reduce((sum, share) => sum + share, 0)
  }
  return permits + Math.floor(left / asking.length) + (mine < left % asking.length ? 1 : 0)
}

/** The whole permits of each demand: the largest share at which all fit, and one more for the first while any are left. */
function fairShares(demands: readonly number[], available: number): readonly number[] {
  const share = Math.floor(
    maxMinFairShare(
      demands.toSorted((a, b) => a - b),
      available,
    ),
  )
  let rest = available - demands.reduce((sum, demand) => sum + Math.min(demand, share), 0)
  return demands.map((demand) => {
    if (demand <= share || rest <= 0) return Math.min(demand, share)
    rest -= 1
    return share + 1
  })
}

export function wantsPermits({ demand }: Pick<MemberState, 'demand'>): boolean {
  return lanes.some((lane) => demand[lane] > 0)
}

/** The permits of the budget that the other members do not hold. */
export function permitsLeftByOthers(member: string, { members, inFlight }: FleetView): number {
  const held = members.reduce((sum, other) => (other.member === member ? sum : sum + other.holds), 0)
  return Math.max(0, inFlight - held)
}

/**
 * Max-min fair share: the largest share at which the demands, each cut to the share, fit into `available`. Infinity when
 * all demands fit. `demands` are in ascending order.
 */
function maxMinFairShare(demands: readonly number[], available: number): number {
  let left = available
  for (const [index, demand] of demands.entries()) {
    const share = left / (demands.length - index)
    if (demand >= share) return share
    left -= demand
  }
  return Number.POSITIVE_INFINITY
}

/**
 * How much of a second's requests a lane may use: all for the most urgent lane, nine tenths for the others, and one tenth
 * while more urgent work waits in any process.
 */
export function laneRateLimit(
  lane: Lane,
  fleet: { members: readonly MemberState[]; requestsPerSecond: number },
): number {
  if (lane === 'nightly') return fleet.requestsPerSecond
  const moreUrgent = lanes.slice(0, lanes.indexOf(lane))
  const urgentWaits = fleet.members.some(({ waiting }) => moreUrgent.some((urgent) => waiting[urgent] > 0))
  return Math.max(1, Math.floor(fleet.requestsPerSecond * (urgentWaits ? 0.1 : 0.9)))
}
