import { RetryLater } from '../../../base/errors.ts'
import { endsWithin, type Sleep } from '../../../base/sleep.ts'
import { SECOND } from '../../../base/time/units.ts'
import {
  adjustBudget,
  type BudgetLimits,
  type BudgetStore,
  decreaseBudget,
  type FleetBudget,
  type FleetView,
  fairShareOf,
  initialBudget,
  type Lane,
  laneRateLimit,
  type MemberState,
  type Overload,
  permitsLeftByOthers,
  type RequestOutcome,
  wantsPermits,
  withEarlierOverload,
} from '../../fleet/budget.ts'
import { LoadMeter } from './load-meter.ts'
import { Waiters } from './waiters.ts'

/** Every request to upstream acquires a permit first. `acquire` gives undefined when the request may go at once. */
export type RateLimiter = {
  acquire(lane: Lane, signal: AbortSignal | undefined): Promise<void> | undefined
  release(lane: Lane, outcome: RequestOutcome): void
  state(): RateLimiterState
  close(): Promise<void>
}

type RateLimiterState = {
  readonly requestsPerSecond: number
  readonly inFlightMax: number
  readonly inFlight: number
  /** Processes that share the budget, this process included. */
  readonly memberCount: number
  readonly waiting: Readonly<Record<Lane, number>>
  readonly pausedUntilMs: number
}

type RateLimiterDeps = {
  readonly store: BudgetStore
  readonly limits: BudgetLimits
  /** Unique among all processes. */
  readonly member: string
  readonly clock: () => number
  readonly sleep: Sleep
}

const HEARTBEAT_MS = 200
const REMOVE_MAX_MS = 2 * SECOND
const IDLE_HEARTBEAT_MS = SECOND
/** A call that would have to wait longer goes back to the queue, where waiting costs nothing. */
const WAIT_MAX_MS = 30 * SECOND
const PAUSE_WAITED_OUT_MAX_MS = 5 * SECOND
/** While the budget store is away, each process goes on with this part of the budget. */
const FALLBACK_SHARE = 0.1
const STORE_SILENT_MAX_MS = 5 * SECOND
const RATE_PERMITS_PER_SECOND = 20

/**
 * Admits the requests of this process within its share of the fleet's budget, the most urgent lane first. A heartbeat
 * several times a second sends this process's demand to the other processes and reads its new share.
 */
export function openRateLimiter(deps: RateLimiterDeps): RateLimiter {
  const limiter = new FleetRateLimiter(deps)
  limiter.start()
  return limiter
}

class FleetRateLimiter implements RateLimiter {
  private readonly deps: RateLimiterDeps
  private readonly closing = new AbortController()
  private readonly waiters = new Waiters()
  private readonly load: LoadMeter
  private inFlight = 0
  private inFlightPermits = 0
  private announcedPermits = 0
  private ratePermits = 0
  private ratePermitsEndAtMs = 0
  private acquiringRatePermits = false
  private pausedUntilMs = 0
  /** How far the store's clock is ahead of ours. The budget holds instants of the store's clock, for all processes. */
  private storeAheadMs = 0
  /** The last overload that this process saw, until the store has it and its pause is over: a store that is emptied forgets the pause. */
  private overload: Overload | undefined
  private fleetBudget: FleetBudget | undefined
  private members: readonly MemberState[] = []
  private heartbeatLoop: Promise<void> = Promise.resolve()
  private idleSleep: AbortController | undefined
  private askedForNone = false

  constructor(deps: RateLimiterDeps) {
    this.deps = deps
    this.load = new LoadMeter(deps.clock)
  }

  start(): void {
    this.heartbeatLoop = this.runHeartbeats()
  }

  acquire(lane: Lane, signal: AbortSignal | undefined): Promise<void> | undefined {
    if (this.waiters.size === 0 && this.hasPermit()) {
      this.takePermit(lane)
      return undefined
    }
    return this.waitForPermit(lane, signal)
  }

  release(lane: Lane, outcome: RequestOutcome): void {
    this.inFlight -= 1
    this.load.requestEnded(lane, outcome)
    if (outcome.overloaded) this.slowDown(outcome)
    if (this.waiters.size > 0) this.admitWaiters()
  }

  state(): RateLimiterState {
    const { requestsPerSecond, inFlight } = this.fleetBudget ?? this.deps.limits
    return {
      requestsPerSecond,
      inFlightMax: inFlight,
      inFlight: this.inFlight,
      memberCount: this.members.length,
      waiting: this.waiters.countByLane(),
      pausedUntilMs: this.pausedUntilMs,
    }
  }

