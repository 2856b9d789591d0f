import { createPermits } from '../../../base/semaphore.ts'
import { SECOND } from '../../../base/time/units.ts'

/** Work that takes longer waits for a lock or for a node that does not answer. */
const SLOW_MS = SECOND

/** Limits concurrent work; each piece of work is of one bucket of profiles. */
export type BucketSlots = {
  /** How many are under way, without those that are slow. */
  busy(): number
  /** Nothing is under way, not even slowly. */
  isIdle(): boolean
  /** Whether work of any bucket may begin. */
  isFree(): boolean
  /** Whether this bucket is below its own limit. Slow work still counts here. */
  isOpen(bucket: number): boolean
  /** Runs `work` in a slot, and calls `onFree` when the slot is free: when the work is done, and sooner when it is slow. */
  run(bucket: number, work: () => Promise<void>): void
}

/**
 * The slots of several buckets. Work that is slow gives up its slot, so that a node that is silent holds up its own people only; the
 * work of its bucket goes on to count for the bucket.
 */
export function createBucketSlots(atOnce: number, onFree: () => void): BucketSlots {
  const permits = createPermits<number>(atOnce)
  return {
    busy: permits.given,
    isIdle: permits.isIdle,
    isFree: permits.isFree,
    isOpen: (bucket) => permits.givenTo(bucket) < atOnce,
    run(bucket, work) {
      const permit = permits.take(bucket)
      const timer = setTimeout(() => {
        permit.lend()
        onFree()
      }, SLOW_MS)
      void work().finally(() => {
        clearTimeout(timer)
        permit.giveBack()
        onFree()
      })
    },
  }
}
