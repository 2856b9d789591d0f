import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type OperationName, operations } from '../../../contract/operations.ts'
import { SECOND } from '../../../window.ts'
import { readQuery } from '../../query-lists.ts'
import { Refusal, unauthorized } from '../../refusal.ts'
import { callerOf } from '../../route.ts'
import type { MovableClock } from '../clock.ts'
import type { Journal, Outcome } from '../journal.ts'
import { cutBody, malformedBody, slowBody } from './bodies.ts'
import type { FaultName } from './catalogue.ts'
import { createDeadTokens, type DeadTokens } from './dead-tokens.ts'
import type { Faults } from './decisions.ts'
import { beforeEnd, presentRecords, type ServedRecord, spelledRecords, underOldNames } from './records.ts'
import { type Rule, settingOf } from './rules.ts'

/** Requests with this header are the sandbox's own: they meet no fault but those that are about what is true, and are not counted. */
export const ownHeader = 'x-sandbox-own'

export type LineOptions = {
  faults: Faults
  journal: Journal
  clock: MovableClock
  own: string
  /** The account's own name of a profile, by the id that its token carries. */
  nameOf(profileId: string): Promise<string | undefined>
}

type Visit = {
  operation: OperationName
  profile: string | undefined
  met: Map<FaultName, Rule>
  outcome?: Outcome
  own: boolean
}

const isOperation = (name: string | undefined): name is OperationName =>
  name !== undefined && Object.hasOwn(operations, name)

