import type { FastifyInstance, FastifyRequest } from 'fastify'
import { SECOND } from '../base/time/units.ts'

type LiveOptions = {
  /** The path of the page, without a slash at the end. */
  readonly path: string
  /** Aborted when the page closes. */
  readonly signal: AbortSignal
  mayListen(request: FastifyRequest): boolean
  /** The state, as JSON. */
  read(): Promise<unknown>
  readonly tellEveryMs?: number
}

const TELL_EVERY_MS = 2 * SECOND
const LISTENERS_MAX = 100

/** Sends a state to all listeners, as server-sent events, while there are any. */
export function addLiveRoute(app: FastifyInstance, { path, signal, mayListen, read, ...options }: LiveOptions): void {
  const { tellEveryMs = TELL_EVERY_MS } = options
  const listeners = new Set<(text: string) => void>()
  const tell = async () => {
    const told = await read().catch(() => undefined) // the browser shows how old its last state is
    if (told) for (const send of listeners) send(`data: ${JSON.stringify(told)}\n\n`)
    clearTimeout(timer)
    timer = listeners.size > 0 && !signal.aborted ? setTimeout(() => void tell(), tellEveryMs) : undefined
  }
  let timer: NodeJS.Timeout | undefined
  signal.addEventListener('abort', () => clearTimeout(timer))
  app.get(`${path}/api/live`, async (request, reply) => {
    if (!mayListen(request)) return reply.code(401).send({ error: 'Sign in first.' })
    if (listeners.size >= LISTENERS_MAX) return reply.code(503).send({ error: 'Too many pages are open.' })
    const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream', 'cache-control': 'no-store' }
    reply.hijack()
    const { raw } = reply
    raw.writeHead(200, headers as Record<string, string>) // Fastify's headers are those of Node
    // A browser that reads nothing is left out of a round instead of filling memory.
    const send = (text: string) => !raw.writableNeedDrain && raw.write(text)
    const end = () => raw.end()
    listeners.add(send)
    signal.addEventListener('abort', end)
    raw.on('close', () => {
      listeners.delete(send)
      signal.removeEventListener('abort', end)
    })
    raw.on('error', () => listeners.delete(send))
    raw.write('retry: 2000\n\n')
    clearTimeout(timer)
    await tell()
  })
}
