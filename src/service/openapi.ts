import { z } from 'zod'
import { externalIdSchema } from '../contract/auth.ts'
import { errorBodySchema } from '../contract/error-body.ts'
import { type Caller, operations } from '../contract/operations.ts'
import { listParameters } from '../contract/query.ts'
import type { RouteDefinition } from './route.ts'

type Json = { [key: string]: unknown }

export type OpenApiOperation = {
  operationId: string
  summary: string
  tags: string[]
  security?: Json[]
  parameters?: Array<{ name: string; in: string; required: boolean; schema: unknown; description?: string }>
  requestBody?: { required: boolean; content: { 'application/json': { schema: unknown } } }
  responses: Record<string, { description: string; content?: { 'application/json': { schema: unknown } } }>
}

export type OpenApi = {
  openapi: string
  info: Json
  paths: Record<string, Record<string, OpenApiOperation>>
  components: Json
}

/** The document of what the routes are, read from the very schemas that judge requests and shape answers. */
export function openApiOf(routes: readonly RouteDefinition[]): OpenApi {
  const paths: OpenApi['paths'] = {}
  for (const route of routes) {
    const { method, path } = operations[route.operation]
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Health Data Profile Service',
      version: '1',
      description: 'Manages profiles, takes their data logs, and serves what is derived from them.',
    },
    paths,
    components: {
      schemas: { Error: schemaOf(errorBodySchema, 'output') },
      securitySchemes: {
        account: header('Authorization', 'account <ACCOUNT_TOKEN>'),
        profile: header('Authorization', 'profile <PROFILE_TOKEN>'),
        appId: header('AppId', 'The id of an app key'),
        appSecret: header('AppSecret', 'The secret of an app key'),
      },
    },
  }
}

const securityOf: Record<Caller, Json[]> = {
  anyone: [],
  account: [{ account: [] }],
  profile: [{ profile: [] }],
  app: [{ appId: [], appSecret: [] }],
}

function operationOf(route: RouteDefinition): OpenApiOperation {
  const { path, caller } = operations[route.operation]
  const parameters = [
    ...(path.includes('{externalId}') ? [pathParameter()] : []),
    ...(route.query ? queryParameters(route.query) : []),
  ]
  return {
    operationId: route.operation,
    summary: route.summary,
    tags: [path.split('/').slice(3, 5).join(' ')],
    security: securityOf[caller],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body ? { requestBody: bodyOf(route) } : {}),
    responses: { ...answersOf(route), ...refusalsOf(route) },
  }
}

function pathParameter() {
  return { name: 'externalId', in: 'path', required: true, schema: schemaOf(externalIdSchema, 'input') }
}

function queryParameters(query: z.ZodType): NonNullable<OpenApiOperation['parameters']> {
  const { properties = {} } = schemaOf(query, 'input') as { properties?: Json }
  const lists = new Set<string>(listParameters)
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema,
    ...(lists.has(name) ? { style: 'form', explode: false, description: 'Several, separated by commas' } : {}),
  }))
}

function bodyOf(route: RouteDefinition): NonNullable<OpenApiOperation['requestBody']> {
  const schema = schemaOf(route.body ?? z.unknown(), 'input')
  return { required: route.bodyRequired !== false, content: { 'application/json': { schema } } }
}

function answersOf(route: RouteDefinition): OpenApiOperation['responses'] {
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, schema]) => [
      status,
      schema
        ? { description: words[status] ?? '', content: { 'application/json': { schema: schemaOf(schema, 'output') } } }
        : { description: words[status] ?? '' },
    ]),
  )
}

const words: Record<string, string> = {
  200: 'Done',
  201: 'Registered',
  204: 'Nothing there: not an error',
  400: 'A part of the request does not fit; every fault is named',
  401: 'Credentials missing, wrong, expired, or of the wrong kind',
  404: 'No such profile',
  408: 'The request took too long to arrive',
  413: 'The body is too large',
  415: 'The body is not JSON, or its encoding is not known',
  429: 'Too many requests: Retry-After says when to come back',
  431: 'The address and headers together are over 16 KB',
  503: 'Stopping, or without the database: Retry-After says when to come back',
}

function refusalsOf(route: RouteDefinition): OpenApiOperation['responses'] {
  const { path } = operations[route.operation]
  const unknown = path.includes('{externalId}') || route.operation === 'profileToken'
  const statuses = [400, 401, ...(unknown ? [404] : []), ...(route.body ? [413, 415] : []), 408, 429, 431, 503]
  const schema = { $ref: '#/components/schemas/Error' }
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      { description: words[status] ?? '', content: { 'application/json': { schema } } },
    ]),
  )
}

function header(name: string, description: string): Json {
  return { type: 'apiKey', in: 'header', name, description }
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): unknown {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io, target: 'draft-2020-12', unrepresentable: 'any' })
  return rest
}
