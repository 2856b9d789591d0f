import {
  adaptToBoard,
  type Budget,
  type BudgetBoard,
  type BudgetLimits,
  type BudgetState,
  type FleetState,
  firstState,
  type Lane,
  type Line,
  lanes,
  type Outcome,
  placesOf,
  rateLimitOf,
  slowDown,
} from '../budget.ts'
import { type Problem, RetryLater, Unanswered } from '../errors.ts'
import { SECOND } from '../window.ts'

export type GateParts = {
  readonly board: BudgetBoard
  readonly limits: BudgetLimits
  /** Unique among all processes. */
  readonly member: string
  readonly clock: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

const BEAT_MS = 200
const IDLE_BEAT_MS = SECOND
/** Who would have to wait longer than this goes back to the queue, where waiting costs nothing. */
const WAIT_INSIDE_MS = 30 * SECOND
const PAUSE_INSIDE_MS = 5 * SECOND
const WAITING_MAX = 10_000
/** Without its board a process goes on alone, with this part of the budget. */
const ALONE = 0.1
const ALONE_AFTER_MS = 5 * SECOND

type Waiter = { readonly sinceMs: number; go(): void; giveUp(problem: Problem): void }

/**
 * The door of this process to upstream. It lets requests through within this process's share of the fleet's budget,
 * most urgent lane first, and several times a second it tells the others what it wants and learns its new share.
 */
export function openGate(parts: GateParts): Budget {
  const gate = new Gate(parts)
  gate.start()
  return gate
}

class Gate implements Budget {
  private readonly parts: GateParts
  private readonly closing = new AbortController()
  private readonly queues: Record<Lane, Waiter[]> = { nightly: [], manual: [], backfill: [] }
  private readonly inFlightBy: Record<Lane, number> = { nightly: 0, manual: 0, backfill: 0 }
  private waiting = 0
  private inFlight = 0
  private places = 0
  private points = 0
  private pointsEndAtMs = 0
  private drawing = false
  private pausedUntilMs = 0
  private answers = 0
  private latencySumMs = 0
  private beatAtMs: number
  private fleet: FleetState | undefined
  private lines: readonly Line[] = []
  private beating: Promise<void> = Promise.resolve()

  constructor(parts: GateParts) {
    this.parts = parts
    this.beatAtMs = parts.clock()
  }

  start(): void {
    this.beating = this.beat()
  }

  enter(lane: Lane, signal: AbortSignal | undefined): Promise<void> | undefined {
    if (this.waiting === 0 && this.isOpen()) {
      this.admit(lane)
      return undefined
    }
    return this.queueUp(lane, signal)
  }

  leave(lane: Lane, outcome: Outcome): void {
    this.inFlight -= 1
    this.inFlightBy[lane] -= 1
    this.answers += 1
    this.latencySumMs += outcome.latencyMs
    if (outcome.overloaded) this.retreat(outcome)
    if (this.waiting > 0) this.pump()
  }

  state(): BudgetState {
    const { requestsPerSecond, inFlight } = this.fleet ?? this.parts.limits
    return {
      requestsPerSecond,
      inFlightMax: inFlight,
      inFlight: this.inFlight,
      waiting: this.waitingBy(),
      pausedUntilMs: this.pausedUntilMs,
    }
  }

  async close(): Promise<void> {
    this.closing.abort(new Error('the budget is closing'))
    await this.beating
    for (const lane of lanes) {
      for (const waiter of this.queues[lane]) {
        waiter.giveUp(new RetryLater('wait for budget: this process is stopping', { waitMs: SECOND }))
      }
    }
    await this.parts.board.leave(this.parts.member).catch(() => undefined)
    await this.parts.board.close()
  }

  private isOpen(): boolean {
    if (this.inFlight >= this.places) return false
    if (this.pausedUntilMs > 0 && this.parts.clock() < this.pausedUntilMs) return false
    if (this.isUnmetered()) return true
    if (this.points > 0 && this.parts.clock() < this.pointsEndAtMs) return true
    this.points = 0
    return false
  }

  private isUnmetered(): boolean {
    return this.fleet?.requestsPerSecond === Number.POSITIVE_INFINITY
  }

  private admit(lane: Lane): void {
    this.inFlight += 1
    this.inFlightBy[lane] += 1
    if (this.points > 0) this.points -= 1
  }

  private queueUp(lane: Lane, signal: AbortSignal | undefined): Promise<void> {
    const nowMs = this.parts.clock()
    if (this.pausedUntilMs - nowMs > PAUSE_INSIDE_MS) return Promise.reject(pausedFor(this.pausedUntilMs - nowMs))
    if (this.waiting >= WAITING_MAX) {
      return Promise.reject(new RetryLater(`wait for budget: ${WAITING_MAX} wait already`, { waitMs: SECOND }))
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter: Waiter = { sinceMs: nowMs, go: resolve, giveUp: reject }
    const onAbort = () => this.abandon(lane, waiter, signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    this.queues[lane].push(waiter)
    this.waiting += 1
    if (signal?.aborted) onAbort()
    this.pump()
    return signal === undefined ? promise : promise.finally(() => signal.removeEventListener('abort', onAbort))
  }

  private abandon(lane: Lane, waiter: Waiter, cause: unknown): void {
    const at = this.queues[lane].indexOf(waiter)
    if (at < 0) return
    this.queues[lane].splice(at, 1)
    this.waiting -= 1
    waiter.giveUp(new Unanswered('wait for budget: given up by its caller', { cause }))
  }

  /** Lets in whom it can, most urgent first. */
  private pump(): void {
    for (const lane of lanes) {
      const queue = this.queues[lane]
      while (queue.length > 0) {
        if (!this.isOpen()) {
          if (!this.isUnmetered() && this.points === 0) this.draw(lane)
          return
        }
        const waiter = queue.shift()
        this.waiting -= 1
        this.admit(lane)
        waiter?.go()
      }
    }
  }

  /** Takes a piece of this second's requests for the fleet, one draw at a time. */
  private draw(lane: Lane): void {
    if (this.drawing || this.fleet === undefined || this.inFlight >= this.places) return
    const { board, clock, sleep } = this.parts
    const { requestsPerSecond } = this.fleet
    const limit = rateLimitOf(lane, { lines: this.lines, requestsPerSecond })
    const wanted = Math.max(1, Math.min(this.waiting, Math.ceil(requestsPerSecond / 20)))
    this.drawing = true
    board
      .draw(wanted, limit)
      .then(async ({ granted, endsInMs }) => {
        this.points = granted
        this.pointsEndAtMs = clock() + endsInMs
        if (granted === 0) await sleep(Math.max(5, Math.min(endsInMs, SECOND)), this.closing.signal)
      })
      .catch(() => sleep(BEAT_MS, this.closing.signal).catch(() => undefined))
      .finally(() => {
        this.drawing = false
        if (this.waiting > 0 && !this.closing.signal.aborted) this.pump()
      })
  }

  private async beat(): Promise<void> {
    const { signal } = this.closing
    let heardAtMs = this.parts.clock()
    while (!signal.aborted) {
      try {
        await this.exchange()
        heardAtMs = this.parts.clock()
      } catch {
        // The board is away; so is the queue it lives in. A small part of the budget keeps what runs running.
        if (this.parts.clock() - heardAtMs > ALONE_AFTER_MS || this.fleet === undefined) this.goAlone()
      }
      this.sendBackTheTired()
      if (this.waiting > 0) this.pump()
      const idle = this.waiting === 0 && this.inFlight === 0
      await this.parts.sleep(idle ? IDLE_BEAT_MS : BEAT_MS, signal).catch(() => undefined)
    }
  }

  private async exchange(): Promise<void> {
    const { board, limits, member } = this.parts
    const { lines, state, nowMs } = await board.exchange(this.line())
    let fleet = state ?? firstState(limits, nowMs)
    if (state === undefined) await board.adapt(undefined, fleet)
    const next = adaptToBoard(fleet, { lines, limits, nowMs })
    if (next !== fleet && (await board.adapt(fleet, next))) fleet = next
    this.fleet = fleet
    this.lines = lines
    // The board's clock may not be ours: only the rest of the pause is taken over.
    this.pausedUntilMs = fleet.pausedUntilMs > nowMs ? this.parts.clock() + fleet.pausedUntilMs - nowMs : 0
    this.places = placesOf(member, { lines, inFlight: Math.min(fleet.inFlight, limits.inFlight) })
  }

  private line(): Line {
    const nowMs = this.parts.clock()
    const seconds = Math.max(0.05, (nowMs - this.beatAtMs) / SECOND)
    const waiting = this.waitingBy()
    const line: Line = {
      member: this.parts.member,
      waiting,
      demand: {
        nightly: waiting.nightly + this.inFlightBy.nightly,
        manual: waiting.manual + this.inFlightBy.manual,
        backfill: waiting.backfill + this.inFlightBy.backfill,
      },
      answersPerSecond: this.answers / seconds,
      latencyMs: this.answers === 0 ? 0 : this.latencySumMs / this.answers,
    }
    this.beatAtMs = nowMs
    this.answers = 0
    this.latencySumMs = 0
    return line
  }

  /** Upstream is overloaded: this process stops at once, and tells the others to. */
  private retreat({ retryAfterMs }: Outcome): void {
    const { board, clock } = this.parts
    const nowMs = clock()
    if (retryAfterMs > 0) this.pausedUntilMs = Math.max(this.pausedUntilMs, nowMs + retryAfterMs)
    const { fleet } = this
    if (fleet === undefined) return
    const others = this.lines.filter((line) => line.member !== this.parts.member)
    const seconds = Math.max(0.05, (nowMs - this.beatAtMs) / SECOND)
    const answersPerSecond = others.reduce((sum, line) => sum + line.answersPerSecond, this.answers / seconds)
    const next = slowDown(fleet, { retryAfterMs, answersPerSecond, nowMs })
    if (next.cutAtMs === fleet.cutAtMs && next.pausedUntilMs === fleet.pausedUntilMs) return
    this.fleet = next
    this.places = Math.min(this.places, next.inFlight)
    // When another process cut first, its cut stands, and ours comes with the next beat at the latest.
    board.adapt(fleet, next).catch(() => undefined)
  }

  private goAlone(): void {
    const { limits, clock } = this.parts
    const alone = { inFlight: Math.max(1, Math.floor(limits.inFlight * ALONE)), requestsPerSecond: Infinity }
    this.fleet = { ...firstState(limits, clock()), ...alone }
    this.places = alone.inFlight
  }

  private sendBackTheTired(): void {
    const nowMs = this.parts.clock()
    const pauseMs = this.pausedUntilMs - nowMs
    for (const lane of lanes) {
      const queue = this.queues[lane]
      const longPause = pauseMs > PAUSE_INSIDE_MS
      while (queue[0] !== undefined && (longPause || nowMs - queue[0].sinceMs > WAIT_INSIDE_MS)) {
        queue.shift()?.giveUp(longPause ? pausedFor(pauseMs) : pausedFor(5 * SECOND))
        this.waiting -= 1
      }
    }
  }

  private waitingBy(): Record<Lane, number> {
    const { nightly, manual, backfill } = this.queues
    return { nightly: nightly.length, manual: manual.length, backfill: backfill.length }
  }
}

function pausedFor(waitMs: number): RetryLater {
  return new RetryLater('wait for budget: upstream wants fewer requests', { waitMs })
}
