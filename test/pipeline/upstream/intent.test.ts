import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { type OperationName, operations } from '../../../src/base/contract/operations.ts'
import { Halted, NotThere, Rejected, RetryLater } from '../../../src/base/errors.ts'
import { type HttpResponse, TransportError, type TransportErrorKind } from '../../../src/pipeline/upstream/http.ts'
import { type Intent, intentOf } from '../../../src/pipeline/upstream/intent.ts'
import { answer } from '../../support/http-answer.ts'

const nowMs = Date.parse('2026-03-03T12:00:00Z')
const causes: TransportErrorKind[] = ['unsent', 'lost', 'garbled', 'oversized', 'aborted']

function intent(what: HttpResponse | TransportError, operation: OperationName = 'scoresOf'): Intent {
  return intentOf(what, { operation: operations[operation], secrets: ['ada'], nowMs })
}

/** The cells of one row of the table in docs/reference/upstream.md, as the code has them. */
function rowOf(name: string): string[] {
  const isCause = causes.some((cause) => cause === name)
  const trouble = isCause ? new TransportError(name as TransportErrorKind, 'x') : answer(Number(name))
  const decided = intent(trouble)
  if (decided.kind === 'renew') return [name, 'renew', '']
  const thrown = [decided.problem.name]
  if (decided.problem instanceof NotThere && decided.problem.removed) {
    const ofAccount = intent(trouble, 'searchProfiles')
    thrown[0] += `, removed; of an account operation ${'problem' in ofAccount ? ofAccount.problem.name : ''}`
  }
  const ofToken = intent(trouble, 'accountToken')
  if ('problem' in ofToken && ofToken.problem instanceof Halted && !(decided.problem instanceof NotThere))
    thrown.push("of the account's token Halted")
  const asked = isCause ? decided : intent(answer(Number(name), { retryAfter: '7' }))
  if ('problem' in asked && asked.problem.name !== decided.problem.name)
    thrown.push(`with Retry-After ${asked.problem.name}`)
  return [name, decided.kind.replace('-', ' '), thrown.join('; ')]
}

test('the table in the documentation says what the code does, for every status and every cause', async () => {
  const text = await readFile(new URL('../../../docs/reference/upstream.md', import.meta.url), 'utf8')
  const table = text.slice(text.indexOf('| status or cause')).split('\n\n')[0] ?? ''
  const rows = table
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )

  expect(rows.length).toBeGreaterThan(15)
  for (const cause of causes) expect(rows.map(([name]) => name)).toContain(cause)
  for (const row of rows) expect(row).toEqual(rowOf(row[0] ?? ''))
})

test.for<[number, string | undefined, string]>([
  [429, undefined, 'upstream is busy (status 429)'],
  [500, undefined, 'upstream failed (status 500)'],
  [500, '7', 'upstream failed (status 500)'],
  [400, undefined, 'upstream refuses (status 400)'],
])(
  'a failure with the status %s and a pause of %s carries status and id of its request',
  ([status, retryAfter, words]) => {
    const decided = intent(answer(status, { retryAfter, requestId: 'r-1' }))

    expect(decided).toMatchObject({ problem: { status, requestId: 'r-1', message: `call scoresOf: ${words}` } })
  },
)

test('410 halts the account only where no profile is spoken of', () => {
  const names = Object.keys(operations) as OperationName[]
  const halting = names.filter((name) => {
    const decided = intent(answer(410), name)
    return 'problem' in decided && decided.problem instanceof Halted
  })

  expect(halting).toEqual(['accountToken', 'register', 'registerByApp', 'searchProfiles', 'deleteProfiles'])
})

describe('how long to wait', () => {
  test.for<[number, string | undefined, number]>([
    [429, '30', 30_000],
    [429, undefined, 5000],
    [429, '0', 1000],
    [429, 'Tue, 03 Mar 2026 12:02:00 GMT', 120_000],
    [429, 'Mon, 02 Mar 2026 12:02:00 GMT', 1000],
    [503, '999999999', 3_600_000],
    [503, 'whenever', 5000],
    [502, '9', 9000],
  ])('an answer %i with Retry-After %s is asked for again after %i ms', ([status, retryAfter, waitMs]) => {
    const decided = intent(answer(status, { retryAfter }))

    expect('problem' in decided && decided.problem).toBeInstanceOf(RetryLater)
    expect('problem' in decided && (decided.problem as RetryLater).waitMs).toBe(waitMs)
  })
})

test('a refusal carries upstream’s words by index, scrubbed of what was sent', () => {
  const body = Buffer.from(
    JSON.stringify({
      title: 'Bad "ada"',
      errors: [{ origin: '[2].value', errors: ['9 of ada is too much'] }, { origin: 'ada' }],
    }),
  )
  const decided = intent(answer(400, { body }), 'uploadLogs')
  const problem = 'problem' in decided ? decided.problem : undefined

  expect(problem).toBeInstanceOf(Rejected)
  expect((problem as Rejected).details).toEqual([
    { path: '[2].value', reasons: ['… of … is too much'] },
    { path: '', reasons: [] },
  ])
  expect(problem?.message).not.toContain('ada')
})

test('words that are no error body are left out, not quoted', () => {
  for (const body of ['<html>ada</html>', '"ada"', '[1]', '{"title":7}', '']) {
    const decided = intent(answer(400, { body: Buffer.from(body) }))
    expect('problem' in decided && decided.problem.message).toBe('call scoresOf: upstream refuses (status 400)')
  }
})
