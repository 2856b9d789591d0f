import pRetry from 'p-retry'
import type { Budget, Lane } from '../budget.ts'
import type { Operation } from '../contract/operations.ts'
import { type Problem, Rejected, Unanswered } from '../errors.ts'
import { type Intent, intentOf, WAIT_INSIDE_MAX_MS } from './intent.ts'
import { isRepeatable, pathOf } from './operations.ts'
import { httpDateMs, retryAfterMs } from './retry-after.ts'
import type { Telemetry } from './telemetry.ts'
import { type HttpAnswer, type TextSink, type Transport, TransportTrouble } from './transport.ts'

export type Call<T> = {
  readonly operation: Operation
  readonly lane: Lane
  readonly signal?: AbortSignal | undefined
  readonly externalId?: string | undefined
  /** Encoded, with its question mark. */
  readonly query?: string | undefined
  readonly body?: string | undefined
  /** Names and values of the headers that say who calls. */
  readonly identity?: readonly string[] | undefined
  /** What upstream may echo of this call and nobody may read. */
  readonly secrets: readonly string[]
  readonly stream?: ((status: number) => TextSink | undefined) | undefined
  /** Makes sense of a 2xx answer; a SyntaxError says that there is none to be made. */
  readonly interpret: (answered: Answered) => T
}

export type Caller = <T>(call: Call<T>) => Promise<T>

export type Answered = { readonly answer: HttpAnswer; readonly sentAtMs: number }

export type CallParts = {
  readonly transport: Transport
  readonly budget: Budget
  readonly telemetry: Telemetry
  readonly basePath: string
  readonly clock: () => number
  readonly random: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** How a call failed and what that asks for. Never leaves this folder: callers get the problem within. */
export class Refusal extends Error {
  readonly intent: Intent

  constructor(intent: Intent) {
    super(intent.kind)
    this.intent = intent
  }
}

const REPEATS_MAX = 2
const FIRST_PAUSE_MS = 200

/**
 * Sends one call until it is answered with 2xx, a few times at most and only where that is harmless. Throws the problem
 * to hand on, or a Refusal to renew when upstream does not know the caller.
 */
export function createCaller(parts: CallParts): Caller {
  return async (call) => {
    try {
      return await attempt(parts, call)
    } catch (error) {
      if (!mayRepeat(error, call)) throw outward(error)
      return repeat(parts, call, error)
    }
  }
}

/** Entered only after a first failure, so that what goes well pays nothing for it. */
async function repeat<T>(parts: CallParts, call: Call<T>, failure: Refusal): Promise<T> {
  await pause(parts, call, { error: failure, attemptNumber: 1 })
  const again = async () => {
    parts.telemetry.repeated(call.operation)
    return attempt(parts, call)
  }
  return pRetry(again, {
    retries: REPEATS_MAX - 1,
    // The pauses are ours, below: they follow Retry-After, and the clock and chance that were handed in.
    minTimeout: 0,
    maxTimeout: 0,
    shouldRetry: ({ error }) => mayRepeat(error, call),
    onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
      if (retriesLeft === 0 || !mayRepeat(error, call)) return
      await pause(parts, call, { error, attemptNumber: attemptNumber + 1 })
    },
  }).catch((error: unknown) => {
    throw outward(error)
  })
}

async function pause(
  parts: CallParts,
  call: Call<unknown>,
  after: { error: Refusal; attemptNumber: number },
): Promise<void> {
  const { intent } = after.error
  const askedMs = intent.kind === 'repeat' ? intent.waitMs : 0
  const jitteredMs = FIRST_PAUSE_MS * 2 ** (after.attemptNumber - 1) * (0.5 + parts.random())
  await parts.sleep(Math.max(askedMs, jitteredMs), call.signal)
}

function mayRepeat(error: unknown, call: Call<unknown>): error is Refusal {
  if (!(error instanceof Refusal) || error.intent.kind !== 'repeat') return false
  return isRepeatable(call.operation) && error.intent.waitMs <= WAIT_INSIDE_MAX_MS && !call.signal?.aborted
}

/** A Refusal to renew stays one; of every other, callers see the problem. */
function outward(error: unknown): unknown {
  return error instanceof Refusal && error.intent.kind !== 'renew' ? error.intent.problem : error
}

async function attempt<T>(parts: CallParts, call: Call<T>): Promise<T> {
  const path = pathOf(call.operation, call.externalId)
  if (path === undefined) throw unaddressable(call.operation)
  const { budget, clock, telemetry } = parts
  const gate = budget.enter(call.lane, call.signal)
  if (gate !== undefined) await telemetry.waited(call.operation, call.lane, gate)
  const span = telemetry.start(call.operation)
  const sentAtMs = clock()
  let answer: HttpAnswer | TransportTrouble
  try {
    answer = await parts.transport.send({
      method: call.operation.method,
      path: parts.basePath + path + (call.query ?? ''),
      headers: headersOf(call),
      body: call.body,
      signal: call.signal,
      stream: call.stream,
    })
  } catch (error) {
    answer = error instanceof TransportTrouble ? error : new TransportTrouble('lost', 'unknown', error)
  }
  const nowMs = clock()
  budget.leave(call.lane, outcomeOf(answer, nowMs - sentAtMs, nowMs))
  telemetry.end(span, { operation: call.operation, result: resultOf(answer), latencyMs: nowMs - sentAtMs })
  if (!(answer instanceof TransportTrouble) && answer.status >= 200 && answer.status < 300) {
    return interpreted(call, { answer, sentAtMs })
  }
  throw new Refusal(intentOf(answer, { operation: call.operation, secrets: call.secrets, nowMs }))
}

function interpreted<T>(call: Call<T>, answered: Answered): T {
  try {
    return call.interpret(answered)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new Refusal(intentOf(new TransportTrouble('garbled', error.message), { ...call, nowMs: answered.sentAtMs }))
  }
}

function headersOf(call: Call<unknown>): string[] {
  const { identity = [] } = call
  return call.body === undefined ? [...identity] : [...identity, 'content-type', 'application/json']
}

function resultOf(answer: HttpAnswer | TransportTrouble): number | string {
  return answer instanceof TransportTrouble ? answer.kind : answer.status
}

function outcomeOf(answer: HttpAnswer | TransportTrouble, latencyMs: number, nowMs: number) {
  // A lost connection says nothing about load; one that timed out shows in the latency.
  if (answer instanceof TransportTrouble) return { latencyMs, overloaded: false, retryAfterMs: 0 }
  const overloaded = answer.status === 429 || answer.status === 503
  if (!overloaded) return { latencyMs, overloaded, retryAfterMs: 0 }
  return { latencyMs, overloaded, retryAfterMs: retryAfterMs(answer.retryAfter, httpDateMs(answer.date), nowMs) ?? 0 }
}

function unaddressable({ name }: Operation): Problem {
  return new Rejected(`call ${name}: this profile's name cannot stand in a path`, {
    status: 0,
    hint: 'It is empty, a dot, two dots, or not well-formed text.',
  })
}

/** Waits for a shared promise no longer than one caller's own signal allows. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  const given = () => new Unanswered('call upstream: given up by its caller', { cause: signal.reason })
  if (signal.aborted) throw given()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(given())
  signal.addEventListener('abort', onAbort, { once: true })
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', onAbort))
}
