/** Waits `ms` milliseconds; rejects when the signal aborts. Handed in, so that a test can move the time. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>
