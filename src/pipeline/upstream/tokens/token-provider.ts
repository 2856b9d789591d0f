import { LRUCache } from 'lru-cache'
import { Halted, RetryLater, Unanswered } from '../../../base/errors.ts'
import { onAbort } from '../../../base/on-abort.ts'
import type { Sleep } from '../../../base/sleep.ts'
import { MINUTE, SECOND } from '../../../base/time/units.ts'
import {
  type Breaker,
  decideToken,
  type Lease,
  type NewToken,
  nextBreaker,
  noTokenState,
  type Token,
  type TokenName,
  type TokenState,
  type TokenStore,
  unprovenStateOf,
} from '../../fleet/tokens.ts'
import type { Telemetry } from '../telemetry.ts'

/** `externalId` is needed to ask upstream for the token of a profile; `signal` ends the caller's wait. */
type TokenRequest = { readonly externalId?: string | undefined; readonly signal?: AbortSignal | undefined }

export type ObtainRequest = {
  readonly name: TokenName
  /** The token to be replaced, while upstream still accepts it: its refresh token may be spent. */
  readonly previous: Token | undefined
  readonly externalId: string | undefined
  readonly signal: AbortSignal
}

type TokenProviderDeps = {
  readonly store: TokenStore
  readonly telemetry: Telemetry
  readonly clock: () => number
  readonly random: () => number
  readonly sleep: Sleep
  /** Gets a new token from upstream. Throws `Halted` when upstream refuses the credentials of the account. */
  readonly obtain: (request: ObtainRequest) => Promise<NewToken>
}

/** Shorter than a lease, so that a lease expires only when its process died. */
const OBTAIN_TIMEOUT_MS = 15 * SECOND
const LEASE_MS = 20 * SECOND
const OTHER_RENEWAL_WAIT_MAX_MS = 45 * SECOND
const POLL_MS = 30
const POLL_MAX_MS = 500
const RENEW_AHEAD_RETRY_MS = MINUTE
const WAIT_AFTER_FAILURE_MS = 10 * SECOND
const TOKENS_CACHED_MAX = 20_000
const SHARED_RENEWALS_MAX = 3

type CachedToken = TokenState & { readonly renewAheadAgainAtMs: number }
type RenewalRequest = { readonly generation: number; readonly refused: number; readonly externalId: string | undefined }
type RenewAheadRequest = {
  readonly name: TokenName
  readonly cached: CachedToken
  readonly token: Token
  readonly externalId: string | undefined
}

/**
 * Gives out tokens and has each generation renewed once: by one caller in this process, by one process of the fleet. The
 * cache holds copies of the token store only; a failed renewal is not cached.
 */
export class TokenProvider {
  private readonly deps: TokenProviderDeps
  private readonly tokens = new LRUCache<string, CachedToken>({ max: TOKENS_CACHED_MAX })
  private readonly renewalsInFlight = new Map<string, Promise<Token>>()
  private readonly proofsInFlight = new Set<Promise<void>>()
  private readonly closing = new AbortController()

  constructor(deps: TokenProviderDeps) {
    this.deps = deps
  }

  /** A token newer than generation `refused`. At once, without waiting, where the cache has such a token. */
  get(name: TokenName, refused: number, request: TokenRequest): Token | Promise<Token> {
    const cached = this.tokens.get(keyOf(name))
    if (cached === undefined) return this.waitForRenewal(name, refused, request)
    const decision = decideToken(cached, refused, this.deps.clock())
    if (decision === 'broken' && cached.breaker !== undefined) throw haltedProblem(cached.breaker)
    const { token } = cached
    if (token === undefined || decision === 'renew') return this.waitForRenewal(name, refused, request)
    if (decision === 'use-and-renew') this.renewAhead({ name, cached, token, externalId: request.externalId })
    return token
  }

