import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Budget, BudgetLimits } from '../../src/budget.ts'
import type { TokenShelf } from '../../src/tokens.ts'
import { type CallOptions, type Credentials, openUpstream, type Upstream } from '../../src/upstream/client.ts'
import { openGate } from '../../src/upstream/gate.ts'
import { createLocalBoard } from '../../src/upstream/local-board.ts'
import { createMemoryShelf } from '../../src/upstream/memory-shelf.ts'
import { openTransport, type Transport, type TransportLimits, transportDefaults } from '../../src/upstream/transport.ts'

export const nightly: CallOptions = { lane: 'nightly' }
export const ada = { profileId: '1', externalId: 'ada' }

export type OpenedUpstream = {
  upstream: Upstream
  shelf: TokenShelf
  budget: Budget
  waits: number[]
  close(): Promise<void>
}

export type UpstreamParts = {
  url: string
  clock?: (() => number) | undefined
  shelf?: TokenShelf | undefined
  budget?: Budget | undefined
  limits?: Partial<BudgetLimits> | undefined
  transport?: Partial<TransportLimits> | undefined
  clientSecret?: string | undefined
  credentials?: Credentials | undefined
  openTransport?: (() => Transport) | undefined
}

/** The client as a command opens it, with shelf and budget in memory unless others are given. */
export function openTestUpstream(parts: UpstreamParts): OpenedUpstream {
  const { url, clock = Date.now, shelf = createMemoryShelf(clock), clientSecret = 'client-secret' } = parts
  const limits = { requestsPerSecond: Number.POSITIVE_INFINITY, inFlight: 256, ...parts.limits }
  const budget =
    parts.budget ??
    openGate({ board: createLocalBoard(Date.now), limits, member: randomUUID(), clock: Date.now, sleep })
  const waits: number[] = []
  const upstream = openUpstream({
    url,
    credentials: parts.credentials ?? { clientId: 'client', clientSecret, appId: 'app', appSecret: 'app-secret' },
    shelf,
    budget,
    clock,
    random: () => 0.5,
    sleep: (ms, signal) => {
      waits.push(ms)
      return sleep(ms, signal)
    },
    transport: parts.openTransport?.() ?? openTransport(url, { ...transportDefaults, ...parts.transport }),
  })
  const close = async () => {
    await upstream.close()
    if (parts.budget === undefined) await budget.close()
  }
  return { upstream, shelf, budget, waits, close }
}

export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, signal === undefined ? {} : { signal })
}
