import type { FastifyRequest } from 'fastify'
import { operations } from '../contract/operations.ts'
import { unauthorized } from './refusal.ts'
import { identify, type Room, type RouteDefinition } from './route.ts'
import { openKey } from './store/keys.ts'
import type { Identity } from './store/tokens.ts'

const credentialMax = 500

/** Finds out who calls and whether this route is for them, before a byte of the body is read. */
export async function admit(room: Room, route: RouteDefinition, request: FastifyRequest): Promise<void> {
  const { caller } = operations[route.operation]
  if (caller === 'anyone') return identify(request, { accountId: '', profileId: undefined })
  if (caller === 'app') return identify(request, await appCaller(room, request))

  const identity = await bearer(room, request, caller)
  const expired = identity.expiresAtMs <= room.clock()
  if (expired && !route.acceptsExpired) throw unauthorized()
  if (identity.readOnly && route.writes) throw unauthorized()
  identify(request, identity)
}

/** The account behind a request to a route beside the 28 operations. */
export async function accountOf(room: Room, request: FastifyRequest): Promise<string> {
  const identity = await bearer(room, request, 'account')
  if (identity.expiresAtMs <= room.clock()) throw unauthorized()
  return identity.accountId
}

/** What the request brings along, however it is written: spaces and case of the scheme make no other token of it. */
export function tokenOf(request: FastifyRequest): { scheme: string; secret: string } | undefined {
  const [, scheme = '', secret] = /^(\w+)[ \t]+(\S+)$/.exec(request.headers.authorization?.trim() ?? '') ?? []
  return secret === undefined ? undefined : { scheme: scheme.toLowerCase(), secret }
}

async function bearer(room: Room, request: FastifyRequest, kind: 'account' | 'profile'): Promise<Identity> {
  const token = tokenOf(request)
  if (token?.scheme !== kind || token.secret.length > credentialMax) throw unauthorized()
  const identity = await room.identities.find(token.secret)
  if (identity?.kind !== kind) throw unauthorized()
  return identity
}

async function appCaller(room: Room, request: FastifyRequest): Promise<{ accountId: string; profileId: undefined }> {
  const [publicId, secret] = [request.headers['appid'], request.headers['appsecret']]
  if (typeof publicId !== 'string' || typeof secret !== 'string') throw unauthorized()
  if (publicId.length > credentialMax || secret.length > credentialMax) throw unauthorized()
  const accountId = await openKey(room.pool, { kind: 'app', publicId, secret })
  if (accountId === undefined) throw unauthorized()
  return { accountId, profileId: undefined }
}
