import type { FastifyRequest } from 'fastify'
import { type ApiKeyKind, findApiKey } from '../store/credentials/api-keys.ts'
import type { TokenOwner } from '../store/credentials/issued-tokens.ts'
import { matchesHash } from '../store/credentials/secrets.ts'
import type { ServiceContext } from './context.ts'
import { type RequestCaller, setCaller } from './request-caller.ts'
import { unauthorized } from './request-error.ts'
import { logSecurity } from './security-log.ts'
import type { ServiceRoute } from './service-route.ts'

const credentialCharsMax = 500

/** Authenticates the caller and authorizes it for the route, before the body is read. */
export async function authenticate(
  context: ServiceContext,
  route: ServiceRoute,
  request: FastifyRequest,
): Promise<void> {
  const { caller } = route
  if (caller === 'anyone') return setCaller(request, { accountId: '', profileId: undefined, keyId: undefined })
  if (caller === 'app') return setCaller(request, await findAppCaller(context, request))

  const owner = await findBearer(context, request, caller)
  const expired = owner.expiresAtMs <= context.clock()
  if (expired && !route.acceptsExpired) throw unauthorized()
  if (owner.readOnly && route.writes) throw unauthorized()
  setCaller(request, owner)
}

/** The credentials of the Authorization header. Spaces and the case of the scheme do not change the token. */
export function readAuthorization(request: FastifyRequest): { scheme: string; secret: string } | undefined {
  const [, scheme = '', secret] = /^(\w+)[ \t]+(\S+)$/.exec(request.headers.authorization?.trim() ?? '') ?? []
  return secret === undefined ? undefined : { scheme: scheme.toLowerCase(), secret }
}

async function findBearer(
  context: ServiceContext,
  request: FastifyRequest,
  kind: 'account' | 'profile',
): Promise<TokenOwner> {
  const token = readAuthorization(request)
  if (token?.scheme !== kind || token.secret.length > credentialCharsMax) throw unauthorized()
  const { refusals, tokenCache } = context
  const owner = await tokenCache.find(token.secret, () => refusals.admitToken(request.ip))
  if (owner === undefined) refusals.countRefusedToken(request.ip)
  if (owner?.kind !== kind) throw unauthorized()
  return owner
}

async function findAppCaller(context: ServiceContext, request: FastifyRequest): Promise<RequestCaller> {
  const [publicId, secret] = [request.headers['appid'], request.headers['appsecret']]
  if (typeof publicId !== 'string' || typeof secret !== 'string') throw unauthorized()
  if (publicId.length > credentialCharsMax || secret.length > credentialCharsMax) throw unauthorized()
  const accountId = await logIn(context, request, { kind: 'app', publicId, secret })
  return { accountId, profileId: undefined, keyId: publicId }
}

/**
 * The account of a key, for its secret. Throws 401 when the id or the secret is wrong, or the key was revoked, and 429 to those
 * who guess too often.
 */
export async function logIn(
  { reads, refusals, log }: ServiceContext,
  request: FastifyRequest,
  { kind, publicId, secret }: { kind: ApiKeyKind; publicId: string; secret: string },
): Promise<string> {
  const address = request.ip
  refusals.admitLogin(address)
  const key = await findApiKey(reads, { kind, publicId })
  const accountId = key?.accountId
  const isRight = refusals.judgeLogin({ address, accountId }, () => matchesHash(secret, key?.secretHash))
  if (isRight && accountId !== undefined) return accountId
  // An id that is no key may be anything, a secret in the wrong place too: it is not logged.
  const known = accountId === undefined ? {} : { accountId, keyId: publicId }
  logSecurity(log, 'login refused', { address, requestId: request.id, ...known })
  throw unauthorized()
}
