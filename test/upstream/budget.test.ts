import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished } from 'vitest'
import {
  adaptToBoard,
  type Budget,
  type BudgetBoard,
  type BudgetLimits,
  firstState,
  type Line,
  placesOf,
  rateLimitOf,
  slowDown,
} from '../../src/budget.ts'
import { RetryLater } from '../../src/errors.ts'
import { openPostgresBoard } from '../../src/queue/budget-postgres.ts'
import { openRedisBoard } from '../../src/queue/budget-redis.ts'
import { openGate } from '../../src/upstream/gate.ts'
import { createLocalBoard } from '../../src/upstream/local-board.ts'
import { openPool } from '../../src/warehouse/pool.ts'
import { test as base } from '../support/fixtures.ts'
import { sleep } from '../support/upstream.ts'

const unbounded = Number.POSITIVE_INFINITY
const none = { nightly: 0, manual: 0, backfill: 0 }
const fine = { latencyMs: 1, overloaded: false, retryAfterMs: 0 }

function line(member: string, demand: Partial<Line['demand']>, more: Partial<Line> = {}): Line {
  return { member, holds: 0, demand: { ...none, ...demand }, waiting: none, answersPerSecond: 0, latencyMs: 0, ...more }
}

describe('who gets how many places', () => {
  const places = (lines: Line[], inFlight: number) => lines.map(({ member }) => placesOf(member, { lines, inFlight }))

  base('an idle fleet shares them evenly, and none is lost', () => {
    expect(places([line('a', {}), line('b', {}), line('c', {})], 10)).toEqual([4, 3, 3])
  })

  base('one alone gets all of them', () => {
    expect(places([line('a', { backfill: 500 })], 64)).toEqual([64])
  })

  base('more urgent work anywhere takes them from less urgent work everywhere', () => {
    expect(places([line('a', { backfill: 100 }), line('b', { nightly: 100 })], 50)).toEqual([0, 50])
    expect(places([line('a', { backfill: 100 }), line('b', { nightly: 20 })], 50)).toEqual([30, 20])
    expect(places([line('a', { manual: 100 }), line('b', { nightly: 20, backfill: 90 })], 50)).toEqual([30, 20])
  })

  base('within a lane they are shared evenly, and who wants little leaves the rest', () => {
    expect(places([line('a', { nightly: 10 }), line('b', { nightly: 100 }), line('c', { nightly: 100 })], 50)).toEqual([
      10, 20, 20,
    ])
  })

  base('never are there more than the budget has', () => {
    const lines = Array.from({ length: 7 }, (_, index) => line(String(index), { nightly: index, backfill: 13 * index }))
    for (const inFlight of [1, 2, 5, 50, 500]) {
      const sum = places(lines, inFlight).reduce((total, each) => total + each, 0)
      expect(sum).toBeLessThanOrEqual(inFlight)
    }
  })
})

