import { expect, test } from 'vitest'
import { unaddressableNames } from '../../../src/base/contract/authentication.ts'
import { operations } from '../../../src/base/contract/operations.ts'
import { answerKindOf, isErrorBody } from '../../../src/pipeline/upstream/answer-rules.ts'
import { queryStringOf, requestPathOf } from '../../../src/pipeline/upstream/operation-rules.ts'

test.for<[string | undefined, string | undefined]>([
  ['ada', 'ada'],
  ['a.b', 'a.b'],
  ['...', '...'],
  ['a/b', 'a%2Fb'],
  ['a?b#c', 'a%3Fb%23c'],
  ['é %', '%C3%A9%20%25'],
  ['', undefined],
  ['.', undefined],
  ['..', undefined],
  ['\ud800', undefined],
  [undefined, undefined],
])('the name %s stands in a path as %s', ([externalId, encoded]) => {
  expect(requestPathOf(operations.scoresOf, externalId)).toBe(encoded && `/api/v1/profile/score/${encoded}`)
  expect(requestPathOf(operations.scores, externalId)).toBe('/api/v1/profile/score')
})

test('a name that nobody may be registered by cannot stand in a path that is not then the profile’s', () => {
  for (const name of unaddressableNames) expect(requestPathOf(operations.profile, name)).toBeUndefined()
  expect(requestPathOf(operations.scoresOf, 'search')).toBe('/api/v1/profile/score/search')
  for (const { path } of Object.values(operations)) {
    const [prefix, parameter] = path.split('{externalId}')
    const names = Object.values(operations).flatMap((other) =>
      parameter === '' && other.path.startsWith(`${prefix}`) ? other.path.slice(prefix?.length).split('/') : [],
    )
    const fixed = names.filter((name) => name !== '{externalId}')
    expect(unaddressableNames).toEqual(expect.arrayContaining(fixed))
  }
})

test('a query holds the parameters with a value, lists joined by commas, each value encoded', () => {
  expect(queryStringOf({})).toBe('')
  expect(queryStringOf({ a: undefined, b: '' })).toBe('')
  expect(queryStringOf({ a: undefined, b: 0, c: 'x y', d: ['e', 'f&g'], h: '2026-03-03T00:00:00Z' })).toBe(
    '?b=0&c=x%20y&d=e,f%26g&h=2026-03-03T00:00:00Z',
  )
  expect(queryStringOf({ a: '+1', b: '=' })).toBe('?a=%2B1&b=%3D')
})

test('a status means something by operation alone, and 304 by the tag that was sent', () => {
  const kinds = (name: keyof typeof operations, heldTag?: string) =>
    [200, 201, 202, 204, 206, 304].map((status) => answerKindOf({ operation: operations[name], heldTag }, status))

  expect(kinds('scoresOf')).toEqual(['json', undefined, undefined, 'bare', undefined, undefined])
  expect(kinds('scoresOf', '"t"')).toEqual(['json', undefined, undefined, 'bare', undefined, 'unchanged'])
  expect(kinds('uploadLogs')).toEqual(['json', 'json', 'bare', 'bare', undefined, undefined])
  expect(kinds('register')).toEqual(['json', 'json', undefined, undefined, undefined, undefined])
  expect(kinds('profile')).toEqual(['json', undefined, undefined, undefined, undefined, undefined])
  expect(kinds('deleteProfiles')).toEqual(['json', undefined, undefined, 'bare', undefined, undefined])
})

test('an object is the body of an error when it has keys, and only those of errors', () => {
  for (const body of [{ title: 'x' }, { message: 'x', statusCode: 1 }, { traceId: 'x', path: 'y' }])
    expect(isErrorBody(body)).toBe(true)
  for (const body of [{}, [], { title: 'x', value: 1 }, { age: 3 }]) expect(isErrorBody(body)).toBe(false)
})
