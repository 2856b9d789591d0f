import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { DERIVATION_STATE_HEADER } from '../../../base/contract/derivation-state.ts'
import { derivedReads, type OperationName } from '../../../base/contract/operations.ts'
import { jsonContentType } from '../../../web/route.ts'
import { parseQueryString } from '../../http/query-parameters.ts'
import { changeRecords } from './changed-records.ts'
import { type FaultName, faultCatalogue } from './fault-catalogue.ts'
import { type FaultRule, faultSetting } from './fault-rules.ts'
import type { FaultSelector } from './fault-selector.ts'
import { applySpellingFaults, applyTimedFaults, excludeEnd, type ServedRecord, withOldNames } from './faulty-records.ts'
import type { RequestScope } from './journal.ts'

const recordReads: readonly OperationName[] = [...derivedReads, 'tags', 'tagsOf']

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
  if (!recordReads.includes(tracked.operation)) return payload
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
    records = changeRecords(applySpellingFaults(records, { rules, faults }), (name) => tracked.rules.has(name))
    records = firstPage(scope, records)
  }
  if (records.length > 0) return JSON.stringify(records)
  if (tracked.rules.has('empty-200')) return '[]'
  reply.code(204).removeHeader('content-type').removeHeader('content-length')
  return null
}

/** Fault `drift-pages`: nobody asked for pages, and the pages that follow are only hinted at. */
function firstPage(
  { tracked, request, reply }: AnswerScope,
  records: readonly ServedRecord[],
): readonly ServedRecord[] {
  const rule = tracked.rules.get('drift-pages')
  const recordsMax = rule === undefined ? records.length : faultSetting(rule, 'records')
  if (records.length <= recordsMax) return records
  const next = `${request.url}${request.url.includes('?') ? '&' : '?'}page=2`
  reply.header('link', `<${next}>; rel="next"`)
  return records.slice(0, recordsMax)
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

const flushDelayMs = 20

/** A body in pieces, with a delay before each piece; ends early when the caller disconnects. */
function slowBody(body: string, pace: { pieces: number; delayMs: number }): Readable {
  const bytes = Buffer.from(body)
  const size = Math.max(1, Math.ceil(bytes.length / Math.max(1, pace.pieces)))
  async function* pieces() {
    for (let start = 0; start < bytes.length; start += size) {
      await wait(pace.delayMs, undefined, { ref: false })
      yield bytes.subarray(start, start + size)
    }
  }
  return Readable.from(pieces(), { objectMode: false })
}

/** Half a body, then an error that breaks the connection. The delay lets the half reach the caller first. */
function cutBody(body: string): Readable {
  const bytes = Buffer.from(body)
  async function* half() {
    yield bytes.subarray(0, Math.floor(bytes.length / 2))
    await wait(flushDelayMs, undefined, { ref: false })
    throw new Error('send body: cut by an injected fault')
  }
  return Readable.from(half(), { objectMode: false })
}

/** A JSON body as a crashed template or a proxy sends it: most of the text, and then other text. */
function malformedBody(body: string): string {
  return `${body.slice(0, Math.max(1, Math.floor(body.length * 0.8)))}<!-- end of buffer -->`
}

/** Faults that change which records are true later, without a change of the revision. */
const laterFaults: readonly FaultName[] = ['late', 'revised', 'vanished']

type AnsweredScope = RequestScope & { rules: readonly FaultRule[] }

/**
 * A tag stands for the records as the service derived them. An answer whose records a fault alters has no tag, and a tag
 * that the caller holds from before the fault does not count.
 */
export function ignoreHeldTag({ tracked, request, rules }: AnsweredScope): void {
  if (altersRecords(tracked, rules)) delete request.headers['if-none-match']
}

/** An answer to which records are added or from which records are taken, without a derivation, carries no `derivation-state` either. */
export function withholdWord({ tracked, reply, rules }: AnsweredScope): void {
  if (altersRecords(tracked, rules)) reply.removeHeader('etag')
  if (rules.some(({ name }) => laterFaults.includes(name))) reply.removeHeader(DERIVATION_STATE_HEADER)
}

function altersRecords(tracked: RequestScope['tracked'], rules: readonly FaultRule[]): boolean {
  return rules.length > 0 || [...tracked.rules.keys()].some((name) => faultCatalogue[name].when === 'records')
}
