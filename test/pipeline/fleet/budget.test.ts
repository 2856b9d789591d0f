import { describe, expect, test } from 'vitest'
import {
  adjustBudget,
  type BudgetLimits,
  decreaseBudget,
  fairShareOf,
  initialBudget,
  laneRateLimit,
  lanes,
  type MemberState,
} from '../../../src/pipeline/fleet/budget.ts'
import { createSeededRandom } from '../../../src/service/sandbox/people/seeded-random.ts'
import { memberState, noWaiters } from '../../support/member-state.ts'

const unbounded = Number.POSITIVE_INFINITY

describe('the share of a member', () => {
  const sharesOf = (members: MemberState[], inFlight: number) =>
    members.map(({ member }) => fairShareOf(member, { members, inFlight }))

  test('permits that nobody needs go evenly to those that ask for any, and no permit is lost', () => {
    const asking = ['a', 'b', 'c'].map((member) => memberState(member, { manual: 1 }))
    expect(sharesOf([...asking, memberState('d', {})], 10)).toEqual([4, 3, 3, 0])
  })

  test('an idle member holds no permit', () => {
    expect(sharesOf([memberState('a', {}), memberState('b', {})], 10)).toEqual([0, 0])
  })

  test('a member alone gets all permits', () => {
    expect(sharesOf([memberState('a', { backfill: 500 })], 64)).toEqual([64])
  })

  test('more urgent work anywhere takes permits from less urgent work everywhere', () => {
    expect(sharesOf([memberState('a', { backfill: 100 }), memberState('b', { nightly: 100 })], 50)).toEqual([0, 50])
    expect(sharesOf([memberState('a', { backfill: 100 }), memberState('b', { nightly: 20 })], 50)).toEqual([30, 20])
    expect(sharesOf([memberState('a', { manual: 100 }), memberState('b', { nightly: 20, backfill: 90 })], 50)).toEqual([
      30, 20,
    ])
  })

  test('within a lane the permits are shared evenly, and a small demand leaves the rest to the others', () => {
    expect(
      sharesOf(
        [memberState('a', { nightly: 10 }), memberState('b', { nightly: 100 }), memberState('c', { nightly: 100 })],
        50,
      ),
    ).toEqual([10, 20, 20])
  })

  test('where there are fewer permits than members, none is lost and nobody gets two', () => {
    const members = ['a', 'b', 'c', 'd', 'e', 'f'].map((member) => memberState(member, { nightly: 10 }))
    expect(sharesOf(members, 4)).toEqual([1, 1, 1, 1, 0, 0])
    expect(sharesOf(members.slice(0, 4), 10)).toEqual([3, 3, 2, 2])
  })

  test('the shares together are the budget, whatever is asked for', () => {
    for (let seed = 1; seed <= 500; seed += 1) {
      const random = createSeededRandom('budget', seed)
      const upTo = (most: number) => random.integer(0, most)
      const members = Array.from({ length: 1 + upTo(9) }, (_, index) =>
        memberState(String(index), { nightly: upTo(3) * upTo(30), manual: upTo(2), backfill: upTo(1) * upTo(100) }),
      )
      const inFlight = 1 + upTo(80)
      const shares = sharesOf(members, inFlight)
      const asked = members.some(({ demand }) => lanes.some((lane) => demand[lane] > 0))
      expect({ seed, sum: shares.reduce((total, each) => total + each, 0) }).toEqual({
        seed,
        sum: asked ? inFlight : 0,
      })
    }
  })
})

describe('the budget of the fleet', () => {
  const limits: BudgetLimits = { requestsPerSecond: 1000, inFlight: 100 }
  const state = initialBudget(limits, 0)

  test('an overload decreases it once a second, however many processes see the overload', () => {
    const once = decreaseBudget(state, { retryAfterMs: 0, answersPerSecond: 500, nowMs: 5000 })
    const twice = decreaseBudget(once, { retryAfterMs: 2000, answersPerSecond: 500, nowMs: 5100 })

    expect(once).toMatchObject({ requestsPerSecond: 300, inFlight: 60, cutAtMs: 5000 })
    expect(twice).toMatchObject({ requestsPerSecond: 300, inFlight: 60, pausedUntilMs: 7100 })
  })

  test('the longest pause wins, and decreases stop at a minimum', () => {
    const once = decreaseBudget(state, { retryAfterMs: 9000, answersPerSecond: 1, nowMs: 5000 })
    let low = once
    for (let nowMs = 7000; nowMs < 60_000; nowMs += 1100)
      low = decreaseBudget(low, { retryAfterMs: 1, answersPerSecond: 0, nowMs })

    expect(low).toMatchObject({ requestsPerSecond: 10, inFlight: 4 })
    const small = initialBudget({ requestsPerSecond: 3, inFlight: 2 }, 0)
    const cut = decreaseBudget(small, { retryAfterMs: 0, answersPerSecond: 3, nowMs: 5000 })
    expect(cut).toMatchObject({ requestsPerSecond: 3, inFlight: 2 })
    expect(once.pausedUntilMs).toBe(14_000)
    expect(decreaseBudget(once, { retryAfterMs: 10, answersPerSecond: 0, nowMs: 6500 }).pausedUntilMs).toBe(14_000)
  })

  test('without overload it increases to its limits, and no further', () => {
    let now = decreaseBudget(state, { retryAfterMs: 0, answersPerSecond: 100, nowMs: 5000 })
    const members = [memberState('a', { nightly: 60 }, { answersPerSecond: 100, latencyMs: 20 })]
    expect(adjustBudget(now, { members, limits, nowMs: 6000 })).toBe(now)
    for (let nowMs = 7000; nowMs < 60_000; nowMs += 500) now = adjustBudget(now, { members, limits, nowMs })

    expect(now).toMatchObject({ requestsPerSecond: 1000, inFlight: 100 })
  })

  test('answers that get slow decrease the requests in flight', () => {
    const quick = [memberState('a', { nightly: 60 }, { answersPerSecond: 100, latencyMs: 20 })]
    const slow = [memberState('a', { nightly: 60 }, { answersPerSecond: 100, latencyMs: 500 })]
    const known = adjustBudget(state, { members: quick, limits, nowMs: 5000 })

    expect(known.quietLatencyMs).toBe(20)
    expect(adjustBudget(known, { members: slow, limits, nowMs: 6000 }).inFlight).toBe(85)
  })

  test('an unbounded rate gets a bound by an overload, and loses it again', () => {
    const open = initialBudget({ requestsPerSecond: unbounded, inFlight: 10 }, 0)
    let now = decreaseBudget(open, { retryAfterMs: 0, answersPerSecond: 100, nowMs: 5000 })
    expect(now.requestsPerSecond).toBe(60)
    for (let nowMs = 8000; nowMs < 120_000; nowMs += 500) {
      now = adjustBudget(now, { members: [], limits: { requestsPerSecond: unbounded, inFlight: 10 }, nowMs })
    }

    expect(now.requestsPerSecond).toBe(unbounded)
  })

  test('backfill leaves a part of the rate, and nearly all of it while more urgent work waits', () => {
    const waiting = [memberState('a', {}, { waiting: { ...noWaiters, manual: 3 } })]

    expect(laneRateLimit('nightly', { members: waiting, requestsPerSecond: 100 })).toBe(100)
    expect(laneRateLimit('manual', { members: waiting, requestsPerSecond: 100 })).toBe(90)
    expect(laneRateLimit('backfill', { members: [], requestsPerSecond: 100 })).toBe(90)
    expect(laneRateLimit('backfill', { members: waiting, requestsPerSecond: 100 })).toBe(10)
  })
})
