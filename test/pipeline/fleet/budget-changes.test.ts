import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  adjustBudget,
  type BudgetLimits,
  decreaseBudget,
  type FleetBudget,
  initialBudget,
  MEMBER_TTL_MS,
  parseMemberState,
  parseStoredBudget,
  storedBudgetOf,
  withEarlierOverload,
} from '../../../src/pipeline/fleet/budget.ts'
import { memberState } from '../../support/member-state.ts'

const limits: BudgetLimits = { requestsPerSecond: 1000, inFlight: 100 }
const unbounded = Number.POSITIVE_INFINITY
const nowMs = 100_000
/** Half of the limits, a second after any cut, measured at 100 ms. */
const budget: FleetBudget = {
  version: 7,
  requestsPerSecond: 500,
  inFlight: 50,
  pausedUntilMs: 0,
  cutAtMs: 0,
  grownAtMs: 0,
  quietLatencyMs: 100,
}
const answering = (latencyMs: number, answersPerSecond = 100) => [memberState('a', {}, { answersPerSecond, latencyMs })]
const adjusted = (changed: Partial<FleetBudget>, members = answering(100), bounds = limits) =>
  adjustBudget({ ...budget, ...changed }, { members, limits: bounds, nowMs })

test('a new budget is the limits, without a pause, a cut or a measured latency', () => {
  expect(initialBudget(limits, 42)).toEqual({
    version: 1,
    requestsPerSecond: 1000,
    inFlight: 100,
    pausedUntilMs: 0,
    cutAtMs: 0,
    grownAtMs: 42,
    quietLatencyMs: 0,
  })
})

const overload = { retryAfterMs: 0, answersPerSecond: 400, nowMs }

test.for([
  ['six tenths of what upstream answered', budget, overload, [240, 30]],
  [
    'six tenths of the rate, where less was allowed than answered',
    budget,
    { ...overload, answersPerSecond: 900 },
    [300, 30],
  ],
  ['whole numbers, rounded down', { ...budget, inFlight: 8 }, { ...overload, answersPerSecond: 99 }, [59, 4]],
  [
    'no fewer than ten a second and four in flight',
    { ...budget, inFlight: 6 },
    { ...overload, answersPerSecond: 3 },
    [10, 4],
  ],
  ['no more than there was', { ...budget, requestsPerSecond: 7, inFlight: 3 }, overload, [7, 3]],
  ['exactly the least', { ...budget, requestsPerSecond: 10, inFlight: 4 }, overload, [10, 4]],
  ['one more than the least', { ...budget, requestsPerSecond: 11, inFlight: 5 }, overload, [10, 4]],
  ['a rate without bound becomes one', { ...budget, requestsPerSecond: unbounded }, overload, [240, 30]],
  ['a second after the last cut', { ...budget, cutAtMs: nowMs - 1000 }, overload, [240, 30]],
] as const)('an overload leaves %s', ([, before, seen, [requestsPerSecond, inFlight]]) => {
  expect(decreaseBudget(before, seen)).toEqual({ ...before, version: 8, requestsPerSecond, inFlight, cutAtMs: nowMs })
})

test('within a second of a cut an overload changes nothing but the pause', () => {
  const cut = { ...budget, cutAtMs: nowMs - 999, pausedUntilMs: nowMs + 5 }

  expect(decreaseBudget(cut, overload)).toBe(cut)
  expect(decreaseBudget(cut, { ...overload, retryAfterMs: 5 })).toBe(cut)
  expect(decreaseBudget(cut, { ...overload, retryAfterMs: 6 })).toEqual({
    ...cut,
    version: 8,
    pausedUntilMs: nowMs + 6,
  })
  expect(decreaseBudget(budget, { ...overload, retryAfterMs: 1 }).pausedUntilMs).toBe(nowMs + 1)
  expect(decreaseBudget(budget, overload).pausedUntilMs).toBe(0)
})

test.each([
  ['ends later', 3000, 0, 2000],
  ['ends sooner', 500, 700, 700],
] as const)('of two overloads the pause counts that %s', (_, earlierMs, laterMs, expectedMs) => {
  const earlier = { ...overload, nowMs: nowMs - 1000, retryAfterMs: earlierMs }

  expect(withEarlierOverload({ ...overload, retryAfterMs: laterMs }, earlier)).toEqual({
    ...overload,
    retryAfterMs: expectedMs,
  })
})

