import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { MINUTE } from '../base/time/units.ts'
import type { Passwords } from './passwords.ts'
import { csrfTokenOf, requireCsrfToken } from './sessions.ts'

type SignInOptions = {
  /** The path of the page, without a slash at the end. */
  readonly path: string
  readonly passwords: Passwords | undefined
  record(entry: { who: string; role: string; action: 'sign-in' | 'sign-in refused' }): Promise<void>
}

const SIGN_INS_PER_MINUTE = 10

const signInSchema = z.strictObject({ name: z.string().max(200), password: z.string().max(1000) })

/** Signing in and out, for an app with sessions and with @fastify/rate-limit. */
export function addSignIn(app: FastifyInstance, { path, passwords, record }: SignInOptions): void {
  const limited = { rateLimit: { max: SIGN_INS_PER_MINUTE, timeWindow: MINUTE } }
  app.post(`${path}/api/sign-in`, { config: limited }, async (request, reply) => {
    requireCsrfToken(request)
    const { name, password } = signInSchema.parse(request.body)
    const role = await passwords?.roleOf(name, password)
    if (role === undefined) {
      await record({ who: name.slice(0, 64), role: '', action: 'sign-in refused' })
      return reply.code(401).send({ error: 'Name or password is wrong.' })
    }
    await request.session.regenerate()
    request.session.actor = { name, role }
    await record({ who: name, role, action: 'sign-in' })
    return { csrf: csrfTokenOf(request) }
  })
  app.post(`${path}/api/sign-out`, async (request) => {
    requireCsrfToken(request)
    await request.session.destroy()
    return {}
  })
}
