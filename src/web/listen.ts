import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { UsageProblem } from '../base/errors.ts'
import { SECOND } from '../base/time/units.ts'

/** The part of a Fastify app that opens its port. */
type Listener = { listen(address: { host: string; port: number }): Promise<string> }

/**
 * The options of a Fastify app that closes the connection of a request that takes longer to arrive: without them a caller who sends
 * slowly holds as many connections as it likes, for ever.
 */
export const slowSenderOptions = (requestTimeoutMs: number) => ({
  requestTimeout: requestTimeoutMs,
  http: { connectionsCheckingInterval: Math.min(SECOND, requestTimeoutMs), headersTimeout: requestTimeoutMs },
})

const statusByParserCode: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

type LastAnswer = { readonly headers: Readonly<Record<string, string | number>>; readonly body: string }

/** The option of a Fastify app that answers bytes that are no complete request: half-sent, too slow, or not HTTP at all. */
export const answerMalformed =
  (answerOf: (status: number) => LastAnswer) =>
  (error: Error & { code?: string }, socket: Socket): void => {
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
    const status = statusByParserCode[error.code ?? ''] ?? 400
    const { headers, body } = answerOf(status)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'))
  }

type ListenOptions = {
  readonly host: string
  /** One port, or those to try in order; 0 is any. */
  readonly port: number | readonly number[]
  /** For the error of a port that cannot be had. */
  readonly action: string
  readonly hint: string
}

/** Another program has the port, or this user may not open it. */
const NOT_TO_BE_HAD: readonly unknown[] = ['EADDRINUSE', 'EACCES']

/** Listens on the first of the ports that can be had. Resolves with the address, or fails as the last port did. */
export function listen(app: Listener, { host, port, action, hint }: ListenOptions): Promise<string> {
  return listenOnFirst(app, host, [port].flat()).catch((cause: Error) => {
    throw new UsageProblem(`${action} on ${host}, port ${port}: ${cause.message}`, { hint, cause })
  })
}

async function listenOnFirst(app: Listener, host: string, ports: readonly number[]): Promise<string> {
  const [port = 0, ...others] = ports
  try {
    return await app.listen({ host, port })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (others.length === 0 || !NOT_TO_BE_HAD.includes(code)) throw error
    return listenOnFirst(app, host, others)
  }
}
