/**
 * The request budget of the whole fleet: how many requests a second and how many in flight, who goes first, and how the
 * budget shrinks when upstream is in trouble and grows when it is quiet. Pure: the decisions, and the shapes of the
 * shared state that `src/queue/budget-redis.ts` and `src/queue/budget-postgres.ts` keep.
 */

import { z } from 'zod'

/** Most urgent first: nightly goes before manual, manual before backfill. */
export const lanes = ['nightly', 'manual', 'backfill'] as const
export type Lane = (typeof lanes)[number]

/** How a request ended, as far as the budget is concerned. */
export type Outcome = { readonly latencyMs: number; readonly overloaded: boolean; readonly retryAfterMs: number }

/** The gate every request to upstream passes. `enter` returns undefined when it may go at once. */
export type Budget = {
  enter(lane: Lane, signal: AbortSignal | undefined): Promise<void> | undefined
  leave(lane: Lane, outcome: Outcome): void
  state(): BudgetState
  close(): Promise<void>
}

export type BudgetState = {
  readonly requestsPerSecond: number
  readonly inFlightMax: number
  readonly inFlight: number
  /** Processes that share the budget, this one among them. */
  readonly members: number
  readonly waiting: Readonly<Record<Lane, number>>
  readonly pausedUntilMs: number
}

/** The bounds between which the budget moves. `requestsPerSecond: Infinity` leaves the rate to the requests in flight. */
export type BudgetLimits = { readonly requestsPerSecond: number; readonly inFlight: number }

const countSchema = z.number().nonnegative()
const byLaneSchema = z.object({ nightly: countSchema, manual: countSchema, backfill: countSchema })
const lineSchema = z.object({
  member: z.string(),
  holds: countSchema,
  demand: byLaneSchema,
  waiting: byLaneSchema,
  answersPerSecond: countSchema,
  latencyMs: countSchema,
})
const stateSchema = z.object({
  version: z.number(),
  requestsPerSecond: z.number().nullable(),
  inFlight: z.number(),
  pausedUntilMs: z.number(),
  cutAtMs: z.number(),
  grownAtMs: z.number(),
  quietLatencyMs: z.number(),
})

/** A rate without bound is null on a board: JSON has no word for it. */
export function writeState(state: FleetState): z.infer<typeof stateSchema> {
  const { requestsPerSecond } = state
  return { ...state, requestsPerSecond: Number.isFinite(requestsPerSecond) ? requestsPerSecond : null }
}

export function readState(written: unknown): FleetState {
  const state = stateSchema.parse(written)
  return { ...state, requestsPerSecond: state.requestsPerSecond ?? Number.POSITIVE_INFINITY }
}

export function readLine(written: unknown): Line {
  return lineSchema.parse(written)
}

/** What the whole fleet goes by at this moment; changed by compare-and-set on `version`, so that one cut is one cut. */
export type FleetState = {
  readonly version: number
  readonly requestsPerSecond: number
  readonly inFlight: number
  readonly pausedUntilMs: number
  readonly cutAtMs: number
  readonly grownAtMs: number
  /** The latency of quiet times; 0 while unknown. */
  readonly quietLatencyMs: number
}

/** What one process tells the others: how much it has under way or waiting in each lane, and how upstream treats it. */
export type Line = {
  readonly member: string
  /** Requests it may have in flight: raised only after the raise was seen to fit beside what the others hold. */
  readonly holds: number
  readonly demand: Readonly<Record<Lane, number>>
  readonly waiting: Readonly<Record<Lane, number>>
  readonly answersPerSecond: number
  readonly latencyMs: number
}

/** Shared by all processes. A line that is not renewed for `LINE_KEPT_MS` is that of a dead process and counts no more. */
export type BudgetBoard = {
  /** Writes our line and reads all living ones, as one step among those of all. `nowMs` is the board's own clock. */
  exchange(line: Line): Promise<{ lines: readonly Line[]; state: FleetState | undefined; nowMs: number }>
  /** False when somebody else was quicker. */
  adapt(from: FleetState | undefined, to: FleetState): Promise<boolean>
  /** Takes up to `points` requests out of this second, as long as fewer than `limit` were taken. */
  draw(points: number, limit: number): Promise<{ granted: number; endsInMs: number }>
  leave(member: string): Promise<void>
  close(): Promise<void>
}

export const LINE_KEPT_MS = 3000

const CUT = 0.6
const LATENCY_CUT = 0.85
const CUT_PAUSE_MS = 1000
const GROWTH = 1.1
const QUIET_BEFORE_GROWTH_MS = 2000
const GROWTH_PAUSE_MS = 500
const RATE_UNBOUNDED = 100_000
/**
 * Cuts stop here: an upstream that refuses at random would otherwise bring the fleet to a standstill, and one that bears
 * even less says so by Retry-After, or by the configured limits.
 */
const FLOOR: BudgetLimits = { requestsPerSecond: 10, inFlight: 4 }

export function firstState(limits: BudgetLimits, nowMs: number): FleetState {
  return { version: 1, ...limits, pausedUntilMs: 0, cutAtMs: 0, grownAtMs: nowMs, quietLatencyMs: 0 }
}

