import { Halted, RetryLater, Unanswered } from '../errors.ts'
import {
  type Breaker,
  decideToken,
  type Lease,
  type NewToken,
  openBreaker,
  type Shelved,
  type Token,
  type TokenName,
  type TokenShelf,
} from '../tokens.ts'
import { MINUTE, SECOND } from '../window.ts'
import { unlessAborted } from './call.ts'
import { Remembered } from './remembered.ts'
import type { Telemetry } from './telemetry.ts'

/** Who asks, and how long it cares. The profile's own name is needed where its token must be asked for. */
export type Asking = { readonly externalId?: string | undefined; readonly signal?: AbortSignal | undefined }

export type ObtainRequest = {
  readonly name: TokenName
  readonly previous: Token | undefined
  readonly externalId: string | undefined
  readonly signal: AbortSignal
}

export type KeeperParts = {
  readonly shelf: TokenShelf
  readonly telemetry: Telemetry
  readonly clock: () => number
  readonly random: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /**
   * Gets a new token from upstream. `previous` is there when it may be refreshed. Throws `Halted` when upstream refuses
   * the account itself.
   */
  readonly obtain: (request: ObtainRequest) => Promise<NewToken>
}

/** Longer than a token call may take, so that a lease runs out only under a process that died. */
const OBTAIN_MS = 15 * SECOND
const LEASE_MS = 20 * SECOND
const WAIT_FOR_OTHERS_MS = 45 * SECOND
const LOOK_AGAIN_MS = 30
const LOOK_AGAIN_MAX_MS = 500
const EARLY_AGAIN_MS = MINUTE
const WAIT_AFTER_FAILURE_MS = 10 * SECOND
const TOKENS_REMEMBERED_MAX = 20_000

type Known = Shelved & { readonly earlyAgainAtMs: number }
type RenewalAsk = { readonly generation: number; readonly refused: number; readonly externalId: string | undefined }
type Ahead = { readonly name: TokenName; readonly known: Known; readonly token: Token; readonly asking: Asking }

/**
 * Hands out tokens and sees to it that each generation is renewed once: by one caller in this process, by one process
 * of the fleet. What it remembers is only a copy of the shelf, and of a failed renewal it remembers nothing.
 */
export class TokenKeeper {
  private readonly parts: KeeperParts
  private readonly known = new Remembered<Known>(TOKENS_REMEMBERED_MAX)
  private readonly flights = new Map<string, Promise<Token>>()
  private readonly proofs = new Set<Promise<void>>()
  private readonly closing = new AbortController()

  constructor(parts: KeeperParts) {
    this.parts = parts
  }

  /** A token newer than generation `refused`. At once, without waiting, where one is known that serves. */
  get(name: TokenName, refused: number, asking: Asking): Token | Promise<Token> {
    const known = this.known.get(keyOf(name))
    if (known === undefined) return this.wait(name, refused, asking)
    const decision = decideToken(known, refused, this.parts.clock())
    if (decision === 'broken' && known.breaker !== undefined) throw haltedBy(known.breaker)
    if (known.token === undefined || decision === 'renew') return this.wait(name, refused, asking)
    if (decision === 'use-and-renew') this.renewAhead({ name, known, token: known.token, asking })
    return known.token
  }

  /** Upstream has accepted this token: from now on a refusal means that it died, not that the account is in trouble. */
  accepted(name: TokenName, token: Token): void {
    const known = this.known.get(keyOf(name))
    if (known === undefined || known.proven || known.token?.generation !== token.generation) return
    this.known.set(keyOf(name), { ...known, proven: true, breaker: undefined })
    if (name.profileId !== undefined) return
    // A proof that does not reach the shelf costs another process one question more, nothing else.
    const proof = this.parts.shelf.prove(name, token.generation).catch(() => undefined)
    this.proofs.add(proof)
    proof.finally(() => this.proofs.delete(proof))
  }

  /**
   * How many generations in a row, up to this one, nobody in any process has seen accepted; none when this one was, or
   * is no longer the newest.
   */
  async unprovenInARow(name: TokenName, token: Token): Promise<number> {
    const shelved = await this.parts.shelf.read(name)
    this.remember(name, shelved)
    return shelved.token?.generation === token.generation && !shelved.proven ? shelved.unprovenBefore + 1 : 0
  }

  /** Opens the breaker of the account for the whole fleet. */
  async halt(name: TokenName, generation: number, reason: string): Promise<Halted> {
    const { shelf, clock } = this.parts
    const { breaker: previous } = await shelf.read(name)
    const breaker = openBreaker(reason, previous, clock())
    await shelf.trip(name, { generation, breaker })
    this.remember(name, await shelf.read(name))
    return haltedBy(breaker)
  }

  /** Keeps a token that came along with a registration. When somebody else is renewing just now, theirs will do. */
  async keep(name: TokenName, token: NewToken): Promise<void> {
    const { shelf } = this.parts
    const { generation } = await shelf.read(name)
    const answer = await shelf.lease(name, { generation, leaseMs: LEASE_MS })
    if (answer.kind !== 'leased') return
    const stored = await shelf.store(name, answer.lease, token)
    if (stored !== undefined) this.remember(name, newly(stored))
  }

  async forget(name: TokenName & { profileId: string }): Promise<void> {
    this.known.delete(keyOf(name))
    await this.parts.shelf.erase(name.profileId)
  }

  /** Waits for what it started itself: nothing of it outlives the client. */
  async close(): Promise<void> {
    this.closing.abort(new RetryLater('renew token: this process is stopping', { waitMs: SECOND }))
    await Promise.allSettled([...this.flights.values(), ...this.proofs])
  }

