import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SECOND } from '../../../src/base/time/units.ts'
import type { Lane, MemberState } from '../../../src/pipeline/fleet/budget.ts'
import type { RateLimiter } from '../../../src/pipeline/upstream/limits/rate-limiter.ts'
import { answered, openLimiterFleet, overloadedFor } from '../../support/limiter-fleet.ts'
import { memberState } from '../../support/member-state.ts'

const unbounded = Number.POSITIVE_INFINITY

const act = fc.record({
  process: fc.nat(2),
  lane: fc.constantFrom<Lane>('nightly', 'manual', 'backfill'),
  begins: fc.nat(9),
  ends: fc.nat(9),
  passesMs: fc.constantFrom(0, 30, 200, 250, 1000),
})

test('however processes begin and end requests, all together never have more in flight than the budget, and each gets its turn', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 12 }), fc.array(act, { maxLength: 25 }), async (inFlight, acts) => {
      const fleet = openLimiterFleet({ limits: { requestsPerSecond: unbounded, inFlight } })
      const limiters = ['a', 'b', 'c'].map((member) => ({ limiter: fleet.open(member), begun: [] as Lane[] }))
      let waiting = 0
      const total = () => limiters.reduce((sum, { limiter }) => sum + limiter.state().inFlight, 0)
      const holdsEnough = () =>
        limiters.every(({ begun, limiter }) => limiter.state().inFlight === begun.length) && total() <= inFlight
      const begin = ({ limiter, begun }: (typeof limiters)[number], lane: Lane) => {
        waiting += 1
        void Promise.resolve(limiter.acquire(lane, undefined)).then(() => {
          waiting -= 1
          begun.push(lane)
        })
      }
      const end = ({ limiter, begun }: (typeof limiters)[number]) => {
        const lane = begun.shift()
        if (lane) limiter.release(lane, answered)
      }
      for (const { process, lane, begins, ends, passesMs } of acts) {
        const one = limiters[process]
        if (one === undefined) continue
        for (let count = 0; count < begins; count += 1) begin(one, lane)
        for (let count = 0; count < ends; count += 1) end(one)
        await fleet.advance(passesMs)
        expect(holdsEnough()).toBe(true)
      }
      for (let round = 0; round < 60 && waiting + total() > 0; round += 1) {
        for (const limiter of limiters) for (let count = 0; count < 20; count += 1) end(limiter)
        await fleet.advance(200)
        expect(total()).toBeLessThanOrEqual(inFlight)
      }
      expect([waiting, total()]).toEqual([0, 0])
      for (const { limiter } of limiters) await limiter.close()
    }),
    { numRuns: 60, seed: 40 },
  )
})

/** A fleet with one live limiter, beside the states of members that only the store knows. */
async function openBeside(members: readonly MemberState[], limits = { requestsPerSecond: unbounded, inFlight: 20 }) {
  const fleet = openLimiterFleet({ limits })
  for (const member of members) fleet.members.set(member.member, member)
  const one = fleet.open('mine')
  await fleet.admits(0, one.acquire('nightly', undefined))
  return { ...fleet, one }
}

test('an overload leaves a process no more permits than it had', async () => {
  const { one, advance } = await openBeside([memberState('other', { nightly: 15 }, { holds: 15 })])
  for (let call = 0; call < 9; call += 1) one.acquire('nightly', undefined)?.catch(() => undefined)
  await advance(400)
  expect(one.state()).toMatchObject({ inFlight: 5, waiting: { nightly: 5 } })

  one.release('nightly', overloadedFor(0))
  await advance(0)

  expect(one.state()).toMatchObject({ inFlight: 5, inFlightMax: 12, waiting: { nightly: 4 }, pausedUntilMs: 0 })
})

test('after an overload a process has no more in flight than the smaller budget, also after its next heartbeat', async () => {
  const { one, advance } = await openBeside([memberState('other', {}, { answersPerSecond: 1000 })])
  one.release('nightly', overloadedFor(0))
  await advance(400)
  for (let call = 0; call < 20; call += 1) one.acquire('nightly', undefined)?.catch(() => undefined)
  await advance(400)

  expect(one.state()).toMatchObject({ inFlight: 12, waiting: { nightly: 8 } })
})

