import { printableLine } from '../base/text/readable.ts'
import type { AcceptedCounts } from '../pipeline/transfer/parcel.ts'
import type { LogDraft } from './formats/export-format.ts'

type ReasonCount = { readonly reason: string; readonly records: number }

/**
 * The outcome of one file. read = mapped + left out + rejected; logs = accepted + duplicate + before, and fewer than were
 * mapped only where a heart rate is averaged.
 */
export type FileReport = ReturnType<FileTally['report']>

/** How many reasons and devices are listed; the rest, which a hostile file can make endless, is counted together. */
const REASONS_MAX = 200
const DEVICES_MAX = 50
const REASON_LENGTH_MAX = 120
const OTHERS = 'others'

/** Counts what happens to the records of one file. */
export function createFileTally(file: string, format: string) {
  const leftOut = new Map<string, number>()
  const rejected = new Map<string, number>()
  const devices = new Set<string>()
  /** `before`: logs that an earlier, stopped import of the same files took in. */
  const counts = { read: 0, mapped: 0, logs: 0, before: 0 }
  let [firstDay, lastDay]: [string | undefined, string | undefined] = [undefined, undefined]
  const count = (reasons: Map<string, number>, text: string) => {
    const reason = printableLine(text.slice(0, REASON_LENGTH_MAX))
    const key = reasons.has(reason) || reasons.size < REASONS_MAX ? reason : OTHERS
    reasons.set(key, (reasons.get(key) ?? 0) + 1)
  }
  return {
    counts,
    leaveOut: (reason: string) => count(leftOut, reason),
    reject: (reason: string) => count(rejected, reason),
    device({ origin: { source, deviceType } }: LogDraft) {
      if (devices.size < DEVICES_MAX) devices.add(`${source} (${deviceType})`)
    },
    day(localDay: string) {
      if (firstDay === undefined || localDay < firstDay) firstDay = localDay
      if (lastDay === undefined || localDay > lastDay) lastDay = localDay
    },
    report: (before: AcceptedCounts, after: AcceptedCounts) => ({
      file,
      format,
      ...counts,
      accepted: after.accepted - before.accepted,
      duplicate: after.duplicate - before.duplicate,
      rejected: sorted(rejected),
      leftOut: sorted(leftOut),
      firstDay,
      lastDay,
      devices: [...devices].toSorted(),
    }),
  }
}

export type FileTally = ReturnType<typeof createFileTally>

const sorted = (reasons: ReadonlyMap<string, number>): ReasonCount[] =>
  [...reasons].map(([reason, records]) => ({ reason, records })).toSorted((a, b) => b.records - a.records)
