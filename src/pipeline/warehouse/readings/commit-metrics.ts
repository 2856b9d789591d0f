import { metrics } from '@opentelemetry/api'
import { SECOND } from '../../../base/time/units.ts'

/** The outcome of one stream's rows in one transaction. */
export type RowCounts = {
  readonly stream: string
  /** Rows of readings, those included that said that nothing has changed: of them no row is read. */
  readonly read: number
  readonly written: number
  readonly gone: number
}

type Committed = { readonly counts: readonly RowCounts[]; readonly durationMs: number }

/** Counts the transactions that store readings, for the meter provider of the process. The labels are names of streams. */
export function createCommitMetrics(): (committed: Committed) => void {
  const meter = metrics.getMeter('vitalsync.warehouse')
  const durations = meter.createHistogram('vitalsync.commit.duration', { unit: 's' })
  const sizes = meter.createHistogram('vitalsync.commit.rows')
  const rows = meter.createCounter('vitalsync.rows')
  return ({ counts, durationMs }) => {
    durations.record(durationMs / SECOND)
    sizes.record(counts.reduce((sum, { read }) => sum + read, 0))
    for (const { stream, read, written, gone } of counts) {
      const changes = { read, written, unchanged: Math.max(0, read - written), gone }
      for (const [change, count] of Object.entries(changes)) if (count > 0) rows.add(count, { stream, change })
    }
  }
}
