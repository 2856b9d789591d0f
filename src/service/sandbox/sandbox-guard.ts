import { isIP } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { hostNameOf, isLoopback } from '../../base/text/readable.ts'
import { jsonContentType } from '../../web/route.ts'
import { RequestError } from '../http/request-error.ts'

type SandboxNames = {
  /** The address on which the sandbox listens. */
  readonly host: string
  /** The names by which it may be asked beside those of this machine. */
  readonly names: readonly string[]
}

/**
 * Refuses requests that a page of another site sends from a visitor's browser: directly, which Origin and Sec-Fetch-Site show,
 * or by a name of its own that points here (DNS rebinding), which Host shows. An address is no such name: beyond loopback each is
 * answered.
 */
export function addSandboxGuard(app: FastifyInstance, { host, names }: SandboxNames): void {
  const isOwnName = (name: string) =>
    isLoopback(name) || names.includes(name) || (!isLoopback(host) && isIP(name) !== 0)
  app.addHook('onRequest', async (request, reply) => {
    const refuse = (origin: string, reason: string) => {
      const { status, body } = new RequestError({
        status: 403,
        location: 'header',
        errors: [{ origin, errors: [reason] }],
      })
      return reply.code(status).header('content-type', jsonContentType).send(JSON.stringify(body))
    }
    if (!isOwnName(hostNameOf(request.headers.host)))
      return refuse('Host', 'is no name of this sandbox: SANDBOX_NAMES gives it further names')
    return isSentByOthers(request) ? refuse('Origin', 'is another site') : undefined
  })
}

/** A visitor may follow a link to the pages of the sandbox. */
function isSentByOthers({ headers, method }: FastifyRequest): boolean {
  const { origin } = headers
  if (origin !== undefined && URL.parse(origin)?.host !== headers.host) return true
  const isFollowedLink = method === 'GET' && headers['sec-fetch-mode'] === 'navigate'
  const site = headers['sec-fetch-site'] ?? 'none'
  return site !== 'none' && site !== 'same-origin' && !isFollowedLink
}
