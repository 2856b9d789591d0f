import { randomUUID } from 'node:crypto'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type pg from 'pg'
import { test as base, expect } from 'vitest'
import { addServiceKey } from '../../src/app/service-accounts.ts'
import type { SandboxCredentials } from '../../src/base/contract/sandbox-credentials.ts'
import { createLog } from '../../src/base/log.ts'
import type { OtlpExport } from '../../src/base/monitoring/start-otlp.ts'
import { type ServiceLimits, startService } from '../../src/service/server.ts'
import { template, within } from '../support/fixtures.ts'
import { openTestPool } from '../support/test-pool.ts'

/**
 * A Profile Service to test over a socket. With SERVICE_URL (and SERVICE_CLIENT_ID, SERVICE_CLIENT_SECRET,
 * SERVICE_APP_ID, SERVICE_APP_SECRET) the same tests run against that service; tests that need access to its clock or its
 * database are then skipped.
 *
 * Every answer that passes through `call` is checked against the service's own OpenAPI document.
 */
export type Credentials = Omit<SandboxCredentials, 'controlToken'>
export type ServiceInternals = { sql: pg.Pool; log: string[] }
/** With a clock that stands still until a test moves it. */
export type FrozenInternals = ServiceInternals & { clock: { ms: number } }
export type ServiceWorld<Within extends ServiceInternals = ServiceInternals> = Credentials & {
  url: string
  inside: Within | undefined
  /** Another account of the same service; undefined where only one is known. */
  other: Credentials | undefined
  document: OpenApi
  check(answer: ServiceAnswer): void
}

type OpenApi = {
  openapi: string
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>
}

export type CallOptions = {
  method?: string
  body?: unknown
  /** Sent as it is, with Content-Type application/json unless `headers` says otherwise. */
  raw?: string | Uint8Array<ArrayBuffer>
  auth?: string | undefined
  headers?: Record<string, string>
}
export type ServiceAnswer = {
  method: string
  path: string
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads into answers whose shape it is about to check
  json: any
}

/** Tests that ask wrongly in one standing minute. */
const manyRefusals = { refusedLoginsPerMinute: 1_000_000, refusedTokensPerMinute: 1_000_000 }

export const test = base.extend<{ world: ServiceWorld<FrozenInternals>; inside: FrozenInternals; other: Credentials }>({
  world: [
    async ({}, use) => {
      const url = process.env['SERVICE_URL']
      if (url) return use(await worldAt<FrozenInternals>(url, undefined, { ...givenCredentials(), other: undefined }))
      const clock = { ms: Date.parse('2026-11-20T12:00:00Z') }
      await within(await template('service'), (databaseUrl) =>
        serve({ databaseUrl, limits: manyRefusals, clock: () => clock.ms }, (world) =>
          use({ ...world, inside: world.inside && { ...world.inside, clock } }),
        ),
      )
    },
    { scope: 'file' },
  ],
  inside: async ({ world, skip }, use) => {
    if (!world.inside) skip('needs access to the clock or the tables of the service, and SERVICE_URL gives none')
    else await use(world.inside)
  },
  other: async ({ world, skip }, use) => {
    if (!world.other) skip('needs a second account, and SERVICE_URL gives one')
    else await use(world.other)
  },
})

/**
 * Starts a service with two accounts for the time of `use`, by the real clock: the caller knows the address of the
 * database, so another process may judge the tokens of this service. The world of the fixture has a frozen clock, and
 * keeps the address of its database to itself for that reason.
 */
export function withService<T>(
  databaseUrl: string,
  {
    trustedProxies,
    clock,
    otlp,
    ...limits
  }: Partial<ServiceLimits> & Pick<Served, 'trustedProxies' | 'clock' | 'otlp'>,
  use: (world: ServiceWorld) => Promise<T>,
): Promise<T> {
  return serve({ databaseUrl, limits, otlp, ...(trustedProxies && { trustedProxies }), ...(clock && { clock }) }, use)
}

type Served = {
  databaseUrl: string
  limits?: Partial<ServiceLimits>
  trustedProxies?: readonly string[]
  clock?: () => number
  otlp?: OtlpExport | undefined
}

async function serve<T>({ databaseUrl, ...options }: Served, use: (world: ServiceWorld) => Promise<T>): Promise<T> {
  const lines: string[] = []
  const log = createLog({ level: 'debug', destination: { write: (line: string) => void lines.push(line) } })
  const service = await startService({ databaseUrl, port: 0, log, ...options })
  const sql = openTestPool(databaseUrl)
  // The fixture drops the database by force, which may end a connection before the pool has closed it.
  try {
    const [first, second] = [await credentials(databaseUrl, 'first'), await credentials(databaseUrl, 'second')]
    return await use(await worldAt(service.url, { sql, log: lines }, { ...first, other: second }))
  } finally {
    await sql.end()
    await service.close()
  }
}

