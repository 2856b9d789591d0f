/**
 * What the token protocol is made of: the shelf on which tokens lie, and the decisions about them. Pure.
 *
 * A token has a generation. A refusal (401) speaks about the generation that was sent and about no other, so a late
 * refusal of generation k never costs generation k+1. Whoever renews first takes a lease on the shelf; everybody else,
 * in this process or another, waits for the next generation. A lease ends by storing, by releasing, or by time.
 */

/** `profileId` is our own id; absent, the name is the account's own token. `account` is a digest, never a client id. */
export type TokenName = { readonly account: string; readonly profileId?: string | undefined }

export type Token = {
  readonly generation: number
  readonly secret: string
  /** Present only while it may still be spent: taking a lease takes it off the shelf, so no crash spends it twice. */
  readonly refreshSecret?: string | undefined
  readonly issuedAtMs: number
  readonly expiresAtMs: number
}

export type NewToken = Omit<Token, 'generation'>

/** An open breaker: nothing is asked with this token, and nobody tries to renew it, until `untilMs`. */
export type Breaker = { readonly reason: string; readonly untilMs: number; readonly openings: number }

export type Shelved = {
  /** The newest generation there was, whether or not its token can still be read. */
  readonly generation: number
  readonly token: Token | undefined
  readonly breaker: Breaker | undefined
  /** Whether some caller has seen this generation accepted: a proven token that is refused has merely died. */
  readonly proven: boolean
  /** How many generations in a row before this one nobody has seen accepted. */
  readonly unprovenBefore: number
}

export type Lease = { readonly holder: string; readonly generation: number; readonly token: Token | undefined }

export type LeaseAnswer =
  | { readonly kind: 'leased'; readonly lease: Lease }
  /** A newer generation than the one given is there already. */
  | { readonly kind: 'newer'; readonly token: Token }
  | { readonly kind: 'busy' }
  | { readonly kind: 'broken'; readonly breaker: Breaker }

/**
 * Where tokens lie between calls and processes. Every method is one atomic step. A shelf must survive the death of any
 * process at any instant: a lease that nobody ends is free again after `leaseMs` by the shelf's own clock.
 */
export type TokenShelf = {
  read(name: TokenName): Promise<Shelved>
  /** Asks to be the one who renews generation `generation` (0: nothing there yet). */
  lease(name: TokenName, ask: { generation: number; leaseMs: number }): Promise<LeaseAnswer>
  /** Stores the next generation and ends the lease. Undefined when the lease was lost meanwhile: then nothing is stored. */
  store(name: TokenName, lease: Lease, token: NewToken): Promise<Token | undefined>
  /** Ends the lease and remembers nothing of the failure. */
  release(name: TokenName, lease: Lease): Promise<void>
  prove(name: TokenName, generation: number): Promise<void>
  /** Opens the breaker unless a newer generation is there. */
  trip(name: TokenName, trip: { generation: number; breaker: Breaker }): Promise<void>
  /** Forgets every token of a profile, under every account. */
  erase(profileId: string): Promise<void>
}

const MINUTE_MS = 60_000

/** A token is renewed before its end: a fifth of its life, at most three hours, ahead. */
export function renewEarlyAtMs(token: Token): number {
  const lifeMs = token.expiresAtMs - token.issuedAtMs
  return token.expiresAtMs - Math.min(lifeMs / 5, 180 * MINUTE_MS)
}

export type TokenDecision = 'use' | 'use-and-renew' | 'renew' | 'broken'

/** What to do with what lies on the shelf. `refused` is the generation upstream has just turned down, 0 for none. */
export function decideToken(shelved: Shelved, refused: number, nowMs: number): TokenDecision {
  if (shelved.breaker !== undefined && nowMs < shelved.breaker.untilMs) return 'broken'
  const { token } = shelved
  if (token === undefined || token.generation <= refused || nowMs >= token.expiresAtMs) return 'renew'
  return nowMs < renewEarlyAtMs(token) ? 'use' : 'use-and-renew'
}

const BREAKER_FIRST_MS = 15_000
const BREAKER_LONGEST_MS = 5 * MINUTE_MS

/** The next opening of a breaker: each one in a row lasts twice as long, so a mended account is found within minutes. */
export function openBreaker(reason: string, previous: Breaker | undefined, nowMs: number): Breaker {
  const openings = (previous?.openings ?? 0) + 1
  return { reason, openings, untilMs: nowMs + Math.min(BREAKER_FIRST_MS * 2 ** (openings - 1), BREAKER_LONGEST_MS) }
}
