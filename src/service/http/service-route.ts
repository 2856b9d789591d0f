import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { CallerKind } from '../../base/contract/operations.ts'
import type { Route } from '../../web/route.ts'
import type { ServiceApp, ServiceContext } from './context.ts'
import { badRequest, fieldErrorsOf } from './request-error.ts'

/** Headers by their names, as the reference describes them. */
export type DescribedHeaders = Readonly<Record<string, { description: string; schema: unknown }>>

type ServiceCall = {
  context: ServiceContext
  /** The caller; an account for the callers `account` and `app`. */
  accountId: string
  /** The key that the caller's credentials descend from; undefined where anyone may call. */
  keyId: string | undefined
  /** The bearer's own profile; empty where the caller is not a profile. */
  profileId: string
  /** The path's `{externalId}`; empty where it has none. */
  externalId: string
}

export type RouteCall<Body, Query> = ServiceCall & { body: Body; query: Query; request: FastifyRequest }

/** A route of the interface, with all that the reference says of it. */
export type ServiceRoute<Body = unknown, Query = unknown> = Route<ServiceCall, Body, Query> & {
  caller: CallerKind
  summary: string
  /** By list parameter, the words that can match a record; any other word is reported, and matches nothing. */
  words?: Readonly<Record<string, readonly string[]>>
  /** Status and shape of each successful answer; null: without a body. */
  answers: Readonly<Record<number, z.ZodType | null>>
  /** Headers that a request may carry, and headers that every successful answer carries. */
  headers?: { request: DescribedHeaders; answer: DescribedHeaders }
  /** A list with more entries is refused as too large (413), before an entry is parsed. */
  entriesMax?: number
  /** The operation writes the bearer's data: read-only tokens are refused. */
  writes?: boolean
  /** Parsed and answered within the limit of concurrent uploads, so that many at once do not delay other requests. */
  limitsConcurrency?: boolean
  /** An expired profile token that this service issued is accepted. */
  acceptsExpired?: boolean
}

/** Gives `run` the types of the route's own schemas. */
export const defineRoute = <Body, Query>(route: ServiceRoute<Body, Query>): ServiceRoute => route

/** Parses one part of a request; throws a 400 that names every field at fault. */
export function parsePart<T>(schema: z.ZodType<T>, value: unknown, location: 'body' | 'query' | 'path'): T {
  const parsed = schema.safeParse(value)
  if (!parsed.success) throw badRequest(location, fieldErrorsOf(parsed.error))
  return parsed.data
}

/** The result of an extension: `routes` are served and described beside the 28, and `close` closes whatever it opened. */
export type ServiceAddition = { close?(): Promise<void>; routes?: readonly ServiceRoute[] }

/**
 * A part that is built into a service beside the 28 operations: the recomputation, an extra route, or the sandbox's
 * control routes and faults (as hooks of the app). Called before the service listens.
 */
export type ServiceExtension<A extends ServiceAddition | undefined = ServiceAddition | undefined> = (
  context: ServiceContext & {
    app: ServiceApp
    databaseUrl: string
    /** The address on which the service will listen. */
    host: string
    /** The routes so far; extensions that follow add theirs. */
    routes: readonly ServiceRoute[]
  },
) => Promise<A>
