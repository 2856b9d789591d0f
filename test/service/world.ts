import { randomUUID } from 'node:crypto'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import pg from 'pg'
import { test as base, expect } from 'vitest'
import { createServiceKey } from '../../src/commands/service-keys.ts'
import { createLog } from '../../src/log.ts'
import { type Limits, startService } from '../../src/service/server.ts'
import { template, within } from '../support/fixtures.ts'

/**
 * A Profile Service to test over a socket. With SERVICE_URL (and SERVICE_CLIENT_ID, SERVICE_CLIENT_SECRET,
 * SERVICE_APP_ID, SERVICE_APP_SECRET) the same tests run against that one; what needs a hand inside (a clock to move,
 * a database to write to) is then left out.
 *
 * Every answer that passes through `call` is held against the service's own OpenAPI document.
 */
export type Credentials = { clientId: string; clientSecret: string; appId: string; appSecret: string }
export type Inside = { clock: { ms: number }; sql: pg.Pool; databaseUrl: string; log: string[] }
export type World = Credentials & {
  url: string
  inside: Inside | undefined
  /** Another account of the same service; undefined where only one is known. */
  other: Credentials | undefined
  document: OpenApi
  check(answer: Answer): void
}

export type OpenApi = {
  openapi: string
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>
}

export type Ask = {
  method?: string
  body?: unknown
  /** Sent as it is, with Content-Type application/json unless `headers` says otherwise. */
  raw?: string | Uint8Array<ArrayBuffer>
  auth?: string | undefined
  headers?: Record<string, string>
}
export type Answer = {
  method: string
  path: string
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads into answers whose shape it is about to judge
  json: any
}

export const test = base.extend<{ world: World; inside: Inside; other: Credentials }>({
  world: [
    async ({}, use) => {
      const url = process.env['SERVICE_URL']
      if (url) return use(await worldAt(url, undefined, { ...givenCredentials(), other: undefined }))
      await within(await template('service'), (databaseUrl) => withService(databaseUrl, {}, use))
    },
    { scope: 'file' },
  ],
  inside: async ({ world, skip }, use) => {
    if (!world.inside) skip('needs a hand inside the service, and SERVICE_URL gives none')
    else await use(world.inside)
  },
  other: async ({ world, skip }, use) => {
    if (!world.other) skip('needs a second account, and SERVICE_URL gives one')
    else await use(world.other)
  },
})

/** Starts a service with two accounts for the time of `use`. */
export async function withService(
  databaseUrl: string,
  limits: Partial<Limits>,
  use: (world: World) => Promise<void>,
): Promise<void> {
  const lines: string[] = []
  const log = createLog({ level: 'debug', destination: { write: (line: string) => void lines.push(line) } })
  const clock = { ms: Date.parse('2026-11-20T12:00:00Z') }
  const service = await startService({ databaseUrl, port: 0, log, limits, clock: () => clock.ms })
  const sql = new pg.Pool({ connectionString: databaseUrl, max: 2 })
  try {
    const [first, second] = [await credentials(databaseUrl, 'first'), await credentials(databaseUrl, 'second')]
    const inside = { clock, sql, databaseUrl, log: lines }
    await use(await worldAt(service.url, inside, { ...first, other: second }))
  } finally {
    await sql.end()
    await service.close()
  }
}

async function credentials(databaseUrl: string, account: string): Promise<Credentials> {
  const log = createLog({ level: 'silent' })
  const key = (kind: 'client' | 'app') =>
    createServiceKey({ databaseUrl, account, kind, label: 'test', now: new Date(0), log })
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

async function worldAt(
  url: string,
  inside: Inside | undefined,
  accounts: Credentials & { other: Credentials | undefined },
): Promise<World> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi
  return { ...accounts, url, inside, document, check: checker(document) }
}

/** Fails when an answer's status is not declared for its operation, or its body is not of the declared shape. */
function checker(document: OpenApi): (answer: Answer) => void {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema(document, 'openapi')
  const compiled = new Map<string, ValidateFunction>()
  const places = Object.entries(document.paths).map(([path, methods]) => ({
    path,
    methods,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))
  places.sort((one, two) => Number(one.path.includes('{')) - Number(two.path.includes('{')))
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

export async function call(world: World, path: string, ask: Ask = {}): Promise<Answer> {
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

/** The origins that a refusal names. */
export function originsOf(answer: Answer): string[] {
  return answer.json.errors.map((fault: { origin: string }) => fault.origin)
}

export async function accountAuth(world: World, credentials: Credentials = world): Promise<string> {
  const { clientId, clientSecret } = credentials
  const answer = await call(world, '/api/v1/oauth/account/token', { method: 'POST', body: { clientId, clientSecret } })
  expect(answer.status).toBe(200)
  return `account ${answer.json.accountToken}`
}

export type Person = { externalId: string; auth: string; refreshToken: string; account: string }

export async function newPerson(
  world: World,
  options: { account?: string; externalId?: string } = {},
): Promise<Person> {
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

export async function profileAuth(world: World, person: Person, options: object): Promise<string> {
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
