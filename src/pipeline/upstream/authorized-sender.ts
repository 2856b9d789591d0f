import { operations } from '../../base/contract/operations.ts'
import { NotThere, Rejected, RetryLater, Unanswered } from '../../base/errors.ts'
import { MINUTE, SECOND } from '../../base/time/units.ts'
import type { Token, TokenName } from '../fleet/tokens.ts'
import type { ProfileIds } from '../transfer/planned-profile.ts'
import { bodyParserOf } from './parse-body.ts'
import { AttemptError, type OperationCall, type Sender } from './sender.ts'
import type { TokenProvider } from './tokens/token-provider.ts'

/** A call without its caller: the authorized sender adds the token and its secrets. */
type AnonymousCall<T> = Omit<OperationCall<T>, 'identity' | 'secrets'>

type AuthorizedSenderDeps = {
  readonly sender: Sender
  readonly tokens: TokenProvider
  readonly account: string
  readonly clock: () => number
}

type TokenHealth = 'dead' | 'alive'

const RENEWALS_MAX = 3
const PROFILE_RENEWALS_MAX = 2
/** When upstream refuses an account token younger than this, the token is checked before it is replaced. */
const FRESH_TOKEN_MS = MINUTE
/** Upstream may revoke one new token just when it is used. Two refused new tokens in a row are no accident. */
const CONSECUTIVE_UNPROVEN_MAX = 2

/**
 * Sends calls with the token of the account or of a profile. After a 401 it renews the token and retries the call.
 * When upstream refuses two new account tokens in a row for every call, the account is halted. When upstream accepts the
 * token for another call, the refusal belongs to the refused call alone.
 */
export class AuthorizedSender {
  private readonly deps: AuthorizedSenderDeps
  private readonly accountName: TokenName
  private readonly checksInFlight = new Map<number, Promise<TokenHealth>>()

  constructor(deps: AuthorizedSenderDeps) {
    this.deps = deps
    this.accountName = { account: deps.account }
  }

  asAccount<T>(call: AnonymousCall<T>): Promise<T> {
    return this.send(this.accountName, call)
  }

  asProfile<T>({ profileId, externalId }: ProfileIds, call: AnonymousCall<T>): Promise<T> {
    return this.send({ account: this.deps.account, profileId }, { ...call, externalId })
  }

  private async send<T>(name: TokenName, call: AnonymousCall<T>): Promise<T> {
    const { externalId, signal } = call
    const found = this.deps.tokens.get(name, 0, { externalId, signal })
    const token = found instanceof Promise ? await found : found
    try {
      return await this.sendWithToken(name, token, call)
    } catch (error) {
      if (!isUnauthorized(error)) throw error
      return this.renewAndRetry(name, token, call)
    }
  }

  private async sendWithToken<T>(name: TokenName, token: Token, call: AnonymousCall<T>): Promise<T> {
    const identity = ['authorization', `${schemeOf(name)} ${token.secret}`]
    const answer = await this.deps.sender({ ...call, identity, secrets: [token.secret, call.externalId ?? ''] })
    this.deps.tokens.markAccepted(name, token)
    return answer
  }

  private async renewAndRetry<T>(name: TokenName, refused: Token, call: AnonymousCall<T>): Promise<T> {
    const { externalId, signal } = call
    let token = refused
    for (let renewals = 0; renewals < RENEWALS_MAX; renewals += 1) {
      const health = name.profileId === undefined ? await this.accountTokenHealth(token) : profileTokenHealth(renewals)
      if (health === 'dead') token = await this.deps.tokens.get(name, token.generation, { externalId, signal })
      try {
        return await this.sendWithToken(name, token, call)
      } catch (error) {
        if (!isUnauthorized(error)) throw error
        if (health === 'alive') throw problemOfRefusedToken(call, schemeOf(name))
      }
    }
    throw new RetryLater(`call ${call.operation.name}: upstream refuses one new token after the other`, {
      waitMs: 10 * SECOND,
    })
  }

  /** However many callers see the refusal of one token, upstream is asked once whether the token is still alive. */
  private accountTokenHealth(token: Token): Promise<TokenHealth> | TokenHealth {
    if (this.deps.clock() - token.issuedAtMs >= FRESH_TOKEN_MS) return 'dead'
    const running = this.checksInFlight.get(token.generation)
    if (running !== undefined) return running
    const check = this.checkFreshToken(token).finally(() => this.checksInFlight.delete(token.generation))
    this.checksInFlight.set(token.generation, check)
    return check
  }

  private async checkFreshToken(token: Token): Promise<TokenHealth> {
    const { tokens } = this.deps
    if (await this.isAcceptedElsewhere(token)) return 'alive'
    if ((await tokens.consecutiveUnproven(this.accountName, token)) < CONSECUTIVE_UNPROVEN_MAX) return 'dead'
    const reason = 'upstream refuses the account token it has only just given out'
    throw await tokens.halt(this.accountName, token.generation, reason)
  }

  /** Sends the smallest request that needs nothing but the account token: a search for one profile. */
  private async isAcceptedElsewhere(token: Token): Promise<boolean> {
    const { searchProfiles: operation } = operations
    const probe = { operation, lane: 'nightly', query: '?currentPage=1&pageSize=1', parse: parseAnything } as const
    const accepted = this.sendWithToken(this.accountName, token, probe).then(() => true)
    return accepted.catch((error: unknown) => {
      if (isUnauthorized(error)) return false
      // Upstream refused for another reason, so it knew the caller. Any other failure says nothing about the token.
      if (error instanceof Rejected || error instanceof NotThere) return true
      throw error
    })
  }
}

/** Any list or object says that upstream knew the caller. An empty page does not. */
const parseAnything = bodyParserOf(undefined)

const schemeOf = (name: TokenName) => (name.profileId === undefined ? 'account' : 'profile')

/** The token of a profile is renewed twice. A third refusal is the profile's own fault and halts no other profile. */
function profileTokenHealth(renewals: number): TokenHealth {
  return renewals < PROFILE_RENEWALS_MAX ? 'dead' : 'alive'
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof AttemptError && error.intent.kind === 'renew'
}

/** A refused write is `Unanswered`, not `Rejected`: upstream never looked at the items that were sent. */
function problemOfRefusedToken(call: AnonymousCall<unknown>, scheme: string): Rejected | Unanswered {
  const message = `call ${call.operation.name}: upstream refuses a new ${scheme} token for this profile (status 401)`
  const hint = 'The account itself is not refused. Ask upstream what is wrong with this profile.'
  return call.body === undefined ? new Rejected(message, { status: 401, hint }) : new Unanswered(message, { hint })
}