test('another process learns of an overload with its next heartbeat, whenever the first sends its own', async () => {
  const fleet = openLimiterFleet({ limits: { requestsPerSecond: unbounded, inFlight: 20 } })
  const one = fleet.open('one')
  await fleet.admits(100, one.acquire('nightly', undefined))
  const other = fleet.open('other')
  await fleet.advance(990)
  one.release('nightly', overloadedFor(0))
  await fleet.advance(20) // the other asks a second after its first time, and this process 100 ms later

  expect(other.state().inFlightMax).toBe(12)
})

test('a process whose budget stays writes nothing to the store', async () => {
  let writes = 0
  const fleet = openLimiterFleet({
    limits: { requestsPerSecond: unbounded, inFlight: 4 },
    changed: (store) => ({
      compareAndSet(...change) {
        writes += 1
        return store.compareAndSet(...change)
      },
    }),
  })
  const one = fleet.open('one')
  expect(one.state().memberCount).toBe(0)
  await fleet.admits(1000, one.acquire('nightly', undefined))
  writes = 0
  await fleet.advance(1000)

  expect(writes).toBe(0)
  expect(one.state().memberCount).toBe(1)
})

test('an overload decreases the requests a second to 0.6 of what the whole fleet was answered, each process counted once', async () => {
  const limits = { requestsPerSecond: 1000, inFlight: 256 }
  const { one, admits, advance } = await openBeside([memberState('other', {}, { answersPerSecond: 150 })], limits)
  const answer = async (count: number) => {
    for (let request = 0; request < count; request += 1) {
      await admits(0, one.acquire('nightly', undefined))
      one.release('nightly', answered)
    }
  }
  await answer(20)
  await advance(200)
  await answer(20)
  await advance(100)

  one.release('nightly', overloadedFor(0))

  // 21 answers in 0.1 s, and 150 a second of the other.
  expect(one.state().requestsPerSecond).toBe(Math.floor((21 / 0.1 + 150) * 0.6))
})

describe('a process that had nothing to do', () => {
  test('asks for its share as soon as a call comes, not with its next heartbeat', async () => {
    const { open, admits, advance } = openLimiterFleet({ limits: { requestsPerSecond: unbounded, inFlight: 4 } })
    const one = open('idle')
    await advance(5500)

    await admits(0, one.acquire('nightly', undefined))
  })

  test('sends a heartbeat a second, and five a second when it works', async () => {
    let heartbeats = 0
    const { open, admits, advance } = openLimiterFleet({
      limits: { requestsPerSecond: unbounded, inFlight: 1 },
      changed: (store) => ({
        heartbeat(mine) {
          heartbeats += 1
          return store.heartbeat(mine)
        },
      }),
    })
    const one = open('idle')
    await advance(10 * SECOND)
    expect(heartbeats).toBe(11)
    await admits(0, one.acquire('nightly', undefined))
    heartbeats = 0
    await advance(10 * SECOND)

    expect(heartbeats).toBeGreaterThanOrEqual(50)
    expect(heartbeats).toBeLessThanOrEqual(60) // a raise of the share is announced once more
  })
})