const listed: readonly OperationName[] = [
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

/**
 * Puts the faults between the wire and the service. To be called before the routes are added, so that what it does
 * to an answer comes before compression, and its refusals before the service's own work.
 */
export function addFaultLine(app: FastifyInstance, options: LineOptions): void {
  const { faults, journal, clock, own, nameOf } = options
  const visits = new WeakMap<FastifyRequest, Visit>()
  const dead = createDeadTokens()

  app.addHook('onRequest', async (request, reply) => {
    const { operation } = request.routeOptions.config
    if (!isOperation(operation)) return
    const visit: Visit = { operation, profile: undefined, met: new Map(), own: request.headers[ownHeader] === own }
    visits.set(request, visit)
    if (visit.own) return
    write(visit, request, reply)
    if (dead.has(tokenIn(request), operation)) throw unauthorized()
  })

  /** One line in the journal for each request, however it ends: `close` comes after the last byte and after a break. */
  const write = (visit: Visit, request: FastifyRequest, reply: FastifyReply) => {
    const startedAtMs = performance.now()
    const at = new Date(clock.now()).toISOString()
    reply.raw.once('close', () => {
      const answered: Outcome = reply.raw.writableFinished ? `${reply.raw.statusCode}` : 'aborted'
      journal.add({
        at,
        operation: visit.operation,
        profile: visit.profile ?? namedIn(request),
        outcome: visit.outcome ?? answered,
        faults: [...visit.met.keys()],
        durationMs: Math.round(performance.now() - startedAtMs),
      })
    })
  }

  app.addHook('preValidation', async (request) => {
    const visit = visits.get(request)
    if (!visit) return
    const { profileId } = callerOf(request)
    visit.profile = namedIn(request) ?? (profileId === undefined ? undefined : await nameOf(profileId))
    if (visit.own) return
    for (const rule of faults.meet(visit)) visit.met.set(rule.name, rule)
    if (visit.met.has('pages-from-zero') && visit.operation === 'searchProfiles') turnPage(request)
  })

  app.addHook('preHandler', async (request, reply) => {
    const visit = visits.get(request)
    // A reply that has been sent here must be handed back: else the work would be done all the same.
    return visit && atTheDoor({ visit, request, reply, dead, clock })
  })

  app.addHook('onSend', async (request, reply, payload) => {
    const visit = visits.get(request)
    if (!visit) return payload
    const rules = faults.aboutRecords(visit)
    if (rules.length === 0 && visit.met.size === 0) return payload
    const text = Buffer.isBuffer(payload) ? payload.toString('utf8') : payload
    return spoil({ visit, request, reply }, tell({ visit, request, reply, rules, options }, text))
  })
}

type Scene = { visit: Visit; request: FastifyRequest; reply: FastifyReply }

async function atTheDoor(scene: Scene & { dead: DeadTokens; clock: MovableClock }): Promise<FastifyReply | undefined> {
  const { visit, request, reply, dead, clock } = scene
  const late = visit.met.get('latency')
  if (late) await wait(settingOf(late, 'delayMs'), undefined, { ref: false })
  if (visit.met.has('reset')) return breakOff(scene)
  for (const name of ['expired-token', 'revoked-token'] as const) {
    const token = tokenIn(request)
    if (!visit.met.has(name) || token === undefined) continue
    dead.kill(token, name === 'revoked-token')
    if (dead.has(token, visit.operation)) throw unauthorized()
  }
  const throttle = visit.met.get('throttle')
  if (throttle) throw refusal(429, String(settingOf(throttle, 'retryAfterSeconds')))
  const throttleDate = visit.met.get('throttle-date')
  if (throttleDate) throw refusal(429, httpDate(clock.now() + settingOf(throttleDate, 'retryAfterSeconds') * SECOND))
  if (visit.met.has('error-500')) throw refusal(500)
  const unavailable = visit.met.get('error-503')
  if (unavailable) {
    const seconds = settingOf(unavailable, 'retryAfterSeconds')
    throw refusal(503, seconds > 0 ? String(seconds) : undefined)
  }
  for (const [name, status] of [
    ['error-502', 502],
    ['error-504', 504],
  ] as const)
    if (visit.met.has(name)) return reply.code(status).type('text/html').send(`<html><h1>${status}</h1></html>`)
  return undefined
}

/** The client sees a connection reset by its peer. */
function breakOff({ visit, request, reply }: Scene): FastifyReply {
  visit.outcome = 'reset'
  reply.hijack()
  request.raw.socket.resetAndDestroy()
  return reply
}

function refusal(status: number, retryAfter?: string): Refusal {
  return new Refusal({ status, location: 'service', headers: retryAfter ? { 'retry-after': retryAfter } : {} })
}

/** To the next whole second: such a date has no smaller parts, and a caller must not come too early. */
const httpDate = (atMs: number) => new Date(Math.ceil(atMs / SECOND) * SECOND).toUTCString()

/** Faults in what is told: changes the records of an answer. */
function tell(scene: Scene & { options: LineOptions; rules: Rule[] }, payload: unknown): unknown {
  const { visit, reply } = scene
  if (visit.operation === 'accountToken' && visit.met.has('bare-token')) return changed(payload, onlyToken)
  if (visit.operation === 'searchProfiles' && visit.met.has('pages-from-zero')) return changed(payload, pageBefore)
  if (!listed.includes(visit.operation)) return payload
  if (reply.statusCode === 200 && typeof payload === 'string') return retold(scene, payload)
  if (reply.statusCode === 204 && visit.met.has('empty-200')) return emptyList(reply)
  return payload
}

function retold(scene: Scene & { options: LineOptions; rules: Rule[] }, payload: string): unknown {
  const { visit, request, reply, rules, options } = scene
  const { faults, clock } = options
  let records: readonly ServedRecord[] = presentRecords(JSON.parse(payload), { rules, faults, nowMs: clock.now() })
  if (!visit.own) {
    if (visit.met.has('exclusive-end')) records = beforeEnd(records, readQuery(request.query)['endDateTime'])
    if (visit.met.has('old-names')) records = records.map(underOldNames)
    records = spelledRecords(records, { rules, faults })
  }
  if (records.length > 0) return JSON.stringify(records)
  if (visit.met.has('empty-200')) return '[]'
  reply.code(204).removeHeader('content-type').removeHeader('content-length')
  return null
}

function emptyList(reply: FastifyReply): string {
  reply.code(200).type('application/json; charset=utf-8')
  return '[]'
}

function changed(payload: unknown, change: (body: ServedRecord) => ServedRecord): unknown {
  if (typeof payload !== 'string' || !payload.startsWith('{')) return payload
  return JSON.stringify(change(JSON.parse(payload)))
}

const onlyToken = (body: ServedRecord): ServedRecord =>
  'accountToken' in body ? { accountToken: body['accountToken'] } : body

const pageBefore = (body: ServedRecord): ServedRecord =>
  'currentPage' in body ? { ...body, currentPage: Number(body['currentPage']) - 1 } : body

function turnPage(request: FastifyRequest): void {
  const query = request.query as Record<string, unknown> // a query is an object of strings and lists
  const page = query['currentPage'] ?? '0'
  if (/^\d{1,6}$/.test(String(page))) query['currentPage'] = String(Number(page) + 1)
}

/** Faults in how it is told: the work is done, and its effect stays. */
function spoil(scene: Scene, payload: unknown): unknown {
  const { visit, reply } = scene
  if (visit.met.has('lost-answer')) {
    visit.outcome = 'reset'
    scene.request.raw.socket.resetAndDestroy()
    return payload
  }
  if (typeof payload !== 'string' || payload === '') return payload
  if (visit.met.has('malformed-body')) return malformedBody(payload)
  const slow = visit.met.get('slow-body')
  const cut = visit.met.has('cut-body')
  if (!slow && !cut) return payload
  reply.header('content-length', Buffer.byteLength(payload))
  if (cut) {
    visit.outcome = 'cut'
    return cutBody(payload)
  }
  return slow && slowBody(payload, { pieces: settingOf(slow, 'pieces'), delayMs: settingOf(slow, 'delayMs') })
}

function tokenIn(request: FastifyRequest): string | undefined {
  return request.headers.authorization?.split(' ').at(1)
}

/** Whose request it is by the account's own name, where path or body say so. */
function namedIn(request: FastifyRequest): string | undefined {
  for (const part of [request.params, request.body]) {
    if (typeof part !== 'object' || part === null || !('externalId' in part)) continue
    if (typeof part.externalId === 'string') return part.externalId
  }
  return undefined
}
