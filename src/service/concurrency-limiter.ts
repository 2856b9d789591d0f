import { setImmediate as nextTurn } from 'node:timers/promises'

export type ConcurrencyLimiter = { run<T>(work: () => Promise<T>): Promise<T> }

/**
 * A semaphore with a first-in-first-out queue: runs at most `concurrentMax` calls at once, and begins each call in its
 * own turn of the event loop. A thousand uploads that arrive at once are therefore started one by one; a read that
 * arrives among them waits for one start at most, and finds a free connection to the database.
 */
export function createConcurrencyLimiter(concurrentMax: number): ConcurrencyLimiter {
  let running = 0
  const waiting: Array<() => void> = []
  return {
    async run(work) {
      if (running < concurrentMax) running += 1
      // A call that ends passes its permit to the first waiter, so no later call can overtake the queue.
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        await nextTurn()
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else running -= 1
      }
    },
  }
}