describe('permits of a second', () => {
  type Ask = { wanted: number; limit: number; atMs: number }
  type Granted = { granted: number; endsInMs: number }
  /** `grants`: what the store gives each time it is asked. */
  function openRated(requestsPerSecond: number, grant: (ask: Ask) => Granted | Promise<Granted>) {
    const asks: Ask[] = []
    const fleet = openLimiterFleet({
      limits: { requestsPerSecond, inFlight: 256 },
      changed: () => ({
        async acquireRatePermits(wanted, limit) {
          const ask = { wanted, limit, atMs: fleet.clock() }
          asks.push(ask)
          return grant(ask)
        },
      }),
    })
    const begin = (limiter: RateLimiter, count: number, lane: Lane = 'nightly') => {
      for (let call = 0; call < count; call += 1) limiter.acquire(lane, undefined)?.catch(() => undefined)
    }
    return { ...fleet, asks, begin }
  }

  const pausesBetween = (asks: readonly Ask[]) =>
    asks.slice(1).map(({ atMs }, index) => atMs - (asks[index]?.atMs ?? 0))

  test('are not asked for where any number of requests is allowed', async () => {
    const { open, advance, asks, begin } = openRated(unbounded, ({ wanted }) => ({ granted: wanted, endsInMs: 1000 }))
    const one = open('one')
    begin(one, 9)
    await advance(1000)

    expect(one.state().inFlight).toBe(9)
    expect(asks).toEqual([])
  })

  test('are asked for as many as wait or are in flight, and at most a twentieth of a second', async () => {
    const { open, advance, asks, begin } = openRated(200, ({ wanted }) => ({ granted: wanted, endsInMs: 1000 }))
    const one = open('one')
    await advance(0)
    begin(one, 3)
    await advance(0)
    begin(one, 25)
    await advance(0)

    expect(asks.map(({ wanted }) => wanted)).toEqual([3, 3, 10, 10, 10])
    expect(one.state()).toMatchObject({ inFlight: 28, waiting: { nightly: 0 } })
  })

  test('let requests follow those in flight without a question to the store', async () => {
    const { open, advance, asks, begin } = openRated(2000, ({ wanted }) => ({ granted: wanted, endsInMs: 1000 }))
    const one = open('one')
    await advance(0)
    begin(one, 20)
    await advance(0)
    const asksBefore = asks.length
    one.release('nightly', answered)
    begin(one, 1)
    await advance(0)
    for (let request = 0; request < 18; request += 1) {
      one.release('nightly', answered)
      expect(one.acquire('nightly', undefined)).toBeUndefined()
    }

    expect(asks.length - asksBefore).toBe(1)
    expect(one.state()).toMatchObject({ inFlight: 20, waiting: { nightly: 0 } })
  })

  test('expire at the end of their second, and are then asked for again', async () => {
    const { open, advance, asks, begin } = openRated(200, () => ({ granted: 10, endsInMs: 400 }))
    const one = open('one')
    await advance(0)
    begin(one, 1)
    await advance(399)
    expect(one.acquire('nightly', undefined)).toBeUndefined()
    await advance(1)
    expect(one.acquire('nightly', undefined)).toBeInstanceOf(Promise)
    expect(asks).toHaveLength(2)
  })

  test.for<[number, number]>([
    [300, 300],
    [0, 5],
    [5000, 1000],
  ])('none for %i ms: the store is asked again after %i ms', async ([endsInMs, pauseMs]) => {
    const { open, advance, asks, begin } = openRated(200, () => ({ granted: 0, endsInMs }))
    const one = open('one')
    await advance(0)
    begin(one, 1)
    await advance(3000)

    expect(asks.length).toBeGreaterThan(2)
    expect(new Set(pausesBetween(asks))).toEqual(new Set([pauseMs]))
    expect(one.state().waiting.nightly).toBe(1)
  })

  test('that cannot be asked for are asked for again five times a second', async () => {
    const { open, advance, asks, begin } = openRated(200, async () => {
      await turn()
      throw new Error('away')
    })
    const one = open('one')
    await advance(0)
    begin(one, 4)
    await advance(2000)

    expect(pausesBetween(asks)).toEqual(Array(10).fill(200))
    expect(one.state().inFlight).toBe(0)
  })

  test.for<[Lane, Partial<MemberState['waiting']>, number]>([
    ['nightly', {}, 200],
    ['nightly', { manual: 1, backfill: 1 }, 200],
    ['manual', {}, 180],
    ['manual', { nightly: 1 }, 20],
    ['manual', { backfill: 1 }, 180],
    ['backfill', {}, 180],
    ['backfill', { manual: 1 }, 20],
  ])('of %s while %o wait elsewhere: %i', async ([lane, waiting, limit]) => {
    const { open, advance, asks, begin, members } = openRated(200, ({ wanted }) => ({
      granted: wanted,
      endsInMs: 1000,
    }))
    const idle = memberState('other', {})
    members.set('other', { ...idle, waiting: { ...idle.waiting, ...waiting } })
    const one = open('one')
    await advance(0)
    begin(one, 1, lane)
    await advance(0)

    expect(asks.map((ask) => ask.limit)).toEqual([limit])
  })
})
