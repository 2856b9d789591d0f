export type VirtualTime = {
  clock(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Moves the clock on, and wakes each sleeper at its instant, the earliest first. */
  advance(ms: number): Promise<void>
}

type Sleeper = { readonly untilMs: number; readonly wake: () => void }

const TURNS = 4

/** Resolves after a few turns of the event loop: everything that needs no time has happened by then. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((turned) => setImmediate(turned))
}

/** A clock that only the test moves, and a sleep that follows it. */
export function createVirtualTime(beginMs: number): VirtualTime {
  let nowMs = beginMs
  const sleepers = new Set<Sleeper>()
  return {
    clock: () => nowMs,
    sleep(ms, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const sleeper = { untilMs: nowMs + ms, wake: resolve }
      const abort = () => {
        sleepers.delete(sleeper)
        reject(signal?.reason)
      }
      if (signal?.aborted) abort()
      else sleepers.add(sleeper)
      signal?.addEventListener('abort', abort, { once: true })
      return promise
    },
    async advance(ms) {
      const endMs = nowMs + ms
      for (;;) {
        await settled()
        const [next] = [...sleepers].toSorted((one, other) => one.untilMs - other.untilMs)
        if (next === undefined || next.untilMs > endMs) break
        nowMs = Math.max(nowMs, next.untilMs)
        sleepers.delete(next)
        next.wake()
      }
      nowMs = endMs
      await settled()
    },
  }
}