describe('how the budget moves', () => {
  const limits: BudgetLimits = { requestsPerSecond: 1000, inFlight: 100 }
  const state = firstState(limits, 0)

  base('trouble cuts it once a second, however many meet it', () => {
    const once = slowDown(state, { retryAfterMs: 0, answersPerSecond: 500, nowMs: 5000 })
    const twice = slowDown(once, { retryAfterMs: 2000, answersPerSecond: 500, nowMs: 5100 })

    expect(once).toMatchObject({ requestsPerSecond: 300, inFlight: 60, cutAtMs: 5000 })
    expect(twice).toMatchObject({ requestsPerSecond: 300, inFlight: 60, pausedUntilMs: 7100 })
  })

  base('the longest pause wins, and cuts stop at a floor', () => {
    const once = slowDown(state, { retryAfterMs: 9000, answersPerSecond: 1, nowMs: 5000 })
    let low = once
    for (let nowMs = 7000; nowMs < 60_000; nowMs += 1100)
      low = slowDown(low, { retryAfterMs: 1, answersPerSecond: 0, nowMs })

    expect(low).toMatchObject({ requestsPerSecond: 10, inFlight: 4 })
    const small = firstState({ requestsPerSecond: 3, inFlight: 2 }, 0)
    const cut = slowDown(small, { retryAfterMs: 0, answersPerSecond: 3, nowMs: 5000 })
    expect(cut).toMatchObject({ requestsPerSecond: 3, inFlight: 2 })
    expect(once.pausedUntilMs).toBe(14_000)
    expect(slowDown(once, { retryAfterMs: 10, answersPerSecond: 0, nowMs: 6500 }).pausedUntilMs).toBe(14_000)
  })

  base('quiet brings it back to its limits, and no further', () => {
    let now = slowDown(state, { retryAfterMs: 0, answersPerSecond: 100, nowMs: 5000 })
    const lines = [line('a', { nightly: 60 }, { answersPerSecond: 100, latencyMs: 20 })]
    expect(adaptToBoard(now, { lines, limits, nowMs: 6000 })).toBe(now)
    for (let nowMs = 7000; nowMs < 60_000; nowMs += 500) now = adaptToBoard(now, { lines, limits, nowMs })

    expect(now).toMatchObject({ requestsPerSecond: 1000, inFlight: 100 })
  })

  base('answers that get slow cut the requests in flight', () => {
    const quick = [line('a', { nightly: 60 }, { answersPerSecond: 100, latencyMs: 20 })]
    const slow = [line('a', { nightly: 60 }, { answersPerSecond: 100, latencyMs: 500 })]
    const known = adaptToBoard(state, { lines: quick, limits, nowMs: 5000 })

    expect(known.quietLatencyMs).toBe(20)
    expect(adaptToBoard(known, { lines: slow, limits, nowMs: 6000 }).inFlight).toBe(85)
  })

  base('a rate without bound gets one by trouble, and loses it again', () => {
    const open = firstState({ requestsPerSecond: unbounded, inFlight: 10 }, 0)
    let now = slowDown(open, { retryAfterMs: 0, answersPerSecond: 100, nowMs: 5000 })
    expect(now.requestsPerSecond).toBe(60)
    for (let nowMs = 8000; nowMs < 120_000; nowMs += 500) {
      now = adaptToBoard(now, { lines: [], limits: { requestsPerSecond: unbounded, inFlight: 10 }, nowMs })
    }

    expect(now.requestsPerSecond).toBe(unbounded)
  })

  base('backfill leaves room, and nearly all of it while somebody more urgent waits', () => {
    const waiting = [line('a', {}, { waiting: { ...none, manual: 3 } })]

    expect(rateLimitOf('nightly', { lines: waiting, requestsPerSecond: 100 })).toBe(100)
    expect(rateLimitOf('manual', { lines: waiting, requestsPerSecond: 100 })).toBe(90)
    expect(rateLimitOf('backfill', { lines: [], requestsPerSecond: 100 })).toBe(90)
    expect(rateLimitOf('backfill', { lines: waiting, requestsPerSecond: 100 })).toBe(10)
  })
})

const test = base.extend<{ openRedis: () => BudgetBoard; openPostgres: () => BudgetBoard }>({
  openRedis: async ({ redisUrl }, use) => {
    const opened: Redis[] = []
    const prefix = `{${randomUUID()}}:budget`
    await use(() => {
      const redis = new Redis(redisUrl, { maxRetriesPerRequest: 1 })
      opened.push(redis)
      return openRedisBoard({ redis, prefix })
    })
    for (const redis of opened) redis.disconnect()
  },
  openPostgres: async ({ warehouseUrl }, use) => {
    const pool = openPool({ databaseUrl: warehouseUrl, connectionsMax: 4, name: 'budget' })
    await use(() => openPostgresBoard({ pool }))
    await pool.end()
  },
})

function gateOn(board: BudgetBoard, limits: BudgetLimits): Budget {
  const gate = openGate({ board, limits, member: randomUUID(), clock: Date.now, sleep })
  onTestFinished(() => gate.close())
  return gate
}

