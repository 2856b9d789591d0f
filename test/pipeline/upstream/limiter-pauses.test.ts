import { describe, expect, test } from 'vitest'
import { SECOND } from '../../../src/base/time/units.ts'
import type { BudgetStore } from '../../../src/pipeline/fleet/budget.ts'
import { createInMemoryBudgetStore } from '../../../src/pipeline/upstream/lone-upstream.ts'
import { answered, openLimiterFleet, overloadedFor, watchEnd } from '../../support/limiter-fleet.ts'

const unbounded = Number.POSITIVE_INFINITY
const limits = { requestsPerSecond: unbounded, inFlight: 20 }

describe('a pause that upstream asks for', () => {
  test.for([-20, -3, 0, 3, 20])(
    'lasts as long for every process, though the store’s clock is %i s ahead',
    async (aheadSeconds) => {
      const fleet = openLimiterFleet({ limits, storeAheadMs: aheadSeconds * SECOND })
      const [one, other] = [fleet.open('one'), fleet.open('other')]
      await fleet.admits(1500, one.acquire('nightly', undefined))

      one.release('nightly', overloadedFor(4000))
      const beganMs = fleet.clock()
      await fleet.advance(1500)

      expect(one.state().pausedUntilMs - beganMs).toBe(4000)
      expect(other.state().pausedUntilMs - beganMs).toBe(4000)
      await fleet.advance(3 * SECOND)
      expect(one.state().pausedUntilMs).toBe(0)
      // The budget grows again two seconds after the overload.
      expect(one.state().inFlightMax).toBeGreaterThan(12)
    },
  )

  test('is not shortened by a shorter one that comes after it', async () => {
    const fleet = openLimiterFleet({ limits })
    const one = fleet.open('one')
    await fleet.admits(0, one.acquire('nightly', undefined), one.acquire('nightly', undefined))

    one.release('nightly', overloadedFor(4000))
    one.release('nightly', overloadedFor(1000))
    expect(one.state().pausedUntilMs).toBe(fleet.clock() + 4000)
    await fleet.advance(400)

    expect(one.state().pausedUntilMs).toBe(fleet.clock() + 3600)
  })

  test('is not shortened by a shorter one that comes before the store has it', async () => {
    let isOpen = true
    const fleet = openLimiterFleet({
      limits,
      changed: (store) => ({ compareAndSet: async (...change) => isOpen && store.compareAndSet(...change) }),
    })
    const one = fleet.open('one')
    await fleet.admits(0, one.acquire('nightly', undefined), one.acquire('nightly', undefined))

    isOpen = false
    one.release('nightly', overloadedFor(4000))
    one.release('nightly', overloadedFor(1000))
    await fleet.advance(0)
    isOpen = true
    await fleet.advance(400)

    expect(one.state().pausedUntilMs).toBe(fleet.clock() + 3600)
  })

  test('is kept by all when another process was faster to write a shorter one', async () => {
    const fleet = openLimiterFleet({ limits })
    const [one, other] = [fleet.open('one'), fleet.open('other')]
    await fleet.admits(1500, one.acquire('nightly', undefined), other.acquire('nightly', undefined))

    other.release('nightly', overloadedFor(1000))
    one.release('nightly', overloadedFor(4000))
    const beganMs = fleet.clock()
    await fleet.advance(2500)

    expect([one, other].map((limiter) => limiter.state().pausedUntilMs - beganMs)).toEqual([4000, 4000])
    await fleet.advance(2000)
    expect([one, other].map((limiter) => limiter.state().pausedUntilMs)).toEqual([0, 0])
  })

  test.for([
    [5000, 'admitted'],
    [5001, 'sent back'],
  ] as const)('of %i ms: a call is %s', async ([pauseMs, outcome]) => {
    const fleet = openLimiterFleet({ limits })
    const one = fleet.open('one')
    await fleet.admits(0, one.acquire('nightly', undefined))
    one.release('nightly', overloadedFor(pauseMs))

    const call = watchEnd(one.acquire('nightly', undefined))
    await fleet.advance(pauseMs + 200)

    const sentBack = { name: 'RetryLater', waitMs: pauseMs }
    expect(call).toMatchObject({ end: outcome === 'admitted' ? outcome : sentBack })
  })

  test('is over at its last instant, also between two heartbeats', async () => {
    const fleet = openLimiterFleet({ limits })
    const one = fleet.open('one')
    await fleet.admits(0, one.acquire('nightly', undefined))
    one.release('nightly', overloadedFor(350))

    await fleet.advance(349)
    const call = watchEnd(one.acquire('nightly', undefined))
    await fleet.advance(0)
    expect(call.end).toBe('waits')
    await fleet.advance(1)
    expect(watchEnd(one.acquire('manual', undefined)).end).toBe('waits') // it passes nobody
    one.release('nightly', answered)
    await fleet.advance(0)
    expect(call.end).toBe('admitted')
  })

  test('counts at once also when it comes while the store answers', async () => {
    let writes = Number.NaN
    const fleet = openLimiterFleet({
      limits,
      changed: (store) => ({
        async compareAndSet(...change) {
          writes += 1
          if (writes === 1) return false // another process was faster
          if (writes === 2) one.release('nightly', overloadedFor(4000))
          return store.compareAndSet(...change)
        },
      }),
    })
    const beganMs = fleet.clock()
    const one = fleet.open('one')
    await fleet.admits(0, one.acquire('nightly', undefined), one.acquire('nightly', undefined))
    writes = 0

    one.release('nightly', overloadedFor(0))
    for (const passMs of [200, 0, 1000]) {
      await fleet.advance(passMs)
      expect(one.state().pausedUntilMs - beganMs).toBe(4200)
    }
  })

  test('sends the waiting calls back with the time that is left', async () => {
    const fleet = openLimiterFleet({ limits: { ...limits, inFlight: 1 } })
    const one = fleet.open('one')
    await fleet.admits(0, one.acquire('nightly', undefined))
    const call = watchEnd(one.acquire('backfill', undefined))

    one.release('nightly', overloadedFor(60_000))
    await fleet.advance(200)

    const message = 'wait for budget: upstream wants fewer requests'
    expect(call.end).toMatchObject({ name: 'RetryLater', message, waitMs: expect.closeTo(60_000, -3) })
    expect(one.state().waiting).toEqual({ nightly: 0, manual: 0, backfill: 0 })
  })

  test('when it ends lets nobody pass the calls that waited', async () => {
    const fleet = openLimiterFleet({ limits })
    const one = fleet.open('one')
    await fleet.admits(0, one.acquire('nightly', undefined))
    one.release('nightly', overloadedFor(350))
    const order: string[] = []
    const call = (name: string) => void Promise.resolve(one.acquire('nightly', undefined)).then(() => order.push(name))
    call('early')
    // Between two heartbeats.
    await fleet.advance(360)

    call('late')
    await fleet.advance(200)

    expect(order).toEqual(['early', 'late'])
  })
})

