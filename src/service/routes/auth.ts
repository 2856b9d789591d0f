import {
  accountTokenAnswerSchema,
  accountTokenInputSchema,
  type ProfileTokenAnswer,
  profileTokenAnswerSchema,
  profileTokenInputSchema,
  refreshInputSchema,
  registerInputSchema,
  tokenLifetimeSeconds,
} from '../../contract/auth.ts'
import { badRequest, unauthorized, unknownProfile } from '../refusal.ts'
import { type Answer, type Call, defineRoute } from '../route.ts'
import { openKey } from '../store/keys.ts'
import { withTransaction } from '../store/pool.ts'
import { createProfile, findProfileId } from '../store/profiles.ts'
import { issueAccountToken, issueProfileToken, rotateRefreshToken } from '../store/tokens.ts'

const accountToken = defineRoute({
  operation: 'accountToken',
  summary: 'Exchange clientId and clientSecret for an account token',
  body: accountTokenInputSchema,
  answers: { 200: accountTokenAnswerSchema },
  async run({ room, body }) {
    const key = { kind: 'client', publicId: body.clientId, secret: body.clientSecret } as const
    const accountId = await openKey(room.pool, key)
    if (accountId === undefined) throw unauthorized()
    const token = await issueAccountToken(room.pool, {
      accountId,
      keyId: body.clientId,
      nowMs: room.clock(),
      lifetimeSeconds: tokenLifetimeSeconds,
    })
    return { status: 200, json: { accountToken: token, expiresIn: tokenLifetimeSeconds, tokenType: 'Account' } }
  },
})

const register = defineRoute({
  operation: 'register',
  summary: 'Register a profile',
  body: registerInputSchema,
  answers: { 201: profileTokenAnswerSchema },
  run: registerProfile,
})

const registerByApp = defineRoute({
  operation: 'registerByApp',
  summary: 'Register a profile with AppId and AppSecret',
  body: registerInputSchema,
  answers: { 201: profileTokenAnswerSchema },
  run: registerProfile,
})

const profileToken = defineRoute({
  operation: 'profileToken',
  summary: 'Get a profile token for an existing profile',
  body: profileTokenInputSchema,
  answers: { 200: profileTokenAnswerSchema },
  async run({ room, accountId, body }) {
    const profileId = await findProfileId(room.pool, { accountId, externalId: body.externalId })
    if (profileId === undefined) throw unknownProfile()
    const issued = await issueProfileToken(room.pool, {
      accountId,
      profileId,
      readOnly: body.readOnly,
      nowMs: room.clock(),
      lifetimeSeconds: body.lifetime,
    })
    if (!issued) throw unknownProfile()
    return { status: 200, json: tokenAnswer(issued, body.lifetime) }
  },
})

const refreshToken = defineRoute({
  operation: 'refreshToken',
  summary: 'Spend a refresh token for a new profile token and a new refresh token',
  body: refreshInputSchema,
  answers: { 200: profileTokenAnswerSchema },
  acceptsExpired: true,
  async run({ room, accountId, profileId, body }) {
    const issued = await rotateRefreshToken(room.pool, {
      refreshToken: body.refreshToken,
      accountId,
      profileId,
      nowMs: room.clock(),
      lifetimeSeconds: tokenLifetimeSeconds,
    })
    if (issued === 'revoked') room.identities.forget()
    if (issued === 'revoked' || issued === 'refused') throw unauthorized()
    return { status: 200, json: tokenAnswer(issued, tokenLifetimeSeconds) }
  },
})

async function registerProfile(call: Call<{ externalId: string }, unknown>): Promise<Answer> {
  const { room, accountId, body } = call
  const nowMs = room.clock()
  const lifetimeSeconds = tokenLifetimeSeconds
  const issued = await withTransaction(room.pool, async (tx) => {
    const profileId = await createProfile(tx, { accountId, externalId: body.externalId, now: new Date(nowMs) })
    return profileId && issueProfileToken(tx, { accountId, profileId, readOnly: false, nowMs, lifetimeSeconds })
  })
  if (!issued) throw badRequest('body', [{ origin: 'externalId', errors: ['is in use already'] }])
  return { status: 201, json: tokenAnswer(issued, lifetimeSeconds) }
}

function tokenAnswer(
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
