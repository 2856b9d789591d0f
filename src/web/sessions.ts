import { randomBytes, timingSafeEqual } from 'node:crypto'
import cookie from '@fastify/cookie'
import session, { type SessionStore } from '@fastify/session'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { HOUR } from '../base/time/units.ts'
import type { Actor } from './access.ts'

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

/** The token that the pages of this session send with each change. Another page cannot read it. */
export function csrfTokenOf({ session }: FastifyRequest): string {
  session.csrf ??= randomBytes(32).toString('base64url')
  return session.csrf
}

/** For a route that changes something: refuses a request without the token of its session. */
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
