import { z } from 'zod'
import { externalIdSchema } from '../../base/contract/authentication.ts'
import { errorBodySchema } from '../../base/contract/error-body.ts'
import type { CallerKind } from '../../base/contract/operations.ts'
import { listParameters } from '../../base/contract/query-shapes.ts'
import { QUERY_NOTES_HEADER } from '../http/query-parameters.ts'
import type { DescribedHeaders, ServiceRoute } from '../http/service-route.ts'

type Json = { [key: string]: unknown }

export type OpenApiOperation = {
  operationId: string
  summary: string
  tags: string[]
  security?: Json[]
  parameters?: Array<{ name: string; in: string; required: boolean; schema: unknown; description?: string }>
  requestBody?: { required: boolean; content: { 'application/json': { schema: unknown } } }
  responses: Record<string, OpenApiResponse>
}

type OpenApiResponse = {
  description: string
  headers?: DescribedHeaders
  content?: { 'application/json': { schema: unknown } }
}

export type OpenApi = {
  openapi: string
  info: Json
  paths: Record<string, Record<string, OpenApiOperation>>
  components: Json
}

/** The OpenAPI document of the routes, made from the same schemas that validate requests and shape answers. */
export function openApiOf(routes: readonly ServiceRoute[]): OpenApi {
  const paths: OpenApi['paths'] = {}
  for (const route of routes) {
    const { method, path } = route
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
        account: headerScheme('Authorization', 'account <ACCOUNT_TOKEN>'),
        profile: headerScheme('Authorization', 'profile <PROFILE_TOKEN>'),
        appId: headerScheme('AppId', 'The id of an app key'),
        appSecret: headerScheme('AppSecret', 'The secret of an app key'),
      },
    },
  }
}

const securityOf: Record<CallerKind, Json[]> = {
  anyone: [],
  account: [{ account: [] }],
  profile: [{ profile: [] }],
  app: [{ appId: [], appSecret: [] }],
}

function operationOf(route: ServiceRoute): OpenApiOperation {
  const { path, caller } = route
  const parameters = [
    ...(path.includes('{externalId}') ? [pathParameter()] : []),
    ...(route.query ? queryParameters(route.query) : []),
    ...headerParameters(route.headers?.request ?? {}),
  ]
  return {
    operationId: route.name,
    summary: route.summary,
    tags: [path.split('/').slice(3, 5).join(' ')],
    security: securityOf[caller],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body ? { requestBody: requestBodyOf(route) } : {}),
    responses: { ...successResponsesOf(route), ...errorResponsesOf(route) },
  }
}

function pathParameter() {
  return { name: 'externalId', in: 'path', required: true, schema: schemaOf(externalIdSchema, 'input') }
}

/** The names of the parameters that a query's schema takes. */
export function parameterNames(query: z.ZodType | undefined): string[] {
  return query ? queryParameters(query).map(({ name }) => name) : []
}

function queryParameters(query: z.ZodType): NonNullable<OpenApiOperation['parameters']> {
  const { properties = {}, required = [] } = schemaOf(query, 'input') as { properties?: Json; required?: string[] }
  const lists = new Set<string>(listParameters)
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
    ...(lists.has(name)
      ? { style: 'form', explode: false, description: 'Several, separated by commas; absent: all' }
      : {}),
  }))
}

function headerParameters(headers: DescribedHeaders): NonNullable<OpenApiOperation['parameters']> {
  return Object.entries(headers).map(([name, header]) => ({ name, in: 'header', required: false, ...header }))
}

function requestBodyOf(route: ServiceRoute): NonNullable<OpenApiOperation['requestBody']> {
  const schema = schemaOf(route.body ?? z.unknown(), 'input')
  return { required: route.bodyRequired !== false, content: { 'application/json': { schema } } }
}

function successResponsesOf(route: ServiceRoute): OpenApiOperation['responses'] {
  const headers = { headers: { ...route.headers?.answer, [QUERY_NOTES_HEADER]: notesDescription } }
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, schema]) => {
      const described = { description: statusDescriptions[status] ?? '', ...headers }
      const content = schema && { content: { 'application/json': { schema: schemaOf(schema, 'output') } } }
      return [status, { ...described, ...content }]
    }),
  )
}

const notesDescription = {
  description: 'What of the query has no effect: parameters that there are not, and words that match no record',
  schema: { type: 'string' },
}

const statusDescriptions: Record<string, string> = {
  200: 'Done',
  201: 'Registered',
  204: 'Done, and there is no content',
  304: 'The caller holds the answer: a tag of If-None-Match is the present one',
  400: 'A part of the request is invalid; every field at fault is named',
  401: 'Credentials missing, wrong, expired, or of the wrong kind',
  404: 'No such profile',
  408: 'The request took too long to arrive',
  413: 'The body is too large',
  415: 'The body is not JSON, or its encoding is not known',
  429: 'Too many requests: Retry-After says when to try again',
  431: 'The address and headers together are over 16 KB',
  503: 'Stopping, or without the database: Retry-After says when to try again',
}

function errorResponsesOf(route: ServiceRoute): OpenApiOperation['responses'] {
  const unknown = route.path.includes('{externalId}') || route.name === 'profileToken'
  const statuses = [400, 401, ...(unknown ? [404] : []), ...(route.body ? [413, 415] : []), 408, 429, 431, 503]
  const schema = { $ref: '#/components/schemas/Error' }
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      { description: statusDescriptions[status] ?? '', content: { 'application/json': { schema } } },
    ]),
  )
}

function headerScheme(name: string, description: string): Json {
  return { type: 'apiKey', in: 'header', name, description }
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): unknown {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => withoutBoundsOfNumbers(jsonSchema),
  })
  return rest
}

/** The largest and the smallest safe integer of JavaScript say nothing about a field. */
function withoutBoundsOfNumbers(schema: { minimum?: number; maximum?: number }): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
}
