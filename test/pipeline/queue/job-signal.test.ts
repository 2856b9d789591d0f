import { expect, test } from 'vitest'
import { z } from 'zod'
import { withJobTimeout } from '../../../src/pipeline/queue/job-timeout.ts'
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

const countTimers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

test('a job that takes too long is aborted, whether or not the queue may abort it too', async () => {
  for (const queueSignal of [undefined, new AbortController().signal])
    await expect(withJobTimeout(jobOf(20), queueSignal, untilAborted)).rejects.toMatchObject({
      name: 'TimeoutError',
      message: 'sample took longer than 20 ms',
    })
})

test('a job that the queue aborts is aborted with the reason of the queue', async () => {
  const queue = new AbortController()
  const ended = withJobTimeout(jobOf(HOUR_MS), queue.signal, untilAborted)

  queue.abort(new Error('shutting down'))

  await expect(ended).rejects.toThrow('shutting down')
})

test('a job that ends leaves no timer behind, nor does one that is aborted', async () => {
  const before = countTimers()
  const queue = new AbortController()
  const aborted = withJobTimeout(jobOf(HOUR_MS), queue.signal, untilAborted)
  queue.abort(new Error('shutting down'))
  await expect(aborted).rejects.toThrow()

  expect(await withJobTimeout(jobOf(HOUR_MS), undefined, async () => 'done')).toBe('done')
  await expect(withJobTimeout(jobOf(HOUR_MS), undefined, () => Promise.reject(new Error('failed')))).rejects.toThrow()

  expect(countTimers()).toBe(before)
})
