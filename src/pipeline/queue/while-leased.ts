import { setTimeout as wait } from 'node:timers/promises'
import { isOutage } from '../warehouse/postgres/sql-errors.ts'

const QUEUE_RETRY_MS = 250

/**
 * Repeats a change of the queue while the queue's engine is out, as long as the job's lease lasts. Without it the job would
 * count as active until the lease ends, though the engine came back after a second.
 */
export async function whileLeased(leaseMs: number, change: () => Promise<unknown>): Promise<void> {
  for (const leasedUntilMs = performance.now() + leaseMs; ; ) {
    try {
      await change()
      return
    } catch (error) {
      if (!isOutage(error) || performance.now() > leasedUntilMs) throw error
      await wait(QUEUE_RETRY_MS)
    }
  }
}