  private async wait(name: TokenName, refused: number, asking: Asking): Promise<Token> {
    const key = keyOf(name)
    // A flight that began for an older generation may land one that this caller has just seen refused: once more then.
    for (let flights = 0; flights < 3; flights += 1) {
      const flight = this.flights.get(key) ?? this.take(key, () => this.find(name, refused, asking))
      const token = await unlessAborted(flight, asking.signal)
      if (token.generation > refused) return token
    }
    throw new RetryLater('renew token: others were given the token that was refused', { waitMs: SECOND })
  }

  private take(key: string, start: () => Promise<Token>): Promise<Token> {
    const flight = start()
    this.flights.set(key, flight)
    const landed = () => void this.flights.delete(key)
    flight.then(landed, landed)
    return flight
  }

  private async find(name: TokenName, refused: number, { externalId }: Asking): Promise<Token> {
    const shelved = await this.parts.shelf.read(name)
    this.remember(name, shelved)
    const { token, breaker } = shelved
    const decision = decideToken(shelved, refused, this.parts.clock())
    if (decision === 'broken' && breaker !== undefined) throw haltedBy(breaker)
    if (token !== undefined && decision !== 'renew') return token
    return this.renew(name, { generation: Math.max(refused, shelved.generation), refused, externalId })
  }

  private async renew(name: TokenName, ask: RenewalAsk): Promise<Token> {
    const { shelf, clock, sleep, random, telemetry } = this.parts
    const kind = name.profileId === undefined ? 'account' : 'profile'
    const giveUpAtMs = clock() + WAIT_FOR_OTHERS_MS
    for (let looks = 0; clock() < giveUpAtMs; looks += 1) {
      const answer = await shelf.lease(name, { generation: ask.generation, leaseMs: LEASE_MS })
      if (answer.kind === 'leased') return this.obtain(name, { ...ask, lease: answer.lease })
      if (answer.kind === 'broken') {
        this.remember(name, {
          generation: ask.generation,
          token: undefined,
          breaker: answer.breaker,
          proven: false,
          unprovenBefore: 0,
        })
        throw haltedBy(answer.breaker)
      }
      if (answer.kind === 'newer') {
        telemetry.renewed(kind, 'adopted')
        this.remember(name, await shelf.read(name))
        return answer.token
      }
      const pauseMs = Math.min(LOOK_AGAIN_MS * 1.5 ** looks, LOOK_AGAIN_MAX_MS) * (0.5 + random())
      await sleep(pauseMs, this.closing.signal)
    }
    throw new RetryLater('renew token: another process has been at it for too long', { waitMs: WAIT_AFTER_FAILURE_MS })
  }

  private async obtain(name: TokenName, ask: RenewalAsk & { lease: Lease }): Promise<Token> {
    const { shelf, telemetry, clock } = this.parts
    const { lease, refused, externalId } = ask
    const kind = name.profileId === undefined ? 'account' : 'profile'
    const old = lease.token
    const live = old !== undefined && old.generation > refused && clock() < old.expiresAtMs
    const signal = AbortSignal.any([this.closing.signal, AbortSignal.timeout(OBTAIN_MS)])
    try {
      const token = await this.parts.obtain({ name, previous: live ? old : undefined, externalId, signal })
      const stored = await shelf.store(name, lease, token)
      if (stored === undefined) throw new RetryLater('renew token: the lease was lost meanwhile', { waitMs: SECOND })
      telemetry.renewed(kind, 'obtained')
      this.remember(name, newly(stored))
      return stored
    } catch (error) {
      const halted = error instanceof Halted && name.profileId === undefined
      telemetry.renewed(kind, halted ? 'halted' : 'failed')
      if (halted) throw await this.halt(name, lease.generation, error.message)
      // Forgotten, not kept: the next caller tries afresh. The first failure is the one worth telling.
      await shelf.release(name, lease).catch(() => undefined)
      throw name.profileId === undefined ? asWaiting(error) : error
    }
  }

  /** While the token still serves, one caller renews it in the background; a failure is tried again a minute later. */
  private renewAhead({ name, known, token, asking }: Ahead): void {
    const key = keyOf(name)
    const nowMs = this.parts.clock()
    if (this.flights.has(key) || nowMs < known.earlyAgainAtMs) return
    this.known.set(key, { ...known, earlyAgainAtMs: nowMs + EARLY_AGAIN_MS })
    this.take(key, () => this.renew(name, { generation: token.generation, refused: 0, externalId: asking.externalId }))
  }

  private remember(name: TokenName, shelved: Shelved): void {
    this.known.set(keyOf(name), { ...shelved, earlyAgainAtMs: 0 })
  }
}

/** Without the account's token nobody can work: that is no job's own failure, and costs none an attempt. */
function asWaiting(error: unknown): unknown {
  if (!(error instanceof Unanswered)) return error
  return new RetryLater(`renew token: ${error.message}`, { waitMs: WAIT_AFTER_FAILURE_MS, cause: error })
}

function newly(token: Token): Shelved {
  return { generation: token.generation, token, breaker: undefined, proven: false, unprovenBefore: 0 }
}

function keyOf(name: TokenName): string {
  return name.profileId === undefined ? name.account : `${name.account} ${name.profileId}`
}

function haltedBy({ reason, untilMs }: Breaker): Halted {
  return new Halted(`account halted: ${reason}`, {
    hint: `Check the account's credentials. Nothing is asked of it before ${new Date(untilMs).toISOString()}.`,
  })
}