  async close(): Promise<void> {
    const { store, member } = this.deps
    this.closing.abort(new Error('the rate limiter is closing'))
    const removed = this.heartbeatLoop.then(() => store.removeMember(member).catch(() => undefined))
    this.waiters.rejectAll(new RetryLater('wait for budget: this process is stopping', { waitMs: SECOND }))
    // A store that does not answer forgets the member automatically.
    await endsWithin(removed, REMOVE_MAX_MS)
    await store.close()
  }

  private hasPermit(): boolean {
    if (this.inFlight >= this.inFlightPermits) return false
    if (this.pausedUntilMs > 0 && this.deps.clock() < this.pausedUntilMs) return false
    if (this.isRateUnbounded()) return true
    if (this.ratePermits > 0 && this.deps.clock() < this.ratePermitsEndAtMs) return true
    this.ratePermits = 0
    return false
  }

  private isRateUnbounded(): boolean {
    return this.fleetBudget?.requestsPerSecond === Number.POSITIVE_INFINITY
  }

  private takePermit(lane: Lane): void {
    this.inFlight += 1
    this.load.requestStarted(lane)
    if (this.ratePermits > 0) this.ratePermits -= 1
  }

  private waitForPermit(lane: Lane, signal: AbortSignal | undefined): Promise<void> {
    const nowMs = this.deps.clock()
    const pauseMs = this.pausedUntilMs - nowMs
    if (pauseMs > PAUSE_WAITED_OUT_MAX_MS) return Promise.reject(new RetryLater(FEWER_WANTED, { waitMs: pauseMs }))
    const admitted = this.waiters.add(lane, nowMs, signal)
    this.admitWaiters()
    // An idle process that gets work again asks for its share at once.
    if (this.waiters.size > 0) this.idleSleep?.abort()
    return admitted
  }

  /** Admits as many waiters as there are permits, the most urgent lane first. */
  private admitWaiters(): void {
    for (let lane = this.waiters.nextLane(); lane !== undefined; lane = this.waiters.nextLane()) {
      if (!this.hasPermit()) {
        if (!this.isRateUnbounded() && this.ratePermits === 0) this.acquireRatePermits(lane)
        return
      }
      this.takePermit(lane)
      this.waiters.admitFirst(lane)
    }
  }

  /** Takes a part of the fleet's requests of this second, one request to the store at a time: for those that wait or follow those in flight. */
  private acquireRatePermits(lane: Lane): void {
    if (this.acquiringRatePermits || this.fleetBudget === undefined || this.inFlight >= this.inFlightPermits) return
    const { store, clock, sleep } = this.deps
    const { requestsPerSecond } = this.fleetBudget
    const limit = laneRateLimit(lane, { members: this.members, requestsPerSecond })
    const demand = Math.max(1, this.waiters.size, this.inFlight)
    const wanted = Math.min(demand, Math.ceil(requestsPerSecond / RATE_PERMITS_PER_SECOND))
    this.acquiringRatePermits = true
    store
      .acquireRatePermits(wanted, limit)
      .then(async ({ granted, endsInMs }) => {
        this.ratePermits = granted
        this.ratePermitsEndAtMs = clock() + endsInMs
        if (granted === 0) await sleep(Math.max(5, Math.min(endsInMs, SECOND)), this.closing.signal)
      })
      .catch(() => sleep(HEARTBEAT_MS, this.closing.signal).catch(() => undefined))
      .finally(() => {
        this.acquiringRatePermits = false
        if (this.waiters.size > 0 && !this.closing.signal.aborted) this.admitWaiters()
      })
  }

  private async runHeartbeats(): Promise<void> {
    const { signal } = this.closing
    let storeAnsweredAtMs = this.deps.clock()
    while (!signal.aborted) {
      try {
        await this.heartbeat()
        storeAnsweredAtMs = this.deps.clock()
      } catch {
        // The store is away, and so is the queue beside it. A small part of the budget lets running jobs go on.
        const silentMs = this.deps.clock() - storeAnsweredAtMs
        if (silentMs > STORE_SILENT_MAX_MS || this.fleetBudget === undefined) this.useFallbackBudget()
      }
      this.rejectLongWaiters()
      if (this.waiters.size > 0) this.admitWaiters()
      const idle = this.waiters.size === 0 && this.inFlight === 0
      // Requests came while the heartbeat was under way: it asked for no permits, and got none.
      if (!idle && this.askedForNone) continue
      this.idleSleep = idle ? new AbortController() : undefined
      const waking = this.idleSleep === undefined ? signal : AbortSignal.any([signal, this.idleSleep.signal])
      await this.deps.sleep(idle ? IDLE_HEARTBEAT_MS : HEARTBEAT_MS, waking).catch(() => undefined)
    }
  }

