import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Seen = { method: string; path: string; authorization: string; ifNoneMatch: string; body: string }
type Early = Reply | 'drop' | 'lose' | undefined
export type Reply = { status: number; body?: string; headers?: Record<string, string> }

/**
 * A small Profile Service with tokens only: it issues, checks, refreshes with rotation, and revokes tokens. The test answers
 * all other requests.
 */
export type ProfileStub = {
  url: string
  seen: Seen[]
  /** How often the operation at this path was called. */
  calls(path: string): number
  /** Revokes every token that was issued so far. */
  revokeAll(): void
  /** Refuses every token, also new ones. */
  refuseAll(on: boolean): void
  /** Answers first; undefined lets the stub answer. `drop` closes the connection, `lose` closes it after the request was carried out. */
  before: (seen: Seen) => Early | Promise<Early>
  answer: (seen: Seen) => Reply
  profiles: Set<string>
  /** Headers of every answer. */
  headers: Record<string, string>
  close(): Promise<void>
}

export type StubOptions = { clientSecret?: string; expiresIn?: number | undefined; secretOf?: () => string }

const api = '/api/v1'

/**
 * TEST_UPSTREAM=plain: answers hold what the specification asks for, and what the test itself gives: no Date, no lifetime of an account
 * token, no body of an error.
 */
const isPlain = process.env['TEST_UPSTREAM'] === 'plain'

/** The part of a refusal's reason that comes from upstream: the title of its error, and the status alone where errors have no body. */
export const reasonOfTitle = (title: string): string => (isPlain ? 'status 400' : title)

/** For a test of what the body of an error says. */
export function needErrorBodies(skip: (note: string) => never): void {
  if (isPlain) skip('errors have no body')
}

export async function startProfileStub(options: StubOptions = {}): Promise<ProfileStub> {
  const { clientSecret = 'client-secret', secretOf = randomUUID } = options
  let live = new Set<string>()
  let refresh = new Set<string>()
  let refusing = false
  const expiresIn = 'expiresIn' in options ? options.expiresIn : 86_400

  const profileToken = (): Reply => {
    const [token, refreshToken] = [secretOf(), secretOf()]
    live.add(token)
    refresh.add(refreshToken)
    return json(200, { profileToken: token, refreshToken, expiresIn, tokenType: 'Profile' })
  }
  const issuing: Record<string, (seen: Seen) => Reply> = {
    [`${api}/oauth/account/token`](seen) {
      if (JSON.parse(seen.body).clientSecret !== clientSecret) return json(401, { title: 'Unauthorized' })
      const accountToken = secretOf()
      live.add(accountToken)
      return json(200, isPlain ? { accountToken } : { accountToken, expiresIn, tokenType: 'Account' })
    },
    [`${api}/oauth/profile/token`](seen) {
      return stub.profiles.has(JSON.parse(seen.body).externalId) ? profileToken() : json(404, { title: 'Not Found' })
    },
    [`${api}/oauth/profile/register`](seen) {
      const { externalId } = JSON.parse(seen.body)
      if (stub.profiles.has(externalId)) return json(400, { title: 'Bad Request' })
      stub.profiles.add(externalId)
      return { ...profileToken(), status: 201 }
    },
    [`${api}/oauth/profile/refreshToken`](seen) {
      return refresh.delete(JSON.parse(seen.body).refreshToken) ? profileToken() : json(401, { title: 'Unauthorized' })
    },
  }

  const stub: ProfileStub = {
    url: '',
    seen: [],
    calls: (path) => stub.seen.filter((seen) => seen.path.split('?')[0] === `${api}/${path}`).length,
    revokeAll() {
      live = new Set()
      refresh = new Set()
    },
    refuseAll: (on) => {
      refusing = on
    },
    before: () => undefined,
    answer: () => json(200, []),
    profiles: new Set(),
    headers: {},
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }

  function reply(seen: Seen): Reply {
    const path = seen.path.split('?')[0] ?? ''
    const open = path === `${api}/oauth/account/token`
    const token = seen.authorization.split(' ')[1] ?? ''
    if (!open && (refusing || !live.has(token))) return json(401, { title: 'Unauthorized' })
    return (issuing[path] ?? stub.answer)(seen)
  }

  const server = createServer(async (request, response) => {
    const seen = await seenOf(request)
    stub.seen.push(seen)
    const early = await stub.before(seen)
    if (early === 'drop') return void response.destroy()
    const respond = (reply: Reply) => send(response, { ...reply, headers: { ...stub.headers, ...reply.headers } })
    if (early !== undefined && early !== 'lose') return respond(early)
    const late = reply(seen)
    if (early === 'lose') return void response.destroy()
    respond(late)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return stub
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return { status, body: JSON.stringify(body), headers }
}

function send(response: ServerResponse, { status, body, headers = {} }: Reply): void {
  response.sendDate = !isPlain
  if (isPlain && status >= 400) {
    response.writeHead(status, headers).end()
    return
  }
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(body)
}

async function seenOf(request: IncomingMessage): Promise<Seen> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    authorization: request.headers.authorization ?? '',
    ifNoneMatch: request.headers['if-none-match'] ?? '',
    body: Buffer.concat(chunks).toString('utf8'),
  }
}
