import { describe, expect, test } from 'vitest'
import { operations } from '../../../src/base/contract/operations.ts'
import { Halted, NotThere, Rejected, RetryLater, Unanswered } from '../../../src/base/errors.ts'
import { HOUR, MINUTE } from '../../../src/base/time/units.ts'
import type { NewToken, TokenName } from '../../../src/pipeline/fleet/tokens.ts'
import { AuthorizedSender } from '../../../src/pipeline/upstream/authorized-sender.ts'
import { AttemptError, type OperationCall, type Sender } from '../../../src/pipeline/upstream/sender.ts'
import {
  accountOfFleet as account,
  failureOf,
  openFleet,
  profileOfFleet as profile,
} from '../../support/token-fleet.ts'

describe('a token that upstream accepted', () => {
  test('is marked in the store once, by its generation; a profile’s token is not', async () => {
    const marked: Array<[TokenName, number]> = []
    const { provider } = openFleet(undefined, () => ({ markProven: async (...it) => void marked.push(it) }))
    const tokenProvider = provider()
    const first = await tokenProvider.get(account, 0, {})
    tokenProvider.markAccepted(account, first)
    tokenProvider.markAccepted(account, first)
    tokenProvider.markAccepted(profile, await tokenProvider.get(profile, 0, {}))
    const second = await tokenProvider.get(account, 1, {})
    tokenProvider.markAccepted(account, first) // a late answer to the old token says nothing of the new one
    expect(marked).toEqual([[account, 1]])
    tokenProvider.markAccepted(account, second)

    expect(marked).toEqual([
      [account, 1],
      [account, 2],
    ])
  })

  test('ends the count of generations in a row that nobody saw accepted', async () => {
    const { provider, store } = openFleet()
    const [tokenProvider, other] = [provider(), provider()]
    const unproven = async () => {
      const { token } = await store.read(account)
      return token && tokenProvider.consecutiveUnproven(account, token)
    }
    const first = await tokenProvider.get(account, 0, {})
    expect(await unproven()).toBe(1)
    await tokenProvider.get(account, 1, {})
    expect(await unproven()).toBe(2)
    expect(await tokenProvider.consecutiveUnproven(account, first)).toBe(0)
    other.markAccepted(account, await other.get(account, 0, {}))
    await other.close()
    expect(await unproven()).toBe(0)
    await tokenProvider.get(account, 2, {})
    expect(await unproven()).toBe(1)
  })

  test('is accepted, whether the store hears of it or not', async () => {
    const { provider } = openFleet(undefined, () => ({ markProven: () => Promise.reject(new Error('away')) }))
    const tokenProvider = provider()
    tokenProvider.markAccepted(account, await tokenProvider.get(account, 0, {}))

    await expect(tokenProvider.close()).resolves.toBeUndefined()
  })
})

const unauthorized = () => new AttemptError({ kind: 'renew' })
const isProbe = ({ operation }: Pick<OperationCall<unknown>, 'operation'>) => operation.name === 'searchProfiles'
type Sent = Pick<OperationCall<unknown>, 'operation' | 'identity' | 'secrets'>

/** An authorized sender whose requests `answer` refuses by throwing. */
function openSender(
  answer: (call: Sent, number: number) => unknown,
  obtain?: (number: number, made: NewToken) => NewToken,
) {
  const fleet = openFleet((_, number) => {
    const made = fleet.tokenOf(number)
    return obtain ? obtain(number, made) : made
  })
  const sent: Sent[] = []
  const sender = async (call: Sent) => {
    sent.push(call)
    return answer(call, sent.length)
  }
  const tokens = fleet.provider()
  const parts = { sender: sender as Sender, tokens, account: 'a', clock: fleet.clock } // an answer of any type will do
  const authorized = new AuthorizedSender(parts)
  const call = (body?: string) =>
    authorized.asAccount({
      operation: operations.scoresOf,
      externalId: 'ada',
      lane: 'manual',
      body,
      parse: () => 'read',
    })
  const pushAs = () =>
    authorized.asProfile(
      { profileId: '7', externalId: 'ada' },
      { operation: operations.uploadLogs, lane: 'manual', body: '[]', parse: () => 1 },
    )
  return { ...fleet, tokens, sent, call, pushAs, probes: () => sent.filter(isProbe).length }
}

test('each call carries the token of its caller, and names token and person as what no message may carry', async () => {
  const { call, pushAs, sent } = openSender(() => 'fine')
  await call()
  await pushAs()

  expect(sent.map(({ identity, secrets }) => [identity, secrets])).toEqual([
    [
      ['authorization', 'account t1'],
      ['t1', 'ada'],
    ],
    [
      ['authorization', 'profile t2'],
      ['t2', 'ada'],
    ],
  ])
})

test('a halt of an older generation leaves the newer one alone', async () => {
  const { provider, store } = openFleet()
  const tokenProvider = provider()
  await tokenProvider.get(account, 0, {})
  await tokenProvider.get(account, 1, {})

  await tokenProvider.halt(account, 1, 'refused')
  expect(await store.read(account)).toMatchObject({ generation: 2, breaker: undefined })
  await tokenProvider.halt(account, 2, 'refused')
  expect(await store.read(account)).toMatchObject({ breaker: { reason: 'refused' } })
})

