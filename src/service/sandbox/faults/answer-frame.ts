import type { FastifyReply } from 'fastify'
import { DERIVATION_STATE_HEADER } from '../../../base/contract/derivation-state.ts'
import { QUERY_NOTES_HEADER } from '../../http/query-parameters.ts'
import type { FaultName } from './fault-catalogue.ts'
import type { RequestScope } from './journal.ts'

/** By fault: the header that an answer is left without. */
const withheldHeaders = {
  'without-tags': 'etag',
  'without-derivation-state': DERIVATION_STATE_HEADER,
  'without-date': 'date',
  'without-request-ids': 'x-request-id',
  'without-query-notes': QUERY_NOTES_HEADER,
  'without-retry-after': 'retry-after',
} as const satisfies Partial<Record<FaultName, string>>

const isWithheld = (name: FaultName): name is keyof typeof withheldHeaders => Object.hasOwn(withheldHeaders, name)

/** An upstream without tags knows none that a caller holds, and one that compresses nothing is asked for nothing compressed. */
export function simplifyRequest({ tracked: { frame }, request }: RequestScope): void {
  if (frame?.has('without-tags')) delete request.headers['if-none-match']
  if (frame?.has('without-compression')) delete request.headers['accept-encoding']
}

/** Applies the faults of the frame to an answer, and returns its body. */
export function alterFrame({ tracked: { frame }, reply }: RequestScope, payload: unknown): unknown {
  if (frame === undefined || frame.size === 0) return payload
  for (const name of frame) if (isWithheld(name)) reply.removeHeader(withheldHeaders[name])
  // Node writes a date of its own where there is none.
  if (frame.has('without-date')) reply.raw.sendDate = false
  if (reply.statusCode < 400) return payload
  if (frame.has('without-error-bodies')) {
    reply.removeHeader('content-type').removeHeader('content-length')
    return null
  }
  return frame.has('drift-error-shape') ? asProblemDetails(reply, payload) : payload
}

/** The same error in the form of RFC 9457. */
function asProblemDetails(reply: FastifyReply, payload: unknown): unknown {
  if (typeof payload !== 'string' || !payload.startsWith('{')) return payload
  const { title, statusCode, location } = JSON.parse(payload)
  reply.type('application/problem+json').removeHeader('content-length')
  return JSON.stringify({ type: 'about:blank', title, status: statusCode, detail: `the ${location} is at fault` })
}
