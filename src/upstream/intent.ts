import type { Operation } from '../contract/operations.ts'
import { Halted, NotThere, type Problem, Rejected, RetryLater, Unanswered } from '../errors.ts'
import { SECOND } from '../window.ts'
import { isAboutProfile } from './operations.ts'
import { httpDateMs, retryAfterMs } from './retry-after.ts'
import { scrubbedDetails } from './scrub.ts'
import { type HttpAnswer, TransportTrouble } from './transport.ts'

/**
 * What a refusal or a failure asks for.
 * `renew`: the token, once. `repeat`: the same request within seconds, where it is harmless, not before `waitMs`;
 * what is still so after that is thrown as `problem`. `give-up`: `problem`, at once.
 */
export type Intent =
  | { readonly kind: 'renew' }
  | { readonly kind: 'repeat'; readonly waitMs: number; readonly problem: Problem }
  | { readonly kind: 'give-up'; readonly problem: Problem }

export type Trouble = HttpAnswer | TransportTrouble

type Circumstances = {
  readonly operation: Operation
  /** What upstream may echo and nobody may read: the tokens, secrets and names of this request. */
  readonly secrets: readonly string[]
  readonly nowMs: number
}

/** How long the queue waits when upstream says it is overloaded or away, but not for how long. */
const OVERLOADED_WAIT_MS = 5 * SECOND
const AWAY_WAIT_MS = 15 * SECOND

/** The one place that turns a status or a cause into what happens next. The table in docs/upstream.md is tested against it. */
export function intentOf(trouble: Trouble, circumstances: Circumstances): Intent {
  return trouble instanceof TransportTrouble ? ofCause(trouble, circumstances) : ofStatus(trouble, circumstances)
}

function ofCause({ kind, code, cause }: TransportTrouble, { operation }: Circumstances): Intent {
  const did = `call ${operation.name}`
  switch (kind) {
    case 'unsent': {
      const hint = 'Check UPSTREAM_URL, and that the service is reachable from here.'
      const problem = new RetryLater(`${did}: upstream cannot be reached (${code})`, {
        waitMs: AWAY_WAIT_MS,
        hint,
        cause,
      })
      return { kind: 'repeat', waitMs: 0, problem }
    }
    case 'lost':
      return { kind: 'repeat', waitMs: 0, problem: new Unanswered(`${did}: no complete answer (${code})`, { cause }) }
    case 'garbled':
      return {
        kind: 'repeat',
        waitMs: 0,
        problem: new Unanswered(`${did}: the answer makes no sense (${code})`, {
          hint: 'Something between here and upstream may be answering in its place.',
        }),
      }
    case 'oversized':
      return {
        kind: 'give-up',
        problem: new Rejected(`${did}: ${code}`, { status: 0, hint: 'Ask for a shorter window.' }),
      }
    case 'aborted':
      return { kind: 'give-up', problem: new Unanswered(`${did}: given up by its caller`, { cause }) }
  }
}

function ofStatus(answer: HttpAnswer, circumstances: Circumstances): Intent {
  const { operation, nowMs } = circumstances
  const { status } = answer
  const did = `call ${operation.name}`
  const askedMs = retryAfterMs(answer.retryAfter, httpDateMs(answer.date), nowMs)
  if (status === 401) return { kind: 'renew' }
  if (status === 408 || status === 429 || status === 503) {
    const waitMs = askedMs ?? 0
    const problem = new RetryLater(`${did}: upstream is busy (status ${status})`, {
      waitMs: Math.max(waitMs, askedMs === undefined ? OVERLOADED_WAIT_MS : SECOND),
    })
    return { kind: 'repeat', waitMs, problem }
  }
  if (status >= 500) {
    const problem =
      askedMs === undefined
        ? new Unanswered(`${did}: upstream failed (status ${status})`)
        : new RetryLater(`${did}: upstream failed (status ${status})`, { waitMs: Math.max(askedMs, SECOND) })
    // 500 is upstream's own fault with this very request: the queue may ask again, seconds later it will fail the same.
    const passing = status === 502 || status === 504
    return passing ? { kind: 'repeat', waitMs: askedMs ?? 0, problem } : { kind: 'give-up', problem }
  }
  return { kind: 'give-up', problem: refusal(answer, circumstances) }
}

function refusal({ status, body }: HttpAnswer, { operation, secrets }: Circumstances): Problem {
  const did = `call ${operation.name}`
  if (status === 404) return new NotThere(`${did}: not known upstream`)
  if (status === 410) {
    return isAboutProfile(operation)
      ? new NotThere(`${did}: removed upstream`, { removed: true })
      : new Halted(`${did}: the account was removed upstream`, { hint: 'Ask the owner of the account.' })
  }
  if (status >= 300 && status < 400) {
    return new Halted(`${did}: upstream sends us elsewhere (status ${status})`, {
      hint: 'Redirects are not followed, for they would carry the token along. Set UPSTREAM_URL to the final address.',
    })
  }
  const { title, details } = scrubbedDetails(body.toString('utf8'), secrets)
  const words = [
    title,
    ...details.slice(0, 3).flatMap(({ path, reasons }) => reasons.map((r) => `${path} ${r}`.trim())),
  ]
  const said = words.filter((word) => word !== '').join('; ')
  return new Rejected(`${did}: upstream refuses (status ${status})${said === '' ? '' : `: ${said}`}`, {
    status,
    details,
  })
}

/** The longest that is waited inside a call; what asks for more goes back to the queue. */
export const WAIT_INSIDE_MAX_MS = 2 * SECOND