test('an accepted call proves its token to the store, and a failed one does not', async () => {
  const { call, store, tokens } = openSender((_, number) => {
    if (number === 1) throw new RetryLater('busy', { waitMs: 1 })
    return 'fine'
  })
  await failureOf(call as never)
  expect(await store.read(account)).toMatchObject({ generation: 1, proven: false })
  await call()
  await tokens.close()

  expect(await store.read(account)).toMatchObject({ generation: 1, proven: true })
})

describe('an account token that upstream refuses', () => {
  test.for([
    [0, 1],
    [MINUTE - 1, 1],
    [MINUTE, 0],
    [HOUR, 0],
  ] as const)('%i ms after it was issued: %i checks before it is replaced', async ([ageMs, checks]) => {
    const { call, advance, probes, tokens, obtained } = openSender(({ identity }) => {
      if (String(identity).includes('t1')) throw unauthorized()
      return 'fine'
    })
    await tokens.get(account, 0, {})
    advance(ageMs)

    expect(await call()).toBe('fine')
    expect(probes()).toBe(checks)
    expect(obtained).toHaveLength(2)
  })

  test.for<[string, () => unknown, unknown, number]>([
    ['takes the token', () => 'a page', { name: 'Rejected', status: 401 }, 1],
    [
      'knows the caller, and refuses otherwise',
      () => new Rejected('no', { status: 403 }),
      { name: 'Rejected', status: 401 },
      1,
    ],
    ['knows the caller, and not what it asks for', () => new NotThere('no'), { name: 'Rejected', status: 401 }, 1],
    ['is busy', () => new RetryLater('busy', { waitMs: 5 }), { name: 'RetryLater', waitMs: 5 }, 1],
    ['gives no answer', () => new Unanswered('lost'), { name: 'Unanswered', message: 'lost' }, 1],
    [
      'refuses it too, and its successor',
      unauthorized,
      { name: 'Halted', message: 'account halted: upstream refuses the account token it has only just given out' },
      2,
    ],
  ])('the call fails as the check shows when the check %s', async ([, checked, expected, tokensMade]) => {
    const { call, obtained, store } = openSender((sent) => {
      const outcome = isProbe(sent) ? checked() : unauthorized()
      if (outcome instanceof Error) throw outcome
      return outcome
    })
    const failure = await failureOf(call as never)

    expect(failure).toMatchObject(expected as Error)
    expect(obtained).toHaveLength(tokensMade)
    expect((await store.read(account)).breaker !== undefined).toBe(failure instanceof Halted)
  })

  test('is checked once for all who meet the refusal, and again for the next refusal', async () => {
    const { call, probes } = openSender((sent) => {
      if (!isProbe(sent)) throw unauthorized()
      return 'a page'
    })
    await Promise.all(Array.from({ length: 20 }, () => failureOf(call as never)))
    expect(probes()).toBe(1)
    await failureOf(call as never)

    expect(probes()).toBe(2)
  })

  test('is renewed three times for one call, no more, though each new one is old already', async () => {
    const old = (_: number, made: NewToken) => ({ ...made, issuedAtMs: made.issuedAtMs - HOUR })
    const { call, obtained, sent } = openSender(() => {
      throw unauthorized()
    }, old)

    const message = 'call scoresOf: upstream refuses one new token after the other'
    expect(await failureOf(call as never)).toMatchObject({ name: 'RetryLater', message, waitMs: 10_000 })
    expect(obtained).toHaveLength(4)
    expect(sent).toHaveLength(4)
  })

  test('a write that is refused with a token that lives was not looked at: it is unanswered, a read is rejected', async () => {
    const { call } = openSender((sent) => {
      if (!isProbe(sent)) throw unauthorized()
      return 'a page'
    })

    const message = 'call scoresOf: upstream refuses a new account token for this profile (status 401)'
    const hint = 'The account itself is not refused. Ask upstream what is wrong with this profile.'
    expect(await failureOf(() => call('[]') as never)).toMatchObject({ name: 'Unanswered', message, hint })
    expect(await failureOf(() => call() as never)).toMatchObject({ name: 'Rejected', status: 401, message, hint })
  })

  test.for([new Unanswered('lost'), new AttemptError({ kind: 'give-up', problem: new Unanswered('busy') })])(
    'is replaced once when the call fails otherwise with its successor: %s',
    async (error) => {
      const { call, obtained, advance, tokens } = openSender((sent) => {
        if (isProbe(sent)) return 'a page'
        throw String(sent.identity).includes('t1') ? unauthorized() : error
      })
      await tokens.get(account, 0, {})
      advance(HOUR)

      expect(await failureOf(call as never)).toBe(error)
      expect(obtained).toHaveLength(2)
    },
  )
})

test('a profile’s token is renewed twice, and its refusals halt nobody', async () => {
  const { pushAs, obtained, probes, store } = openSender(() => {
    throw unauthorized()
  })

  expect(await failureOf(pushAs as never)).toBeInstanceOf(Unanswered)
  expect(obtained.map(({ name, externalId }) => [name.profileId, externalId])).toEqual(Array(3).fill(['7', 'ada']))
  expect(probes()).toBe(0)
  expect((await store.read(account)).breaker).toBeUndefined()
})
