import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Problem } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Actor } from './access.ts'
import { requireCsrfToken } from './sessions.ts'

/** A question of the browser: GET `<path>/api/<name>`, with the parameters of its query. */
export type ReadRoute<Context, Visit, Q extends z.ZodType = z.ZodType, A = unknown> = {
  readonly kind: 'read'
  readonly name: string
  readonly query: Q
  answer(context: Context, query: z.output<Q>, visit: Visit): Promise<A>
}

/** An action: POST `<path>/api/<name>`, for actors only. It is recorded before it begins. */
export type ActRoute<Context, Visit, Recorded, B extends z.ZodType = z.ZodType, A = unknown> = {
  readonly kind: 'act'
  readonly name: string
  readonly body: B
  /** Our own ids and settings, for the record of actions. */
  recorded(body: z.output<B>): Recorded
  act(context: Context, body: z.output<B>, visit: Visit): Promise<A>
}

type PageQuestions<Context, Visit, Recorded> = {
  readonly context: Context
  /** The path of the page, without a slash at the end. */
  readonly path: string
  readonly routes: ReadonlyArray<ReadRoute<Context, Visit> | ActRoute<Context, Visit, Recorded>>
  /** Undefined: sign in first. */
  visitOf(request: FastifyRequest): Visit | undefined
  record(entry: { who: string; role: string; action: string } & Recorded): Promise<void>
}

export function addPageQuestions<Context, Visit extends { readonly actor: Actor }, Recorded>(
  app: FastifyInstance,
  page: PageQuestions<Context, Visit, Recorded>,
): void {
  const { path, routes } = page
  for (const route of routes) {
    if (route.kind === 'read') addReadRoute(app, page, route)
    else addActRoute(app, page, route)
  }
  app.all(`${path}/api/*`, async (_request, reply) => reply.code(404).send({ error: 'there is no such question' }))
}

function addReadRoute<Context, Visit, Recorded>(
  app: FastifyInstance,
  { context, path, visitOf }: PageQuestions<Context, Visit, Recorded>,
  route: ReadRoute<Context, Visit>,
): void {
  app.get(`${path}/api/${route.name}`, async (request, reply) => {
    const visit = visitOf(request)
    if (!visit) return reply.code(401).send({ error: 'Sign in first.' })
    return reply.send(await route.answer(context, route.query.parse(request.query), visit))
  })
}

function addActRoute<Context, Visit extends { readonly actor: Actor }, Recorded>(
  app: FastifyInstance,
  { context, path, visitOf, record }: PageQuestions<Context, Visit, Recorded>,
  route: ActRoute<Context, Visit, Recorded>,
): void {
  app.post(`${path}/api/${route.name}`, { preHandler: requireCsrfToken }, async (request, reply) => {
    const visit = visitOf(request)
    if (!visit) return reply.code(401).send({ error: 'Sign in first.' })
    const { name: who, role } = visit.actor
    if (role !== 'act') return reply.code(403).send({ error: 'You may look, and not act.' })
    const body = route.body.parse(request.body)
    await record({ who, role, action: route.name, ...route.recorded(body) })
    return reply.send((await route.act(context, body, visit)) ?? {})
  })
}

/** An error as the browser shows it: a message and what to do. An unforeseen error is logged, and reported without its text. */
export function sendPageError(
  error: unknown,
  { log, request, reply, page }: { log: Log; request: FastifyRequest; reply: FastifyReply; page: string },
): FastifyReply {
  if (error instanceof z.ZodError)
    return reply.code(400).send({ error: 'The request does not fit.', hint: error.issues[0]?.message })
  if (error instanceof Problem) return reply.code(400).send({ error: error.message, hint: error.hint })
  const statusCode = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
  if (statusCode < 500 && error instanceof Error) return reply.code(statusCode).send({ error: error.message })
  const name = error instanceof Error ? error.name : 'unknown'
  log.error({ err: name, path: request.routeOptions.url }, `the ${page} could not answer`)
  return reply.code(500).send({ error: 'This could not be answered.', hint: `The log of the ${page} tells more.` })
}
