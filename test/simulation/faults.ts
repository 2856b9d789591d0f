import { readFileSync } from 'node:fs'
import { type OperationName, operations } from '../../src/base/contract/operations.ts'
import { Halted, type Problem, Rejected, RetryLater } from '../../src/base/errors.ts'
import { type TransportError, TransportError as TransportFault } from '../../src/pipeline/upstream/http.ts'
import { intentOf } from '../../src/pipeline/upstream/intent.ts'

const documented = readFileSync(new URL('../../docs/reference/upstream.md', import.meta.url), 'utf8')
const table = documented.slice(documented.indexOf('## The next step after an answer'))

/** Every status and cause in the table of docs/reference/upstream.md. */
export const answers: readonly string[] = [...table.matchAll(/^\| (\d{3}|[a-z]+) \| (?:give up|renew|retry) \|/gm)].map(
  ([, answer = '']) => answer,
)

const causes: readonly TransportError['kind'][] = ['unsent', 'lost', 'oversized', 'garbled', 'aborted']

/** Whether upstream may have acted on a request that it answered so. */
export const mayHaveActed = (answer: string): boolean => /^(5\d\d|lost|garbled|oversized|aborted)$/.test(answer)

const responseOf = (status: number, details: readonly { path: string; reasons: string[] }[]) => ({
  status,
  date: undefined,
  retryAfter: undefined,
  tag: undefined,
  derivationState: undefined,
  body: Buffer.from(JSON.stringify({ title: 'refused', details })),
  sink: undefined,
})

/** The error that the client throws after this answer, once its retries have failed too. */
export function problemAfter(answer: string, operation: OperationName, nowMs: number): Problem {
  const cause = causes.find((one) => one === answer)
  const result = cause ? new TransportFault(cause, 'E') : responseOf(Number(answer), [])
  const intent = intentOf(result, { operation: operations[operation], nowMs, secrets: [], fields: [] })
  if (intent.kind === 'renew') return new RetryLater('the token is renewed', { waitMs: 1000 })
  return intent.problem
}

/** Whether the answer says that the profile or the account is gone: only an upstream that has removed it says so. */
export const saysRemoved = (problem: Problem): boolean =>
  problem instanceof Halted || ('removed' in problem && problem.removed === true)

/** Upstream's refusal of items: it names the place of the first bad one, or none. */
export const refusalOfItem = (place: number | undefined): Rejected =>
  new Rejected('an item is bad', {
    status: 400,
    details: place === undefined ? [] : [{ path: `[${place}]`, reasons: ['no such record'] }],
  })
