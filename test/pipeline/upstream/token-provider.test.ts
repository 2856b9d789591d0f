import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Halted, Rejected, RetryLater, Unanswered } from '../../../src/base/errors.ts'
import { HOUR, MINUTE, SECOND } from '../../../src/base/time/units.ts'
import { noTokenState, type TokenName } from '../../../src/pipeline/fleet/tokens.ts'
import {
  accountOfFleet as account,
  failureOf,
  LIFETIME_MS,
  openFleet,
  profileOfFleet as profile,
} from '../../support/token-fleet.ts'

const lost = new Unanswered('lost')
const busy = new RetryLater('busy', { waitMs: 77 })
const refused = new Rejected('no', { status: 403 })
const halted = new Halted('refused for good')

describe('a renewal that fails', () => {
  test.for<[string, Error, TokenName, unknown]>([
    [
      'no answer, of the account',
      lost,
      account,
      { name: 'RetryLater', message: 'renew token: lost', waitMs: 10 * SECOND, cause: lost },
    ],
    ['no answer, of a profile', lost, profile, lost],
    ['busy, of the account', busy, account, busy],
    ['busy, of a profile', busy, profile, busy],
    ['a refusal, of the account', refused, account, refused],
    ['a refusal, of a profile', refused, profile, refused],
    ['a halt, of a profile', halted, profile, halted],
  ])('%s: fails as it must, and the next process may renew at once', async ([, error, name, expected]) => {
    const { provider, pauses, outcomes, tokenOf } = openFleet((_, number) => {
      if (number === 1) throw error
      return tokenOf(number)
    })

    expect(await failureOf(() => provider().get(name, 0, {}))).toMatchObject(expected as Error)
    expect(await provider().get(name, 0, {})).toMatchObject({ generation: 1, secret: 't2' })
    expect(pauses).toEqual([])
    const kind = name === account ? 'account' : 'profile'
    expect(outcomes).toEqual([`${kind} failed`, `${kind} obtained`])
  })

  test('says why, also when its lease cannot be given back', async () => {
    const release = () => Promise.reject(new Error('the store is away'))
    const { provider } = openFleet(
      () => {
        throw busy
      },
      () => ({ release }),
    )

    expect(await failureOf(() => provider().get(account, 0, {}))).toBe(busy)
  })

  test('is not shared with the next caller of the same process', async () => {
    const { provider, tokenOf } = openFleet((_, number) => {
      if (number === 1) throw busy
      return tokenOf(number)
    })
    const tokenProvider = provider()
    await failureOf(() => tokenProvider.get(account, 0, {}))

    expect(await tokenProvider.get(account, 0, {})).toMatchObject({ secret: 't2' })
  })

  test('of the account by a halt opens the breaker for every process, each time for twice as long', async () => {
    const { provider, store, clock, advance, obtained, outcomes } = openFleet(() => {
      throw halted
    })
    for (const [openings, seconds] of [15, 30, 60, 120, 240, 300, 300].entries()) {
      expect(await failureOf(() => provider().get(account, 0, {}))).toBeInstanceOf(Halted)
      const { breaker } = await store.read(account)
      expect(breaker).toMatchObject({ openings: openings + 1, untilMs: clock() + seconds * SECOND })
      advance(seconds * SECOND - 1)
      expect(await failureOf(() => provider().get(account, 0, {}))).toBeInstanceOf(Halted)
      expect(obtained).toHaveLength(openings + 1)
      advance(1)
    }
    expect(new Set(outcomes)).toEqual(new Set(['account halted']))
  })

  test('when its lease was lost meanwhile saves nothing, and is tried again', async () => {
    const { provider, store } = openFleet(undefined, () => ({ save: async () => undefined }))

    const message = 'renew token: the lease was lost meanwhile'
    const expected = { name: 'RetryLater', message, waitMs: SECOND }
    expect(await failureOf(() => provider().get(account, 0, {}))).toMatchObject(expected)
    expect(await store.read(account)).toMatchObject({ token: undefined })
  })
})

