import { connectionCauseOf, connectionCauses, connectionHint } from '../../base/connections/causes.ts'
import type { Operation } from '../../base/contract/operations.ts'
import { Halted, NotThere, type Problem, Rejected, RetryLater, Unanswered } from '../../base/errors.ts'
import { SECOND } from '../../base/time/units.ts'
import { type HttpResponse, TransportError } from './http.ts'
import { isAboutProfile } from './operation-rules.ts'
import { httpDateMsOf, retryAfterMsOf } from './retry-after.ts'
import { type Scrubbing, scrubbedDetails } from './scrub.ts'

/**
 * The next step after a refused or failed attempt.
 * `renew`: renew the token once and retry. `retry`: send the same request again within seconds, where that is harmless,
 * not before `waitMs`; when the retries fail too, throw `problem`. `give-up`: throw `problem` at once.
 */
export type Intent =
  | { readonly kind: 'renew' }
  | { readonly kind: 'retry'; readonly waitMs: number; readonly problem: Problem }
  | { readonly kind: 'give-up'; readonly problem: Problem }

/** An answer of any status, or the reason why there is no answer. */
export type SendResult = HttpResponse | TransportError

type AttemptContext = Scrubbing & {
  readonly operation: Operation
  readonly nowMs: number
}

/** The longest pause inside a call. A call that would have to wait longer goes back to the queue. */
export const RETRY_WAIT_MAX_MS = 2 * SECOND

/** Pauses of the queue for an upstream that is overloaded or unreachable and names no time itself. */
const OVERLOADED_WAIT_MS = 5 * SECOND
const UNREACHABLE_WAIT_MS = 15 * SECOND

/** Every status and every transport error gets its intent here. A test compares the table in docs/reference/upstream.md with it. */
export function intentOf(result: SendResult, context: AttemptContext): Intent {
  return result instanceof TransportError ? intentOfTransportError(result, context) : intentOfStatus(result, context)
}

function intentOfTransportError({ kind, code, cause }: TransportError, { operation }: AttemptContext): Intent {
  const call = `call ${operation.name}`
  switch (kind) {
    case 'unsent': {
      const name = connectionCauseOf(cause)
      const problem = new RetryLater(`${call}: upstream cannot be reached: ${connectionCauses[name].words}`, {
        waitMs: UNREACHABLE_WAIT_MS,
        hint: connectionHint(name, 'UPSTREAM_URL'),
        cause,
      })
      return { kind: 'retry', waitMs: 0, problem }
    }
    case 'lost':
      return { kind: 'retry', waitMs: 0, problem: new Unanswered(`${call}: no complete answer (${code})`, { cause }) }
    case 'garbled':
      return {
        kind: 'retry',
        waitMs: 0,
        problem: new Unanswered(`${call}: the answer makes no sense (${code})`, {
          hint: 'Something between here and upstream may be answering in its place.',
        }),
      }
    case 'oversized':
      return {
        kind: 'give-up',
        problem: new Rejected(`${call}: ${code}`, { status: 0, hint: 'Ask for a shorter window.' }),
      }
    case 'aborted':
      return { kind: 'give-up', problem: new Unanswered(`${call}: given up by its caller`, { cause }) }
  }
}

function intentOfStatus(response: HttpResponse, context: AttemptContext): Intent {
  const { operation, nowMs } = context
  const { status, requestId } = response
  const answered = { status, requestId }
  const call = `call ${operation.name}`
  const askedMs = retryAfterMsOf(response.retryAfter, httpDateMsOf(response.date), nowMs)
  if (status === 401) return { kind: 'renew' }
  if (status === 408 || status === 429 || status === 503) {
    const waitMs = askedMs ?? 0
    const problem = new RetryLater(`${call}: upstream is busy (status ${status})`, {
      ...answered,
      hint: 'Try again later.',
      waitMs: Math.max(waitMs, askedMs === undefined ? OVERLOADED_WAIT_MS : SECOND),
    })
    return { kind: 'retry', waitMs, problem }
  }
  if (status >= 500) {
    const problem =
      askedMs === undefined
        ? new Unanswered(`${call}: upstream failed (status ${status})`, { ...answered, hint: FAILED_HINT })
        : new RetryLater(`${call}: upstream failed (status ${status})`, {
            ...answered,
            hint: FAILED_HINT,
            waitMs: Math.max(askedMs, SECOND),
          })
    // A 500 is upstream's own fault with this very request and would come again within seconds: the queue retries later.
    const temporary = status === 502 || status === 504
    return temporary ? { kind: 'retry', waitMs: askedMs ?? 0, problem } : { kind: 'give-up', problem }
  }
  return { kind: 'give-up', problem: problemOfStatus(response, context) }
}

const FAILED_HINT = 'Try again later. If it fails again, give the id of the request to the operators of upstream.'

function problemOfStatus(
  { status, requestId, body }: HttpResponse,
  { operation, secrets, fields }: AttemptContext,
): Problem {
  const call = `call ${operation.name}`
  const answered = { status, requestId }
  if (status === 404) {
    const hint = 'Register the profile first, or compare its externalId with that of upstream, letter by letter.'
    return new NotThere(`${call}: not known upstream`, { ...answered, hint })
  }
  if (status === 410) {
    const removed = { ...answered, removed: true, hint: 'It stays removed. Ask for it no more.' }
    return isAboutProfile(operation)
      ? new NotThere(`${call}: removed upstream`, removed)
      : new Halted(`${call}: the account was removed upstream`, { ...answered, hint: 'Ask the owner of the account.' })
  }
  if (status >= 300 && status < 400) {
    const message = `${call}: upstream sends us elsewhere (status ${status})`
    const hint =
      'Redirects are not followed, for they would carry the token along. Set UPSTREAM_URL to the final address.'
    // Without the account's token nobody can work. Every other answer concerns one request only.
    return operation.name === 'accountToken'
      ? new Halted(message, { ...answered, hint })
      : new Rejected(message, { ...answered, hint })
  }
  const { title, details } = scrubbedDetails(body.toString('utf8'), { secrets, fields })
  const reasons = details
    .slice(0, 3)
    .flatMap(({ path, reasons }) => reasons.map((reason) => `${path} ${reason}`.trim()))
  const summary = [title, ...reasons].filter((text) => text !== '').join('; ')
  const message = `${call}: upstream refuses (status ${status})${summary === '' ? '' : `: ${summary}`}`
  const hint = 'The same request would be refused again: correct what the message names.'
  return new Rejected(message, { ...answered, hint, details })
}
