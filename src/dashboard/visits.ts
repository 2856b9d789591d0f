import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { MINUTE } from '../time/units.ts'
import type { Access } from './access.ts'
import type { DashboardContext, Visit } from './dashboard-context.ts'
import { addSessions, csrfTokenOf, requireCsrfToken } from './sessions.ts'

export type Visits = {
  /** Undefined: sign in first. */
  of(request: FastifyRequest): Visit | undefined
}

const SIGN_INS_PER_MINUTE = 10

const signInSchema = z.strictObject({ name: z.string().max(200), password: z.string().max(1000) })
const settingsSchema = z.strictObject({ masked: z.boolean().optional(), values: z.boolean().optional() })

/** Sessions, sign-in, and the switches of a visit: names masked, health values shown. */
export async function addVisits(app: FastifyInstance, context: DashboardContext, access: Access): Promise<Visits> {
  await addSessions(app)
  await app.register(rateLimit, { global: false })
  const of = (request: FastifyRequest): Visit | undefined => {
    const { actor = access.actorOf(request), masked = false, values = false } = request.session
    return actor && { actor, masked, values }
  }
  app.get('/api/session', async (request) => {
    const visit = of(request)
    return { ...(visit ?? { actor: null, masked: false, values: false }), csrf: csrfTokenOf(request) }
  })
  addSignIn(app, context, access)
  app.post('/api/sign-out', { preHandler: requireCsrfToken }, async (request) => {
    await request.session.destroy()
    return {}
  })
  app.post('/api/session', { preHandler: requireCsrfToken }, async (request, reply) => {
    const visit = of(request)
    if (!visit) return reply.code(401).send({ error: 'Sign in first.' })
    const { masked, values } = settingsSchema.parse(request.body)
    if (masked !== undefined) request.session.masked = masked
    if (values !== undefined && values !== visit.values) {
      request.session.values = values
      const { name, role } = visit.actor
      await context.audit.record({ who: name, role, action: values ? 'show values' : 'hide values' })
    }
    return of(request)
  })
  return { of }
}

function addSignIn(app: FastifyInstance, { audit }: DashboardContext, { passwords }: Access): void {
  const limited = { rateLimit: { max: SIGN_INS_PER_MINUTE, timeWindow: MINUTE } }
  app.post('/api/sign-in', { preHandler: requireCsrfToken, config: limited }, async (request, reply) => {
    const { name, password } = signInSchema.parse(request.body)
    const role = await passwords?.roleOf(name, password)
    if (role === undefined) {
      await audit.record({ who: name.slice(0, 64), role: '', action: 'sign-in refused' })
      return reply.code(401).send({ error: 'Name or password is wrong.' })
    }
    await request.session.regenerate()
    request.session.actor = { name, role }
    await audit.record({ who: name, role, action: 'sign-in' })
    return { csrf: csrfTokenOf(request) }
  })
}