describe('a halted account', () => {
  test('is asked for once by each process until its breaker ends', async () => {
    const asks: string[] = []
    const { provider, clock } = openFleet(
      () => {
        throw halted
      },
      (memory) => ({
        read(name) {
          asks.push('read')
          return memory.read(name)
        },
        lease(name, ask) {
          asks.push('lease')
          return memory.lease(name, ask)
        },
      }),
    )
    const [first, other] = [provider(), provider()]
    const hint = `Check the account's credentials. Nothing is asked of it before ${new Date(clock() + 15 * SECOND).toISOString()}.`
    const expected = { name: 'Halted', message: 'account halted: refused for good', hint }
    expect(await failureOf(() => first.get(account, 0, {}))).toMatchObject(expected)
    asks.length = 0

    for (const one of [first, other, first, other])
      expect(await failureOf(() => one.get(account, 0, {}))).toMatchObject(expected)
    expect(asks).toEqual(['read'])
  })

  test('that another process halts after the store was read is not asked for a token, nor again after that', async () => {
    let leases = 0
    const { provider, store, obtained, clock } = openFleet(undefined, (memory) => ({
      read: async () => noTokenState,
      lease(name, ask) {
        leases += 1
        return memory.lease(name, ask)
      },
    }))
    const breaker = { reason: 'refused', openings: 1, untilMs: clock() + SECOND }
    await store.tripBreaker(account, { generation: 0, breaker })
    const late = provider()

    for (let ask = 0; ask < 2; ask += 1) expect(await failureOf(() => late.get(account, 0, {}))).toBeInstanceOf(Halted)
    expect([leases, obtained]).toEqual([1, []])
  })
})

test('an account and each of its profiles have tokens of their own', async () => {
  const { provider } = openFleet()
  const tokenProvider = provider()
  const names = [account, profile, { account: 'a', profileId: '8' }, { account: 'b' }]
  const ask = () => Promise.all(names.map((name) => tokenProvider.get(name, 0, {})))

  expect((await ask()).map(({ secret }) => secret)).toEqual(['t1', 't2', 't3', 't4'])
  expect(await ask()).toMatchObject(names.map((_, index) => ({ secret: `t${index + 1}` })))
})

describe('the old token, whose refresh token may be spent', () => {
  test.for<[string, number, number, boolean]>([
    ['lives, and nobody refused it', 9 * HOUR, 0, true],
    ['lives for a millisecond more', LIFETIME_MS - 1, 0, true],
    ['ends now', LIFETIME_MS, 0, false],
    ['is over', LIFETIME_MS + 1, 0, false],
    ['lives, and was refused', HOUR, 1, false],
  ])('that %s: by %i ms with refusal of %i handed on: %o', async ([, ageMs, refusal, isHandedOn]) => {
    const { provider, obtained, advance } = openFleet()
    const tokenProvider = provider()
    await tokenProvider.get(profile, 0, {})
    advance(ageMs)
    await tokenProvider.get(profile, refusal, {})
    await tokenProvider.close()

    expect(obtained).toHaveLength(2)
    expect(obtained[1]?.previous?.refreshSecret).toBe(isHandedOn ? 'r1' : undefined)
  })
})

test('a renewal ahead of time that fails is tried again after a minute, and not before', async () => {
  const { provider, obtained, advance, tokenOf } = openFleet((_, number) => {
    if (number > 1) throw lost
    return tokenOf(number)
  })
  const tokenProvider = provider()
  await tokenProvider.get(account, 0, {})
  advance(9 * HOUR)
  const idle = () => new Promise((turned) => setImmediate(turned))
  const askAfter = async (ms: number) => {
    advance(ms)
    expect(tokenProvider.get(account, 0, {})).toMatchObject({ secret: 't1' })
    await idle()
    return obtained.length
  }

  expect(await askAfter(0)).toBe(2)
  expect(await askAfter(MINUTE - 1)).toBe(2)
  expect(await askAfter(1)).toBe(3)
  expect(await askAfter(MINUTE - 1)).toBe(3)
})

test('a renewal ahead of time that is still under way after a minute is not begun again', async () => {
  const slow = Promise.withResolvers<void>()
  const { provider, obtained, advance, tokenOf } = openFleet(async (_, number) => {
    if (number > 1) await slow.promise
    return tokenOf(number)
  })
  const tokenProvider = provider()
  await tokenProvider.get(account, 0, {})
  advance(9 * HOUR)
  tokenProvider.get(account, 0, {})
  await vi.waitUntil(() => obtained.length === 2)

  advance(2 * MINUTE)
  tokenProvider.get(account, 0, {})
  await new Promise((turned) => setImmediate(turned))
  slow.resolve()

  expect(obtained).toHaveLength(2)
})

