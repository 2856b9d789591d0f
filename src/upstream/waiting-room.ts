import { type Lane, lanes } from '../budget.ts'
import { type Problem, RetryLater, Unanswered } from '../errors.ts'
import { SECOND } from '../window.ts'

type Waiter = { readonly sinceMs: number; go(): void; giveUp(problem: Problem): void }

const WAITING_MAX = 10_000

/** Who waits to be let in: by urgency, and within it in the order they came. */
export class WaitingRoom {
  private readonly queues: Record<Lane, Waiter[]> = { nightly: [], manual: [], backfill: [] }
  size = 0

  wait(lane: Lane, nowMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.size >= WAITING_MAX) {
      return Promise.reject(new RetryLater(`wait for budget: ${WAITING_MAX} wait already`, { waitMs: SECOND }))
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter: Waiter = { sinceMs: nowMs, go: resolve, giveUp: reject }
    this.queues[lane].push(waiter)
    this.size += 1
    if (signal === undefined) return promise
    const onAbort = () => this.abandon(lane, waiter, signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    return promise.finally(() => signal.removeEventListener('abort', onAbort))
  }

  /** The lane of whoever is next. */
  next(): Lane | undefined {
    return lanes.find((lane) => this.queues[lane].length > 0)
  }

  letIn(lane: Lane): void {
    const waiter = this.queues[lane].shift()
    if (waiter === undefined) return
    this.size -= 1
    waiter.go()
  }

  /** Sends away all who came before `beforeMs`. */
  sendBack(beforeMs: number, problem: Problem): void {
    for (const lane of lanes) {
      const queue = this.queues[lane]
      while (queue[0] !== undefined && queue[0].sinceMs < beforeMs) {
        this.size -= 1
        queue.shift()?.giveUp(problem)
      }
    }
  }

  counts(): Record<Lane, number> {
    const { nightly, manual, backfill } = this.queues
    return { nightly: nightly.length, manual: manual.length, backfill: backfill.length }
  }

  private abandon(lane: Lane, waiter: Waiter, cause: unknown): void {
    const at = this.queues[lane].indexOf(waiter)
    if (at < 0) return
    this.queues[lane].splice(at, 1)
    this.size -= 1
    waiter.giveUp(new Unanswered('wait for budget: given up by its caller', { cause }))
  }
}
