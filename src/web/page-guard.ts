import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { namesThisMachine } from '../base/text/readable.ts'
import { answerMalformed } from './listen.ts'
import { jsonContentType } from './route.ts'

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Headers of every answer of a page: nobody frames it, adds scripts to it, or learns its addresses. */
const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

type PageGuard = {
  /**
   * The page asks for no sign-in: it answers only to names of this machine. A foreign page that let its own name point here (DNS
   * rebinding) would otherwise read it. Nor does it answer to what a proxy has forwarded: behind a proxy on this machine strangers
   * look like this machine, and most proxies add a header.
   */
  readonly loopbackOnly: boolean
  /** The variable by which the page asks for a password. */
  readonly passwordSetting: string
}

/** X-Forwarded-For and its kin, X-Original-Forwarded-For, CF-Connecting-IP, True-Client-IP, X-Real-IP and others. */
const ofProxies =
  /forwarded|^via$|^cdn-loop$|(client|cluster|connecting|real|remote|user)-?(ip|addr)|^x-(envoy|amzn|appengine|azure)-/

/** Refuses requests for a foreign name or a whole address, and questions and changes that another page sends. */
export function addPageGuard(app: FastifyInstance, { loopbackOnly, passwordSetting }: PageGuard): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(pageHeaders)
    if (removesWorker(request, reply)) return reply.code(404).send({ error: 'this page has no service worker' })
    // A whole address, as clients send it to a proxy: it has routes, and no session.
    if (!request.url.startsWith('/')) return reply.code(400).send({ error: 'the target of a request is a path' })
    if (isQuestion(request)) reply.header('cache-control', 'no-store')
    if (loopbackOnly && !namesThisMachine(request.headers.host)) {
      return reply.code(403).send({ error: 'this page answers only to localhost and 127.0.0.1' })
    }
    if (loopbackOnly && Object.keys(request.headers).some((name) => ofProxies.test(name))) {
      const error = `a proxy sent this, and the page asks for no password: set ${passwordSetting}`
      return reply.code(403).send({ error })
    }
    if ((isQuestion(request) || !isReading(request)) && !comesFromItself(request)) {
      return reply.code(403).send({ error: 'another page sent this: nothing was done' })
    }
  })
}

/**
 * Browsers ask for the script of a service worker again when one of its pages is opened. None is ours: a server of another user, at our port
 * while we were not running, left one, which would answer in our place for ever. Removes it, with what the browser keeps for the origin.
 */
export function removesWorker({ headers }: FastifyRequest, reply: FastifyReply): boolean {
  if (headers['service-worker'] === undefined) return false
  reply.header('clear-site-data', '"storage"')
  return true
}

/** The router's own refusals, which no hook sees: an address that is no text. */
export function frameworkErrors(_error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  removesWorker(request, reply)
  return reply.code(400).headers(pageHeaders).send({ error: 'the address of the request is not valid' })
}

const malformedTexts: Readonly<Record<number, string>> = {
  408: 'the request took too long',
  431: 'the cookies of this host are too large: delete them in the browser',
}

/** Requests that are none, and those that no route sees: other ports of a host can fill its cookies. */
export const malformedRequestAnswer = answerMalformed((status) => {
  const body = JSON.stringify({ error: malformedTexts[status] ?? 'this is no request' })
  const length = { 'content-length': Buffer.byteLength(body), connection: 'close' }
  return { headers: { ...pageHeaders, 'content-type': jsonContentType, 'cache-control': 'no-store', ...length }, body }
})

/** By the route: an address may be written in several ways. */
const isQuestion = ({ routeOptions }: FastifyRequest): boolean => routeOptions.url?.includes('/api/') === true

const isReading = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD'

/**
 * Browsers name the page that sends a POST in Origin, which no page can forge. A GET of the page itself, and a picture or a link of
 * another one, have none. Sec-Fetch-Site says the same where browsers send it: not to plain http beyond loopback.
 */
function comesFromItself({ headers, host }: FastifyRequest): boolean {
  const origin = URL.parse(headers.origin ?? '')
  return origin?.host === host && (headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin'
}
