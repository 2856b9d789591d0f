import {
  accountTokenAnswerSchema,
  accountTokenInputSchema,
  type ProfileTokenAnswer,
  profileTokenAnswerSchema,
  profileTokenInputSchema,
  refreshInputSchema,
  registerInputSchema,
  tokenLifetimeSecondsMax,
} from '../../base/contract/authentication.ts'
import { operations } from '../../base/contract/operations.ts'
import type { RouteAnswer } from '../../web/route.ts'
import { logIn } from '../http/authenticate.ts'
import { badRequest, unauthorized, unknownProfile } from '../http/request-error.ts'
import { logSecurity } from '../http/security-log.ts'
import { defineRoute, type RouteCall } from '../http/service-route.ts'
import { issueAccountToken, issueProfileToken, rotateRefreshToken } from '../store/credentials/issued-tokens.ts'
import { withTransaction } from '../store/service-pool.ts'
import { createProfile, findProfileId } from '../store/service-profiles.ts'

const accountToken = defineRoute({
  ...operations.accountToken,
  summary: 'Exchange clientId and clientSecret for an account token',
  body: accountTokenInputSchema,
  answers: { 200: accountTokenAnswerSchema },
  async run({ context, body, request }) {
    const key = { kind: 'client', publicId: body.clientId, secret: body.clientSecret } as const
    const accountId = await logIn(context, request, key)
    const token = await issueAccountToken(context.pool, {
      accountId,
      keyId: body.clientId,
      nowMs: context.clock(),
      lifetimeSeconds: tokenLifetimeSecondsMax,
    })
    return { status: 200, json: { accountToken: token, expiresIn: tokenLifetimeSecondsMax, tokenType: 'Account' } }
  },
})

const register = defineRoute({
  ...operations.register,
  summary: 'Register a profile',
  body: registerInputSchema,
  answers: { 201: profileTokenAnswerSchema },
  run: registerProfile,
})

const registerByApp = defineRoute({
  ...operations.registerByApp,
  summary: 'Register a profile with AppId and AppSecret',
  body: registerInputSchema,
  answers: { 201: profileTokenAnswerSchema },
  run: registerProfile,
})

const profileToken = defineRoute({
  ...operations.profileToken,
  summary: 'Get a profile token for an existing profile',
  body: profileTokenInputSchema,
  answers: { 200: profileTokenAnswerSchema },
  async run({ context, accountId, keyId, body }) {
    const profileId = await findProfileId(context.reads, { accountId, externalId: body.externalId })
    if (profileId === undefined) throw unknownProfile()
    const issued = await issueProfileToken(context.pool, {
      accountId,
      profileId,
      keyId,
      readOnly: body.readOnly,
      nowMs: context.clock(),
      lifetimeSeconds: body.lifetime,
    })
    if (!issued) throw unknownProfile()
    return { status: 200, json: profileTokenAnswer(issued, body.lifetime) }
  },
})

const refreshToken = defineRoute({
  ...operations.refreshToken,
  summary: 'Spend a refresh token for a new profile token and a new refresh token',
  body: refreshInputSchema,
  answers: { 200: profileTokenAnswerSchema },
  acceptsExpired: true,
  async run({ context, accountId, profileId, body, request }) {
    const issued = await rotateRefreshToken(context.pool, {
      refreshToken: body.refreshToken,
      accountId,
      profileId,
      nowMs: context.clock(),
      lifetimeSeconds: tokenLifetimeSecondsMax,
    })
    if (issued === 'revoked') {
      context.tokenCache.clear()
      const about = { address: request.ip, accountId, profileIds: [profileId], requestId: request.id }
      logSecurity(context.log, 'refresh token used twice', about)
    }
    if (issued === 'revoked' || issued === 'refused') throw unauthorized()
    return { status: 200, json: profileTokenAnswer(issued, issued.lifetimeSeconds) }
  },
})

async function registerProfile(call: RouteCall<{ externalId: string }, unknown>): Promise<RouteAnswer> {
  const { context, accountId, keyId, body } = call
  const nowMs = context.clock()
  const lifetimeSeconds = tokenLifetimeSecondsMax
  const issued = await withTransaction(context.pool, async (tx) => {
    const profileId = await createProfile(tx, { accountId, externalId: body.externalId, nowAt: new Date(nowMs) })
    return profileId && issueProfileToken(tx, { accountId, profileId, keyId, readOnly: false, nowMs, lifetimeSeconds })
  })
  if (!issued) throw badRequest('body', [{ origin: 'externalId', errors: ['is in use already'] }])
  return { status: 201, json: profileTokenAnswer(issued, lifetimeSeconds) }
}

function profileTokenAnswer(
  issued: { profileToken: string; refreshToken: string },
  lifetimeSeconds: number,
): ProfileTokenAnswer {
  return {
    profileToken: issued.profileToken,
    expiresIn: lifetimeSeconds,
    tokenType: 'Profile',
    refreshToken: issued.refreshToken,
  }
}

export const authRoutes = [accountToken, register, registerByApp, profileToken, refreshToken]