test.for([
  ['at the bound of slowness', {}, 300, false],
  ['beyond the bound of slowness', {}, 300.001, true],
  ['while the quiet latency is unknown', { quietLatencyMs: 0 }, 10_000, false],
  ['less than two seconds after a cut', { cutAtMs: nowMs - 1999 }, 10_000, false],
  ['two seconds after a cut', { cutAtMs: nowMs - 2000 }, 10_000, true],
] as const)('slow answers %s cut the requests in flight or not', ([, changed, latencyMs, isCut]) => {
  const before = { ...budget, ...changed }
  const after = adjusted({ ...changed, grownAtMs: nowMs }, answering(latencyMs))

  expect(after).toEqual(
    isCut
      ? { ...before, grownAtMs: nowMs, version: 8, inFlight: 42, cutAtMs: nowMs, quietLatencyMs: 100 * 1.1 }
      : { ...before, grownAtMs: nowMs },
  )
})

test('answers count as measured from ten a second in all members together', () => {
  const slow = (...answers: number[]) =>
    answers.map((each, at) => memberState(String(at), {}, { answersPerSecond: each, latencyMs: 900 }))

  expect(adjusted({ grownAtMs: nowMs }, slow(5, 4.99)).inFlight).toBe(50)
  expect(adjusted({ grownAtMs: nowMs }, slow(5, 5)).inFlight).toBe(42)
})

test('the latency of the fleet is weighted by the answers of each member', () => {
  const members = [
    memberState('a', {}, { answersPerSecond: 30, latencyMs: 20 }),
    memberState('b', {}, { answersPerSecond: 10, latencyMs: 100 }),
    memberState('c', {}, { answersPerSecond: 0, latencyMs: 9000 }),
  ]

  expect(adjusted({ quietLatencyMs: 0 }, members).quietLatencyMs).toBe(40)
})

test.for([
  ['two seconds after a cut', { cutAtMs: nowMs - 2000 }, true],
  ['less than two seconds after a cut', { cutAtMs: nowMs - 1999 }, false],
  ['when a pause ends', { pausedUntilMs: nowMs }, true],
  ['while a pause lasts', { pausedUntilMs: nowMs + 1 }, false],
  ['half a second after the last increase', { grownAtMs: nowMs - 500 }, true],
  ['less than half a second after the last increase', { grownAtMs: nowMs - 499 }, false],
] as const)('%s the budget grows or rests', ([, changed, grows]) => {
  const before = { ...budget, ...changed }
  const after = adjustBudget(before, { members: answering(100), limits, nowMs })

  if (grows) expect(after).toEqual({ ...before, version: 8, requestsPerSecond: 550, inFlight: 56, grownAtMs: nowMs })
  else expect(after).toBe(before)
})

test.for([
  ['to the limits and no further', { requestsPerSecond: 999, inFlight: 99 }, limits, [1000, 100]],
  ['the rate alone, where all may be in flight', { inFlight: 100 }, limits, [550, 100]],
  ['the requests in flight alone, at the full rate', { requestsPerSecond: 1000 }, limits, [1000, 56]],
  ['by one at least', { requestsPerSecond: 3, inFlight: 1 }, limits, [4, 2]],
  [
    'past a rate that is as good as none',
    { requestsPerSecond: 90_910 },
    { ...limits, requestsPerSecond: unbounded },
    [unbounded, 56],
  ],
  [
    'up to exactly that rate',
    { requestsPerSecond: 90_909 },
    { ...limits, requestsPerSecond: unbounded },
    [100_000, 56],
  ],
  [
    'up to that rate step by step',
    { requestsPerSecond: 90_900 },
    { ...limits, requestsPerSecond: unbounded },
    [99_991, 56],
  ],
  [
    'down to limits that became smaller',
    { requestsPerSecond: 900, inFlight: 90 },
    { requestsPerSecond: 100, inFlight: 10 },
    [100, 10],
  ],
] as const)('the budget grows %s', ([, changed, bounds, [requestsPerSecond, inFlight]]) => {
  expect(adjusted(changed, answering(100), bounds)).toMatchObject({ requestsPerSecond, inFlight, version: 8 })
})

