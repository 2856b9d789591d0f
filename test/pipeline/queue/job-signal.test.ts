import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { ABORT_TIMEOUT_MS, withJobTimeout } from '../../../src/pipeline/queue/job-timeout.ts'
import { noCounts } from '../../../src/pipeline/transfer/order.ts'
import type { Job } from '../../../src/pipeline/work/job.ts'

const HOUR_MS = 3_600_000
const jobOf = (timeoutMs: number): Job => ({
  name: 'sample',
  payload: z.unknown(),
  attemptsMax: 1,
  timeoutMs,
  run: async () => noCounts,
})

/** A job that ends when it is aborted, with the reason. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

afterEach(() => {
  vi.useRealTimers()
})

/** How a job stands: it is under way, it ended, or it failed for a reason. */
function watchJob(ended: Promise<unknown>) {
  const job: { state: unknown } = { state: 'under way' }
  ended.then(
    () => {
      job.state = 'ended'
    },
    (reason) => {
      job.state = reason
    },
  )
  return job
}

test('a job that takes too long is aborted at its time, whether or not the queue may abort it too', async () => {
  vi.useFakeTimers()
  for (const queueSignal of [undefined, new AbortController().signal]) {
    const job = watchJob(withJobTimeout(jobOf(20), queueSignal, untilAborted))
    await vi.advanceTimersByTimeAsync(19)
    expect(job.state).toBe('under way')

    await vi.advanceTimersByTimeAsync(1)
    expect(job.state).toMatchObject({ name: 'TimeoutError', message: 'sample took longer than 20 ms' })
  }
})

test('a job that ignores its abort is left behind after a time, with the reason, and leaves no timer', async () => {
  vi.useFakeTimers()
  const queue = new AbortController()
  const job = watchJob(withJobTimeout(jobOf(HOUR_MS), queue.signal, () => new Promise(() => undefined)))
  queue.abort(new Error('shutting down'))
  await vi.advanceTimersByTimeAsync(ABORT_TIMEOUT_MS - 1)
  expect(job.state).toBe('under way')

  await vi.advanceTimersByTimeAsync(1)
  expect(job.state).toMatchObject({ message: 'shutting down' })
  expect(vi.getTimerCount()).toBe(0)
})

test('a job that the queue aborts is aborted with the reason of the queue', async () => {
  vi.useFakeTimers()
  const queue = new AbortController()
  const job = watchJob(withJobTimeout(jobOf(HOUR_MS), queue.signal, untilAborted))

  queue.abort(new Error('shutting down'))
  await vi.advanceTimersByTimeAsync(0)

  expect(job.state).toMatchObject({ message: 'shutting down' })
})

test('a job that ends leaves no timer behind, nor does one that fails or is aborted', async () => {
  vi.useFakeTimers()
  const queue = new AbortController()
  const jobs = [
    withJobTimeout(jobOf(HOUR_MS), queue.signal, untilAborted),
    withJobTimeout(jobOf(HOUR_MS), undefined, async () => 'done'),
    withJobTimeout(jobOf(HOUR_MS), undefined, () => Promise.reject(new Error('failed'))),
  ].map(watchJob)
  queue.abort(new Error('shutting down'))
  await vi.advanceTimersByTimeAsync(0)

  expect(jobs.map(({ state }) => state)).toEqual([new Error('shutting down'), 'ended', new Error('failed')])
  expect(vi.getTimerCount()).toBe(0)
})

test('an abort after the end of a job starts no timer', async () => {
  vi.useFakeTimers()
  const queue = new AbortController()
  await withJobTimeout(jobOf(HOUR_MS), queue.signal, async () => 'done')

  queue.abort(new Error('shutting down'))

  expect(vi.getTimerCount()).toBe(0)
})
