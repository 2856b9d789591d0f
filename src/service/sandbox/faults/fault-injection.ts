import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DERIVATION_STATE_HEADER } from '../../../base/contract/derivation-state.ts'
import { type OperationName, operations } from '../../../base/contract/operations.ts'
import { SECOND } from '../../../base/time/units.ts'
import { readAuthorization } from '../../http/authenticate.ts'
import { QUERY_NOTES_HEADER } from '../../http/query-parameters.ts'
import { callerOf } from '../../http/request-caller.ts'
import { RequestError, unauthorized } from '../../http/request-error.ts'
import type { FaultName } from './fault-catalogue.ts'
import { faultSetting } from './fault-rules.ts'
import { EXPLAIN, type FaultSelector } from './fault-selector.ts'
import { alterAnswer, ignoreHeldTag, shiftPageToOneBased, withholdWord } from './faulty-answers.ts'
import type { Journal, JournalOutcome, RequestScope, TrackedRequest } from './journal.ts'
import type { MovableClock } from './movable-clock.ts'

/**
 * Marks the sandbox's own requests. Such a request meets only the faults of what is true (late, revised, vanished), and
 * the journal does not count it.
 */
export const internalHeader = 'x-sandbox-own'

type FaultInjectionOptions = {
  faults: FaultSelector
  journal: Journal
  clock: MovableClock
  internalSecret: string
  /** The account's name for a profile, by the profile id of a token. */
  externalIdOf(profileId: string): Promise<string | undefined>
  isSample(externalId: string): boolean
}

const isOperation = (name: string | undefined): name is OperationName =>
  name !== undefined && Object.hasOwn(operations, name)

/**
 * Injects faults into requests and answers, by hooks. Call it before the routes are added: the hooks then alter an answer
 * before its compression, and refuse a request before the service works on it.
 */
export function addFaultInjection(app: FastifyInstance, options: FaultInjectionOptions): void {
  const { faults, clock, internalSecret, externalIdOf } = options
  const trackedRequests = new WeakMap<FastifyRequest, TrackedRequest>()
  const rejectedTokens = createRejectedTokens()

  app.addHook('onRequest', async (request, reply) => {
    const { operation } = request.routeOptions.config
    if (operation === EXPLAIN && hidesExplanation(faults, request)) return reply.callNotFound()
    if (!isOperation(operation)) return
    const isInternal = request.headers[internalHeader] === internalSecret
    const tracked: TrackedRequest = { operation, profile: undefined, rules: new Map(), isInternal }
    trackedRequests.set(request, tracked)
    if (isInternal) return
    writeJournalAtClose(options, { tracked, request, reply })
    if (rejectedTokens.isRejected(tokenIn(request), operation)) throw unauthorized()
  })

  app.addHook('preValidation', async (request) => {
    const tracked = trackedRequests.get(request)
    if (!tracked) return
    const { profileId } = callerOf(request)
    tracked.profile = externalIdIn(request) ?? (profileId === undefined ? undefined : await externalIdOf(profileId))
    if (tracked.isInternal) return
    for (const rule of faults.selectRules(tracked)) tracked.rules.set(rule.name, rule)
    selectFrame(faults, tracked)
    if (tracked.rules.has('pages-from-zero') && tracked.operation === 'searchProfiles') shiftPageToOneBased(request)
  })

  app.addHook('preHandler', async (request, reply) => {
    const tracked = trackedRequests.get(request)
    if (tracked) {
      ignoreHeldTag({ tracked, request, reply, rules: faults.recordRules(tracked) })
      simplifyRequest({ tracked, request, reply })
    }
    // Returning a reply that was sent keeps Fastify from running the route as well.
    return tracked && injectBeforeWork({ tracked, request, reply }, { rejectedTokens, clock })
  })

  app.addHook('onSend', async (request, reply, payload) => {
    const tracked = trackedRequests.get(request)
    if (!tracked) return payload
    selectFrame(faults, tracked)
    const rules = faults.recordRules(tracked)
    const scope = { tracked, request, reply }
    if (rules.length === 0 && tracked.rules.size === 0) return alterFrame(scope, payload)
    withholdWord({ ...scope, rules })
    return alterAnswer({ ...scope, rules, faults, nowMs: clock.nowMs() }, alterFrame(scope, payload))
  })
}

function hidesExplanation(faults: FaultSelector, request: FastifyRequest): boolean {
  const rules = faults.frameRules({ operation: EXPLAIN, profile: externalIdIn(request) })
  return rules.some(({ name }) => name === 'without-explanations')
}

/** Once a request. One that is refused at the door, as without a token, has its frame selected with its answer. */
function selectFrame(faults: FaultSelector, tracked: TrackedRequest): void {
  if (!tracked.isInternal) tracked.frame ??= new Set(faults.frameRules(tracked).map(({ name }) => name))
}

