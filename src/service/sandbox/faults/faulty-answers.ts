import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OperationName } from '../../../base/contract/operations.ts'
import { jsonContentType } from '../../../web/route.ts'
import { parseQueryString } from '../../http/query-parameters.ts'
import { type FaultRule, faultSetting } from './fault-rules.ts'
import type { FaultSelector } from './fault-selector.ts'
import { cutBody, malformedBody, slowBody } from './faulty-bodies.ts'
import { applySpellingFaults, applyTimedFaults, excludeEnd, type ServedRecord, withOldNames } from './faulty-records.ts'
import type { RequestScope } from './tracked-request.ts'

const recordOperations: readonly OperationName[] = [
  'scores',
  'scoresOf',
  'biomarkers',
  'biomarkersOf',
  'archetypes',
  'archetypesOf',
  'trends',
  'trendsOf',
  'comparisons',
  'comparisonsOf',
  'tags',
  'tagsOf',
]

type AnswerScope = RequestScope & { rules: readonly FaultRule[]; faults: FaultSelector; nowMs: number }

/** Applies the faults of an answer to its body: first to its records, then to its delivery. */
export function alterAnswer(scope: AnswerScope, payload: unknown): unknown {
  const text = Buffer.isBuffer(payload) ? payload.toString('utf8') : payload
  return alterDelivery(scope, alterRecords(scope, text))
}

/** Faults in the records of an answer. */
function alterRecords(scope: AnswerScope, payload: unknown): unknown {
  const { tracked, reply } = scope
  if (tracked.operation === 'accountToken' && tracked.rules.has('bare-token'))
    return alteredObject(payload, withTokenOnly)
  if (tracked.operation === 'searchProfiles' && tracked.rules.has('pages-from-zero'))
    return alteredObject(payload, withPageFromZero)
  if (!recordOperations.includes(tracked.operation)) return payload
  if (reply.statusCode === 200 && typeof payload === 'string') return alteredList(scope, payload)
  if (reply.statusCode === 204 && tracked.rules.has('empty-200')) return sendEmptyList(reply)
  return payload
}

function alteredList(scope: AnswerScope, payload: string): unknown {
  const { tracked, request, reply, rules, faults, nowMs } = scope
  let records: readonly ServedRecord[] = applyTimedFaults(JSON.parse(payload), { rules, faults, nowMs })
  if (!tracked.isInternal) {
    if (tracked.rules.has('exclusive-end'))
      records = excludeEnd(records, parseQueryString(request.query)['endDateTime'])
    if (tracked.rules.has('old-names')) records = records.map(withOldNames)
    records = applySpellingFaults(records, { rules, faults })
  }
  if (records.length > 0) return JSON.stringify(records)
  if (tracked.rules.has('empty-200')) return '[]'
  reply.code(204).removeHeader('content-type').removeHeader('content-length')
  return null
}

function sendEmptyList(reply: FastifyReply): string {
  reply.code(200).type(jsonContentType)
  return '[]'
}

function alteredObject(payload: unknown, alter: (body: ServedRecord) => ServedRecord): unknown {
  if (typeof payload !== 'string' || !payload.startsWith('{')) return payload
  return JSON.stringify(alter(JSON.parse(payload)))
}

const withTokenOnly = (body: ServedRecord): ServedRecord =>
  'accountToken' in body ? { accountToken: body['accountToken'] } : body

const withPageFromZero = (body: ServedRecord): ServedRecord =>
  'currentPage' in body ? { ...body, currentPage: Number(body['currentPage']) - 1 } : body

/** Fault `pages-from-zero`, at the request: the service itself counts pages from 1. */
export function shiftPageToOneBased(request: FastifyRequest): void {
  const query = request.query as Record<string, unknown> // a query is an object of strings and lists
  const page = query['currentPage'] ?? '0'
  if (/^\d{1,6}$/.test(String(page))) query['currentPage'] = String(Number(page) + 1)
}

/** Faults in the delivery of an answer: the work is done, and its effect stays. */
function alterDelivery({ tracked, request, reply }: RequestScope, payload: unknown): unknown {
  if (tracked.rules.has('lost-answer')) {
    tracked.outcome = 'reset'
    request.raw.socket.resetAndDestroy()
    return payload
  }
  if (typeof payload !== 'string' || payload === '') return payload
  if (tracked.rules.has('malformed-body')) return malformedBody(payload)
  const slow = tracked.rules.get('slow-body')
  const cut = tracked.rules.has('cut-body')
  if (!slow && !cut) return payload
  reply.header('content-length', Buffer.byteLength(payload))
  if (cut) {
    tracked.outcome = 'cut'
    return cutBody(payload)
  }
  return slow && slowBody(payload, { pieces: faultSetting(slow, 'pieces'), delayMs: faultSetting(slow, 'delayMs') })
}
