import { isIPv6 } from 'node:net'
import { LRUCache } from 'lru-cache'
import { MINUTE, SECOND } from '../../base/time/units.ts'
import { tooManyRequests } from './request-error.ts'

export type RefusalLimits = {
  /** Wrong secrets a minute from one address; for one account, from all addresses, ten times as many. */
  refusedLoginsPerMinute: number
  /** Unknown tokens a minute from one address. Beyond it only cached tokens are taken from there. */
  refusedTokensPerMinute: number
}

/** `accountId`: of the key that the caller names; undefined when there is no such key. */
type Login = { address: string; accountId: string | undefined }

export type RefusalPacing = ReturnType<typeof createRefusalPacing>

type RefusalPacingOptions = RefusalLimits & {
  clock: () => number
  /** Called once a minute for each address and account that reaches a limit. */
  onLimit(limited: { address: string } | { accountId: string }): void
}

const tenfold = 10

/**
 * Paces callers who guess, and no caller who knows: beyond the limit of an address or an account, each address may still be wrong
 * about each account once a minute. So a right secret is taken from every address that was not wrong about it just before.
 */
export function createRefusalPacing({ clock, onLimit, ...limits }: RefusalPacingOptions) {
  const addresses = createMinuteCounts(clock)
  const accounts = createMinuteCounts(clock)
  const pairs = createMinuteCounts(clock)
  const tokens = createMinuteCounts(clock)
  const { refusedLoginsPerMinute: loginsMax, refusedTokensPerMinute: tokensMax } = limits

  const countRefused = (group: string, { address, accountId }: Login) => {
    if (addresses.add(group) === loginsMax) onLimit({ address })
    if (accountId === undefined) return
    pairs.add(`${accountId} ${group}`)
    if (accounts.add(accountId) === tenfold * loginsMax) onLimit({ accountId })
  }
  const judgeLogin = (login: Login, isRight: () => boolean): boolean => {
    const group = addressGroupOf(login.address)
    const { accountId } = login
    const isLimited =
      addresses.read(group) >= loginsMax || (accountId !== undefined && accounts.read(accountId) >= tenfold * loginsMax)
    if (isLimited && (accountId === undefined || pairs.read(`${accountId} ${group}`) > 0)) {
      addresses.add(group)
      throw refusal(Math.max(addresses.leftMs(group), accountId === undefined ? 0 : accounts.leftMs(accountId)))
    }
    if (isRight()) return true
    countRefused(group, login)
    return false
  }
  return {
    /** Whether the secret is right. Throws 429 instead of comparing where too many were wrong. */
    judgeLogin,
    /** Before a key is looked up: throws 429 for an address that does nothing but guess. */
    admitLogin: (address: string) => {
      const group = addressGroupOf(address)
      if (addresses.read(group) >= tenfold * loginsMax) throw refusal(addresses.leftMs(group))
    },
    /** Before a token is looked up: throws 429 for an address that sent too many unknown ones. */
    admitToken: (address: string) => {
      const group = addressGroupOf(address)
      if (tokens.read(group) >= tokensMax) throw refusal(tokens.leftMs(group))
    },
    countRefusedToken: (address: string) => {
      if (tokens.add(addressGroupOf(address)) === tokensMax) onLimit({ address })
    },
  }
}

const refusal = (leftMs: number) =>
  tooManyRequests('too many requests were refused: wrong secrets or unknown tokens', Math.ceil(leftMs / SECOND))

/** The addresses that count as one caller: an IPv4 address, or the /64 of an IPv6 address, which one household or server has whole. */
export function addressGroupOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const plain = address.split('%', 1)[0] ?? ''
  if (!isIPv6(plain)) return address
  const [before = '', after] = plain.split('::', 2)
  const head = before === '' ? [] : before.split(':')
  const tail = after ? after.split(':') : []
  const missing = after === undefined ? 0 : 8 - head.length - tail.length - (plain.includes('.') ? 1 : 0)
  const parts = [...head, ...Array<string>(missing).fill('0'), ...tail]
  return `${parts
    .slice(0, 4)
    .map((part) => Number.parseInt(part, 16).toString(16))
    .join(':')}::/64`
}

/** The keys that were counted the longest ago are forgotten first. */
const keysMax = 50_000

export function createMinuteCounts(clock: () => number) {
  const minutes = new LRUCache<string, { count: number; untilMs: number }>({ max: keysMax })
  const current = (key: string) => {
    const minute = minutes.get(key)
    const leftMs = (minute?.untilMs ?? 0) - clock()
    return leftMs > 0 && leftMs <= MINUTE ? minute : undefined // a clock may be set back
  }
  return {
    /** How often the key was counted in its minute, which began with its first count. */
    read: (key: string) => current(key)?.count ?? 0,
    /** Counts the key once more, and returns its count. */
    add: (key: string) => {
      const minute = current(key) ?? { count: 0, untilMs: clock() + MINUTE }
      minute.count += 1
      minutes.set(key, minute)
      return minute.count
    },
    /** How long until the key's minute ends. */
    leftMs: (key: string) => Math.max(0, (current(key)?.untilMs ?? 0) - clock()),
  }
}
