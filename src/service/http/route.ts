import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { type OperationName, operations } from '../../base/contract/operations.ts'
import type { ServiceContext } from './context.ts'
import { badRequest, fieldErrorsOf } from './request-error.ts'

/** `bytes` is JSON text and is sent unchanged. An answer with neither `json` nor `bytes` has no body. */
export type RouteAnswer = { status: number; json?: unknown; bytes?: Buffer; headers?: Readonly<Record<string, string>> }

/** Headers by their names, as the reference describes them. */
export type DescribedHeaders = Readonly<Record<string, { description: string; schema: unknown }>>

export type RouteCall<Body, Query> = {
  context: ServiceContext
  /** The caller; an account for the callers `account` and `app`. */
  accountId: string
  /** The key that the caller's credentials descend from; undefined where anyone may call. */
  keyId: string | undefined
  /** The bearer's own profile; empty where the caller is not a profile. */
  profileId: string
  /** The path's `{externalId}`; empty where it has none. */
  externalId: string
  body: Body
  query: Query
  request: FastifyRequest
}

export type RouteDefinition<Body = unknown, Query = unknown> = {
  operation: OperationName
  summary: string
  body?: z.ZodType<Body>
  /** False: a request without a body is valid too. */
  bodyRequired?: boolean
  query?: z.ZodType<Query>
  /** By list parameter, the words that can match a record; any other word is reported, and matches nothing. */
  words?: Readonly<Record<string, readonly string[]>>
  /** Status and shape of each successful answer; null: without a body. */
  answers: Readonly<Record<number, z.ZodType | null>>
  /** Headers that a request may carry, and headers that every successful answer carries. */
  headers?: { request: DescribedHeaders; answer: DescribedHeaders }
  bodyBytesMax?: number
  /** The operation writes the bearer's data: read-only tokens are refused. */
  writes?: boolean
  /** Parsed and answered within the limit of concurrent uploads, so that many at once do not delay other requests. */
  limitsConcurrency?: boolean
  /** An expired profile token that this service issued is accepted. */
  acceptsExpired?: boolean
  run(call: RouteCall<Body, Query>): Promise<RouteAnswer>
}

/** Gives `run` the types of the route's own schemas. */
export function defineRoute<Body, Query>(route: RouteDefinition<Body, Query>): RouteDefinition {
  // The schema parses what run receives, so the two always agree; outside, every route is of one type.
  return route as unknown as RouteDefinition
}

export function routePatternOf(operation: OperationName): string {
  return operations[operation].path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/** Parses one part of a request; throws a 400 that names every field at fault. */
export function parsePart<T>(schema: z.ZodType<T>, value: unknown, location: 'body' | 'query' | 'path'): T {
  const parsed = schema.safeParse(value)
  if (!parsed.success) throw badRequest(location, fieldErrorsOf(parsed.error))
  return parsed.data
}
