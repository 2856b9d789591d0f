import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import type { Log } from '../log.ts'
import { badRequest, Refusal, unavailable } from './refusal.ts'

/** Turns whatever went wrong into a refusal. Only what nobody foresaw is a 500, and only that is logged as an error. */
export function refusalOf(error: unknown, log: Log, requestId: string): Refusal {
  if (error instanceof Refusal) return error
  const { code, statusCode } = readError(error)
  const known = knownByCode(code)
  if (known) return known
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return new Refusal({ status: statusCode })
  if (isDatabaseTrouble(error, code)) {
    log.warn({ requestId, code }, 'the database did not answer')
    return unavailable('the database cannot be reached or is too busy: try again')
  }
  log.error({ requestId, code, at: whereFrom(error) }, 'a request failed')
  return new Refusal({ status: 500, location: 'service' })
}

export function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  for (const [name, value] of Object.entries(refusal.headers)) reply.header(name, value)
  return reply
    .code(refusal.status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(refusal.body))
}

function knownByCode(code: string): Refusal | undefined {
  const say = (status: number, location: 'body' | 'header' | 'path', text: string) =>
    new Refusal({ status, location, faults: [{ origin: '', errors: [text] }] })
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return say(413, 'body', 'is too large')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return say(415, 'header', 'Content-Type must be application/json')
    case 'FST_CP_ERR_INVALID_CONTENT_ENCODING':
      return say(415, 'header', 'Content-Encoding must be gzip, deflate or identity')
    case 'FST_CP_ERR_INVALID_CONTENT':
      return say(400, 'body', 'is not what its Content-Encoding says')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return say(400, 'body', 'is not as long as its Content-Length says')
    case 'FST_ERR_BAD_URL':
      return say(400, 'path', 'must be percent-encoded UTF-8')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return badRequest('path', [{ origin: 'externalId', errors: ['is too long'] }])
    default:
      return undefined
  }
}

const troubleCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN'])

/** Connection lost (08), resources short (53), cancelled or shutting down (57), locks and serialization (40, 55). */
function isDatabaseTrouble(error: unknown, code: string): boolean {
  if (troubleCodes.has(code) || /^(08|40|53|55|57)[0-9A-Z]{3}$/.test(code)) return true
  return /timeout exceeded when trying to connect|Connection terminated|Cannot use a pool after/.test(String(error))
}

function readError(error: unknown): { code: string; statusCode: number | undefined } {
  const { code, statusCode } = Object(error) as { code?: unknown; statusCode?: unknown }
  return {
    code: typeof code === 'string' ? code : '',
    statusCode: typeof statusCode === 'number' ? statusCode : undefined,
  }
}

/** The places in the code, without the message: a database puts values of the row at fault into its messages. */
function whereFrom(error: unknown): string[] {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 8)
    .map((line) => line.trim())
}

const statusByCode: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** Answers who expects, by a header, what this service does not do. */
export function answerExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const body = JSON.stringify(new Refusal({ status: 417, location: 'header' }).body)
  response.writeHead(417, { 'content-type': 'application/json; charset=utf-8', connection: 'close' }).end(body)
}

/** Answers what never became a request: half-sent, too slow, or not HTTP at all. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const status = statusByCode[error.code ?? ''] ?? 400
  const body = JSON.stringify(new Refusal({ status }).body)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}