async function credentials(databaseUrl: string, account: string): Promise<Credentials> {
  const log = createLog({ level: 'silent' })
  const key = (kind: 'client' | 'app') =>
    addServiceKey({ databaseUrl, nowAt: new Date(0), log }, { account, kind, label: 'test' })
  const [client, app] = [await key('client'), await key('app')]
  return { clientId: client.publicId, clientSecret: client.secret, appId: app.publicId, appSecret: app.secret }
}

function givenCredentials(): Credentials {
  const read = (name: string) => process.env[`SERVICE_${name}`] ?? ''
  return {
    clientId: read('CLIENT_ID'),
    clientSecret: read('CLIENT_SECRET'),
    appId: read('APP_ID'),
    appSecret: read('APP_SECRET'),
  }
}

async function worldAt<Within extends ServiceInternals>(
  url: string,
  inside: Within | undefined,
  accounts: Credentials & { other: Credentials | undefined },
): Promise<ServiceWorld<Within>> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi
  return { ...accounts, url, inside, document, check: checker(document) }
}

/** Fails when an answer's status is not declared for its operation, or its body is not of the declared shape. */
function checker(document: OpenApi): (answer: ServiceAnswer) => void {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema(document, 'openapi')
  const compiled = new Map<string, ValidateFunction>()
  const places = Object.entries(document.paths).map(([path, methods]) => ({
    path,
    methods,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))
  places.sort((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')))
  const schemaAt = (pointer: string) => {
    const known = compiled.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` })
    compiled.set(pointer, known)
    return known
  }
  return (answer) => {
    const place = places.find(({ pattern }) => pattern.test(answer.path.split('?', 1)[0] ?? ''))
    const responses = place?.methods[answer.method.toLowerCase()]?.responses
    const refused = answer.status >= 400
    if (refused) expect(schemaAt('/components/schemas/Error')(answer.json), answer.text).toBe(true)
    if (!place || !responses) return
    const declared = responses[answer.status] as { content?: unknown } | undefined
    expect(declared, `${answer.method} ${place.path} answered ${answer.status}: ${answer.text}`).toBeDefined()
    if (!declared?.content) return expect(answer.text).toBe('')
    const at = [place.path, answer.method.toLowerCase(), 'responses', String(answer.status)].map(pointerPart)
    const validate = schemaAt(`/paths/${at.join('/')}/content/application~1json/schema`)
    expect(validate(answer.json), `${answer.text}\n${ajv.errorsText(validate.errors)}`).toBe(true)
  }
}

function pointerPart(text: string): string {
  return encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'))
}

export async function call(world: ServiceWorld, path: string, ask: CallOptions = {}): Promise<ServiceAnswer> {
  const method = ask.method ?? 'GET'
  const body = ask.raw ?? (ask.body === undefined ? undefined : JSON.stringify(ask.body))
  const headers = {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(ask.auth === undefined ? {} : { authorization: ask.auth }),
    ...ask.headers,
  }
  const response = await fetch(`${world.url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') && text !== ''
  const answer = {
    method,
    path,
    status: response.status,
    headers: response.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  }
  world.check(answer)
  return answer
}

/** The fields that an error response names. */
export function originsOf(answer: ServiceAnswer): string[] {
  return answer.json.errors.map((fault: { origin: string }) => fault.origin)
}

export async function accountAuth(world: ServiceWorld, credentials: Credentials = world): Promise<string> {
  const { clientId, clientSecret } = credentials
  const answer = await call(world, '/api/v1/oauth/account/token', { method: 'POST', body: { clientId, clientSecret } })
  expect(answer.status).toBe(200)
  return `account ${answer.json.accountToken}`
}

export type RegisteredProfile = { externalId: string; auth: string; refreshToken: string; account: string }

export async function registerProfile(
  world: ServiceWorld,
  options: { account?: string; externalId?: string } = {},
): Promise<RegisteredProfile> {
  const account = options.account ?? (await accountAuth(world))
  const externalId = options.externalId ?? `person-${randomUUID()}`
  const answer = await call(world, '/api/v1/oauth/profile/register', {
    method: 'POST',
    auth: account,
    body: { externalId },
  })
  expect(answer.status).toBe(201)
  return { externalId, account, auth: `profile ${answer.json.profileToken}`, refreshToken: answer.json.refreshToken }
}

export async function profileAuth(world: ServiceWorld, person: RegisteredProfile, options: object): Promise<string> {
  const answer = await call(world, '/api/v1/oauth/profile/token', {
    method: 'POST',
    auth: person.account,
    body: { externalId: person.externalId, ...options },
  })
  expect(answer.status).toBe(200)
  return `profile ${answer.json.profileToken}`
}

export function stepsLog(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: randomUUID(),
    logType: 'activity',
    dataType: 'steps',
    value: 812,
    unit: 'count',
    source: 'com.example.health',
    recordingMethod: 'automatically_recorded',
    deviceType: 'watch',
    startDateTime: '2026-07-11T09:00:00+12:00',
    endDateTime: '2026-07-11T09:15:00+12:00',
    ...changes,
  }
}
