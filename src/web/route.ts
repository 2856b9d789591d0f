import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The name under which a route's requests are counted. */
    operation?: string
    /** False: a request without a body is valid too. */
    bodyRequired?: boolean
  }
}

export const jsonContentType = 'application/json; charset=utf-8'

/** `bytes` are sent unchanged, as JSON unless a header says otherwise. An answer with neither `json` nor `bytes` has no body. */
export type RouteAnswer = {
  readonly status?: number
  readonly json?: unknown
  readonly bytes?: Buffer | string
  readonly headers?: Readonly<Record<string, string>>
}

type RouteInput<Body, Query> = Received & { readonly body: Body; readonly query: Query }

/** A route of any of our servers: how it is called and by whom, what it takes, and what it does. */
export type Route<Call, Body = unknown, Query = unknown> = {
  /** The name under which its requests are counted. */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** A part that varies is written `{name}`. */
  readonly path: string
  /** The kind of caller; the rules of the server say who that is. */
  readonly caller: string
  readonly body?: z.ZodType<Body>
  /** False: a request without a body is valid too. */
  readonly bodyRequired?: boolean
  readonly bodyBytesMax?: number
  readonly query?: z.ZodType<Query>
  run(call: Call & RouteInput<Body, Query>): Promise<RouteAnswer>
}

type Received = { readonly request: FastifyRequest; readonly reply: FastifyReply }

/** How a server treats the requests of a route. */
type RouteRules<Call> = {
  /** Called before the body is read. Throws when the caller may not call the route. */
  admit?(request: FastifyRequest): Promise<void>
  /** The parts of the call that are not its input. */
  callOf(request: FastifyRequest): Call
  /** Throws an error that the server answers with 400. */
  parse<T>(schema: z.ZodType<T>, value: unknown, part: 'body' | 'query'): T
  /** Wraps the work: `run` parses the input, with the query as it is given, and does it. */
  work?(received: Received, run: (query: unknown) => Promise<RouteAnswer>): Promise<RouteAnswer>
  readonly config?: FastifyContextConfig
}

/** Adds routes to a server. The rules of each route are made once, here; hooks of the server count its requests and map its errors. */
export function addRoutes<Call, R extends Route<Call>>(
  app: FastifyInstance,
  routes: readonly R[],
  rulesOf: (route: R) => RouteRules<Call>,
): void {
  for (const route of routes) {
    const { name, method, path, body, query, bodyRequired = true, bodyBytesMax } = route
    const { admit, callOf, parse, work = ({ request }, run) => run(request.query), config } = rulesOf(route)
    const bodyOf = (request: FastifyRequest) =>
      body === undefined || (request.body === undefined && !bodyRequired)
        ? undefined
        : parse(body, request.body, 'body')
    const runWith = async ({ request, reply }: Received, read: unknown) =>
      route.run({
        ...callOf(request),
        body: bodyOf(request),
        query: query && parse(query, read, 'query'),
        request,
        reply,
      })
    app.route({
      method,
      url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { operation: name, bodyRequired, ...config },
      ...(bodyBytesMax === undefined ? {} : { bodyLimit: bodyBytesMax }),
      ...(admit && { onRequest: admit }),
      handler: async (request, reply) =>
        sendAnswer(reply, await work({ request, reply }, (read) => runWith({ request, reply }, read))),
    })
  }
}

function sendAnswer(reply: FastifyReply, { status = 200, json, bytes, headers = {} }: RouteAnswer): FastifyReply {
  const body = bytes ?? (json === undefined ? undefined : JSON.stringify(json))
  if (body !== undefined) reply.header('content-type', jsonContentType)
  return reply.code(status).headers(headers).send(body)
}