function boardSuite(
  name: string,
  each: (body: (open: () => BudgetBoard) => Promise<void>, title: string) => void,
): void {
  describe(`the board in ${name}`, () => {
    each(async (open) => {
      const [a, b] = [open(), open()]
      await a.exchange(line('a', { nightly: 3 }))
      const seen = await b.exchange(line('b', { backfill: 1 }))

      expect(seen.lines.map(({ member }) => member).sort()).toEqual(['a', 'b'])
      expect(seen.state).toBeUndefined()
      await a.leave('a')
      expect((await b.exchange(line('b', {}))).lines.map(({ member }) => member)).toEqual(['b'])
    }, 'shows everybody the lines of all, and no more of those who left')

    each(async (open) => {
      const [a, b] = [open(), open()]
      const first = firstState({ requestsPerSecond: unbounded, inFlight: 10 }, 0)
      expect(await Promise.all([a.adapt(undefined, first), b.adapt(undefined, first)])).toContain(true)

      const cuts = await Promise.all(
        [a, b, a, b].map((board) => board.adapt(first, { ...first, version: 2, requestsPerSecond: 5 })),
      )

      expect(cuts.filter(Boolean)).toHaveLength(1)
      expect((await a.exchange(line('a', {}))).state).toEqual({ ...first, version: 2, requestsPerSecond: 5 })
    }, 'changes the state once for all who meet the same trouble')

    each(async (open) => {
      const boards = [open(), open(), open()]
      const draws = await Promise.all(Array.from({ length: 30 }, (_, index) => boards[index % 3]?.draw(7, 100)))

      // Thirty draws may reach into the next second, and there the count begins again.
      const granted = draws.reduce((sum, draw) => sum + (draw?.granted ?? 0), 0)
      expect(granted).toBeGreaterThanOrEqual(98)
      expect(granted).toBeLessThanOrEqual(200)
      expect(draws.every((draw) => draw !== undefined && draw.endsInMs <= 1001)).toBe(true)
    }, 'gives out no more of a second than there is, whoever draws')

    each(async (open) => {
      const gates = [
        gateOn(open(), { requestsPerSecond: unbounded, inFlight: 8 }),
        gateOn(open(), { requestsPerSecond: unbounded, inFlight: 8 }),
      ]
      let inFlight = 0
      let most = 0
      const answers: Array<() => void> = []
      const request = async (gate: Budget) => {
        await gate.enter('nightly', undefined)
        inFlight += 1
        most = Math.max(most, inFlight)
        await new Promise<void>((answered) => answers.push(answered))
        inFlight -= 1
        gate.leave('nightly', fine)
      }
      await expect.poll(() => gates.map((gate) => gate.state().members), { timeout: 5000 }).toEqual([2, 2])

      const all = Promise.all(gates.flatMap((gate) => Array.from({ length: 20 }, () => request(gate))))
      // Answered only when all places are taken, five times over: a ninth would have had every occasion to come in.
      for (let left = 40; left > 0; left -= 8) {
        await expect.poll(() => inFlight, { timeout: 5000 }).toBe(8)
        for (const answered of answers.splice(0)) answered()
      }
      await all

      expect(most).toBe(8)
    }, 'keeps two processes together within the requests in flight')

    each(async (open) => {
      const limits = { requestsPerSecond: unbounded, inFlight: 20 }
      const [met, other] = [gateOn(open(), limits), gateOn(open(), limits)]
      await met.enter('nightly', undefined)
      await other.enter('nightly', undefined)
      other.leave('nightly', fine)

      met.leave('nightly', { latencyMs: 5, overloaded: true, retryAfterMs: 4000 })

      await expect.poll(() => other.state().pausedUntilMs, { timeout: 5000 }).toBeGreaterThan(Date.now())
      expect(other.state().inFlightMax).toBe(12)
    }, 'lets one process slow down the others')
  })
}

