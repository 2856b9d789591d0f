import { MINUTE } from '../base/time/units.ts'
import type { LogDraft } from './formats/export-format.ts'

export const heartRateDetails = ['raw', '1m', '5m'] as const
export type HeartRateDetail = (typeof heartRateDetails)[number]

const bucketMs: Readonly<Record<Exclude<HeartRateDetail, 'raw'>, number>> = { '1m': MINUTE, '5m': 5 * MINUTE }

type Bucket = { draft: LogDraft; sum: number; count: number; startMs: number; modifiedMs: number | undefined }

/** How many minutes are held at once: exports write the samples of one device nearly in the order of time. */
const BUCKETS_MAX = 20_000
/** The minutes that were handed on already, by their keys. */
const CLOSED_MAX = 200_000

/** Averages the heart rate of each device over a minute or five. Other drafts pass. */
export function createThinnedHeartRate(detail: HeartRateDetail) {
  if (detail === 'raw') return { put: (draft: LogDraft) => [draft], end: (): LogDraft[] => [] }
  const lengthMs = bucketMs[detail]
  const open = new Map<string, Bucket>()
  const closed = new Set<string>()
  const closeOldest = (): LogDraft[] => {
    const [first] = open
    if (!first) return []
    const [key, bucket] = first
    open.delete(key)
    if (closed.size >= CLOSED_MAX) for (const [oldest] of closed.entries().take(1)) closed.delete(oldest)
    closed.add(key)
    return [averageOf(bucket, lengthMs)]
  }
  return {
    /** The drafts that may be handed on; a heart rate is held until its minute is full. False: it came after its minute was handed on. */
    put(draft: LogDraft): readonly LogDraft[] | false {
      if (draft.dataType !== 'heart_rate') return [draft]
      const startMs = Math.floor(draft.start.atMs / lengthMs) * lengthMs
      const { source, deviceType, deviceId, recordingMethod, modifiedMs } = draft.origin
      const key = JSON.stringify([source, deviceType, deviceId, recordingMethod, startMs])
      if (closed.has(key)) return false
      const bucket = open.get(key) ?? { draft, sum: 0, count: 0, startMs, modifiedMs: undefined }
      bucket.sum += draft.value
      bucket.count += 1
      if (modifiedMs !== undefined) bucket.modifiedMs = Math.max(bucket.modifiedMs ?? 0, modifiedMs)
      open.set(key, bucket)
      return open.size > BUCKETS_MAX ? closeOldest() : []
    },
    end: () => Array.from({ length: open.size }, closeOldest).flat(),
  }
}

function averageOf({ draft, sum, count, startMs, modifiedMs }: Bucket, lengthMs: number): LogDraft {
  const { offsetMinutes } = draft.start
  return {
    ...draft,
    value: sum / count,
    start: { atMs: startMs, offsetMinutes },
    end: { atMs: startMs + lengthMs, offsetMinutes },
    origin: { ...draft.origin, modifiedMs, ownId: undefined, aggregation: 'avg' },
  }
}
