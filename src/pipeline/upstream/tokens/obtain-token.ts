import type { ReceivedProfileToken } from '../../../base/contract/authentication.ts'
import { Halted, NotThere, type Problem, Rejected } from '../../../base/errors.ts'
import { DAY, SECOND } from '../../../base/time/units.ts'
import type { NewToken } from '../../fleet/tokens.ts'
import type { UpstreamApi } from '../api.ts'
import type { ObtainRequest } from './token-provider.ts'

/** Token calls go in the most urgent lane, because all other calls wait for them. */
const TOKEN_CALL = { lane: 'nightly' } as const
const TOKEN_LIFETIME_DEFAULT_MS = DAY

/** Gets a new token from upstream: the account's by its credentials; a profile's by its refresh token, or else by the account. */
export async function obtainToken(
  { api, clock }: { readonly api: UpstreamApi; readonly clock: () => number },
  request: ObtainRequest,
): Promise<NewToken> {
  const { name, previous, externalId, signal } = request
  const options = { ...TOKEN_CALL, signal }
  const sentAtMs = clock()
  if (name.profileId === undefined) {
    const { accountToken, expiresIn } = await api.accountToken(options).catch((error: unknown) => {
      throw isFinalRefusal(error) ? credentialsRefused(error) : error
    })
    return { secret: accountToken, issuedAtMs: sentAtMs, expiresAtMs: expiresAtMsOf(sentAtMs, expiresIn) }
  }
  if (previous?.refreshSecret !== undefined) {
    const spent = { profileToken: previous.secret, refreshToken: previous.refreshSecret }
    const refreshed = await api.refreshToken(spent, options).catch(() => undefined)
    if (refreshed !== undefined) return newProfileToken(refreshed, sentAtMs)
    // Refused, or spent without an answer: either way the refresh token is gone, and the account's token must do.
  }
  if (externalId === undefined) throw new Rejected('renew token: the name of the profile is not known', { status: 0 })
  const askedAtMs = clock()
  return newProfileToken(await api.profileToken({ externalId }, options), askedAtMs)
}

export function newProfileToken(answer: ReceivedProfileToken, sentAtMs: number): NewToken {
  return {
    secret: answer.profileToken,
    refreshSecret: answer.refreshToken,
    issuedAtMs: sentAtMs,
    expiresAtMs: expiresAtMsOf(sentAtMs, answer.expiresIn),
  }
}

function expiresAtMsOf(sentAtMs: number, expiresInSeconds: number | undefined): number {
  return sentAtMs + (expiresInSeconds === undefined ? TOKEN_LIFETIME_DEFAULT_MS : expiresInSeconds * SECOND)
}

const credentialsRefused = ({ message }: Problem) =>
  new Halted(`upstream refuses the account's credentials: ${message}`, {
    hint: 'Correct UPSTREAM_CLIENT_ID and UPSTREAM_CLIENT_SECRET; see that they belong to this environment.',
  })

function isFinalRefusal(error: unknown): error is Rejected | NotThere {
  return error instanceof Rejected || error instanceof NotThere
}