test('a store that is emptied learns again of a pause that lasts, and not of one that is over', async () => {
  let emptied: BudgetStore | undefined
  const fleet = openLimiterFleet({
    limits,
    changed: (store) => ({
      heartbeat: (mine) => (emptied ?? store).heartbeat(mine),
      compareAndSet: (...change) => (emptied ?? store).compareAndSet(...change),
    }),
  })
  const beganMs = fleet.clock()
  const stateAfterEmptying = async () => {
    emptied = createInMemoryBudgetStore(fleet.clock)
    await fleet.advance(SECOND)
    return one.state()
  }
  const one = fleet.open('one')
  await fleet.admits(0, one.acquire('nightly', undefined))
  one.release('nightly', overloadedFor(4000))
  await fleet.advance(SECOND)

  expect(await stateAfterEmptying()).toMatchObject({ pausedUntilMs: beganMs + 4000, inFlightMax: 12 })
  await fleet.advance(10 * SECOND)
  expect(await stateAfterEmptying()).toMatchObject({ pausedUntilMs: 0, inFlightMax: 20 })
})

test('a call waits 30 s for a permit, then it goes back to the queue', async () => {
  const fleet = openLimiterFleet({ limits: { ...limits, inFlight: 1 } })
  const one = fleet.open('one')
  await fleet.admits(0, one.acquire('nightly', undefined))
  const call = watchEnd(one.acquire('nightly', undefined))

  await fleet.advance(30 * SECOND)
  expect(call.end).toBe('waits')
  await fleet.advance(400)
  expect(call).toMatchObject({ end: { name: 'RetryLater', waitMs: 5 * SECOND } })
  expect(String(call.end)).toContain('none was free within 30 s: the requests that all processes share are in use')
  expect(String(call.end)).not.toContain('upstream')
  expect(one.state()).toMatchObject({ inFlight: 1, waiting: { nightly: 0 } })
})

describe('a store that is away', () => {
  function openBreakable() {
    let isAway = false
    const fail = () => Promise.reject(new Error('the store is away'))
    const fleet = openLimiterFleet({
      limits: { ...limits, inFlight: 50 },
      changed: (store) => ({ heartbeat: (mine) => (isAway ? fail() : store.heartbeat(mine)) }),
    })
    const turn = (away: boolean) => {
      isAway = away
    }
    return { ...fleet, turn }
  }

  test('leaves a process its share for 5 s, and a tenth of the budget from then on', async () => {
    const { open, admits, advance, turn } = openBreakable()
    const one = open('one')
    await admits(0, one.acquire('nightly', undefined))
    for (let outage = 0; outage < 2; outage += 1) {
      turn(true)
      await advance(5000)
      expect(one.state().inFlightMax).toBe(50)
      await advance(200)
      expect(one.state().inFlightMax).toBe(5)
      turn(false)
      await advance(400)
      expect(one.state().inFlightMax).toBe(50)
    }
  })

  test('leaves at least one request to a process that never saw it', async () => {
    const fleet = openLimiterFleet({
      limits: { ...limits, inFlight: 4 },
      changed: () => ({ heartbeat: () => Promise.reject(new Error('away')) }),
    })
    const one = fleet.open('one')
    await fleet.admits(0, one.acquire('nightly', undefined))

    expect(one.state()).toMatchObject({ inFlight: 1, inFlightMax: 1 })
  })
})

test('closing sends waiting calls back, and takes the process out of the store before it leaves the store', async () => {
  const acts: string[] = []
  const fleet = openLimiterFleet({
    limits: { ...limits, inFlight: 1 },
    changed: () => ({
      removeMember: async (member) => void acts.push(`remove ${member}`),
      close: async () => void acts.push('close'),
    }),
  })
  const one = fleet.open('one')
  await fleet.admits(0, one.acquire('nightly', undefined))
  const call = watchEnd(one.acquire('nightly', undefined))

  await one.close()

  const message = 'wait for budget: this process is stopping'
  expect(call.end).toMatchObject({ name: 'RetryLater', message, waitMs: SECOND })
  expect(acts).toEqual(['remove one', 'close'])
})

test('closing ends well though the store is away', async () => {
  const closed: string[] = []
  const away: Partial<BudgetStore> = {
    removeMember: () => Promise.reject(new Error('away')),
    close: async () => void closed.push('closed'),
  }
  const one = openLimiterFleet({ limits, changed: () => away }).open('one')
  one.release('nightly', answered)
  await one.close()

  expect(closed).toEqual(['closed'])
})
