import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sleep } from '../../src/base/sleep.ts'
import type { BudgetLimits } from '../../src/pipeline/fleet/budget.ts'
import type { TokenStore } from '../../src/pipeline/fleet/tokens.ts'
import type { UpstreamCredentials } from '../../src/pipeline/upstream/api.ts'
import { openUpstream, type Upstream } from '../../src/pipeline/upstream/client.ts'
import { type Transport, type TransportLimits, transportDefaults } from '../../src/pipeline/upstream/http.ts'
import { openRateLimiter, type RateLimiter } from '../../src/pipeline/upstream/limits/rate-limiter.ts'
import { createInMemoryBudgetStore } from '../../src/pipeline/upstream/lone-upstream.ts'
import type { CallOptions } from '../../src/pipeline/upstream/sender.ts'
import { createInMemoryTokenStore } from '../../src/pipeline/upstream/tokens/in-memory-token-store.ts'
import { openTransport } from '../../src/pipeline/upstream/transport.ts'

export const nightlyCall: CallOptions = { lane: 'nightly' }
export const ada = { profileId: '1', externalId: 'ada' }

export type OpenedUpstream = {
  upstream: Upstream
  tokenStore: TokenStore
  rateLimiter: RateLimiter
  waits: number[]
  close(): Promise<void>
}

export type UpstreamParts = {
  url: string
  clock?: (() => number) | undefined
  tokenStore?: TokenStore | undefined
  rateLimiter?: RateLimiter | undefined
  limits?: Partial<BudgetLimits> | undefined
  transport?: Partial<TransportLimits> | undefined
  clientSecret?: string | undefined
  credentials?: UpstreamCredentials | undefined
  openTransport?: (() => Transport) | undefined
  sleep?: Sleep | undefined
}

/** The client as a command opens it; token store and budget store are in memory unless given. */
export function openTestUpstream(parts: UpstreamParts): OpenedUpstream {
  const { url, clock = Date.now, tokenStore = createInMemoryTokenStore(clock), clientSecret = 'client-secret' } = parts
  const limits = { requestsPerSecond: Number.POSITIVE_INFINITY, inFlight: 256, ...parts.limits }
  const rateLimiter =
    parts.rateLimiter ??
    openRateLimiter({
      store: createInMemoryBudgetStore(Date.now),
      limits,
      member: randomUUID(),
      clock: Date.now,
      sleep: sleepFor,
    })
  const waits: number[] = []
  const upstream = openUpstream({
    url,
    credentials: parts.credentials ?? { clientId: 'client', clientSecret },
    tokenStore,
    rateLimiter,
    clock,
    random: () => 0.5,
    sleep: (ms, signal) => {
      waits.push(ms)
      return (parts.sleep ?? sleepFor)(ms, signal)
    },
    transport: parts.openTransport?.() ?? openTransport(url, { ...transportDefaults, ...parts.transport }),
  })
  const close = async () => {
    await upstream.close()
    if (parts.rateLimiter === undefined) await rateLimiter.close()
  }
  return { upstream, tokenStore, rateLimiter, waits, close }
}

export async function sleepFor(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, signal === undefined ? {} : { signal })
}
