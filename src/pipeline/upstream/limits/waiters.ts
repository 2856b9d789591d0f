import { type Problem, RetryLater, Unanswered } from '../../../base/errors.ts'
import { onAbort } from '../../../base/on-abort.ts'
import { SECOND } from '../../../base/time/units.ts'
import { type Lane, lanes } from '../../fleet/budget.ts'

type Waiter = { readonly sinceMs: number; resolve(): void; reject(problem: Problem): void }

const WAITERS_MAX = 10_000

/** Calls that wait for a permit: the most urgent lane first, within a lane first in, first out. */
export class Waiters {
  private readonly queues: Record<Lane, Waiter[]> = { nightly: [], manual: [], backfill: [] }
  size = 0

  /** Resolves when the waiter is admitted. */
  add(lane: Lane, nowMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.size >= WAITERS_MAX) {
      return Promise.reject(new RetryLater(`wait for budget: ${WAITERS_MAX} wait already`, { waitMs: SECOND }))
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        sinceMs: nowMs,
        resolve: () => {
          stopListening()
          resolve()
        },
        reject: (problem) => {
          stopListening()
          reject(problem)
        },
      }
      const withdraw = () => this.withdraw(lane, waiter, signal?.reason)
      const stopListening = signal === undefined ? () => undefined : onAbort(signal, withdraw)
      this.queues[lane].push(waiter)
      this.size += 1
      if (signal?.aborted) withdraw()
    })
  }

  /** The most urgent lane that has waiters. */
  nextLane(): Lane | undefined {
    return lanes.find((lane) => this.queues[lane].length > 0)
  }

  admitFirst(lane: Lane): void {
    const waiter = this.queues[lane].shift()
    if (waiter === undefined) return
    this.size -= 1
    waiter.resolve()
  }

  rejectAll(problem: Problem): void {
    this.rejectOlderThan(Number.POSITIVE_INFINITY, problem)
  }

  /** Rejects the waiters that were added before `beforeMs`. */
  rejectOlderThan(beforeMs: number, problem: Problem): void {
    for (const lane of lanes) {
      const queue = this.queues[lane]
      while (queue[0] !== undefined && queue[0].sinceMs < beforeMs) {
        this.size -= 1
        queue.shift()?.reject(problem)
      }
    }
  }

  countByLane(): Record<Lane, number> {
    const { nightly, manual, backfill } = this.queues
    return { nightly: nightly.length, manual: manual.length, backfill: backfill.length }
  }

  private withdraw(lane: Lane, waiter: Waiter, cause: unknown): void {
    this.queues[lane].splice(this.queues[lane].indexOf(waiter), 1)
    this.size -= 1
    waiter.reject(new Unanswered('wait for budget: given up by its caller', { cause }))
  }
}
