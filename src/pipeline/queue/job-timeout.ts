import { onAbort } from '../../base/on-abort.ts'
import { SECOND } from '../../base/time/units.ts'
import type { Job } from '../work/job.ts'

/** How long an aborted job may take to end. A job that ignores its signal is left behind. */
export const ABORT_TIMEOUT_MS = 5 * SECOND

/**
 * Runs a job with a signal that the queue can abort, and that aborts when the job takes too long. A job that continues after
 * the abort is left behind, whatever it awaits: its writes are as harmless as those of a worker that lost its lease. The
 * timer ends with the job: `AbortSignal.timeout` would keep a timer for each job of the last ten minutes, hundreds of
 * thousands in a fast worker.
 */
export async function withJobTimeout<T>(
  job: Job,
  cancelled: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const timer = setTimeout(() => {
    late.abort(new DOMException(`${job.name} took longer than ${job.timeoutMs} ms`, 'TimeoutError'))
  }, job.timeoutMs)
  const signal = cancelled ? AbortSignal.any([cancelled, late.signal]) : late.signal
  let leaving: NodeJS.Timeout | undefined
  const left = Promise.withResolvers<never>()
  const stopListening = onAbort(signal, () => {
    leaving = setTimeout(() => left.reject(signal.reason), ABORT_TIMEOUT_MS)
  })
  try {
    return await Promise.race([run(signal), left.promise])
  } finally {
    clearTimeout(timer)
    clearTimeout(leaving)
    stopListening()
  }
}