/** After a 429 or 503. However many workers meet it, within a second it is one cut; the longest pause asked for wins. */
export function slowDown(state: FleetState, met: { retryAfterMs: number; answersPerSecond: number; nowMs: number }) {
  const { retryAfterMs, answersPerSecond, nowMs } = met
  const pausedUntilMs = Math.max(state.pausedUntilMs, retryAfterMs > 0 ? nowMs + retryAfterMs : 0)
  if (nowMs - state.cutAtMs < CUT_PAUSE_MS) return { ...state, pausedUntilMs, version: state.version + 1 }
  const rate = Math.min(state.requestsPerSecond, answersPerSecond)
  return {
    ...state,
    version: state.version + 1,
    requestsPerSecond: Math.max(Math.min(FLOOR.requestsPerSecond, state.requestsPerSecond), Math.floor(rate * CUT)),
    inFlight: Math.max(Math.min(FLOOR.inFlight, state.inFlight), Math.floor(state.inFlight * CUT)),
    pausedUntilMs,
    cutAtMs: nowMs,
  }
}

/** What a look at the whole board asks for: fewer in flight when answers get slow, more when all is quiet and wanted. */
export function adaptToBoard(
  state: FleetState,
  board: { lines: readonly Line[]; limits: BudgetLimits; nowMs: number },
): FleetState {
  const { lines, limits, nowMs } = board
  const answersPerSecond = lines.reduce((sum, line) => sum + line.answersPerSecond, 0)
  const latencyMs =
    lines.reduce((sum, line) => sum + line.latencyMs * line.answersPerSecond, 0) / (answersPerSecond || 1)
  const measured = answersPerSecond >= 10
  const { quietLatencyMs: quietMs } = state
  if (measured && quietMs > 0 && latencyMs > 2.5 * quietMs + 50) {
    if (nowMs - state.cutAtMs < 2 * CUT_PAUSE_MS) return state
    // The measure itself drifts upwards a little, or a lasting change of upstream would throttle us for ever.
    const inFlight = Math.max(Math.min(FLOOR.inFlight, state.inFlight), Math.floor(state.inFlight * LATENCY_CUT))
    return { ...state, version: state.version + 1, inFlight, cutAtMs: nowMs, quietLatencyMs: quietMs * 1.1 }
  }
  const quiet = nowMs - state.cutAtMs >= QUIET_BEFORE_GROWTH_MS && nowMs >= state.pausedUntilMs
  if (!quiet || nowMs - state.grownAtMs < GROWTH_PAUSE_MS) return state
  const known = quietMs === 0 ? latencyMs : Math.min(latencyMs, quietMs * 1.02)
  const grown = grow(state, limits)
  const moved = measured && (quietMs === 0 || Math.abs(known - quietMs) > quietMs * 0.01)
  if (grown === undefined && !moved) return state
  const quietLatencyMs = measured ? known : quietMs
  return { ...state, ...grown, version: state.version + 1, grownAtMs: nowMs, quietLatencyMs }
}

function grow(state: FleetState, limits: BudgetLimits): BudgetLimits | undefined {
  const inFlight = Math.min(limits.inFlight, Math.ceil(state.inFlight * GROWTH))
  const faster = Math.ceil(state.requestsPerSecond * GROWTH)
  const requestsPerSecond =
    faster > RATE_UNBOUNDED ? limits.requestsPerSecond : Math.min(limits.requestsPerSecond, faster)
  if (inFlight === state.inFlight && requestsPerSecond === state.requestsPerSecond) return undefined
  return { inFlight, requestsPerSecond }
}

/**
 * How many requests `member` may have in flight: lane by lane in order of urgency, evenly among those who want it, and
 * what nobody wants is spread evenly, so that a process with nothing to do can begin at once.
 */
export function placesOf(member: string, board: { lines: readonly Line[]; inFlight: number }): number {
  const { lines } = board
  let left = board.inFlight
  let places = 0
  for (const lane of lanes) {
    const wanted = lines.map((line) => line.demand[lane]).sort((a, b) => a - b)
    const mine = lines.find((line) => line.member === member)?.demand[lane] ?? 0
    const level = waterLevel(wanted, left)
    const taken = wanted.reduce((sum, want) => sum + Math.min(want, level), 0)
    places += Math.min(mine, level)
    left -= taken
    if (left <= 0) break
  }
  const order = lines.map((line) => line.member).sort()
  const rank = order.indexOf(member)
  const spare = Math.max(0, left) / Math.max(1, order.length)
  // Where the spare places are fewer than the processes, the first by name get them.
  return Math.floor(places) + Math.floor(spare) + (rank < Math.round((spare % 1) * order.length) ? 1 : 0)
}

/** What the others leave of the budget. */
export function freeBeside(member: string, board: { lines: readonly Line[]; inFlight: number }): number {
  const held = board.lines.reduce((sum, line) => (line.member === member ? sum : sum + line.holds), 0)
  return Math.max(0, board.inFlight - held)
}

/** The height at which `available` fills vessels of these sizes, smallest first. */
function waterLevel(sizes: readonly number[], available: number): number {
  let left = available
  for (const [index, size] of sizes.entries()) {
    const each = left / (sizes.length - index)
    if (size >= each) return each
    left -= size
  }
  return Number.POSITIVE_INFINITY
}

/**
 * How much of a second's requests a lane may use up: all of it for the most urgent, less for the others, and hardly
 * anything while somebody more urgent waits anywhere.
 */
export function rateLimitOf(lane: Lane, board: { lines: readonly Line[]; requestsPerSecond: number }): number {
  if (lane === 'nightly') return board.requestsPerSecond
  const before = lanes.slice(0, lanes.indexOf(lane))
  const urgent = board.lines.some((line) => before.some((other) => line.waiting[other] > 0))
  return Math.max(1, Math.floor(board.requestsPerSecond * (urgent ? 0.1 : 0.9)))
}
