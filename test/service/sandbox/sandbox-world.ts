import { Agent, request } from 'node:http'
import pg from 'pg'
import { operations } from '../../../src/base/contract/operations.ts'
import { createLog } from '../../../src/base/log.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/service/start-sandbox.ts'
import { test as base } from '../../support/fixtures.ts'

export type SandboxAnswer = {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  text: string
}

/** A plain HTTP client: one connection for each request, and no retry. Rejects when the connection breaks. */
export function send(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: unknown; agent?: Agent } = {},
): Promise<SandboxAnswer> {
  const { method = 'GET', headers = {}, body, agent = new Agent({ keepAlive: false }) } = options
  return new Promise((resolve, reject) => {
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    const sent = request(url, { method, headers: { ...json, ...headers }, agent }, (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.once('error', reject)
      response.once('end', () => {
        const body = Buffer.concat(pieces)
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body, text: body.toString('utf8') })
      })
    })
    sent.once('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** Runs one statement on a connection of its own. */
export async function query<Row extends pg.QueryResultRow>(
  databaseUrl: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query<Row>(sql, [...values]).finally(() => client.end())
  return rows
}

export const json = (answer: SandboxAnswer) => JSON.parse(answer.text)

export type SandboxWorld = {
  sandbox: Sandbox
  /** Sends to a path below /api/v1/. */
  api(path: string, options?: Parameters<typeof send>[1]): Promise<SandboxAnswer>
  /** Sends to a control route and reads its answer. */
  control(method: string, path: string, body?: unknown): Promise<SandboxAnswer>
  accountToken(): Promise<string>
  profileToken(externalId: string): Promise<{ profileToken: string; refreshToken: string }>
}

export const runner = 'SampleProfile-runner-1'
export const office = 'SampleProfile-office-worker-1'
export const traveller = 'SampleProfile-traveller-1'
export const newcomer = 'SampleProfile-newcomer-1'

/** A log as a phone sends it, `hour` hours into the third of March. */
export const steps = (hour: number) => ({
  logType: 'activity',
  dataType: 'steps',
  value: 100 + hour,
  unit: 'count',
  source: 'test',
  recordingMethod: 'automatically_recorded',
  deviceType: 'phone',
  startDateTime: `2026-03-03T${String(hour).padStart(2, '0')}:00:00+01:00`,
  endDateTime: `2026-03-03T${String(hour).padStart(2, '0')}:10:00+01:00`,
})

export const scorePath = operations.scoresOf.path.replace('/api/v1/', '').replace('{externalId}', runner)
export const tagPath = operations.tagsOf.path.replace('/api/v1/', '').replace('{externalId}', runner)

export const quiet = createLog({ level: 'silent' })

export async function openSandboxWorld(
  options: Partial<SandboxOptions> & { databaseUrl: string },
): Promise<SandboxWorld> {
  const sandbox = await startSandbox({
    port: 0,
    profiles: 8,
    days: 2,
    seed: 'test',
    log: quiet,
    derives: false,
    ...options,
  })
  const api: SandboxWorld['api'] = (path, more) => send(`${sandbox.url}/api/v1/${path}`, more)
  const accountToken = async () => {
    const { clientId, clientSecret } = sandbox
    return json(await api('oauth/account/token', { method: 'POST', body: { clientId, clientSecret } })).accountToken
  }
  return {
    sandbox,
    api,
    accountToken,
    control: (method, path, body) => {
      const headers = { authorization: `Bearer ${sandbox.controlToken}` }
      return send(sandbox.controlUrl + path, { method, headers, ...(body ? { body } : {}) })
    },
    profileToken: async (externalId) => {
      const headers = { authorization: `account ${await accountToken()}` }
      return json(await api('oauth/profile/token', { method: 'POST', headers, body: { externalId } }))
    },
  }
}

/** A sandbox for one test, with people who have two days of logs, and no derivation. */
export const test = base.extend<{ world: SandboxWorld }>({
  world: async ({ serviceUrl }, use) => {
    const world = await openSandboxWorld({ databaseUrl: serviceUrl })
    await use(world)
    await world.sandbox.close()
  },
})
