import { operations } from '../contract/operations.ts'
import { NotThere, Rejected, RetryLater, Unanswered } from '../errors.ts'
import type { Token, TokenName } from '../tokens.ts'
import { MINUTE, SECOND } from '../window.ts'
import { type Call, type Caller, Refusal } from './call.ts'
import type { ProfileName } from './client.ts'
import type { TokenKeeper } from './token-keeper.ts'

/** A call as the operations write it: who makes it is added here. */
export type UnsignedCall<T> = Omit<Call<T>, 'identity' | 'secrets'>

export type Authorized = {
  asAccount<T>(call: UnsignedCall<T>): Promise<T>
  asProfile<T>(profile: ProfileName, call: UnsignedCall<T>): Promise<T>
}

type Signing = {
  readonly name: TokenName
  readonly scheme: 'account' | 'profile'
  readonly externalId?: string | undefined
}

const RENEWALS_MAX = 3
/** A token younger than this that is refused deserves a question before it is replaced. */
const FRESH_MS = MINUTE
/** One new token that upstream refuses may have been taken away in that instant. Two in a row are no accident. */
const UNPROVEN_MAX = 2

/**
 * Signs calls with the account's or a profile's token, and answers refusals by the protocol: renew, repeat; two new
 * tokens in a row that are refused from the first halt the account, unless upstream takes it elsewhere: then the refusal is
 * about this one call and stays its own trouble.
 */
export function createAuthorized(parts: {
  caller: Caller
  keeper: TokenKeeper
  account: string
  clock: () => number
}): Authorized {
  const { caller, keeper, account, clock } = parts
  const accountSigning: Signing = { name: { account }, scheme: 'account' }
  const judgements = new Map<number, Promise<Judgement>>()

  async function signed<T>(signing: Signing, call: UnsignedCall<T>): Promise<T> {
    const held = keeper.get(signing.name, 0, { externalId: signing.externalId, signal: call.signal })
    const token = held instanceof Promise ? await held : held
    const { scheme, externalId = call.externalId ?? '' } = signing
    try {
      const identity = ['authorization', `${scheme} ${token.secret}`]
      const answered = await caller({ ...call, identity, secrets: [token.secret, externalId] })
      keeper.accepted(signing.name, token)
      return answered
    } catch (error) {
      if (!isRefused(error)) throw error
      return afterRefusal(signing, token, call)
    }
  }

  async function send<T>(signing: Signing, token: Token, call: UnsignedCall<T>): Promise<T> {
    const { scheme, externalId = call.externalId ?? '' } = signing
    const identity = ['authorization', `${scheme} ${token.secret}`]
    const answered = await caller({ ...call, identity, secrets: [token.secret, externalId] })
    keeper.accepted(signing.name, token)
    return answered
  }

  async function afterRefusal<T>(signing: Signing, first: Token, call: UnsignedCall<T>): Promise<T> {
    const { name, externalId } = signing
    let token = first
    for (let renewals = 0; renewals < RENEWALS_MAX; renewals += 1) {
      const judgement = name.profileId === undefined ? await judge(token) : ofProfile(renewals)
      if (judgement === 'dead') token = await keeper.get(name, token.generation, { externalId, signal: call.signal })
      try {
        return await send(signing, token, call)
      } catch (error) {
        if (!isRefused(error)) throw error
        if (judgement === 'alive') throw refusedHere(call, signing.scheme)
      }
    }
    throw new RetryLater(`call ${call.operation.name}: upstream refuses one new token after the other`, {
      waitMs: 10 * SECOND,
    })
  }

  /** However many callers meet the refusal of one token, upstream is asked about it once. */
  function judge(token: Token): Promise<Judgement> | Judgement {
    if (clock() - token.issuedAtMs >= FRESH_MS) return 'dead'
    const open = judgements.get(token.generation)
    if (open !== undefined) return open
    const judgement = judgeFresh(token).finally(() => judgements.delete(token.generation))
    judgements.set(token.generation, judgement)
    return judgement
  }

  async function judgeFresh(token: Token): Promise<Judgement> {
    const { name } = accountSigning
    if (await isTakenElsewhere(token)) return 'alive'
    if ((await keeper.unprovenInARow(name, token)) < UNPROVEN_MAX) return 'dead'
    throw await keeper.halt(name, token.generation, 'upstream refuses the account token it has only just given out')
  }

  /** The smallest question that the account token alone answers. */
  async function isTakenElsewhere(token: Token): Promise<boolean> {
    const question = {
      operation: operations.searchProfiles,
      lane: 'nightly',
      query: '?currentPage=1&pageSize=1',
    } as const
    return send(accountSigning, token, { ...question, interpret: () => true }).catch((error: unknown) => {
      if (isRefused(error)) return false
      // Refused for another reason: upstream knew who was asking. What says nothing about the token says so itself.
      if (error instanceof Rejected || error instanceof NotThere) return true
      throw error
    })
  }

  return {
    asAccount: (call) => signed(accountSigning, call),
    asProfile: ({ profileId, externalId }, call) =>
      signed({ name: { account, profileId }, scheme: 'profile', externalId }, call),
  }
}

type Judgement = 'dead' | 'alive'

/** A profile's token is asked for anew twice; a third refusal is this profile's trouble and halts nobody else. */
function ofProfile(renewals: number): Judgement {
  return renewals < 2 ? 'dead' : 'alive'
}

function isRefused(error: unknown): boolean {
  return error instanceof Refusal && error.intent.kind === 'renew'
}

/** Of a write, this must not read as a fault of what was sent: nothing of it was looked at. */
function refusedHere(call: UnsignedCall<unknown>, scheme: string): Rejected | Unanswered {
  const message = `call ${call.operation.name}: upstream refuses a new ${scheme} token for this profile (status 401)`
  const hint = 'The account itself is not refused. Ask upstream what is wrong with this profile.'
  return call.body === undefined ? new Rejected(message, { status: 401, hint }) : new Unanswered(message, { hint })
}