  /** Upstream accepted this token: a later refusal means that the token died, not that the account is refused. */
  markAccepted(name: TokenName, token: Token): void {
    const cached = this.tokens.get(keyOf(name))
    if (cached === undefined || cached.proven || cached.token?.generation !== token.generation) return
    this.tokens.set(keyOf(name), { ...cached, proven: true, breaker: undefined })
    if (name.profileId !== undefined) return
    // When the proof does not reach the store, another process checks the token once more; nothing else happens.
    const proof = this.deps.store.markProven(name, token.generation).catch(() => undefined)
    this.proofsInFlight.add(proof)
    proof.finally(() => this.proofsInFlight.delete(proof))
  }

  /**
   * How many generations in a row, this one included, no process has seen accepted. 0 when this generation was accepted
   * or is no longer the newest.
   */
  async consecutiveUnproven(name: TokenName, token: Token): Promise<number> {
    const state = await this.deps.store.read(name)
    this.cache(name, state)
    return state.token?.generation === token.generation && !state.proven ? state.unprovenBefore + 1 : 0
  }

  /** Opens the breaker of the account for the whole fleet. */
  async halt(name: TokenName, generation: number, reason: string, cause?: Halted): Promise<Halted> {
    const { store, clock } = this.deps
    const { breaker: previous } = await store.read(name)
    const breaker = nextBreaker(reason, previous, clock())
    await store.tripBreaker(name, { generation, breaker })
    this.cache(name, await store.read(name))
    return haltedProblem(breaker, cause)
  }

  /** Saves a token that came with a registration, unless another process is renewing the token at this moment. */
  async save(name: TokenName, token: NewToken): Promise<void> {
    const { store } = this.deps
    const { generation } = await store.read(name)
    const result = await store.lease(name, { generation, leaseMs: LEASE_MS })
    if (result.kind !== 'leased') return
    const saved = await store.save(name, result.lease, token)
    if (saved !== undefined) this.cache(name, unprovenStateOf(saved))
  }

  async forget(name: TokenName & { profileId: string }): Promise<void> {
    this.tokens.delete(keyOf(name))
    await this.deps.store.eraseProfile(name.profileId)
  }

  /** Waits for the renewals and proofs that run: no query of this provider outlives the client. */
  async close(): Promise<void> {
    this.closing.abort(new RetryLater('renew token: this process is stopping', { waitMs: SECOND }))
    await Promise.allSettled([...this.renewalsInFlight.values(), ...this.proofsInFlight])
  }

  private async waitForRenewal(name: TokenName, refused: number, request: TokenRequest): Promise<Token> {
    const key = keyOf(name)
    // A renewal that began for an older generation may give the token that this caller has just seen refused.
    for (let renewals = 0; renewals < SHARED_RENEWALS_MAX; renewals += 1) {
      const renewal =
        this.renewalsInFlight.get(key) ?? this.shareRenewal(key, () => this.loadOrRenew(name, refused, request))
      const token = await unlessAborted(renewal, request.signal)
      if (token.generation > refused) return token
    }
    throw new RetryLater('renew token: others were given the token that was refused', { waitMs: SECOND })
  }

  private shareRenewal(key: string, start: () => Promise<Token>): Promise<Token> {
    const renewal = start()
    this.renewalsInFlight.set(key, renewal)
    const remove = () => void this.renewalsInFlight.delete(key)
    renewal.then(remove, remove)
    return renewal
  }

  private async loadOrRenew(name: TokenName, refused: number, { externalId }: TokenRequest): Promise<Token> {
    const state = await this.deps.store.read(name)
    this.cache(name, state)
    const { token, breaker } = state
    const decision = decideToken(state, refused, this.deps.clock())
    if (decision === 'broken' && breaker !== undefined) throw haltedProblem(breaker)
    if (token !== undefined && decision !== 'renew') return token
    return this.renew(name, { generation: Math.max(refused, state.generation), refused, externalId })
  }

