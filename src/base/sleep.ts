import { setTimeout as wait } from 'node:timers/promises'

/** Waits `ms` milliseconds; rejects when the signal aborts. Handed in, so that a test can move the time. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>

export const sleep: Sleep = (ms, signal) => wait(ms, undefined, signal ? { signal } : {})

/** Whether the work ended well. Its error says nothing more. */
export const isFulfilled = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  )

/** Whether the work ended, well or not, before the time was up. The timer ends with it. */
export async function endsWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const ended = new AbortController()
  const late = sleep(timeoutMs, ended.signal).then(
    () => false,
    () => true,
  )
  const end = () => ended.abort()
  work.then(end, end)
  return late
}
