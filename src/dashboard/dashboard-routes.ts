import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Problem } from '../errors.ts'
import type { DashboardContext, Visit } from './dashboard-context.ts'
import { requireCsrfToken } from './sessions.ts'
import type { Visits } from './visits.ts'

/** A question of the browser: GET `/api/<name>`, with the parameters of its query. */
export type ReadRoute<Q extends z.ZodType = z.ZodType, A = unknown> = {
  readonly kind: 'read'
  readonly name: string
  readonly query: Q
  answer(context: DashboardContext, query: z.output<Q>, visit: Visit): Promise<A>
}

/** An action: POST `/api/<name>`, for actors only. It is recorded before it begins. */
export type ActRoute<B extends z.ZodType = z.ZodType, A = unknown> = {
  readonly kind: 'act'
  readonly name: string
  readonly body: B
  /** The profile whom it concerns, and our own ids and settings, for the audit. */
  recorded(body: z.output<B>): { profileId?: string | undefined; what?: Record<string, unknown> }
  act(context: DashboardContext, body: z.output<B>, visit: Visit): Promise<A>
}

export const defineRead = <Q extends z.ZodType, A>(route: Omit<ReadRoute<Q, A>, 'kind'>): ReadRoute<Q, A> => ({
  kind: 'read',
  ...route,
})
export const defineAct = <B extends z.ZodType, A>(route: Omit<ActRoute<B, A>, 'kind'>): ActRoute<B, A> => ({
  kind: 'act',
  ...route,
})

export type Route = ReadRoute | ActRoute

export function addDashboardRoutes(
  app: FastifyInstance,
  { context, visits, routes }: { context: DashboardContext; visits: Visits; routes: readonly Route[] },
): void {
  for (const route of routes) {
    if (route.kind === 'read') addReadRoute(app, { context, visits, route })
    else addActRoute(app, { context, visits, route })
  }
  app.all('/api/*', async (_request, reply) => reply.code(404).send({ error: 'there is no such question' }))
}

type Added<R> = { readonly context: DashboardContext; readonly visits: Visits; readonly route: R }

function addReadRoute(app: FastifyInstance, { context, visits, route }: Added<ReadRoute>): void {
  app.get(`/api/${route.name}`, async (request, reply) => {
    const visit = visits.of(request)
    if (!visit) return reply.code(401).send({ error: 'Sign in first.' })
    return reply.send(await route.answer(context, route.query.parse(request.query), visit))
  })
}

function addActRoute(app: FastifyInstance, { context, visits, route }: Added<ActRoute>): void {
  app.post(`/api/${route.name}`, { preHandler: requireCsrfToken }, async (request, reply) => {
    const visit = visits.of(request)
    if (!visit) return reply.code(401).send({ error: 'Sign in first.' })
    const { name: who, role } = visit.actor
    if (role !== 'act') return reply.code(403).send({ error: 'You may look, and not act.' })
    const body = route.body.parse(request.body)
    await context.audit.record({ who, role, action: route.name, ...route.recorded(body) })
    return reply.send((await route.act(context, body, visit)) ?? {})
  })
}

/** An error as the browser shows it: a message and what to do. Anything unforeseen is logged, and told without its text. */
export function sendDashboardError(
  error: unknown,
  { log, request, reply }: { log: DashboardContext['log']; request: FastifyRequest; reply: FastifyReply },
): FastifyReply {
  if (error instanceof z.ZodError)
    return reply.code(400).send({ error: 'The request does not fit.', hint: error.issues[0]?.message })
  if (error instanceof Problem) return reply.code(400).send({ error: error.message, hint: error.hint })
  const statusCode = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
  if (statusCode < 500 && error instanceof Error) return reply.code(statusCode).send({ error: error.message })
  const name = error instanceof Error ? error.name : 'unknown'
  log.error({ err: name, path: request.routeOptions.url }, 'the dashboard could not answer')
  return reply.code(500).send({ error: 'This could not be answered.', hint: 'The log of the dashboard tells more.' })
}
