import type { Log } from '../../base/log.ts'
import { SECOND } from '../../base/time/units.ts'
import { formatPartList } from '../fleet/queue-parts.ts'
import type { LanePart, LaneWorker, QueueEngine } from './engine.ts'

/** The worker of one part's queue of one lane. */
export type PartWorker = { readonly of: LanePart; readonly worker: LaneWorker; close(): Promise<void> }

type FormerPartsOptions = {
  readonly engine: Pick<QueueEngine, 'parts' | 'formerParts' | 'formerPartsAtOnceMax'>
  /** The parts that this process works on. It takes the former parts that are one of these modulo the number of parts. */
  readonly parts: readonly number[]
  readonly log: Log
  startPart(part: number): PartWorker[]
}

const LOOK_EVERY_MS = 10 * SECOND

/**
 * Works on former parts of the queue while they hold jobs: those that waited when QUEUE_PARTS became smaller, and those of a
 * process with a larger QUEUE_PARTS. No job is moved, so none is lost on the way and each keeps its attempts and its lease.
 */
export function followFormerParts({ engine, parts, log, startPart }: FormerPartsOptions) {
  const served = new Map<number, PartWorker[]>()
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  const look = async () => {
    const found = await engine.formerParts()
    if (isClosed) return
    const wanted = found.filter((part) => parts.includes(part % engine.parts)).slice(0, engine.formerPartsAtOnceMax)
    const fresh = wanted.filter((part) => !served.has(part))
    for (const part of fresh) served.set(part, startPart(part))
    if (fresh.length > 0) log.warn({ parts: formatPartList(fresh), queueParts: engine.parts }, FOUND_NOTE)
    for (const [part, workers] of served) {
      if (wanted.includes(part)) continue
      await Promise.all(workers.map((worker) => worker.close()))
      served.delete(part)
    }
  }
  const run = () =>
    void look()
      .catch((error: unknown) => log.debug({ err: String(error) }, 'queue trouble'))
      .finally(() => {
        if (!isClosed) timer = setTimeout(run, LOOK_EVERY_MS).unref()
      })
  run()
  return {
    workers: () => [...served.values()].flat(),
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

const FOUND_NOTE =
  'jobs wait in parts beyond QUEUE_PARTS and are worked on; if this goes on, a process has a larger QUEUE_PARTS: give all the same'
