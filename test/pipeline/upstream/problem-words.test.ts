import { expect, test } from 'vitest'
import { type OperationName, operations } from '../../../src/base/contract/operations.ts'
import type { Problem } from '../../../src/base/errors.ts'
import { TransportError } from '../../../src/pipeline/upstream/http.ts'
import { intentOf } from '../../../src/pipeline/upstream/intent.ts'
import { answer } from '../../support/http-answer.ts'

const cause = Object.assign(new Error('x'), { code: 'ECONNREFUSED' })

function problemOf(result: number | TransportError, name: OperationName = 'scoresOf', body = ''): Problem | undefined {
  const outcome = typeof result === 'number' ? answer(result, { body: Buffer.from(body) }) : result
  const decided = intentOf(outcome, { operation: operations[name], secrets: [], nowMs: 0 })
  return 'problem' in decided ? decided.problem : undefined
}

const between = 'Something between here and upstream may be answering in its place.'
const failed = 'Try again later. If it fails again, give the id of the request to the operators of upstream.'
const unknown = 'Register the profile first, or compare its externalId with that of upstream, letter by letter.'
const refused = 'The same request would be refused again: correct what the message names.'
const redirects =
  'Redirects are not followed, for they would carry the token along. Set UPSTREAM_URL to the final address.'

// An operator reads these, and the journal of failures keeps them.
test.for<[number | TransportError, string, string | undefined, OperationName?]>([
  [
    new TransportError('unsent', 'ECONNREFUSED', cause),
    'upstream cannot be reached: nothing listens there',
    'Start the server, or correct host and port in UPSTREAM_URL.',
  ],
  [new TransportError('lost', 'ECONNRESET', cause), 'no complete answer (ECONNRESET)', undefined],
  [new TransportError('garbled', 'it is empty'), 'the answer makes no sense (it is empty)', between],
  [new TransportError('oversized', 'too many bytes'), 'too many bytes', 'Ask for a shorter window.'],
  [new TransportError('aborted', 'aborted', cause), 'given up by its caller', undefined],
  [429, 'upstream is busy (status 429)', 'Try again later.'],
  [500, 'upstream failed (status 500)', failed],
  [404, 'not known upstream', unknown],
  [410, 'removed upstream', 'It stays removed. Ask for it no more.'],
  [410, 'the account was removed upstream', 'Ask the owner of the account.', 'searchProfiles'],
  [300, 'upstream sends us elsewhere (status 300)', redirects],
  [302, 'upstream sends us elsewhere (status 302)', redirects, 'accountToken'],
  [400, 'upstream refuses (status 400)', refused],
  [299, 'upstream refuses (status 299)', refused],
])('%o says what failed, and what to do next', ([result, words, hint, name = 'scoresOf']) => {
  const problem = problemOf(result, name)

  expect(problem?.message).toBe(`call ${name}: ${words}`)
  expect(problem?.hint).toBe(hint)
  if (result instanceof TransportError && result.cause) expect(problem?.cause).toBe(cause)
})

test.for<[object, string]>([
  [{ title: 'Bad Request' }, ': Bad Request'],
  [{ errors: [{ origin: 'unit', errors: ['is required', 'is odd'] }] }, ': unit is required; unit is …'],
  [{ errors: [{ errors: ['is required'] }] }, ': is required'],
  [{ title: 'not valid', errors: [{ origin: 'unit', errors: ['is required'] }] }, ': not valid; unit is required'],
  [
    { errors: ['value', 'unit', 'id', 'type'].map((origin) => ({ origin, errors: ['is required'] })) },
    ': value is required; unit is required; id is required',
  ],
  [{ title: '', errors: [] }, ''],
])('of a refusal with %o the message says: %s', ([body, words]) => {
  expect(problemOf(422, 'uploadLogs', JSON.stringify(body))?.message).toBe(
    `call uploadLogs: upstream refuses (status 422)${words}`,
  )
})
