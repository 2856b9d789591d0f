import type { FastifyInstance } from 'fastify'
import { SECOND } from '../time/units.ts'
import type { DashboardContext } from './dashboard-context.ts'
import type { openNow } from './read-now.ts'
import type { Visits } from './visits.ts'

const TELL_EVERY_MS = 2 * SECOND
const LISTENERS_MAX = 100

/** Tells the state of the pipeline to all listeners, as server-sent events, while there are any. */
export function addLiveRoute(
  app: FastifyInstance,
  { context, visits, now }: { context: DashboardContext; visits: Visits; now: ReturnType<typeof openNow> },
): void {
  const listeners = new Set<(text: string) => void>()
  const tell = async () => {
    const told = await now.read().catch(() => undefined) // the browser shows how old its last state is
    if (told) for (const send of listeners) send(`data: ${JSON.stringify(told)}\n\n`)
    if (listeners.size > 0 && !context.signal.aborted) timer = setTimeout(() => void tell(), TELL_EVERY_MS)
    else timer = undefined
  }
  let timer: NodeJS.Timeout | undefined
  context.signal.addEventListener('abort', () => clearTimeout(timer))
  app.get('/api/live', async (request, reply) => {
    if (!visits.of(request)) return reply.code(401).send({ error: 'Sign in first.' })
    if (listeners.size >= LISTENERS_MAX) return reply.code(503).send({ error: 'Too many pages are open.' })
    const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream', 'cache-control': 'no-store' }
    reply.hijack()
    const { raw } = reply
    raw.writeHead(200, headers as Record<string, string>) // Fastify's headers are those of Node
    // A browser that reads nothing is left out of a round instead of filling memory.
    const send = (text: string) => !raw.writableNeedDrain && raw.write(text)
    listeners.add(send)
    raw.on('close', () => listeners.delete(send))
    raw.on('error', () => listeners.delete(send))
    raw.write('retry: 2000\n\n')
    clearTimeout(timer)
    await tell()
  })
}
