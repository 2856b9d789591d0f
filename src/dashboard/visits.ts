import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Access } from '../web/access.ts'
import { addSessions, csrfTokenOf, refusePage, requireCsrfToken } from '../web/sessions.ts'
import { addSignIn } from '../web/sign-in.ts'
import type { DashboardContext, Visit } from './dashboard-context.ts'

declare module 'fastify' {
  interface Session {
    /** People are shown by our own ids. */
    masked?: boolean
    /** Health values are shown. */
    values?: boolean
  }
}

type Visits = {
  /** Undefined: sign in first. */
  of(request: FastifyRequest): Visit | undefined
}

const settingsSchema = z.strictObject({ masked: z.boolean().optional(), values: z.boolean().optional() })

/** Sessions, sign-in, and the switches of a visit: names masked, health values shown. */
export async function addVisits(app: FastifyInstance, context: DashboardContext, access: Access): Promise<Visits> {
  await addSessions(app, { cookieName: 'vitalsync', path: '/' })
  await app.register(rateLimit, { global: false })
  const of = (request: FastifyRequest): Visit | undefined => {
    const { actor = access.actorOf(request), masked = false, values = false } = request.session
    return actor && { actor, masked, values }
  }
  app.get('/api/session', async (request) => {
    const visit = of(request)
    return { ...(visit ?? { actor: null, masked: false, values: false }), csrf: csrfTokenOf(request) }
  })
  addSignIn(app, { path: '', passwords: access.passwords, record: (entry) => context.audit.record(entry) })
  app.post('/api/session', async (request) => {
    requireCsrfToken(request)
    const visit = of(request) ?? refusePage(401, 'Sign in first.')
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
