import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type BoardRoute, openQueueBoard, type QueueBoard } from '../queue/queue-board.ts'
import { csrfTokenOf, requireCsrfToken } from '../web/sessions.ts'
import type { DashboardContext } from './dashboard-context.ts'
import type { Visits } from './visits.ts'

const PATH = '/queues'

/**
 * Bull Board under /queues, by the dashboard's own rules: signed in, changes with the session's token and for actors only, each of
 * them recorded. Its page is ours, for the page that it brings asks for letters of another server and has styles within.
 */
export async function addQueuePages(
  app: FastifyInstance,
  { context, visits }: { context: DashboardContext; visits: Visits },
) {
  const board = await openQueueBoard(context.pipeline.engine)
  const html = pageHtml(board)
  const sendPage = async (request: FastifyRequest, reply: FastifyReply) => {
    if (!visits.of(request)) return reply.redirect('/')
    // Read by the page's own script, which sends it back with each change.
    reply.setCookie('XSRF-TOKEN', csrfTokenOf(request), { path: PATH, sameSite: 'strict', secure: 'auto' })
    return reply
      .headers({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache', ...pagePolicy(reply) })
      .send(html)
  }
  for (const path of [PATH, `${PATH}/*`]) app.get(path, sendPage)
  addFiles(app, board)
  for (const route of board.routes) {
    if (route.isRead) addQuestion(app, { visits, route })
    else addChange(app, { context, visits, route })
  }
}

/** One attribute of the page's drawing library, and no other style within a page. */
const DRAWN_STYLE = "'sha256-r2N1TB/gHbBtBZFKg7ejmq1acVSREzucTAEw6ga4hoU='"

/** The base of the page's addresses is the page's own; all else is as strict as on the other pages. */
const pagePolicy = (reply: FastifyReply) => ({
  'content-security-policy': String(reply.getHeader('content-security-policy'))
    .replace("base-uri 'none'", "base-uri 'self'")
    .replace("style-src 'self'", `style-src 'self' 'unsafe-hashes' ${DRAWN_STYLE}`),
})

function addQuestion(app: FastifyInstance, { visits, route }: { visits: Visits; route: BoardRoute }): void {
  app.get(PATH + route.path, async (request, reply) => {
    const visit = visits.of(request)
    if (!visit) return reply.code(401).send({ error: 'Sign in first.' })
    return sendAnswer(reply, await route.answer(requestOf(request), visit.actor.role === 'act'))
  })
}

type Change = { readonly context: DashboardContext; readonly visits: Visits; readonly route: BoardRoute }

function addChange(app: FastifyInstance, { context, visits, route }: Change): void {
  const { method, path } = route
  const requireToken = async (request: FastifyRequest, reply: FastifyReply) => {
    request.headers['x-csrf-token'] ??= String(request.headers['x-xsrf-token'] ?? '')
    return requireCsrfToken(request, reply)
  }
  app.route({
    method,
    url: PATH + path,
    preHandler: requireToken,
    handler: async (request, reply) => {
      const visit = visits.of(request)
      if (!visit) return reply.code(401).send({ error: 'Sign in first.' })
      const { name: who, role } = visit.actor
      if (role !== 'act') return reply.code(403).send({ error: 'You may look, and not act.' })
      if (!route.isAllowed)
        return reply.code(403).send({ error: 'Jobs are retried, promoted and cleaned away here, no more.' })
      const verb = /(retry|promote|clean)/.exec(path)?.[0] ?? ''
      const asked = requestOf(request)
      await context.audit.record({ who, role, action: `queues/${verb}`, what: asked.params })
      return sendAnswer(reply, await route.answer(asked, true))
    },
  })
}

const requestOf = ({ params, query, body }: FastifyRequest) => ({
  params: params as Record<string, string>, // Fastify's are of texts
  query: query as Record<string, string>,
  body: (body ?? {}) as Record<string, unknown>, // JSON, which Bull Board checks
})

const sendAnswer = (reply: FastifyReply, { status, body }: { status: number; body: unknown }) =>
  reply.code(status).send(body)

const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
}
const BROTLI_QUALITY = 5

function addFiles(app: FastifyInstance, { files }: QueueBoard): void {
  const compressed = new Map<string, Promise<Buffer>>()
  const compress = async (path: string) =>
    promisify(brotliCompress)(await readFile(path), { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } })
  app.get(`${PATH}/static/*`, async (request: FastifyRequest<{ Params: { '*': string } }>, reply) => {
    const path = files.get(request.params['*'])
    const contentType = path && contentTypes[extname(path)]
    if (!contentType) return reply.code(404).send({ error: 'there is no such file' })
    reply.headers({ 'content-type': contentType, 'cache-control': 'public, max-age=86400', vary: 'accept-encoding' })
    if (!/\bbr\b/.test(String(request.headers['accept-encoding'] ?? ''))) return reply.send(await readFile(path))
    const body = compressed.get(path) ?? compress(path)
    compressed.set(path, body)
    return reply.header('content-encoding', 'br').send(await body)
  })
}

const pageHtml = ({ scripts, styles, settings }: QueueBoard): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<base href="${PATH}/">
<title>${settings['boardTitle']}</title>
<link rel="icon" href="data:,">
${styles.map((name) => `<link rel="stylesheet" href="${name}">`).join('\n')}
</head>
<body class="preload">
<script id="__UI_CONFIG__" type="application/json">${JSON.stringify(settings).replaceAll('<', '\\u003c')}</script>
<div id="root"></div>
${scripts.map((name) => `<script defer src="${name}"></script>`).join('\n')}
</body>
</html>
`
