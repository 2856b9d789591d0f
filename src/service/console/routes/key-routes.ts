import { z } from 'zod'
import { UsageProblem } from '../../../base/errors.ts'
import { logSecurity } from '../../http/security-log.ts'
import { createApiKey, ensureAccount, listApiKeys, revokeApiKey } from '../../store/credentials/api-keys.ts'
import { accountOfKey } from './caller-routes.ts'
import { type ConsoleContext, defineAct, defineRead } from './console-context.ts'

const name = (charsMax: number) =>
  z
    .string()
    .max(charsMax)
    .regex(/^[^\p{Cc}]*$/u, { error: 'may not hold control characters' })

const newKey = z.strictObject({
  account: name(100).min(1, { error: 'An account has a name.' }),
  kind: z.enum(['client', 'app']),
  label: name(100),
})
const chosenKey = z.strictObject({ keyId: z.string().min(1).max(100) })

const isOwn = ({ sandbox }: ConsoleContext, keyId: string): boolean =>
  sandbox !== undefined && [sandbox.credentials.clientId, sandbox.credentials.appId].includes(keyId)

export type KeysAnswer = Awaited<ReturnType<typeof listShownKeys>>

/** The newest first. */
async function listShownKeys(context: ConsoleContext) {
  const keys = await listApiKeys(context.reads)
  return keys.toReversed().map((key) => ({ ...key, isOwn: isOwn(context, key.publicId) }))
}

async function makeKey({ pool, clock, log }: ConsoleContext, { account, kind, label }: z.output<typeof newKey>) {
  const nowAt = new Date(clock())
  try {
    const accountId = await ensureAccount(pool, { name: account, nowAt })
    const made = await createApiKey(pool, { accountId, kind, label, nowAt })
    logSecurity(log, 'key made', { accountId, keyId: made.publicId })
    return made
  } catch (error) {
    throw withoutPrivilege(error, 'make')
  }
}

async function endKey(context: ConsoleContext, { keyId }: z.output<typeof chosenKey>) {
  const { pool, clock, log, tokenCache } = context
  if (isOwn(context, keyId))
    throw new UsageProblem('revoke key: the sandbox lives by this one', {
      hint: 'To replace it: stop the sandbox, remove sandbox-secret from its data folder, start it again, and revoke the old key.',
    })
  const isRevoked = await revokeApiKey(pool, { publicId: keyId, nowAt: new Date(clock()) }).catch((error: unknown) => {
    throw withoutPrivilege(error, 'revoke')
  })
  tokenCache.clear()
  if (!isRevoked) throw new UsageProblem('revoke key: there is no such key, or it was revoked before')
  logSecurity(log, 'key revoked', { keyId })
  return {}
}

/** A serving role of fewer privileges may read keys and not change them. */
function withoutPrivilege(error: unknown, verb: string): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code !== '42501') return error
  return new UsageProblem(`${verb} key: the service runs as a role that may not change keys`, {
    hint: 'Run the command that is shown, as the owner of the tables.',
    cause: error,
  })
}

export const keyRoutes = [
  defineRead({ name: 'keys', query: z.object({}), answer: (context) => listShownKeys(context) }),
  defineAct({ name: 'keys/make', body: newKey, act: (context, body) => makeKey(context, body) }),
  defineAct({
    name: 'keys/revoke',
    body: chosenKey,
    recorded: ({ keyId }) => ({ keyId }),
    requireChosen: accountOfKey,
    act: (context, body) => endKey(context, body),
  }),
]
