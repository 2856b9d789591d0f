import { setImmediate as nextTurn } from 'node:timers/promises'

export type Turns = { take<T>(work: () => Promise<T>): Promise<T> }

/**
 * Lets so many pieces of work be under way at once, first come first served, and begins each in a turn of the event loop
 * of its own. So a crowd that arrives at once is worked off one by one, and what comes in meanwhile and does not have to
 * queue (a read among a thousand uploads) waits for one piece of work at most, and finds a connection to the database.
 */
export function createTurns(atOnceMax: number): Turns {
  let underWay = 0
  const waiting: Array<() => void> = []
  return {
    async take(work) {
      if (underWay < atOnceMax) underWay += 1
      // Whoever ends hands its place on: nobody who comes later can slip in between.
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        await nextTurn()
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else underWay -= 1
      }
    },
  }
}
