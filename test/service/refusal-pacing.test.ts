import { describe, expect, test } from 'vitest'
import { MINUTE } from '../../src/base/time/units.ts'
import { createMinuteCounts, createRefusalPacing } from '../../src/service/http/refusal-pacing.ts'

const LOGINS_MAX = 2
const TOKENS_MAX = 3

function open() {
  const time = { nowMs: 1_000_000 }
  const limited: object[] = []
  const pacing = createRefusalPacing({
    refusedLoginsPerMinute: LOGINS_MAX,
    refusedTokensPerMinute: TOKENS_MAX,
    clock: () => time.nowMs,
    onLimit: (limit) => void limited.push(limit),
  })
  /** Whether the secret was right, or the status of the refusal. */
  const login = (address: string, accountId: string | undefined, right = false): unknown =>
    refusedFor(() => pacing.judgeLogin({ address, accountId }, () => right))
  return { time, limited, pacing, login }
}

function refusedFor(call: () => unknown): unknown {
  try {
    return call()
  } catch (error) {
    return String(Object(error).status ?? error)
  }
}

describe('wrong secrets', () => {
  test('from one address are compared up to the limit, and beyond it once a minute for each account', () => {
    const { login } = open()
    expect([login('1.1.1.1', 'a'), login('1.1.1.1', 'a')]).toEqual([false, false])

    expect(login('1.1.1.1', 'a', true)).toBe('429')
    expect([login('1.1.1.1', 'b'), login('1.1.1.1', 'b', true)]).toEqual([false, '429'])
    expect(login('1.1.1.1', 'c', true)).toBe(true)
    expect(login('1.1.1.1', undefined)).toBe('429')
    expect(login('2.2.2.2', 'a', true)).toBe(true)
  })

  test('about one account are compared ten times as often, from all addresses together', () => {
    const { login } = open()
    const addresses = Array.from({ length: 10 * LOGINS_MAX }, (_, index) => `9.9.9.${index}`)
    const last = addresses.at(-1) ?? ''
    expect(addresses.slice(0, -1).map((address) => login(address, 'a'))).not.toContain('429')
    expect(login('9.9.9.0', 'a', true)).toBe(true)
    expect(login(last, 'a')).toBe(false)

    expect(login('9.9.9.0', 'a', true)).toBe('429')
    expect(login('9.9.9.0', 'b', true)).toBe(true)
    expect(login('8.8.8.8', 'a', true)).toBe(true)
  })

  test('are counted for a minute from the first', () => {
    const { login, time } = open()
    login('1.1.1.1', 'a')
    time.nowMs += MINUTE - 1
    login('1.1.1.1', 'a')
    expect(login('1.1.1.1', 'a', true)).toBe('429')

    time.nowMs += 1
    expect(login('1.1.1.1', 'a', true)).toBe(true)
  })

  test('report an address and an account once, when the limit is reached', () => {
    const { login, limited } = open()
    for (let times = 0; times < 3; times += 1) login('1.1.1.1', `account-${times}`)
    expect(limited).toEqual([{ address: '1.1.1.1' }])

    for (let index = 0; index <= 10 * LOGINS_MAX; index += 1) login(`9.9.9.${index}`, 'a')
    expect(limited).toEqual([{ address: '1.1.1.1' }, { accountId: 'a' }])

    // A key that nobody has is of no account.
    for (let index = 0; index <= 10 * LOGINS_MAX; index += 1) login(`7.7.7.${index}`, undefined)
    expect(limited).toHaveLength(2)
  })

  test('without an end keep an address from being looked up', () => {
    const { login, pacing } = open()
    for (let times = 1; times < 10 * LOGINS_MAX; times += 1) login('1.1.1.1', undefined)
    expect(refusedFor(() => pacing.admitLogin('1.1.1.1'))).toBeUndefined()

    login('1.1.1.1', undefined)
    expect(refusedFor(() => pacing.admitLogin('1.1.1.1'))).toBe('429')
    expect(refusedFor(() => pacing.admitLogin('1.1.1.2'))).toBeUndefined()
  })
})

test('unknown tokens are looked up to the limit of their address', () => {
  const { pacing, limited } = open()
  for (let times = 1; times < TOKENS_MAX; times += 1) pacing.countRefusedToken('1.1.1.1')
  expect(refusedFor(() => pacing.admitToken('1.1.1.1'))).toBeUndefined()
  expect(limited).toEqual([])

  pacing.countRefusedToken('1.1.1.1')
  expect(refusedFor(() => pacing.admitToken('1.1.1.1'))).toBe('429')
  expect(limited).toEqual([{ address: '1.1.1.1' }])
})

test('a minute of counts begins with the first, ends with its time, and with a clock that is set back', () => {
  let nowMs = 5000
  const counts = createMinuteCounts(() => nowMs)
  expect([counts.read('a'), counts.leftMs('a')]).toEqual([0, 0])
  expect([counts.add('a'), counts.add('a'), counts.add('b')]).toEqual([1, 2, 1])
  nowMs += 20_000
  expect([counts.read('a'), counts.leftMs('a'), counts.add('a')]).toEqual([2, 40_000, 3])

  nowMs += 40_000
  expect([counts.read('a'), counts.leftMs('a'), counts.add('a'), counts.leftMs('a')]).toEqual([0, 0, 1, MINUTE])
  nowMs -= 1
  expect(counts.read('a')).toBe(0)
})