describe('a lease that another process holds', () => {
  test('is polled at pauses that grow to half a second, and given up after 45 s', async () => {
    const { provider, pauses } = openFleet(undefined, () => ({ lease: async () => ({ kind: 'busy' }) }))

    const message = 'renew token: another process has been at it for too long'
    const expected = { name: 'RetryLater', message, waitMs: 10_000 }
    expect(await failureOf(() => provider().get(account, 0, {}))).toMatchObject(expected)
    expect(pauses.slice(0, 3)).toEqual([30, 45, 67.5])
    expect(pauses.toSorted((a, b) => a - b)).toEqual(pauses)
    expect(pauses.at(-1)).toBe(500)
    const waitedMs = pauses.reduce((sum, ms) => sum + ms, 0)
    expect(waitedMs).toBeGreaterThanOrEqual(45_000)
    expect(waitedMs).toBeLessThan(45_500)
  })

  test('and died with it is taken over when it ends, and its token is adopted when it does not', async () => {
    const { provider, store, pauses, outcomes, tokenOf } = openFleet()
    await store.lease(account, { generation: 0, leaseMs: 3 * SECOND })
    expect(await provider().get(account, 0, {})).toMatchObject({ generation: 1 })
    expect(pauses.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(3.6 * SECOND)

    const held = await store.lease(account, { generation: 1, leaseMs: 3 * SECOND })
    const waits = provider()
    const waiting = waits.get(account, 1, {})
    if (held.kind === 'leased') await store.save(account, held.lease, { ...tokenOf(9), secret: 'theirs' })
    expect(await waiting).toMatchObject({ generation: 2, secret: 'theirs' })
    expect(waits.get(account, 1, {})).toMatchObject({ secret: 'theirs' })
    expect(outcomes).toEqual(['account obtained', 'account adopted'])
  })

  test('keeps a registration from saving its token, which else is stored and used', async () => {
    const { provider, store, tokenOf, obtained } = openFleet()
    const tokenProvider = provider()
    await store.lease(profile, { generation: 0, leaseMs: SECOND })
    await tokenProvider.save(profile, tokenOf(5))
    expect((await store.read(profile)).token).toBeUndefined()

    const other = { account: 'a', profileId: '8' }
    await tokenProvider.save(other, tokenOf(6))
    expect(tokenProvider.get(other, 0, {})).toMatchObject({ generation: 1, secret: 't6' })
    expect(obtained).toEqual([])
  })
})

test('upstream has less time for a token than its lease lasts', async () => {
  const leases: number[] = []
  const timeout = vi.spyOn(AbortSignal, 'timeout')
  onTestFinished(() => timeout.mockRestore())
  const { provider, obtained } = openFleet(undefined, (memory) => ({
    lease(name, ask) {
      leases.push(ask.leaseMs)
      return memory.lease(name, ask)
    },
  }))
  const end = new AbortController()
  timeout.mockReturnValueOnce(end.signal)
  await provider().get(account, 0, {})

  expect(timeout.mock.calls[0]?.[0]).toBeLessThan(leases[0] ?? 0)
  end.abort('time is up')
  expect(obtained[0]?.signal.reason).toBe('time is up')
})

test('a token that was refused is never given out again: a shared renewal of an older one is followed by another', async () => {
  const first = Promise.withResolvers<void>()
  const { provider, obtained, tokenOf } = openFleet(async (_, number) => {
    if (number === 1) await first.promise
    return tokenOf(number)
  })
  const tokenProvider = provider()
  const early = tokenProvider.get(account, 0, {})
  const late = tokenProvider.get(account, 1, {})
  first.resolve()

  expect(await early).toMatchObject({ generation: 1 })
  expect(await late).toMatchObject({ generation: 2 })
  expect(obtained).toHaveLength(2)
})

test('a refusal of a generation that the store is not near to ends after three renewals', async () => {
  const { provider, obtained } = openFleet()

  const message = 'renew token: others were given the token that was refused'
  const expected = { name: 'RetryLater', message, waitMs: SECOND }
  expect(await failureOf(() => provider().get(account, 100, {}))).toMatchObject(expected)
  expect(obtained).toHaveLength(3)
})

test('a token that has expired is replaced, though nobody refused it and another process made it', async () => {
  const { provider, advance } = openFleet()
  await provider().get(account, 0, {})
  advance(LIFETIME_MS)

  expect(await provider().get(account, 0, {})).toMatchObject({ generation: 2 })
})
