import { randomUUID } from 'node:crypto'
import {
  type Lease,
  type LeaseResult,
  noTokenState,
  type TokenName,
  type TokenState,
  type TokenStore,
} from '../../fleet/tokens.ts'

type TokenRow = { state: TokenState; lease?: { holder: string; untilMs: number } | undefined }

/** A token store within one process. */
export function createInMemoryTokenStore(clock: () => number): TokenStore {
  const rows = new Map<string, TokenRow>()
  const keyOf = (name: TokenName) => `${name.profileId ?? ''} ${name.account}`
  const rowOf = (name: TokenName): TokenRow => {
    const row = rows.get(keyOf(name)) ?? { state: noTokenState }
    rows.set(keyOf(name), row)
    return row
  }
  const rowLeasedBy = (name: TokenName, lease: Lease) => {
    const row = rows.get(keyOf(name))
    return row?.lease?.holder === lease.holder ? row : undefined
  }
  return {
    read: async (name) => rows.get(keyOf(name))?.state ?? noTokenState,
    lease: async (name, ask) => leaseRow(rowOf(name), { ...ask, nowMs: clock() }),
    async save(name, lease, newToken) {
      const row = rowLeasedBy(name, lease)
      if (row === undefined) return undefined
      row.lease = undefined
      row.state = stateWith(newToken, row.state)
      return row.state.token
    },
    async release(name, lease) {
      const row = rowLeasedBy(name, lease)
      if (row !== undefined) row.lease = undefined
    },
    async markProven(name, generation) {
      const row = rowOf(name)
      if (row.state.generation !== generation || row.state.proven) return
      row.state = { ...row.state, proven: true, breaker: undefined }
    },
    async tripBreaker(name, { generation, breaker }) {
      const row = rowOf(name)
      if (row.state.generation > generation) return
      row.state = { ...row.state, breaker }
      row.lease = undefined
    },
    async eraseProfile(profileId) {
      for (const key of rows.keys()) if (key.startsWith(`${profileId} `)) rows.delete(key)
    },
  }
}

function stateWith(newToken: Parameters<TokenStore['save']>[2], before: TokenState): TokenState {
  const { generation, proven, unprovenBefore } = before
  return {
    ...before,
    generation: generation + 1,
    token: { ...newToken, generation: generation + 1 },
    proven: false,
    unprovenBefore: proven || generation === 0 ? 0 : unprovenBefore + 1,
  }
}

function leaseRow(row: TokenRow, ask: { generation: number; leaseMs: number; nowMs: number }): LeaseResult {
  const { breaker, token, generation } = row.state
  if (breaker !== undefined && ask.nowMs < breaker.untilMs) return { kind: 'broken', breaker }
  if (token !== undefined && generation > ask.generation) return { kind: 'newer', token }
  if (row.lease !== undefined && ask.nowMs < row.lease.untilMs) return { kind: 'busy' }
  row.lease = { holder: randomUUID(), untilMs: ask.nowMs + ask.leaseMs }
  if (token !== undefined) row.state = { ...row.state, token: { ...token, refreshSecret: undefined } }
  return { kind: 'leased', lease: { holder: row.lease.holder, generation, token } }
}
