import type { Span } from '../../../base/time/spans.ts'

/**
 * A data log as the derivation reads it: instants in epoch milliseconds, each with the offset (minutes east of UTC) that
 * it was written in, because the offset decides which local day the log belongs to.
 */
export type DataLog = {
  readonly id: string
  readonly parentId: string | null
  readonly dataType: string
  readonly value: number
  readonly unit: string
  readonly source: string
  readonly recordingMethod: string
  readonly deviceType: string
  readonly deviceId: string | null
  readonly periodicity: 'hourly' | 'daily' | null
  readonly startMs: number
  readonly endMs: number
  readonly startOffset: number
  readonly endOffset: number
  readonly modifiedMs: number | null
}

/** The time that a log covers, at least `lengthMsMin` of it: an instant must have a length to be shared out or summed. */
export function spanOfLog({ startMs, endMs }: DataLog, lengthMsMin: number): Span {
  return { startMs, endMs: Math.max(endMs, startMs + lengthMsMin) }
}

/** Listens to how each log was used. The derivation gives the same with and without a listener. */
export type Lineage = {
  used(log: DataLog, as: string, amount: number): void
  leftOut(log: DataLog, as: string, reason: string): void
}
