import { expect, test } from 'vitest'
import { createShares } from '../../../src/service/recompute/shares.ts'
import type { WaitingProfile } from '../../../src/service/store/waiting-profiles.ts'

const waits = (profileId: string, sinceMs: number, more: Partial<WaitingProfile> = {}): WaitingProfile => ({
  profileId,
  accountId: profileId.slice(0, 1),
  sinceMs,
  isFresh: false,
  asOfMs: null,
  ...more,
})

test('an account that took much time comes behind the others, however long it waits, and comes back with time', () => {
  let now = 0
  const shares = createShares(() => now)
  const waiting = [waits('a1', 1), waits('a2', 2), waits('a3', 3), waits('b1', 10)]
  expect(shares.order(waiting)).toEqual(['a1', 'a2', 'a3', 'b1'])

  shares.charge({ accountId: 'a', profileId: 'a0' }, 3000)
  expect(shares.order(waiting)).toEqual(['b1', 'a1', 'a2', 'a3'])

  now += 60_000
  expect(shares.order(waiting)).toEqual(['a1', 'a2', 'a3', 'b1'])
})

test('a heavy profile comes behind the others of its account', () => {
  const shares = createShares(() => 0)
  shares.charge({ accountId: 'a', profileId: 'a1' }, 500)

  expect(shares.order([waits('a1', 1), waits('a2', 2), waits('a3', 3)])).toEqual(['a2', 'a3', 'a1'])
})

test('two accounts that flood alike are served alike', () => {
  let now = 0
  const shares = createShares(() => now)
  const served: string[] = []
  for (let turn = 0; turn < 40; turn += 1) {
    const [next = ''] = shares.order([waits(`a${turn}`, turn), waits(`b${turn}`, 1000 + turn)])
    served.push(next.slice(0, 1))
    shares.charge({ accountId: next.slice(0, 1), profileId: next }, 400)
    now += 400
  }
  const share = served.filter((account) => account === 'b').length
  expect(share).toBeGreaterThan(12)
  expect(share).toBeLessThan(28)
})

test('among equals the longest wait alternates with the least recently derived profile with few days', () => {
  const shares = createShares(() => 0)
  const fresh = (id: string, sinceMs: number, asOfMs: number | null) => waits(id, sinceMs, { isFresh: true, asOfMs })

  expect(
    shares.order([waits('a', Number.NEGATIVE_INFINITY), waits('b', 2), fresh('c', 8, 5), fresh('d', 9, null)]),
  ).toEqual(['a', 'd', 'b', 'c'])
})

test('among profiles with equal shares the longest wait comes first, then the first id, in whatever order they are listed', () => {
  const shares = createShares(() => 0)
  const inOrder = (profiles: readonly WaitingProfile[]) =>
    [profiles, profiles.toReversed()].map((listed) => shares.order(listed))

  expect(inOrder([waits('a', 2), waits('b', 1), waits('c', 2), waits('d', 3)])).toEqual([
    ['b', 'a', 'c', 'd'],
    ['b', 'a', 'c', 'd'],
  ])
  const fresh = (id: string, sinceMs: number) => waits(id, sinceMs, { isFresh: true, asOfMs: 5 })
  expect(inOrder([fresh('a', 1), fresh('b', 2), fresh('c', 1)])).toEqual([
    ['b', 'a', 'c'],
    ['b', 'a', 'c'],
  ])
})

test('at most 10,000 accounts and profiles are remembered: one more, and all are forgotten', () => {
  const shares = createShares(() => 0)
  const waiting = [waits('a1', 1), waits('b1', 2)]
  shares.charge({ accountId: 'a', profileId: 'a0' }, 3000)
  for (let n = 0; n < 4999; n += 1) shares.charge({ accountId: `account ${n}`, profileId: `profile ${n}` }, 1)
  expect(shares.order(waiting)).toEqual(['b1', 'a1'])

  shares.charge({ accountId: 'c', profileId: 'c1' }, 1)

  expect(shares.order(waiting)).toEqual(['a1', 'b1'])
})
