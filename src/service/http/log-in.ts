import type { FastifyRequest } from 'fastify'
import { type ApiKeyKind, findApiKey } from '../store/credentials/api-keys.ts'
import { matchesHash } from '../store/credentials/secrets.ts'
import type { ServiceContext } from './context.ts'
import { unauthorized } from './request-error.ts'
import { logSecurity } from './security-log.ts'

/**
 * The account of a key, for its secret. Throws 401 when the id or the secret is wrong, or the key was revoked, and 429 to those
 * who guess too often.
 */
export async function logIn(
  { pool, refusals, log }: ServiceContext,
  request: FastifyRequest,
  { kind, publicId, secret }: { kind: ApiKeyKind; publicId: string; secret: string },
): Promise<string> {
  const address = request.ip
  refusals.admitLogin(address)
  const key = await findApiKey(pool, { kind, publicId })
  const accountId = key?.accountId
  const isRight = refusals.judgeLogin({ address, accountId }, () => matchesHash(secret, key?.secretHash))
  if (isRight && accountId !== undefined) return accountId
  // An id that is no key may be anything, a secret in the wrong place too: it is not logged.
  const known = accountId === undefined ? {} : { accountId, keyId: publicId }
  logSecurity(log, 'login refused', { address, requestId: request.id, ...known })
  throw unauthorized()
}
