import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Problem, UnknownId } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { isOutage } from '../base/postgres/postgres-errors.ts'
import type { Actor } from './access.ts'
import { addRoutes, type Route } from './route.ts'
import { hasSignedOut, refusePage, requireCsrfToken } from './sessions.ts'

type Recorder<Recorded> = (entry: { who: string; role: string; action: string } & Partial<Recorded>) => Promise<void>

/** Aborted when nobody waits for the answer any more. */
export type Asker = { readonly gone: AbortSignal }

type PageCall<Context, Visit, Recorded> = { context: Context; visit: Visit; record: Recorder<Recorded> }

/**
 * A question of the browser, or an action, which the caller `act` alone may do: POST `<path>/api/<name>` with the token of its
 * session, so that no other page can send it.
 */
export type PageRoute<Context, Visit, Recorded> = Route<PageCall<Context, Visit, Recorded>> & {
  readonly caller: 'look' | 'act'
}

/** Declares the routes of a page. */
export function pageRoutesOf<Context, Visit extends { readonly actor: Actor }, Recorded>() {
  type Call = PageCall<Context, Visit, Recorded>
  type Declared = PageRoute<Context, Visit, Recorded>
  return {
    /** Its parameters are the body, so that nothing of them stays in addresses, histories and logs. */
    defineRead: <Query>(route: {
      name: string
      query: z.ZodType<Query>
      answer(context: Context, query: Query, visit: Visit & Asker): Promise<unknown>
    }): Declared => {
      const { name, query, answer } = route
      const run: Route<Call, Query>['run'] = async ({ context, visit, body, reply }) => {
        const left = new AbortController()
        const leave = () => left.abort(new Error('nobody waits for the answer'))
        reply.raw.once('close', leave) // sent, as where the warehouse is away, or the visitor has gone
        try {
          return { json: await answer(context, body, { ...visit, gone: left.signal }) }
        } finally {
          reply.raw.off('close', leave)
        }
      }
      return { name, method: 'POST', path: name, caller: 'look', body: query, run }
    },
    /** It is recorded before it begins, and not at all where `requireChosen` throws because nothing that the body names exists. */
    defineAct: <Body>(route: {
      name: string
      body: z.ZodType<Body>
      /** Our own ids and settings, for the record of actions. */
      recorded?(body: Body): Recorded
      requireChosen?(context: Context, body: Body): Promise<unknown>
      act(context: Context, body: Body, visit: Visit): Promise<unknown>
    }): Declared => {
      const { name, body: schema, recorded, requireChosen, act } = route
      const run: Route<Call, Body>['run'] = async ({ context, visit, record, body }) => {
        await requireChosen?.(context, body)
        const { name: who, role } = visit.actor
        const details: Partial<Recorded> = recorded?.(body) ?? {}
        await record({ who, role, action: name, ...details })
        return { json: (await act(context, body, visit)) ?? {} }
      }
      return { name, method: 'POST', path: name, caller: 'act', body: schema, run }
    },
  }
}

/** Adds the routes of a page. Only a caller who has signed in gets an answer, and only an actor may act. */
export function addPageQuestions<Context, Visit extends { readonly actor: Actor }, Recorded>(
  app: FastifyInstance,
  page: {
    readonly context: Context
    /** The path of the page, without a slash at the end. */
    readonly path: string
    readonly routes: ReadonlyArray<PageRoute<Context, Visit, Recorded>>
    /** Undefined: sign in first. */
    visitOf(request: FastifyRequest): Visit | undefined
    readonly record: Recorder<Recorded>
  },
): void {
  const { context, path, visitOf, record } = page
  const requireVisit = (request: FastifyRequest) => visitOf(request) ?? refusePage(401, 'Sign in first.')
  const routes = page.routes.map((route) => ({ ...route, path: `${path}/api/${route.path}` }))
  addRoutes(app, routes, ({ caller }) => ({
    async admit(request) {
      const { role } = requireVisit(request).actor
      requireCsrfToken(request)
      if (caller === 'act' && role !== 'act') refusePage(403, 'You may look, and not act.')
    },
    async work({ request }, run) {
      const answer = await run(request.query)
      if (caller === 'look' && (await hasSignedOut(request))) refusePage(401, 'Sign in first.')
      return answer
    },
    callOf: (request) => ({ context, record, visit: requireVisit(request) }),
    parse: (schema, value) => {
      const parsed = schema.parse(value)
      if (hasNul(parsed)) refusePage(400, 'The request has a character that no text has.')
      return parsed
    },
  }))
  app.all(`${path}/api/*`, async (_request, reply) => reply.code(404).send({ error: 'there is no such question' }))
}

/** Postgres takes no text with the character NUL, and would answer an error. */
function hasNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\u0000')
  return typeof value === 'object' && value !== null && Object.values(value).some(hasNul)
}

/** An error as the browser shows it: a message and what to do. An unforeseen error is logged, and reported without its text. */
export function sendPageError(
  error: unknown,
  { log, request, reply, page }: { log: Log; request: FastifyRequest; reply: FastifyReply; page: string },
): FastifyReply {
  if (error instanceof z.ZodError) {
    const hint = error.issues[0] && [error.issues[0].path.join('.'), error.issues[0].message].filter(Boolean).join(': ')
    return reply.code(400).send({ error: 'The request does not fit.', hint })
  }
  if (error instanceof Problem)
    return reply.code(error instanceof UnknownId ? 404 : 400).send({ error: error.message, hint: error.hint })
  if (isOutage(error)) {
    log.warn({ path: request.routeOptions.url }, 'the database did not answer')
    return reply.code(503).send({ error: 'The database does not answer.', hint: 'Ask again in a moment.' })
  }
  const statusCode = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
  if ((statusCode < 500 || statusCode === 503) && error instanceof Error)
    return reply.code(statusCode).send({ error: error.message })
  if (reply.raw.destroyed) return reply.code(499).send() // the visitor has left: nobody reads it, and nothing is wrong
  const name = error instanceof Error ? error.name : 'unknown'
  log.error({ err: name, path: request.routeOptions.url }, `the ${page} could not answer`)
  return reply.code(500).send({ error: 'This could not be answered.', hint: `The log of the ${page} tells more.` })
}