const full = { requestsPerSecond: 1000, inFlight: 100 }

test.for([
  ['is taken over when there was none', { quietLatencyMs: 0 }, answering(60), 60],
  ['falls at once', {}, answering(60), 60],
  ['rises by two in a hundred at most', {}, answering(200), 102],
  ['is kept while it moves by no more than one in a hundred', {}, answering(101), undefined],
  ['is kept while it falls by no more than that', {}, answering(99), undefined],
  ['moves with more than one in a hundred', {}, answering(98.9), 98.9],
  ['is kept while too few answer', {}, answering(10, 9.99), undefined],
] as const)('the quiet latency %s', ([, changed, members, quietLatencyMs]) => {
  const before = { ...budget, ...full, ...changed }
  const after = adjustBudget(before, { members, limits, nowMs })

  if (quietLatencyMs === undefined) expect(after).toBe(before)
  else expect(after).toEqual({ ...before, version: 8, grownAtMs: nowMs, quietLatencyMs })
})

test('a budget that grows while too few answer keeps its quiet latency', () => {
  expect(adjusted({}, answering(10, 1))).toMatchObject({ requestsPerSecond: 550, quietLatencyMs: 100 })
  expect(adjusted({ quietLatencyMs: 0 }, [])).toMatchObject({ requestsPerSecond: 550, quietLatencyMs: 0 })
})

test('whatever happens, a budget stays between its least and its limits, and each change is a new version', () => {
  const event = fc.record({
    afterMs: fc.integer({ min: 0, max: 4000 }),
    isOverload: fc.boolean(),
    retryAfterMs: fc.constantFrom(0, 0, 3000),
    answersPerSecond: fc.integer({ min: 0, max: 2000 }),
    latencyMs: fc.integer({ min: 1, max: 5000 }),
  })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60, size: 'max' }), (events) => {
      let at = 0
      let now = initialBudget(limits, 0)
      for (const { afterMs, isOverload, ...seen } of events) {
        at += afterMs
        const next = isOverload
          ? decreaseBudget(now, { ...seen, nowMs: at })
          : adjustBudget(now, { members: answering(seen.latencyMs, seen.answersPerSecond), limits, nowMs: at })
        expect(next.version).toBe(next === now ? now.version : now.version + 1)
        expect(next.pausedUntilMs).toBeGreaterThanOrEqual(now.pausedUntilMs)
        expect(next.requestsPerSecond >= 10 && next.requestsPerSecond <= 1000).toBe(true)
        expect(next.inFlight >= 4 && next.inFlight <= 100).toBe(true)
        now = next
      }
    }),
    { seed: 20261124, numRuns: 60 },
  )
})

test('a stored budget is read as it was written, also one without a bound, in JSON', () => {
  for (const each of [budget, { ...budget, requestsPerSecond: unbounded }])
    expect(parseStoredBudget(JSON.parse(JSON.stringify(storedBudgetOf(each))))).toEqual(each)
  expect(storedBudgetOf({ ...budget, requestsPerSecond: unbounded })).toEqual({ ...budget, requestsPerSecond: null })
  expect(storedBudgetOf(budget)).toEqual(budget)
})

const member = memberState('a', { nightly: 3 }, { holds: 2, answersPerSecond: 0.5, latencyMs: 12 })

test('the stored state of other processes is read only whole, and with valid counts', () => {
  expect(parseMemberState(JSON.parse(JSON.stringify(member)))).toEqual(member)
  for (const key of Object.keys(member))
    expect(() => parseMemberState({ ...member, [key]: undefined }), key).toThrow(key)
  for (const key of ['holds', 'answersPerSecond', 'latencyMs'])
    expect(() => parseMemberState({ ...member, [key]: -1 }), key).toThrow(key)
  for (const lane of ['nightly', 'manual', 'backfill'])
    expect(() => parseMemberState({ ...member, demand: { ...member.demand, [lane]: undefined } })).toThrow(lane)
  for (const key of Object.keys(budget))
    expect(() => parseStoredBudget({ ...budget, [key]: undefined }), key).toThrow(key)
})

test('a member is dead when its heartbeat is three seconds old', () => {
  expect(MEMBER_TTL_MS).toBe(3000)
})
