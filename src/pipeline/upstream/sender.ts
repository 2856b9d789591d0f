import pRetry from 'p-retry'
import type { Operation } from '../../base/contract/operations.ts'
import { type Problem, Rejected } from '../../base/errors.ts'
import type { Sleep } from '../../base/sleep.ts'
import type { Lane, RequestOutcome } from '../fleet/budget.ts'
import { type AnswerKind, answerKindOf } from './answer-rules.ts'
import { type HttpResponse, type TextSink, type Transport, TransportError } from './http.ts'
import { type Intent, intentOf, RETRY_WAIT_MAX_MS, type SendResult } from './intent.ts'
import type { RateLimiter } from './limits/rate-limiter.ts'
import { isRetryable, requestPathOf } from './operation-rules.ts'
import { httpDateMsOf, retryAfterMsOf } from './retry-after.ts'
import { oddErrorNamesOf } from './scrub.ts'
import type { Telemetry } from './telemetry.ts'

/** How urgent a call is, and the signal by which its caller gives up. */
export type CallOptions = { readonly lane: Lane; readonly signal?: AbortSignal | undefined }

export type OperationCall<T> = CallOptions & {
  readonly operation: Operation
  readonly externalId?: string | undefined
  /** Encoded, with its question mark. */
  readonly query?: string | undefined
  readonly body?: string | undefined
  /** Names and values of the headers that identify the caller. */
  readonly identity?: readonly string[] | undefined
  /** Texts of this call that upstream may echo and that no message may carry. */
  readonly secrets: readonly string[]
  /** Names of fields of the body that a message may carry, beside those of the contract. */
  readonly fields?: readonly string[] | undefined
  /** The tag of an answer that the caller holds. Upstream may answer 304 then: nothing has changed since. */
  readonly heldTag?: string | undefined
  readonly sinkFor?: ((status: number) => TextSink | undefined) | undefined
  /** Parses an answer that `answerKindOf` accepts. Throws a SyntaxError when the answer cannot be read. */
  readonly parse: (timed: TimedResponse) => T
}

export type Sender = <T>(call: OperationCall<T>) => Promise<T>

export type TimedResponse = {
  readonly response: HttpResponse
  readonly kind: AnswerKind
  readonly sentAtMs: number
}

type SenderOptions = {
  readonly transport: Transport
  readonly rateLimiter: RateLimiter
  readonly telemetry: Telemetry
  readonly basePath: string
  readonly clock: () => number
  readonly random: () => number
  readonly sleep: Sleep
  /** Receives the names of the fields of each error body that has another form than the contract's. */
  readonly onOddError?: ((error: OddError) => void) | undefined
}

export type OddError = {
  readonly operation: Operation
  readonly externalId: string | undefined
  readonly names: string
}

/** A failed attempt, with the intent that follows from it. Never leaves this folder: callers get the problem inside. */
export class AttemptError extends Error {
  readonly intent: Intent

  constructor(intent: Intent) {
    super(intent.kind)
    this.intent = intent
  }
}

const RETRIES_MAX = 2
const FIRST_BACKOFF_MS = 200

/**
 * Sends one call until upstream gives a valid answer to the operation. Retries a few times at most, and only where a retry is harmless. Throws
 * the problem for the caller, or an AttemptError with the intent `renew` when upstream does not accept the token.
 */
export function createSender(parts: SenderOptions): Sender {
  return async (call) => {
    try {
      return await attempt(parts, call, 1)
    } catch (error) {
      if (!mayRetry(error, call)) throw problemOf(error)
      return retry(parts, call, error)
    }
  }
}

/** Runs only after a first failure, so that a call that succeeds at once does not pay for p-retry. */
async function retry<T>(parts: SenderOptions, call: OperationCall<T>, failure: AttemptError): Promise<T> {
  await backOff(parts, call, { error: failure, attemptNumber: 1 })
  const again = async (retries: number) => {
    parts.telemetry.retried(call.operation)
    return attempt(parts, call, retries + 1)
  }
  return pRetry(again, {
    retries: RETRIES_MAX - 1,
    // `backOff` waits instead: it follows Retry-After, and the sleep and the random numbers that were handed in.
    minTimeout: 0,
    maxTimeout: 0,
    shouldRetry: ({ error }) => mayRetry(error, call),
    onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
      if (retriesLeft === 0 || !mayRetry(error, call)) return
      await backOff(parts, call, { error, attemptNumber: attemptNumber + 1 })
    },
  }).catch((error: unknown) => {
    throw problemOf(error)
  })
}

