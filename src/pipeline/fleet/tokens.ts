/**
 * The token protocol: the store that all processes share, and the decisions about its tokens. Pure.
 *
 * A token has a generation. A 401 refuses the generation that was sent and no other, so a late refusal of generation k
 * does not replace generation k+1. The first process that renews takes a lease in the store; every other caller, in this
 * process or another, waits for the next generation. A lease ends when the new token is saved, by release, or by time.
 */

import { HOUR, MINUTE, SECOND } from '../../base/time/units.ts'

/** `profileId` is our own id; without it, the name is that of the account's token. `account` is a digest, never a client id. */
export type TokenName = { readonly account: string; readonly profileId?: string | undefined }

export type Token = {
  readonly generation: number
  readonly secret: string
  /** Present only while it may be spent: taking a lease removes it from the store, so that no crash spends it twice. */
  readonly refreshSecret?: string | undefined
  readonly issuedAtMs: number
  readonly expiresAtMs: number
}

export type NewToken = Omit<Token, 'generation'>

/** An open circuit breaker: until `untilMs` the token is neither used nor renewed. */
export type Breaker = { readonly reason: string; readonly untilMs: number; readonly openings: number }

export type TokenState = {
  /** The newest generation that ever was, even when its token can no longer be decrypted. */
  readonly generation: number
  readonly token: Token | undefined
  readonly breaker: Breaker | undefined
  /** Whether a caller has seen this generation accepted: when a proven token is refused, it has expired or was revoked. */
  readonly proven: boolean
  /** How many generations in a row before this one no caller has seen accepted. */
  readonly unprovenBefore: number
}

/** The state of a name without a token. */
export const noTokenState: TokenState = {
  generation: 0,
  token: undefined,
  breaker: undefined,
  proven: false,
  unprovenBefore: 0,
}

/** The state right after a token was saved. */
export function unprovenStateOf(token: Token): TokenState {
  return { ...noTokenState, generation: token.generation, token }
}

export type Lease = { readonly holder: string; readonly generation: number; readonly token: Token | undefined }

export type LeaseResult =
  | { readonly kind: 'leased'; readonly lease: Lease }
  /** The store has a newer generation than the given one already. */
  | { readonly kind: 'newer'; readonly token: Token }
  | { readonly kind: 'busy' }
  | { readonly kind: 'broken'; readonly breaker: Breaker }

/**
 * Keeps tokens for all processes. Every method is one atomic step. A store must survive the death of any process at any
 * moment: a lease that its holder does not end expires after `leaseMs` by the store's own clock.
 */
export type TokenStore = {
  read(name: TokenName): Promise<TokenState>
  /** Asks for the right to renew generation `generation` (0: there is no token yet). */
  lease(name: TokenName, ask: { generation: number; leaseMs: number }): Promise<LeaseResult>
  /** Saves the next generation and ends the lease. Saves nothing and gives undefined when the lease was lost meanwhile. */
  save(name: TokenName, lease: Lease, token: NewToken): Promise<Token | undefined>
  /** Ends the lease after a failure, and stores nothing about the failure. */
  release(name: TokenName, lease: Lease): Promise<void>
  markProven(name: TokenName, generation: number): Promise<void>
  /** Opens the breaker, unless the store has a newer generation. */
  tripBreaker(name: TokenName, trip: { generation: number; breaker: Breaker }): Promise<void>
  /** Deletes all tokens of a profile, under every account. */
  eraseProfile(profileId: string): Promise<void>
}

const RENEW_AHEAD_MAX_MS = 3 * HOUR

/** A token is renewed before it expires: a fifth of its lifetime ahead, three hours at most. */
function renewAheadAtMs({ issuedAtMs, expiresAtMs }: Token): number {
  return expiresAtMs - Math.min((expiresAtMs - issuedAtMs) / 5, RENEW_AHEAD_MAX_MS)
}

/** Decides whether to use the token of the store. `refused` is the generation that upstream has just refused, 0 for none. */
export function decideToken(
  state: TokenState,
  refused: number,
  nowMs: number,
): 'use' | 'use-and-renew' | 'renew' | 'broken' {
  if (state.breaker !== undefined && nowMs < state.breaker.untilMs) return 'broken'
  const { token } = state
  if (token === undefined || token.generation <= refused || nowMs >= token.expiresAtMs) return 'renew'
  return nowMs < renewAheadAtMs(token) ? 'use' : 'use-and-renew'
}

const BREAKER_FIRST_MS = 15 * SECOND
const BREAKER_MAX_MS = 5 * MINUTE

/** The next opening of a breaker. Each in a row lasts twice as long, so a repaired account is used again within minutes. */
export function nextBreaker(reason: string, previous: Breaker | undefined, nowMs: number): Breaker {
  const openings = (previous?.openings ?? 0) + 1
  return { reason, openings, untilMs: nowMs + Math.min(BREAKER_FIRST_MS * 2 ** (openings - 1), BREAKER_MAX_MS) }
}
