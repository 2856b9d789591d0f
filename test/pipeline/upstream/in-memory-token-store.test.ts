import { expect, test } from 'vitest'
import type { Lease, NewToken, TokenName, TokenStore } from '../../../src/pipeline/fleet/tokens.ts'
import { createInMemoryTokenStore } from '../../../src/pipeline/upstream/tokens/in-memory-token-store.ts'

const account = { account: 'a' }
const token: NewToken = { secret: 't', refreshSecret: 'r', issuedAtMs: 0, expiresAtMs: 1000 }

async function leaseOf(store: TokenStore, name: TokenName, generation = 0): Promise<Lease> {
  const result = await store.lease(name, { generation, leaseMs: 100 })
  if (result.kind !== 'leased') throw new Error(`lease: ${result.kind}`)
  return result.lease
}

test('a lease that ended saves and gives back nothing any more', async () => {
  let nowMs = 0
  const store = createInMemoryTokenStore(() => nowMs)
  const first = await leaseOf(store, account)
  nowMs = 99
  expect(await store.lease(account, { generation: 0, leaseMs: 100 })).toEqual({ kind: 'busy' })
  nowMs = 100
  const second = await leaseOf(store, account)

  expect(await store.save(account, first, token)).toBeUndefined()
  await store.release(account, first)
  expect(await store.save(account, second, token)).toMatchObject({ secret: 't', generation: 1 })
})

test('a proof of another generation than the newest proves nothing', async () => {
  const store = createInMemoryTokenStore(() => 0)
  await store.save(account, await leaseOf(store, account), token)
  await store.save(account, await leaseOf(store, account, 1), token)

  await store.markProven(account, 1)
  expect(await store.read(account)).toMatchObject({ generation: 2, proven: false })
  await store.markProven(account, 2)
  expect(await store.read(account)).toMatchObject({ generation: 2, proven: true })
})

test('an erasure takes the tokens of one profile, and those of nobody else', async () => {
  const store = createInMemoryTokenStore(() => 0)
  const names: TokenName[] = [account, ...['7', '77', '8'].map((profileId) => ({ account: 'a', profileId }))]
  for (const name of names) await store.save(name, await leaseOf(store, name), token)

  await store.eraseProfile('7')

  const kept = await Promise.all(names.map(async (name) => (await store.read(name)).token !== undefined))
  expect(kept).toEqual([true, false, true, true])
})
