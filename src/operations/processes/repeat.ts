import { sleep } from '../../base/sleep.ts'

/**
 * Carries out `work` again and again, each time `everyMs` after its last end, until it is closed. `close` waits for the work
 * that is under way, whose `signal` then aborts. `work` deals with its own errors.
 */
export function repeatUntilClosed(
  everyMs: number,
  work: (signal: AbortSignal) => Promise<void>,
): { close(): Promise<void> } {
  const stop = new AbortController()
  const { signal } = stop
  const repeat = async () => {
    while (!signal.aborted) {
      await work(signal)
      await sleep(everyMs, signal).catch(() => undefined) // aborted: the loop ends
    }
  }
  const repeating = repeat()
  return {
    async close() {
      stop.abort()
      await repeating
    },
  }
}

/** Resolves when the signal is aborted, at once when it is aborted already. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
