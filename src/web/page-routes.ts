import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { PageBundle } from './page-bundle.ts'

type PageRoutes = {
  /** Bundled at the first request, or before it. */
  bundle(): Promise<PageBundle>
  readonly title: string
  /** The path prefix of the page and its addresses, without a slash at the end: '' or '/console'. */
  readonly path: string
}

/**
 * Serves the page at each of its addresses, and its files. A file's name holds a digest of its content. The page itself is the
 * same for everybody and holds no data.
 */
export function addPageRoutes(app: FastifyInstance, { bundle, title, path }: PageRoutes): void {
  app.get(`${path}/files/:name`, async (request: FastifyRequest<{ Params: { name: string } }>, reply) => {
    const { files } = await bundle()
    const file = files.get(request.params.name)
    if (!file) return reply.code(404).send({ error: 'there is no such file' })
    const accepted = String(request.headers['accept-encoding'] ?? '')
    const coding = /\bbr\b/.test(accepted) ? 'br' : /\bgzip\b/.test(accepted) ? 'gzip' : undefined
    if (coding) reply.header('content-encoding', coding)
    return reply
      .headers({
        'content-type': file.contentType,
        'cache-control': 'public, max-age=31536000, immutable',
        vary: 'accept-encoding',
      })
      .send(file[coding ?? 'plain'])
  })
  const sendPage = async (_request: FastifyRequest, reply: FastifyReply) => {
    const html = pageHtml(await bundle(), { title, path })
    return reply.headers({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' }).send(html)
  }
  for (const address of [path === '' ? '/' : path, `${path}/*`]) app.get(address, sendPage)
}

const pageHtml = (
  { script, style }: PageBundle,
  { title, path }: Omit<PageRoutes, 'bundle'>,
): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="base-path" content="${path}">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${path}/files/${style}">
<script type="module" src="${path}/files/${script}"></script>
</head>
<body><div id="app"></div><noscript>This page needs JavaScript.</noscript></body>
</html>
`
