import { randomBytes, timingSafeEqual } from 'node:crypto'
import cookie from '@fastify/cookie'
import session, { type SessionStore } from '@fastify/session'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { HOUR, MINUTE } from '../base/time/units.ts'
import type { Actor } from './access.ts'
import type { Passwords } from './passwords.ts'

declare module 'fastify' {
  interface Session {
    actor?: Actor
    csrf?: string
  }
}

const SESSIONS_MAX = 1000
const SESSION_MS = 12 * HOUR

type SessionCookie = {
  /** Browsers keep cookies by host and not by port: each page of this machine has its own name. */
  readonly cookieName: string
  readonly path: string
}

/** Sessions live in memory: after a restart everybody signs in again. */
export async function addSessions(app: FastifyInstance, { cookieName, path }: SessionCookie): Promise<void> {
  await app.register(cookie)
  // `secure: 'auto'` weakens `strict` on plain http: a page of another site could send the cookie by a link.
  app.addHook('onSend', async ({ session: sent }: { session: FastifyRequest['session'] | null }) => {
    if (sent) sent.cookie.sameSite = 'strict'
  })
  await app.register(session, {
    secret: randomBytes(32).toString('hex'),
    cookieName,
    // Without an end of its own: browsers count it by the Date of the server, and the clock of a sandbox may be moved.
    cookie: { httpOnly: true, sameSite: 'strict', secure: 'auto', path },
    saveUninitialized: false,
    rolling: false,
    store: createSessionStore(),
  })
}

/** The token that the pages of this session send with each question and change. Another page cannot read it. */
export function csrfTokenOf({ session }: FastifyRequest): string {
  session.csrf ??= randomBytes(32).toString('base64url')
  return session.csrf
}

/** Refuses a request without the token of its session. */
export function requireCsrfToken({ headers, session }: FastifyRequest): void {
  const given = Buffer.from(String(headers['x-csrf-token'] ?? ''))
  const token = Buffer.from(session.csrf ?? '')
  if (token.length > 0 && token.length === given.length && timingSafeEqual(token, given)) return
  refusePage(403, 'The page is out of date: load it again. Nothing was done.')
}

/** Throws an error that the page shows. */
export function refusePage(statusCode: number, message: string): never {
  throw Object.assign(new Error(message), { statusCode })
}

type StoredSession = Parameters<SessionStore['set']>[1]

function createSessionStore(): SessionStore {
  const kept = new LRUCache<string, StoredSession>({ max: SESSIONS_MAX, ttl: SESSION_MS })
  return {
    set(id, value, done) {
      kept.set(id, value)
      done()
    },
    get(id, done) {
      done(null, kept.get(id) ?? null)
    },
    destroy(id, done) {
      kept.delete(id)
      done()
    },
  }
}

type SignInOptions = {
  /** The path of the page, without a slash at the end. */
  readonly path: string
  readonly passwords: Passwords | undefined
  record(entry: { who: string; role: string; action: 'sign-in' | 'sign-in refused' }): Promise<void>
}

const SIGN_INS_PER_MINUTE = 10

const signInSchema = z.strictObject({ name: z.string().max(200), password: z.string().max(1000) })

/** Signing in and out, for an app with sessions and with @fastify/rate-limit. */
export function addSignIn(app: FastifyInstance, { path, passwords, record }: SignInOptions): void {
  const limited = { rateLimit: { max: SIGN_INS_PER_MINUTE, timeWindow: MINUTE } }
  app.post(`${path}/api/sign-in`, { config: limited }, async (request, reply) => {
    requireCsrfToken(request)
    const { name, password } = signInSchema.parse(request.body)
    const role = await passwords?.roleOf(name, password)
    if (role === undefined) {
      await record({ who: name.slice(0, 64), role: '', action: 'sign-in refused' })
      return reply.code(401).send({ error: 'Name or password is wrong.' })
    }
    await request.session.regenerate()
    request.session.actor = { name, role }
    await record({ who: name, role, action: 'sign-in' })
    return { csrf: csrfTokenOf(request) }
  })
  app.post(`${path}/api/sign-out`, async (request) => {
    requireCsrfToken(request)
    await request.session.destroy()
    return {}
  })
}
