import {
  adaptToBoard,
  type Budget,
  type BudgetBoard,
  type BudgetLimits,
  type BudgetState,
  type FleetState,
  firstState,
  freeBeside,
  type Lane,
  type Line,
  type Outcome,
  placesOf,
  rateLimitOf,
  slowDown,
} from '../budget.ts'
import { RetryLater } from '../errors.ts'
import { SECOND } from '../window.ts'
import { WaitingRoom } from './waiting-room.ts'

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
/** Without its board a process goes on alone, with this part of the budget. */
const ALONE = 0.1
const ALONE_AFTER_MS = 5 * SECOND

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
  private readonly room = new WaitingRoom()
  private readonly inFlightBy: Record<Lane, number> = { nightly: 0, manual: 0, backfill: 0 }
  private inFlight = 0
  private places = 0
  private holds = 0
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
  private nap: AbortController | undefined

  constructor(parts: GateParts) {
    this.parts = parts
    this.beatAtMs = parts.clock()
  }

  start(): void {
    this.beating = this.beat()
  }

  enter(lane: Lane, signal: AbortSignal | undefined): Promise<void> | undefined {
    if (this.room.size === 0 && this.isOpen()) {
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
    if (this.room.size > 0) this.pump()
  }

  state(): BudgetState {
    const { requestsPerSecond, inFlight } = this.fleet ?? this.parts.limits
    return {
      requestsPerSecond,
      inFlightMax: inFlight,
      inFlight: this.inFlight,
      members: this.lines.length,
      waiting: this.room.counts(),
      pausedUntilMs: this.pausedUntilMs,
    }
  }

  async close(): Promise<void> {
    this.closing.abort(new Error('the budget is closing'))
    await this.beating
    const stopping = new RetryLater('wait for budget: this process is stopping', { waitMs: SECOND })
    this.room.sendBack(Number.POSITIVE_INFINITY, stopping)
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
    const pauseMs = this.pausedUntilMs - nowMs
    if (pauseMs > PAUSE_INSIDE_MS) return Promise.reject(pausedFor(pauseMs))
    const entered = this.room.wait(lane, nowMs, signal)
    this.pump()
    // An idle process that is wanted again asks for its share at once.
    if (this.room.size > 0) this.nap?.abort()
    return entered
  }

  /** Lets in whom it can, most urgent first. */
  private pump(): void {
    for (let lane = this.room.next(); lane !== undefined; lane = this.room.next()) {
      if (!this.isOpen()) {
        if (!this.isUnmetered() && this.points === 0) this.draw(lane)
        return
      }
      this.admit(lane)
      this.room.letIn(lane)
    }
  }

  /** Takes a piece of this second's requests for the fleet, one draw at a time. */
  private draw(lane: Lane): void {
    if (this.drawing || this.fleet === undefined || this.inFlight >= this.places) return
    const { board, clock, sleep } = this.parts
    const { requestsPerSecond } = this.fleet
    const limit = rateLimitOf(lane, { lines: this.lines, requestsPerSecond })
    const wanted = Math.max(1, Math.min(this.room.size, Math.ceil(requestsPerSecond / 20)))
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
        if (this.room.size > 0 && !this.closing.signal.aborted) this.pump()
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
      if (this.room.size > 0) this.pump()
      const idle = this.room.size === 0 && this.inFlight === 0
      this.nap = idle ? new AbortController() : undefined
      const waking = this.nap === undefined ? signal : AbortSignal.any([signal, this.nap.signal])
      await this.parts.sleep(idle ? IDLE_BEAT_MS : BEAT_MS, waking).catch(() => undefined)
    }
  }

  /** A share that shrinks is given up at once; one that grows is announced first, and used as far as it then fits. */
  private async exchange(): Promise<void> {
    const { member } = this.parts
    const measured = this.line()
    const seen = await this.hear({ ...measured, holds: this.holds })
    const share = Math.min(placesOf(member, seen), freeBeside(member, seen))
    const grows = share > this.holds
    this.places = grows ? Math.min(share, freeBeside(member, await this.hear({ ...measured, holds: share }))) : share
    this.holds = Math.max(this.places, this.inFlight)
  }

  private async hear(line: Line): Promise<{ lines: readonly Line[]; inFlight: number }> {
    const { board, limits } = this.parts
    const { lines, state, nowMs } = await board.exchange(line)
    let fleet = state ?? firstState(limits, nowMs)
    if (state === undefined) await board.adapt(undefined, fleet)
    const next = adaptToBoard(fleet, { lines, limits, nowMs })
    if (next !== fleet && (await board.adapt(fleet, next))) fleet = next
    this.fleet = fleet
    this.lines = lines
    // The board's clock may not be ours: only the rest of the pause is taken over.
    this.pausedUntilMs = fleet.pausedUntilMs > nowMs ? this.parts.clock() + fleet.pausedUntilMs - nowMs : 0
    return { lines, inFlight: Math.min(fleet.inFlight, limits.inFlight) }
  }

  private line(): Omit<Line, 'holds'> {
    const nowMs = this.parts.clock()
    const seconds = Math.max(0.05, (nowMs - this.beatAtMs) / SECOND)
    const waiting = this.room.counts()
    const line = {
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
    this.holds = alone.inFlight
  }

  private sendBackTheTired(): void {
    const nowMs = this.parts.clock()
    const pauseMs = this.pausedUntilMs - nowMs
    if (pauseMs > PAUSE_INSIDE_MS) this.room.sendBack(Number.POSITIVE_INFINITY, pausedFor(pauseMs))
    else this.room.sendBack(nowMs - WAIT_INSIDE_MS, pausedFor(5 * SECOND))
  }
}

function pausedFor(waitMs: number): RetryLater {
  return new RetryLater('wait for budget: upstream wants fewer requests', { waitMs })
}