  private async renew(name: TokenName, request: RenewalRequest): Promise<Token> {
    const { store, clock, sleep, random, telemetry } = this.deps
    const { generation } = request
    const giveUpAtMs = clock() + OTHER_RENEWAL_WAIT_MAX_MS
    for (let polls = 0; clock() < giveUpAtMs; polls += 1) {
      const result = await store.lease(name, { generation, leaseMs: LEASE_MS })
      if (result.kind === 'leased') return this.obtain(name, { ...request, lease: result.lease })
      if (result.kind === 'broken') {
        this.cache(name, { ...noTokenState, generation, breaker: result.breaker })
        throw haltedProblem(result.breaker)
      }
      if (result.kind === 'newer') {
        telemetry.renewed(kindOf(name), 'adopted')
        this.cache(name, await store.read(name))
        return result.token
      }
      const pauseMs = Math.min(POLL_MS * 1.5 ** polls, POLL_MAX_MS) * (0.5 + random())
      await sleep(pauseMs, this.closing.signal).catch((error: unknown) => {
        this.closing.signal.throwIfAborted()
        throw error
      })
    }
    throw new RetryLater('renew token: another process has been at it for too long', { waitMs: WAIT_AFTER_FAILURE_MS })
  }

  private async obtain(name: TokenName, request: RenewalRequest & { lease: Lease }): Promise<Token> {
    const { store, telemetry, clock } = this.deps
    const { lease, refused, externalId } = request
    const old = lease.token
    const live = old !== undefined && old.generation > refused && clock() < old.expiresAtMs
    const signal = AbortSignal.any([this.closing.signal, AbortSignal.timeout(OBTAIN_TIMEOUT_MS)])
    try {
      const token = await this.deps.obtain({ name, previous: live ? old : undefined, externalId, signal })
      const saved = await store.save(name, lease, token)
      if (saved === undefined) throw new RetryLater('renew token: the lease was lost meanwhile', { waitMs: SECOND })
      telemetry.renewed(kindOf(name), 'obtained')
      this.cache(name, unprovenStateOf(saved))
      return saved
    } catch (error) {
      const halted = error instanceof Halted && name.profileId === undefined
      telemetry.renewed(kindOf(name), halted ? 'halted' : 'failed')
      if (halted) throw await this.halt(name, lease.generation, error.message, error)
      // The failure is not stored: the next caller tries again. A second failure, of the release, must not hide the first.
      await store.release(name, lease).catch(() => undefined)
      throw name.profileId === undefined ? asRetryLater(error) : error
    }
  }

  /** While the token is still accepted, one caller renews it in the background and retries a failure a minute later. */
  private renewAhead({ name, cached, token, externalId }: RenewAheadRequest): void {
    const key = keyOf(name)
    const nowMs = this.deps.clock()
    if (this.renewalsInFlight.has(key) || nowMs < cached.renewAheadAgainAtMs) return
    this.tokens.set(key, { ...cached, renewAheadAgainAtMs: nowMs + RENEW_AHEAD_RETRY_MS })
    this.shareRenewal(key, () => this.renew(name, { generation: token.generation, refused: 0, externalId }))
  }

  private cache(name: TokenName, state: TokenState): void {
    this.tokens.set(keyOf(name), { ...state, renewAheadAgainAtMs: 0 })
  }
}

/** Without the account's token no job can work: the failure belongs to no single job and uses up no attempt. */
function asRetryLater(error: unknown): unknown {
  if (!(error instanceof Unanswered)) return error
  return new RetryLater(`renew token: ${error.message}`, { waitMs: WAIT_AFTER_FAILURE_MS, cause: error })
}

const kindOf = (name: TokenName) => (name.profileId === undefined ? 'account' : 'profile')

function keyOf(name: TokenName): string {
  return name.profileId === undefined ? name.account : `${name.account} ${name.profileId}`
}

function haltedProblem({ reason, untilMs }: Breaker, cause?: Halted): Halted {
  return new Halted(`account halted: ${reason}`, {
    hint: `Check the account's credentials. Nothing is asked of it before ${new Date(untilMs).toISOString()}.`,
    cause,
  })
}

/** Waits for a shared promise until the signal of this one caller aborts. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  const givenUp = () => new Unanswered('call upstream: given up by its caller', { cause: signal.reason })
  if (signal.aborted) throw givenUp()
  return new Promise((resolve, reject) => {
    promise.then(resolve, reject).finally(onAbort(signal, () => reject(givenUp())))
  })
}
