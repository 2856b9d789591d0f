import { getEventListeners } from 'node:events'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { withJobTimeout } from '../../../src/pipeline/queue/job-timeout.ts'
import { noCounts } from '../../../src/pipeline/transfer/order.ts'

test('the timers of a job end with it, also when it ends after it was aborted', async ({ onTestFinished }) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const job = { name: 'job', payload: z.unknown(), attemptsMax: 1, timeoutMs: 1000, run: async () => noCounts }
  const stopping = new AbortController()
  const aborted = (signal: AbortSignal) =>
    new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('ended')))

  expect(await withJobTimeout(job, undefined, async () => 'done')).toBe('done')
  expect(vi.getTimerCount()).toBe(0)
  const late = withJobTimeout(job, stopping.signal, aborted)
  vi.advanceTimersByTime(1000)
  expect(await late).toBe('ended')
  const stopped = withJobTimeout(job, stopping.signal, aborted)
  stopping.abort()
  expect(await stopped).toBe('ended')
  expect(vi.getTimerCount()).toBe(0)
})

test('a job that ended, well or not, leaves no listener at its signal: the runtime would keep the signal for ever', async () => {
  const job = { name: 'job', payload: z.unknown(), attemptsMax: 1, timeoutMs: 1000, run: async () => noCounts }
  const listening: number[] = []
  const signals: AbortSignal[] = []
  const run = async (signal: AbortSignal) => {
    signals.push(signal)
    listening.push(getEventListeners(signal, 'abort').length)
    if (signals.length > 1) throw new Error('no')
  }

  await withJobTimeout(job, new AbortController().signal, run)
  await expect(withJobTimeout(job, new AbortController().signal, run)).rejects.toThrow('no')

  expect(listening).toEqual([1, 1])
  expect(signals.map((signal) => getEventListeners(signal, 'abort'))).toEqual([[], []])
})
