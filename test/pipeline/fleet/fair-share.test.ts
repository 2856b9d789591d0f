import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  fairShareOf,
  laneRateLimit,
  lanes,
  type MemberState,
  permitsLeftByOthers,
  wantsPermits,
} from '../../../src/pipeline/fleet/budget.ts'
import { memberState } from '../../support/member-state.ts'

const seed = 20261124
const count = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 60 }))
const byLane = fc.record({ nightly: count, manual: count, backfill: count })
/** In any order, and with names whose order is not that of the list. */
const members = fc
  .uniqueArray(fc.tuple(fc.stringMatching(/^[a-z]\d?$/), byLane, byLane, count), {
    maxLength: 9,
    selector: ([name]) => name,
  })
  .map((drawn) => drawn.map(([name, demand, waiting, holds]) => memberState(name, demand, { waiting, holds })))
const inFlight = fc.integer({ min: 0, max: 80 })

/** The rule in single permits: lane by lane one for each member that lacks one, by name, until none is left. */
function sharesOneByOne(fleet: readonly MemberState[], permits: number): Map<string, number> {
  const asking = fleet.filter(({ demand }) => demand.nightly + demand.manual + demand.backfill > 0)
  const byName = asking.toSorted((a, b) => (a.member < b.member ? -1 : 1))
  const shares = new Map(byName.map(({ member }) => [member, 0]))
  let left = permits
  const give = (member: string) => {
    shares.set(member, (shares.get(member) ?? 0) + 1)
    left -= 1
  }
  for (const lane of ['nightly', 'manual', 'backfill'] as const)
    for (let round = 0; left > 0 && byName.some(({ demand }) => demand[lane] > round); round += 1)
      for (const { member, demand } of byName) if (left > 0 && demand[lane] > round) give(member)
  while (left > 0 && byName.length > 0) for (const { member } of byName) if (left > 0) give(member)
  return shares
}

test('the shares are those of handing out single permits: by lane, then evenly, then by name', () => {
  fc.assert(
    fc.property(members, inFlight, (fleet, permits) => {
      const expected = sharesOneByOne(fleet, permits)
      for (const { member } of fleet)
        expect(fairShareOf(member, { members: fleet, inFlight: permits }), member).toBe(expected.get(member) ?? 0)
    }),
    { seed, numRuns: 400 },
  )
})

test('a process that the fleet does not know has no share', () => {
  expect(fairShareOf('x', { members: [memberState('a', { nightly: 1 })], inFlight: 10 })).toBe(0)
})

test('a member wants permits when any lane of it asks for one', () => {
  fc.assert(
    fc.property(byLane, (demand) => {
      expect(wantsPermits({ demand })).toBe(demand.nightly > 0 || demand.manual > 0 || demand.backfill > 0)
    }),
    { seed },
  )
  expect(lanes).toEqual(['nightly', 'manual', 'backfill'])
})

test('permits that the other members hold are not left for this one, and the rest is never negative', () => {
  fc.assert(
    fc.property(members, inFlight, (fleet, permits) => {
      for (const { member } of fleet) {
        let held = 0
        for (const other of fleet) if (other.member !== member) held += other.holds
        expect(permitsLeftByOthers(member, { members: fleet, inFlight: permits })).toBe(Math.max(0, permits - held))
      }
    }),
    { seed },
  )
})

test.for([
  ['nightly', {}, 100],
  ['nightly', { manual: 1, backfill: 1, nightly: 1 }, 100],
  ['manual', {}, 90],
  ['manual', { manual: 5, backfill: 5 }, 90],
  ['manual', { nightly: 1 }, 10],
  ['backfill', {}, 90],
  ['backfill', { backfill: 7 }, 90],
  ['backfill', { manual: 1 }, 10],
  ['backfill', { nightly: 1 }, 10],
] as const)('of 100 requests a second the lane %s may use, while %o wait elsewhere, %i', ([lane, waiting, limit]) => {
  const none = { nightly: 0, manual: 0, backfill: 0 }
  const fleet = [memberState('a', {}), memberState('b', {}, { waiting: { ...none, ...waiting } })]

  expect(laneRateLimit(lane, { members: fleet, requestsPerSecond: 100 })).toBe(limit)
})

test('however small the rate, each lane may send one request a second', () => {
  const waiting = [memberState('a', {}, { waiting: { nightly: 1, manual: 0, backfill: 0 } })]

  expect(laneRateLimit('backfill', { members: waiting, requestsPerSecond: 5 })).toBe(1)
  expect(laneRateLimit('manual', { members: [], requestsPerSecond: 1 })).toBe(1)
  expect(laneRateLimit('manual', { members: waiting, requestsPerSecond: Number.POSITIVE_INFINITY })).toBe(
    Number.POSITIVE_INFINITY,
  )
  expect(laneRateLimit('backfill', { members: waiting, requestsPerSecond: 39 })).toBe(3)
})
