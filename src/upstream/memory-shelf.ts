import { randomUUID } from 'node:crypto'
import type { Breaker, Lease, Token, TokenName, TokenShelf } from '../tokens.ts'

type Row = {
  token: Token | undefined
  generation: number
  breaker: Breaker | undefined
  proven: boolean
  unprovenBefore: number
  lease: { holder: string; untilMs: number } | undefined
}

/** A shelf within one process, for the client used as a library. What it holds is gone with the process. */
export function createMemoryShelf(clock: () => number): TokenShelf {
  const rows = new Map<string, Row>()
  const keyOf = (name: TokenName) => `${name.profileId ?? ''} ${name.account}`
  const rowOf = (name: TokenName): Row => {
    const found = rows.get(keyOf(name))
    if (found !== undefined) return found
    const made: Row = {
      token: undefined,
      generation: 0,
      breaker: undefined,
      proven: false,
      unprovenBefore: 0,
      lease: undefined,
    }
    rows.set(keyOf(name), made)
    return made
  }
  const held = (name: TokenName, lease: Lease) => {
    const row = rows.get(keyOf(name))
    return row?.lease?.holder === lease.holder ? row : undefined
  }
  return {
    async read(name) {
      const { generation = 0, token, breaker, proven = false, unprovenBefore = 0 } = rows.get(keyOf(name)) ?? {}
      return { generation, token, breaker, proven, unprovenBefore }
    },
    async lease(name, { generation, leaseMs }) {
      const row = rowOf(name)
      const nowMs = clock()
      if (row.breaker !== undefined && nowMs < row.breaker.untilMs) return { kind: 'broken', breaker: row.breaker }
      if (row.token !== undefined && row.generation > generation) return { kind: 'newer', token: row.token }
      if (row.lease !== undefined && nowMs < row.lease.untilMs) return { kind: 'busy' }
      const { token } = row
      row.lease = { holder: randomUUID(), untilMs: nowMs + leaseMs }
      if (token !== undefined) row.token = { ...token, refreshSecret: undefined }
      return { kind: 'leased', lease: { holder: row.lease.holder, generation: row.generation, token } }
    },
    async store(name, lease, token) {
      const row = held(name, lease)
      if (row === undefined) return undefined
      row.unprovenBefore = row.proven || row.generation === 0 ? 0 : row.unprovenBefore + 1
      row.generation += 1
      row.token = { ...token, generation: row.generation }
      row.lease = undefined
      row.proven = false
      return row.token
    },
    async release(name, lease) {
      const row = held(name, lease)
      if (row !== undefined) row.lease = undefined
    },
    async prove(name, generation) {
      const row = rowOf(name)
      if (row.generation !== generation) return
      row.proven = true
      row.breaker = undefined
    },
    async trip(name, { generation, breaker }) {
      const row = rowOf(name)
      if (row.generation > generation) return
      row.breaker = breaker
      row.lease = undefined
    },
    async erase(profileId) {
      for (const key of rows.keys()) if (key.startsWith(`${profileId} `)) rows.delete(key)
    },
  }
}
