import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import type { Log } from '../../base/log.ts'
import { jsonContentType } from '../../web/route.ts'
import { badRequest, RequestError, unavailable } from './request-error.ts'

/** Turns any error into an error response. Only an unexpected error is a 500, and only a 500 is logged as an error. */
export function requestErrorOf(error: unknown, log: Log, requestId: string): RequestError {
  if (error instanceof RequestError) return error
  const { code, statusCode } = codesOf(error)
  const known = requestErrorOfCode(code)
  if (known) return known
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return new RequestError({ status: statusCode })
  if (isDatabaseUnavailable(error, code)) {
    log.warn({ requestId, code }, 'the database did not answer')
    return unavailable('the database cannot be reached or is too busy: try again')
  }
  log.error({ requestId, code, at: stackFramesOf(error) }, 'a request failed')
  return new RequestError({ status: 500, location: 'service' })
}

export function sendRequestError(reply: FastifyReply, error: RequestError): FastifyReply {
  for (const [name, value] of Object.entries(error.headers)) reply.header(name, value)
  return reply.code(error.status).header('content-type', jsonContentType).send(JSON.stringify(error.body))
}

function requestErrorOfCode(code: string): RequestError | undefined {
  const refuse = (status: number, location: 'body' | 'header' | 'path', text: string) =>
    new RequestError({ status, location, errors: [{ origin: '', errors: [text] }] })
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return refuse(413, 'body', 'is too large')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return refuse(415, 'header', 'Content-Type must be application/json')
    case 'FST_CP_ERR_INVALID_CONTENT_ENCODING':
      return refuse(415, 'header', 'Content-Encoding must be gzip, deflate or identity')
    case 'FST_CP_ERR_INVALID_CONTENT':
      return refuse(400, 'body', 'is not what its Content-Encoding says')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return refuse(400, 'body', 'is not as long as its Content-Length says')
    case 'FST_ERR_BAD_URL':
      return refuse(400, 'path', 'must be percent-encoded UTF-8')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return badRequest('path', [{ origin: 'externalId', errors: ['is too long'] }])
    default:
      return undefined
  }
}

const networkErrorCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN'])

/**
 * SQLSTATE classes: connection lost (08), insufficient resources (53), cancelled or shutting down (57), locks and
 * serialization (40, 55).
 */
function isDatabaseUnavailable(error: unknown, code: string): boolean {
  if (networkErrorCodes.has(code) || /^(08|40|53|55|57)[0-9A-Z]{3}$/.test(code)) return true
  return /timeout exceeded when trying to connect|Connection terminated|Cannot use a pool after/.test(String(error))
}

function codesOf(error: unknown): { code: string; statusCode: number | undefined } {
  const { code, statusCode } = Object(error) as { code?: unknown; statusCode?: unknown }
  return {
    code: typeof code === 'string' ? code : '',
    statusCode: typeof statusCode === 'number' ? statusCode : undefined,
  }
}

/** The stack frames without the message: a database writes values of the row at fault into its messages. */
function stackFramesOf(error: unknown): string[] {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 8)
    .map((line) => line.trim())
}

const statusByParserCode: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** Answers 417 to an Expect header. */
export function rejectExpectHeader(_request: IncomingMessage, response: ServerResponse): void {
  const body = JSON.stringify(new RequestError({ status: 417, location: 'header' }).body)
  const headers = { 'content-type': jsonContentType, 'x-request-id': randomUUID(), connection: 'close' }
  response.writeHead(417, headers).end(body)
}

/** Answers bytes that are no complete request: half-sent, too slow, or not HTTP at all. */
export function rejectMalformedRequest(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const status = statusByParserCode[error.code ?? ''] ?? 400
  const body = JSON.stringify(new RequestError({ status }).body)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: ${jsonContentType}\r\n` +
      `x-request-id: ${randomUUID()}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}
