import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import cookie from '@fastify/cookie'
import session, { type SessionStore } from '@fastify/session'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { createSemaphore } from '../base/semaphore.ts'
import { HOUR, MINUTE, SECOND } from '../base/time/units.ts'
import type { Actor } from './access.ts'
import type { Passwords } from './passwords.ts'

declare module 'fastify' {
  interface Session {
    actor?: Actor
    csrf?: string
    /** The person whose settings a session holds that nobody has signed in to. */
    settingsOf?: string
  }
  interface FastifyRequest {
    visitor: { id: string | undefined; isNew: boolean }
  }
}

const SESSIONS_MAX = 1000
/** How many sessions a person may have: nobody fills the store by signing in repeatedly. */
const SESSIONS_OF_PERSON_MAX = 20
const SESSION_MS = 12 * HOUR

const STRANGERS_PER_MINUTE = 120

/** The limit for a route that gives tokens to strangers. People who have signed in do not count. */
export const sessionLimits = {
  rateLimit: {
    max: STRANGERS_PER_MINUTE,
    timeWindow: MINUTE,
    allowList: ({ session: known }: FastifyRequest) => known.actor !== undefined,
  },
}

/** A request that was refused before it came here has neither. */
type Refused = Pick<FastifyRequest, 'protocol' | 'port'> & {
  session: FastifyRequest['session'] | null
  visitor: FastifyRequest['visitor'] | null
}

/**
 * Sessions live in memory: after a restart everybody signs in again. A visitor who has not signed in has a cookie and no place in memory.
 * Names of cookies begin with `cookieName`.
 */
export async function addSessions(app: FastifyInstance, cookieName: string): Promise<void> {
  await app.register(cookie)
  const visitorCookie = `${cookieName}-visitor`
  app.decorateRequest('visitor')
  app.addHook('onRequest', async (request) => {
    const cookies = app.parseCookie(shortestPathFirst(request.headers.cookie))
    request.visitor = { id: cookies[nameAt(visitorCookie, request)] || undefined, isNew: false }
    request.cookies = { [cookieName]: cookies[nameAt(cookieName, request)] }
  })
  app.addHook('onSend', async (request: Refused, reply) => {
    const { visitor, protocol } = request
    if (visitor?.isNew)
      reply.setCookie(nameAt(visitorCookie, request), visitor.id ?? '', {
        httpOnly: true,
        sameSite: 'strict',
        secure: protocol === 'https',
        path: '/',
      })
  })
  // `secure: 'auto'` weakens `strict` on plain http: a page of another site could send the cookie by a link.
  app.addHook('onSend', async ({ session: sent }: Refused) => {
    if (sent) sent.cookie.sameSite = 'strict'
  })
  await app.register(session, {
    secret: randomBytes(32).toString('hex'),
    cookieName,
    // Without an end of its own: browsers count it by the Date of the server, and the clock of a sandbox may be moved.
    cookie: { httpOnly: true, sameSite: 'strict', secure: 'auto', path: '/' },
    saveUninitialized: false,
    rolling: false,
    store: createSessionStore(),
  })
  app.addHook('onSend', async (request, reply) => {
    const written = [reply.getHeader('set-cookie') ?? []].flat().map(String)
    const renamed = written.map((text) => {
      if (!text.startsWith(`${cookieName}=`)) return text
      // The plugin deletes without Secure, which browsers ask for where a name begins with __Host-.
      const secure = request.protocol === 'https' && !text.includes('; Secure') ? '; Secure' : ''
      return nameAt(cookieName, request) + text.slice(cookieName.length) + secure
    })
    if (renamed.length > 0) reply.removeHeader('set-cookie').header('set-cookie', renamed)
  })
}

/**
 * Browsers keep cookies by host and not by port: two pages of a host would sign each other's visitors out. A browser takes a name with
 * `__Host-` from this host alone: a page of another host of the domain could put a visitor into its own session.
 */
const nameAt = (name: string, { port, protocol }: Pick<FastifyRequest, 'port' | 'protocol'>): string =>
  `${protocol === 'https' ? '__Host-' : ''}${name}-${port ?? protocol}`

/**
 * The first of several cookies of one name counts, and browsers send the longest path first: a script on another port of this host
 * could add one that keeps the visitor out. Ours have the shortest path there is.
 */
const shortestPathFirst = (header = ''): string => header.split(';').reverse().join(';')

const randomText = () => randomBytes(32).toString('base64url')
const visitorKey = randomBytes(32)
const tokenOfVisitor = (id: string) => createHmac('sha256', visitorKey).update(id).digest('base64url')

/**
 * The token that the pages of this session, or of this visitor, send with each question and change. Another page cannot read it.
 * A visitor's token follows from the visitor's cookie: nothing is kept for strangers, who could fill the memory of the sessions.
 * The token of a session is given once, at the sign-in, and to its page.
 */
export function csrfTokenOf(request: FastifyRequest): string {
  const { session, visitor } = request
  if (session.csrf !== undefined && isOfItsPage(request)) return session.csrf
  visitor.isNew = visitor.id === undefined
  visitor.id ??= randomText()
  return tokenOfVisitor(visitor.id)
}