boardSuite('memory', (body, title) => {
  base(title, async () => {
    const shared = createLocalBoardForMany()
    await body(() => shared)
  })
})
boardSuite('Redis', (body, title) => {
  test(title, async ({ openRedis }) => body(openRedis))
})
boardSuite('Postgres', (body, title) => {
  test(title, async ({ openPostgres }) => body(openPostgres))
})

/** The local board knows one member; for the suite it is told of all who ever wrote a line. */
function createLocalBoardForMany(): BudgetBoard {
  const board = createLocalBoard(Date.now)
  const lines = new Map<string, Line>()
  return {
    ...board,
    async exchange(mine) {
      lines.set(mine.member, mine)
      return { ...(await board.exchange(mine)), lines: [...lines.values()] }
    },
    leave: async (member) => void lines.delete(member),
  }
}

describe('the gate', () => {
  const limits = { requestsPerSecond: unbounded, inFlight: 1 }

  base('lets the most urgent in first, in the order they came', async () => {
    const gate = gateOn(createLocalBoard(Date.now), limits)
    await gate.enter('backfill', undefined)
    const order: string[] = []
    const wait = async (lane: 'nightly' | 'manual' | 'backfill', name: string) => {
      await gate.enter(lane, undefined)
      order.push(name)
      gate.leave(lane, fine)
    }

    const all = [wait('backfill', 'b1'), wait('manual', 'm1'), wait('nightly', 'n1'), wait('nightly', 'n2')]
    gate.leave('backfill', fine)
    await Promise.all(all)

    expect(order).toEqual(['n1', 'n2', 'm1', 'b1'])
  })

  base('who gives up leaves the queue and takes no place', async () => {
    const gate = gateOn(createLocalBoard(Date.now), limits)
    await gate.enter('nightly', undefined)
    const leaving = new AbortController()

    const waiting = gate.enter('nightly', leaving.signal)
    leaving.abort()

    await expect(waiting).rejects.toThrow('given up by its caller')
    gate.leave('nightly', fine)
    expect(gate.state().inFlight).toBe(0)
    expect(gate.enter('nightly', undefined)).toBeUndefined()
  })

  base('a long pause sends everybody back to the queue with the time to come again', async () => {
    const gate = gateOn(createLocalBoard(Date.now), limits)
    await gate.enter('nightly', undefined)
    const waiting = Promise.resolve(gate.enter('nightly', undefined)).catch((error: unknown) => error)

    gate.leave('nightly', { latencyMs: 1, overloaded: true, retryAfterMs: 600_000 })

    expect(await waiting).toBeInstanceOf(RetryLater)
    const late = await Promise.resolve(gate.enter('manual', undefined)).catch((error: unknown) => error)
    expect(late).toBeInstanceOf(RetryLater)
    expect((late as RetryLater).waitMs).toBeGreaterThan(590_000)
  })

  base('keeps to the requests of a second', async () => {
    const gate = gateOn(createLocalBoard(Date.now), { requestsPerSecond: 50, inFlight: 10 })
    const startedAtMs = Date.now()

    for (let request = 0; request < 120; request += 1) {
      await gate.enter('nightly', undefined)
      gate.leave('nightly', fine)
    }

    expect(Date.now() - startedAtMs).toBeGreaterThan(1900)
  })

  base('goes on with a small part of the budget when its board is away', async () => {
    const away: BudgetBoard = { ...createLocalBoard(Date.now), exchange: () => Promise.reject(new Error('gone')) }
    const gate = gateOn(away, { requestsPerSecond: unbounded, inFlight: 50 })

    await gate.enter('nightly', undefined)

    expect(gate.state()).toMatchObject({ inFlight: 1 })
  })

  base('closing lets nobody wait for ever', async () => {
    const gate = openGate({ board: createLocalBoard(Date.now), limits, member: 'a', clock: Date.now, sleep })
    await gate.enter('nightly', undefined)
    const waiting = Promise.resolve(gate.enter('nightly', undefined)).catch((error: unknown) => error)

    await gate.close()

    expect(await waiting).toBeInstanceOf(RetryLater)
  })
})