async function backOff(
  parts: SenderOptions,
  call: OperationCall<unknown>,
  after: { error: AttemptError; attemptNumber: number },
): Promise<void> {
  const { intent } = after.error
  const askedMs = intent.kind === 'retry' ? intent.waitMs : 0
  const jitteredMs = FIRST_BACKOFF_MS * 2 ** (after.attemptNumber - 1) * (0.5 + parts.random())
  await parts.sleep(Math.max(askedMs, jitteredMs), call.signal).catch((cause: unknown) => {
    throw problemOf(failedAttempt(call, new TransportError('aborted', 'aborted', cause), parts.clock()))
  })
}

function mayRetry(error: unknown, call: OperationCall<unknown>): error is AttemptError {
  if (!(error instanceof AttemptError) || error.intent.kind !== 'retry') return false
  return isRetryable(call.operation) && error.intent.waitMs <= RETRY_WAIT_MAX_MS && !call.signal?.aborted
}

/** Callers get the problem of every intent except `renew`, which the authorized sender needs. */
function problemOf(error: unknown): unknown {
  return error instanceof AttemptError && error.intent.kind !== 'renew' ? error.intent.problem : error
}

async function attempt<T>(parts: SenderOptions, call: OperationCall<T>, number: number): Promise<T> {
  const path = requestPathOf(call.operation, call.externalId)
  if (path === undefined) throw unusableNameProblem(call.operation)
  const { rateLimiter, clock, telemetry } = parts
  const permit = rateLimiter.acquire(call.lane, call.signal)
  if (permit !== undefined) await telemetry.waited(call.operation, call.lane, permit)
  const span = telemetry.start(call.operation)
  const sentAtMs = clock()
  let result: SendResult
  try {
    result = await parts.transport.send({
      method: call.operation.method,
      path: parts.basePath + path + (call.query ?? ''),
      headers: [...headersOf(call), ...telemetry.headers(span)],
      body: call.body,
      signal: call.signal,
      sinkFor: call.sinkFor,
    })
  } catch (error) {
    result = error instanceof TransportError ? error : new TransportError('lost', 'unknown', error)
  }
  const nowMs = clock()
  rateLimiter.release(call.lane, outcomeOf(result, nowMs - sentAtMs, nowMs))
  const latencyMs = nowMs - sentAtMs
  telemetry.end(span, { operation: call.operation, result: statusOf(result), attempt: number, latencyMs })
  if (result instanceof TransportError || !isSuccess(result.status)) {
    const names = result instanceof TransportError ? undefined : oddErrorNamesOf(result.body)
    if (names !== undefined) parts.onOddError?.({ operation: call.operation, externalId: call.externalId, names })
    throw failedAttempt(call, result, nowMs)
  }
  const kind = answerKindOf(call, result.status)
  if (kind === undefined)
    throw failedAttempt(call, meaninglessAnswer(`status ${result.status} says nothing here`), nowMs)
  try {
    return call.parse({ response: result, kind, sentAtMs })
  } catch (error) {
    throw error instanceof SyntaxError ? failedAttempt(call, meaninglessAnswer(error.message), nowMs) : error
  }
}

/** 304 is a success only where it was asked for, and otherwise an answer that says nothing. */
const isSuccess = (status: number) => (status >= 200 && status < 300) || status === 304

const meaninglessAnswer = (reason: string) => new TransportError('garbled', reason)

function failedAttempt(
  { operation, secrets, fields }: OperationCall<unknown>,
  result: SendResult,
  nowMs: number,
): AttemptError {
  return new AttemptError(intentOf(result, { operation, secrets, fields, nowMs }))
}

function headersOf(call: OperationCall<unknown>): string[] {
  const { identity = [], heldTag, body } = call
  const headers = [...identity]
  if (heldTag !== undefined) headers.push('if-none-match', heldTag)
  if (body !== undefined) headers.push('content-type', 'application/json')
  return headers
}

function statusOf(result: SendResult): number | string {
  return result instanceof TransportError ? result.kind : result.status
}

function outcomeOf(result: SendResult, latencyMs: number, nowMs: number): RequestOutcome {
  // A lost connection says nothing about the load of upstream. A timeout shows in the latency.
  const overloaded = !(result instanceof TransportError) && (result.status === 429 || result.status === 503)
  if (!overloaded) return { latencyMs, overloaded, retryAfterMs: 0 }
  const retryAfterMs = retryAfterMsOf(result.retryAfter, httpDateMsOf(result.date), nowMs) ?? 0
  return { latencyMs, overloaded, retryAfterMs }
}

function unusableNameProblem({ name }: Operation): Problem {
  return new Rejected(`call ${name}: this profile's name cannot stand in a path`, {
    status: 0,
    hint: 'It is empty, a dot, two dots, the last word of another address, or not well-formed text.',
  })
}