  /** A smaller share takes effect at once. A larger share is announced first, then used as far as the others leave room. */
  private async heartbeat(): Promise<void> {
    const { member } = this.deps
    const waiting = this.waiters.countByLane()
    const measured = { member, waiting, ...this.load.take(waiting) }
    this.askedForNone = !wantsPermits(measured)
    const seen = await this.announce({ ...measured, holds: this.announcedPermits })
    const share = Math.min(fairShareOf(member, seen), permitsLeftByOthers(member, seen))
    const grows = share > this.announcedPermits
    this.inFlightPermits = grows
      ? Math.min(share, permitsLeftByOthers(member, await this.announce({ ...measured, holds: share })))
      : share
    this.announcedPermits = Math.max(this.inFlightPermits, this.inFlight)
  }

  private async announce(mine: MemberState): Promise<FleetView> {
    const { store, limits } = this.deps
    const { members, budget, nowMs } = await store.heartbeat(mine)
    let current = budget ?? initialBudget(limits, nowMs)
    if (budget === undefined) await store.compareAndSet(undefined, current)
    const adjusted = adjustBudget(current, { members, limits, nowMs })
    const { overload } = this
    const next = overload ? decreaseBudget(adjusted, overload) : adjusted
    if (next === current || (await store.compareAndSet(current, next))) {
      current = next
      if (overload && overload === this.overload && nowMs >= overload.nowMs + overload.retryAfterMs)
        this.overload = undefined
    }
    const known = this.overload ? decreaseBudget(current, this.overload) : current // it may have come meanwhile
    this.fleetBudget = known
    this.members = members
    this.storeAheadMs = nowMs - this.deps.clock()
    this.pausedUntilMs = known.pausedUntilMs > nowMs ? known.pausedUntilMs - this.storeAheadMs : 0
    return { members, inFlight: Math.min(known.inFlight, limits.inFlight) }
  }

  /** Upstream is overloaded: this process slows down at once, and the others through the store. */
  private slowDown({ retryAfterMs }: RequestOutcome): void {
    const { store, clock, member } = this.deps
    const nowMs = clock()
    if (retryAfterMs > 0) this.pausedUntilMs = Math.max(this.pausedUntilMs, nowMs + retryAfterMs)
    const others = this.members.filter((other) => other.member !== member)
    const answersPerSecond = others.reduce((sum, other) => sum + other.answersPerSecond, this.load.answersPerSecond())
    const seen = { retryAfterMs, answersPerSecond, nowMs: nowMs + this.storeAheadMs }
    this.overload = this.overload ? withEarlierOverload(seen, this.overload) : seen
    const { fleetBudget } = this
    const next = fleetBudget && decreaseBudget(fleetBudget, this.overload)
    if (next === undefined || next === fleetBudget) return
    this.fleetBudget = next
    this.inFlightPermits = Math.min(this.inFlightPermits, next.inFlight)
    // When another change of the budget was faster, the next heartbeat decreases that budget.
    store.compareAndSet(fleetBudget, next).catch(() => undefined)
  }

  private useFallbackBudget(): void {
    const { limits, clock } = this.deps
    const inFlight = Math.max(1, Math.floor(limits.inFlight * FALLBACK_SHARE))
    this.fleetBudget = initialBudget({ inFlight, requestsPerSecond: Number.POSITIVE_INFINITY }, clock())
    this.inFlightPermits = inFlight
    this.announcedPermits = inFlight
  }

  private rejectLongWaiters(): void {
    const nowMs = this.deps.clock()
    const pauseMs = this.pausedUntilMs - nowMs
    if (pauseMs > PAUSE_WAITED_OUT_MAX_MS) this.waiters.rejectAll(new RetryLater(FEWER_WANTED, { waitMs: pauseMs }))
    else this.waiters.rejectOlderThan(nowMs - WAIT_MAX_MS, new RetryLater(IN_USE, { waitMs: 5 * SECOND }))
  }
}

const IN_USE = `wait for budget: none was free within ${WAIT_MAX_MS / SECOND} s: the requests that all processes share are in use`
const FEWER_WANTED = 'wait for budget: upstream wants fewer requests'
