import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { type OperationName, operations } from '../contract/operations.ts'
import type { Log } from '../log.ts'
import { badRequest, faultsOf, unauthorized } from './refusal.ts'
import type { Identities } from './store/identities.ts'
import type { Pool } from './store/pool.ts'
import type { DerivedReader } from './store/reads.ts'
import type { Identity } from './store/tokens.ts'
import type { Turns } from './turns.ts'

/** Milliseconds since 1970; a sandbox hands in one that can be moved. */
export type Clock = () => number

/** What every route works with. */
export type Room = {
  pool: Pool
  identities: Identities
  derived: DerivedReader
  /** Of requests that take long enough to be in the way of others. */
  turns: Turns
  clock: Clock
  log: Log
}

/** `bytes` are JSON already and are sent as they stand; neither `json` nor `bytes`: an answer without a body. */
export type Answer = { status: number; json?: unknown; bytes?: Buffer }

export type Call<Body, Query> = {
  room: Room
  /** The caller; an account for the callers `account` and `app`. */
  accountId: string
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
  /** False: a request without a body is as good. */
  bodyRequired?: boolean
  query?: z.ZodType<Query>
  /** Status and shape of each answer that is not a refusal; null: without a body. */
  answers: Readonly<Record<number, z.ZodType | null>>
  bodyBytesMax?: number
  /** Writes of the bearer's data: refused to read-only tokens. */
  writes?: boolean
  /** Looked at and answered in turn, so that many at once do not hold up everybody else. */
  inTurn?: boolean
  /** An expired profile token that this service issued is good enough. */
  acceptsExpired?: boolean
  run(call: Call<Body, Query>): Promise<Answer>
}

/** Gives `run` the types of the route's own schemas. */
export function defineRoute<Body, Query>(route: RouteDefinition<Body, Query>): RouteDefinition {
  // The schema parses what run receives, so the two always agree; outside, every route is of one type.
  return route as unknown as RouteDefinition
}

export function urlOf(operation: OperationName): string {
  return operations[operation].path.replaceAll(/\{(\w+)\}/g, ':$1')
}

const callers = new WeakMap<FastifyRequest, Pick<Identity, 'accountId' | 'profileId'>>()

export function identify(request: FastifyRequest, identity: Pick<Identity, 'accountId' | 'profileId'>): void {
  callers.set(request, identity)
}

export function callerOf(request: FastifyRequest): Pick<Identity, 'accountId' | 'profileId'> {
  const caller = callers.get(request)
  if (!caller) throw unauthorized()
  return caller
}

/** Parses one part of a request, or refuses it with every fault in it. */
export function parsePart<T>(schema: z.ZodType<T>, value: unknown, location: 'body' | 'query' | 'path'): T {
  const parsed = schema.safeParse(value)
  if (!parsed.success) throw badRequest(location, faultsOf(parsed.error))
  return parsed.data
}

export type App = FastifyInstance
