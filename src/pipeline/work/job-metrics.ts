import { metrics } from '@opentelemetry/api'
import { SECOND } from '../../base/time/units.ts'
import type { JobAttempt } from './outcome.ts'

/** Counts the attempts at jobs, for the meter provider of the process. The labels are names of jobs, lanes and outcomes. */
export function createJobMetrics(): (attempt: JobAttempt) => void {
  const meter = metrics.getMeter('vitalsync.jobs')
  const jobs = meter.createCounter('vitalsync.jobs')
  const durations = meter.createHistogram('vitalsync.job.duration', { unit: 's' })
  const refused = meter.createCounter('vitalsync.refused')
  const pushed = meter.createCounter('vitalsync.items.pushed')
  return ({ job, lane, outcome, durationMs, counts }) => {
    jobs.add(1, { job, lane, outcome })
    durations.record(durationMs / SECOND, { job })
    if (counts.refused > 0) refused.add(counts.refused, { job })
    if (counts.itemsPushed > 0) pushed.add(counts.itemsPushed)
  }
}
