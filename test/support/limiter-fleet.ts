import { expect, onTestFinished } from 'vitest'
import type { BudgetLimits, BudgetStore, MemberState } from '../../src/pipeline/fleet/budget.ts'
import { openRateLimiter, type RateLimiter } from '../../src/pipeline/upstream/limits/rate-limiter.ts'
import { createInMemoryBudgetStore } from '../../src/pipeline/upstream/lone-upstream.ts'

type FleetOptions = {
  readonly limits: BudgetLimits
  /** How far the store's clock is ahead of the processes' clock. */
  readonly storeAheadMs?: number
  /** Parts of the store that behave otherwise. */
  readonly changed?: (store: BudgetStore) => Partial<BudgetStore>
}

/** Rate limiters over one budget store, as processes of one fleet, in a time that only the test moves. */
export function openLimiterFleet({ limits, storeAheadMs = 0, changed = () => ({}) }: FleetOptions) {
  const time = createVirtualTime(1_000_000_000)
  const memory = createInMemoryBudgetStore(() => time.clock() + storeAheadMs)
  const members = new Map<string, MemberState>()
  const shared: BudgetStore = {
    ...memory,
    async heartbeat(mine) {
      members.set(mine.member, mine)
      return { ...(await memory.heartbeat(mine)), members: [...members.values()] }
    },
    removeMember: async (member) => void members.delete(member),
  }
  const store = { ...shared, ...changed(shared) }
  const open = (member: string): RateLimiter => {
    const limiter = openRateLimiter({ store, limits, member, clock: time.clock, sleep: time.sleep })
    onTestFinished(() => limiter.close())
    return limiter
  }
  /** Lets time pass, and expects that these calls are admitted by then. To wait for one that never is would take for ever. */
  const admits = async (ms: number, ...calls: Wait[]) => {
    const watched = calls.map(watchEnd)
    await time.advance(ms)
    expect(watched.map(({ end }) => end)).toEqual(calls.map(() => 'admitted'))
  }
  return { ...time, members, open, admits }
}

type Wait = ReturnType<RateLimiter['acquire']>

/** How the wait of a call has ended so far. `end`: 'waits', 'admitted', or the error. */
export function watchEnd(wait: Wait): { readonly end: unknown } {
  const watched: { end: unknown } = { end: 'waits' }
  Promise.resolve(wait).then(
    () => {
      watched.end = 'admitted'
    },
    (error: unknown) => {
      watched.end = error
    },
  )
  return watched
}

export const answered = { latencyMs: 1, overloaded: false, retryAfterMs: 0 }
export const overloadedFor = (retryAfterMs: number) => ({ latencyMs: 1, overloaded: true, retryAfterMs })

type VirtualTime = {
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
function createVirtualTime(beginMs: number): VirtualTime {
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
        const [next] = [...sleepers].toSorted((sleeper, other) => sleeper.untilMs - other.untilMs)
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