/** Writes one journal entry for each request, however it ends: `close` follows the last byte as well as a broken connection. */
function writeJournalAtClose(
  { journal, clock, isSample }: FaultInjectionOptions,
  { tracked, request, reply }: RequestScope,
): void {
  const startedAtMs = performance.now()
  const at = new Date(clock.nowMs()).toISOString()
  reply.raw.once('close', () => {
    const profile = tracked.profile ?? externalIdIn(request)
    const answered: JournalOutcome = reply.raw.writableFinished ? `${reply.raw.statusCode}` : 'aborted'
    journal.add({
      at,
      operation: tracked.operation,
      profile: profile !== undefined && isSample(profile) ? profile : undefined,
      outcome: tracked.outcome ?? answered,
      faults: [...tracked.rules.keys(), ...(tracked.frame ?? [])],
      durationMs: Math.round(performance.now() - startedAtMs),
    })
  })
}

/** Faults of the request: they strike before the service works on it. Returns the reply when a fault has answered. */
async function injectBeforeWork(
  scope: RequestScope,
  { rejectedTokens, clock }: { rejectedTokens: RejectedTokens; clock: MovableClock },
): Promise<FastifyReply | undefined> {
  const { rules } = scope.tracked
  const latency = rules.get('latency')
  if (latency) await wait(faultSetting(latency, 'delayMs'), undefined, { ref: false })
  if (rules.has('reset')) return resetConnection(scope)
  rejectToken(scope, rejectedTokens)
  const throttle = rules.get('throttle')
  if (throttle) throw injectedError(429, String(faultSetting(throttle, 'retryAfterSeconds')))
  const throttleDate = rules.get('throttle-date')
  if (throttleDate)
    throw injectedError(429, httpDate(clock.nowMs() + faultSetting(throttleDate, 'retryAfterSeconds') * SECOND))
  if (rules.has('error-500')) throw injectedError(500)
  const unavailable = rules.get('error-503')
  if (unavailable) {
    const seconds = faultSetting(unavailable, 'retryAfterSeconds')
    throw injectedError(503, seconds > 0 ? String(seconds) : undefined)
  }
  if (rules.has('error-502')) return sendGatewayError(scope.reply, 502)
  if (rules.has('error-504')) return sendGatewayError(scope.reply, 504)
  return undefined
}

function rejectToken({ tracked, request }: RequestScope, rejectedTokens: RejectedTokens): void {
  const token = tokenIn(request)
  if (token === undefined) return
  for (const as of ['expired', 'revoked'] as const) {
    if (!tracked.rules.has(`${as}-token`)) continue
    rejectedTokens.reject(token, as)
    if (rejectedTokens.isRejected(token, tracked.operation)) throw unauthorized()
  }
}

function sendGatewayError(reply: FastifyReply, status: 502 | 504): FastifyReply {
  return reply.code(status).type('text/html').send(`<html><h1>${status}</h1></html>`)
}

/** The client sees a connection reset by its peer. */
function resetConnection({ tracked, request, reply }: RequestScope): FastifyReply {
  tracked.outcome = 'reset'
  reply.hijack()
  request.raw.socket.resetAndDestroy()
  return reply
}

function injectedError(status: number, retryAfter?: string): RequestError {
  return new RequestError({ status, location: 'service', headers: retryAfter ? { 'retry-after': retryAfter } : {} })
}

/** Rounded up to a whole second: an HTTP date has no fractions, and a caller must not retry too early. */
const httpDate = (atMs: number) => new Date(Math.ceil(atMs / SECOND) * SECOND).toUTCString()

function tokenIn(request: FastifyRequest): string | undefined {
  return readAuthorization(request)?.secret
}

/** The account's name for the profile, where the path or the body holds it. */
function externalIdIn(request: FastifyRequest): string | undefined {
  for (const part of [request.params, request.body]) {
    if (typeof part !== 'object' || part === null || !('externalId' in part)) continue
    if (typeof part.externalId === 'string') return part.externalId
  }
  return undefined
}

/** Tokens that a fault expired or revoked. The service itself still accepts them. */
type RejectedTokens = ReturnType<typeof createRejectedTokens>

function createRejectedTokens() {
  const rejected = new Map<string, 'expired' | 'revoked'>()
  return {
    reject: (token: string, as: 'expired' | 'revoked') => {
      if (rejected.get(token) !== 'revoked') rejected.set(token, as)
    },
    /** An expired token still authenticates a refresh; a revoked token authenticates no operation. */
    isRejected: (token: string | undefined, operation: OperationName) => {
      const as = token === undefined ? undefined : rejected.get(token)
      return as === 'revoked' || (as === 'expired' && operation !== 'refreshToken')
    },
  }
}

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
function simplifyRequest({ tracked: { frame }, request }: RequestScope): void {
  if (frame?.has('without-tags')) delete request.headers['if-none-match']
  if (frame?.has('without-compression')) delete request.headers['accept-encoding']
}

/** Applies the faults of the frame to an answer, and returns its body. */
function alterFrame({ tracked: { frame }, reply }: RequestScope, payload: unknown): unknown {
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