/**
 * False: somebody else sends the cookie of a person who has signed in. Browsers send it to each port of the host, and so to servers of
 * other users of the machine; the token stays in the storage of our page.
 */
export const isOfItsPage = (request: FastifyRequest): boolean =>
  !request.session.actor || hasToken(request, request.session.csrf)

/** Refuses a request without the token of its session or its visitor. */
export function requireCsrfToken(request: FastifyRequest): void {
  if (request.session.actor ? isOfItsPage(request) : isOfVisitor(request)) return
  refusePage(403, 'The page is out of date: load it again. Nothing was done.')
}

const isOfVisitor = (request: FastifyRequest): boolean =>
  request.visitor.id !== undefined && hasToken(request, tokenOfVisitor(request.visitor.id))

function hasToken({ headers }: FastifyRequest, token = ''): boolean {
  const [given, known] = [Buffer.from(String(headers['x-csrf-token'] ?? '')), Buffer.from(token)]
  return known.length > 0 && known.length === given.length && timingSafeEqual(known, given)
}

/** Whether the session of the person who sent this request has ended since. */
export const hasSignedOut = ({ session, sessionStore }: FastifyRequest): Promise<boolean> =>
  new Promise((resolve) => {
    if (!session.actor) return resolve(false)
    sessionStore.get(session.sessionId, (_error, kept) => resolve(!kept?.actor))
  })

/** Throws an error that the page shows. */
export function refusePage(statusCode: number, message: string): never {
  throw Object.assign(new Error(message), { statusCode })
}

type StoredSession = Parameters<SessionStore['set']>[1]

/** Sessions of people who have signed in are apart from those that hold settings alone, as behind a proxy that signs people in. */
function createSessionStore(): SessionStore {
  const entered = new LRUCache<string, StoredSession>({ max: SESSIONS_MAX, ttl: SESSION_MS })
  const others = new LRUCache<string, StoredSession>({ max: SESSIONS_MAX, ttl: SESSION_MS })
  const personOf = ({ actor, settingsOf }: StoredSession) => actor?.name ?? settingsOf
  const endOldest = (here: typeof entered, person: string | undefined) => {
    const ids = [...here.entries()].filter(([, value]) => personOf(value) === person).map(([id]) => id) // the newest first
    for (const id of ids.slice(SESSIONS_OF_PERSON_MAX)) here.delete(id)
  }
  return {
    set(id, value, done) {
      const [here, elsewhere] = value.actor ? [entered, others] : [others, entered]
      elsewhere.delete(id)
      here.set(id, value)
      endOldest(here, personOf(value))
      done()
    },
    get(id, done) {
      done(null, entered.get(id) ?? others.get(id) ?? null)
    },
    destroy(id, done) {
      entered.delete(id)
      others.delete(id)
      done()
    },
  }
}

type SignInEntry = {
  readonly who: string
  readonly role: string
  readonly action: 'sign-in' | 'sign-in refused'
  readonly address: string
  readonly requestId: string
}

type SignInOptions = {
  /** The path of the page, without a slash at the end. */
  readonly path: string
  readonly passwords: Passwords | undefined
  /** How long a sign-in waits for those before it. */
  readonly turnMaxMs?: number
  record(entry: SignInEntry): Promise<void>
}

const SIGN_INS_PER_MINUTE = 10
const TURN_MAX_MS = 5 * SECOND

const signInSchema = z.strictObject({ name: z.string().max(200), password: z.string().max(1000) })

/** Signing in and out, for an app with sessions and with @fastify/rate-limit. */
export function addSignIn(app: FastifyInstance, options: SignInOptions): void {
  const { path, passwords, turnMaxMs = TURN_MAX_MS, record } = options
  const limited = { rateLimit: { max: SIGN_INS_PER_MINUTE, timeWindow: MINUTE } }
  // A password takes a processor for a while, and 32 MB: guesses from many addresses at once would leave none to others.
  const turns = createSemaphore<string, { group: string; signal: AbortSignal }>({ permits: 1 })
  app.post(`${path}/api/sign-in`, { config: limited }, async (request, reply) => {
    if (!isOfVisitor(request)) requireCsrfToken(request)
    const { name, password } = signInSchema.parse(request.body)
    const release = await turns.acquire({ group: request.ip, signal: AbortSignal.timeout(turnMaxMs) })
    if (!release) return refusePage(503, 'Too many sign in at once. Try again in a moment.')
    const role = await Promise.resolve(passwords?.roleOf(name, password)).finally(release)
    const sent = { address: request.ip, requestId: request.id }
    if (role === undefined) {
      await record({ who: name.slice(0, 64), role: '', action: 'sign-in refused', ...sent })
      return reply.code(401).send({ error: 'Name or password is wrong.' })
    }
    await request.session.regenerate()
    const csrf = randomText()
    Object.assign(request.session, { actor: { name, role }, csrf })
    await record({ who: name, role, action: 'sign-in', ...sent })
    return { csrf }
  })
  app.post(`${path}/api/sign-out`, async (request) => {
    requireCsrfToken(request)
    await request.session.destroy()
    return {}
  })
}
