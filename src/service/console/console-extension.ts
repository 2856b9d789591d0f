import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isLoopback } from '../../base/text/readable.ts'
import { type Access, openAccess } from '../../web/access.ts'
import { openPageBundle } from '../../web/page-bundle.ts'
import { addPageGuard } from '../../web/page-guard.ts'
import { addPageQuestions, sendPageError } from '../../web/page-questions.ts'
import { addPageRoutes } from '../../web/page-routes.ts'
import { addSessions, addSignIn, csrfTokenOf, isOfItsPage, sessionLimits } from '../../web/sessions.ts'
import { logSecurity } from '../http/security-log.ts'
import type { ServiceExtension } from '../http/service-route.ts'
import { callerRoutes } from './routes/caller-routes.ts'
import type {
  ConsoleContext,
  ConsoleRecord,
  ConsoleRoute,
  ConsoleSandbox,
  ConsoleVisit,
} from './routes/console-context.ts'
import { keyRoutes } from './routes/key-routes.ts'
import { operationsRoutes } from './routes/operations-routes.ts'
import { sandboxRoutes } from './routes/sandbox-routes.ts'

export type ConsoleOptions = {
  /** The people that may sign in: lines that `vitalsync dashboard password` makes. */
  readonly passwordFile?: string | undefined
  /** Proxies in front: behind one, a caller from anywhere looks like one of this machine. */
  readonly trustedProxies?: readonly string[]
  /** The sandbox that the console shows and moves. */
  readonly sandbox?: ConsoleSandbox
}

export const consolePath = '/console'

/**
 * The console: keys, a query builder, the reference, a demo app, and in a sandbox its people, clock and faults. Open without a
 * password only for a sandbox that listens on this machine alone. A service with people of its own asks for one on loopback too: a
 * proxy on this machine that adds no header makes everybody look like this machine. Without a password file it says how to make
 * one. The page is bundled when it is first asked for: a service that nobody looks at starts without it.
 */
export const consoleExtension =
  ({ passwordFile, trustedProxies = [], sandbox }: ConsoleOptions): ServiceExtension =>
  async ({ app, host, routes, ...service }) => {
    const isAsking = passwordFile !== undefined
    const mayBeOpen = sandbox !== undefined && isLoopback(host) && trustedProxies.length === 0
    if (!isAsking && !mayBeOpen) {
      addClosedConsole(app)
      return undefined
    }
    const settings = { trustedHeader: undefined, actors: [], trustedProxies: [] }
    const access = await openAccess(host, { page: 'console', prefix: 'CONSOLE', passwordFile, ...settings })
    const { pool, reads, tokenCache, profileSearch, clock, log } = service
    const context = { pool, reads, tokenCache, profileSearch, clock, log, routes, sandbox }
    await app.register(async (page) => addConsole(page, context, access))
    return undefined
  }

const closedText = `The console makes keys and speaks for every account, so it asks for a password, and none is set.
Make one:  vitalsync dashboard password NAME --role act >> console-passwords
and start the service with  CONSOLE_PASSWORD_FILE=console-passwords
`

function addClosedConsole(app: FastifyInstance): void {
  for (const address of [consolePath, `${consolePath}/*`])
    app.get(address, { config: { operation: 'console' } }, async (_request, reply) =>
      reply.code(403).header('content-type', 'text/plain; charset=utf-8').send(closedText),
    )
}

async function addConsole(app: FastifyInstance, context: ConsoleContext, access: Access): Promise<void> {
  const { log } = context
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, operation: 'console' }
  })
  addPageGuard(app, { loopbackOnly: access.isOpen, passwordSetting: 'CONSOLE_PASSWORD_FILE' })
  app.setErrorHandler((error, request, reply) => sendPageError(error, { log, request, reply, page: 'service' }))
  await addSessions(app, 'vitalsync-console')
  const visitOf = (request: FastifyRequest): ConsoleVisit | undefined => {
    const { actor = access.actorOf(request) } = request.session
    return actor && { actor }
  }
  const record = async (entry: { who: string; role: string; action: string } & ConsoleRecord) =>
    logSecurity(log, 'console action', entry)
  addSignIn(app, { path: consolePath, passwords: access.passwords, record })
  app.post(`${consolePath}/api/session/read`, { config: sessionLimits }, async (request) => {
    const actor = (isOfItsPage(request) && visitOf(request)?.actor) || null
    return {
      actor,
      csrf: csrfTokenOf(request),
      isSandbox: context.sandbox !== undefined,
      credentials: (actor?.role === 'act' && context.sandbox?.credentials) || null,
    }
  })
  addPageQuestions(app, { path: consolePath, context, routes: consoleRoutes(context), visitOf, record })
  addPageRoutes(app, { bundle: openConsole, title: 'vitalsync console', path: consolePath })
}

const openConsole = () => openPageBundle(new URL('./browser/', import.meta.url))

/** Every question and action of the console. */
const consoleRoutes = (context: ConsoleContext): readonly ConsoleRoute[] => [
  ...keyRoutes,
  ...callerRoutes,
  ...operationsRoutes(context),
  ...(context.sandbox ? sandboxRoutes(context.sandbox) : []),
]
