import { createSemaphore } from '../../base/semaphore.ts'

type Part = {
  readonly jobIds: Set<string>
  isDrained: boolean
  limit: number
  readonly setLimit: (jobs: number, isHeldUp: boolean) => void
}

export type LaneSlots = ReturnType<typeof createLaneSlots>

/**
 * The slots of one lane in this process: the limit of its concurrent jobs over all parts of the queue. BullMQ
 * bounds the jobs of one queue only. So each part is given a limit of its own, and the limits follow the work: parts that have
 * jobs share all slots, and a part that has none may claim one job, to notice when jobs come. That job waits for a slot here: a
 * process claims hardly more than one job of each part ahead of its turn. A new part has its share until its worker finds the
 * queue empty; otherwise the part whose worker claims first would fill every slot before the others have looked.
 */
export function createLaneSlots(slotCount: number) {
  const parts = new Set<Part>()
  const semaphore = createSemaphore({ permits: slotCount })
  /** The worker of the caller is awake already: it claims, or it has not started yet. */
  const divide = (caller?: Part) => {
    const [only] = parts
    if (parts.size === 1 && only?.limit === slotCount) return
    for (const [part, limit] of limitsOf([...parts], slotCount)) {
      if (limit === part.limit) continue
      const isHeldUp = part !== caller && limit > part.limit && !part.isDrained && part.jobIds.size >= part.limit
      part.limit = limit
      part.setLimit(limit, isHeldUp)
    }
  }
  const slotsOf = (part: Part) => ({
    /** Resolves with the function that frees the slot; undefined when the slots are closed or the signal aborts. */
    take: (signal: AbortSignal | undefined) => semaphore.acquire({ group: 'lane', signal }),
    claimed(jobId: string) {
      part.jobIds.add(jobId)
      part.isDrained = false
      divide(part)
    },
    /** A claimed job has ended, or goes back without a slot. */
    left(jobId: string) {
      if (part.jobIds.delete(jobId)) divide()
    },
    /** Nothing waits in the part. */
    drained() {
      part.isDrained = true
      divide()
    },
    remove() {
      parts.delete(part)
      divide()
    },
  })
  return {
    /** `setLimit` takes the new claim limit of the part; `isHeldUp`: the part was at its limit, so its worker must be woken now. */
    add(setLimit: Part['setLimit']) {
      const part: Part = { jobIds: new Set(), isDrained: false, limit: 0, setLimit }
      parts.add(part)
      divide(part)
      return slotsOf(part)
    },
    /** No further job gets a slot: waiting jobs get `undefined`. */
    close: semaphore.close,
  }
}

/**
 * How many jobs each part may claim: parts with work an even share, as far as other parts have left slots free. Where there are
 * fewer slots than parts with work, each claims one.
 */
function limitsOf(parts: readonly Part[], slotCount: number): Array<[Part, number]> {
  if (parts.length === 1) return parts.map((part) => [part, slotCount])
  const drained = parts.filter(({ isDrained }) => isDrained)
  const busy = parts.filter(({ isDrained }) => !isDrained)
  const claimedOf = (some: readonly Part[]) => some.reduce((sum, { jobIds }) => sum + jobIds.size, 0)
  const shared = Math.max(0, slotCount - claimedOf(drained))
  const free = Math.max(0, slotCount - claimedOf(parts))
  const [each, rest] = [Math.floor(shared / busy.length), shared % busy.length]
  const shareOf = (index: number) => each + (index < rest ? 1 : 0)
  return [
    ...drained.map((part): [Part, number] => [part, part.jobIds.size + 1]),
    ...busy.map((part, index): [Part, number] => [
      part,
      Math.max(1, Math.min(shareOf(index), part.jobIds.size + free)),
    ]),
  ]
}
