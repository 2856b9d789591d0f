import { SECOND } from '../../../base/time/units.ts'
import type { Lane, MemberState, RequestOutcome } from '../../fleet/budget.ts'

/** Measures the requests of this process between two heartbeats: in flight by lane, answers a second, mean latency. */
export class LoadMeter {
  private readonly clock: () => number
  private readonly inFlightByLane: Record<Lane, number> = { nightly: 0, manual: 0, backfill: 0 }
  private sinceMs: number
  private answers = 0
  private latencySumMs = 0

  constructor(clock: () => number) {
    this.clock = clock
    this.sinceMs = clock()
  }

  requestStarted(lane: Lane): void {
    this.inFlightByLane[lane] += 1
  }

  requestEnded(lane: Lane, { latencyMs }: RequestOutcome): void {
    this.inFlightByLane[lane] -= 1
    this.answers += 1
    this.latencySumMs += latencyMs
  }

  answersPerSecond(): number {
    return this.answers / Math.max(0.05, (this.clock() - this.sinceMs) / SECOND)
  }

  /** The measured values since the last call. The next measurement starts now. */
  take(waiting: Readonly<Record<Lane, number>>): Pick<MemberState, 'demand' | 'answersPerSecond' | 'latencyMs'> {
    const measured = {
      demand: {
        nightly: waiting.nightly + this.inFlightByLane.nightly,
        manual: waiting.manual + this.inFlightByLane.manual,
        backfill: waiting.backfill + this.inFlightByLane.backfill,
      },
      answersPerSecond: this.answersPerSecond(),
      latencyMs: this.answers === 0 ? 0 : this.latencySumMs / this.answers,
    }
    this.sinceMs = this.clock()
    this.answers = 0
    this.latencySumMs = 0
    return measured
  }
}
