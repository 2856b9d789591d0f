import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { oddErrorNamesOf, scrub, scrubbedDetails } from '../../../src/pipeline/upstream/scrub.ts'

describe('scrubbing', () => {
  test.for([
    ['externalId "ada-1" is in use', 'externalId "…" is in use'],
    ["value '71.5' is above 1", "value '…' is above …"],
    ['got 2026-03-03T00:00:00Z', 'got …'],
    ['mail ada@example.org is taken', '… is taken'],
    ['unknown profile top-secret', 'unknown profile …'],
    ['token eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.x_y is expired', 'token … is expired'],
    ['must be one of sleep, activity', 'must be one of …'],
    ['Alice Smith has diabetes', '… has …'],
    ['birthDate must not be in the future', 'birthDate must not be in the future'],
    ['red \u001b[31m\u202eeulav\nbad', '… [… bad'],
    ['value is too long', 'value is too long'],
    ['never "closed', 'never "…'],
    ['"value" is above "value', '"…" is above "…'],
    ['is of a@b', 'is of …'],
    ['is.a@b is taken', '… is taken'],
    ['Alice Smith Jones Brown is taken', '… is taken'],
    [' value is too long ', 'value is too long'],
    ['is '.repeat(100), 'is '.repeat(67).slice(0, 200).trim()],
    [`${'1'.repeat(2000)} value`, '…'],
  ])('the words %j are reported as %j', ([words, clean]) => {
    expect(scrub(words ?? '', { secrets: ['', 'top-secret'] })).toBe(clean)
  })

  test('names of the request’s own fields stay, and no others', () => {
    const scrubbing = { secrets: [], fields: ['mood'] }
    expect(scrub('mood must not be above weight', scrubbing)).toBe('mood must not be above …')
    const errors = [
      { origin: '[3].mood', errors: ['is too high'] },
      { origin: '[3].diabetes', errors: ['is too low'] },
    ]
    expect(scrubbedDetails(JSON.stringify({ errors }), scrubbing).details).toEqual([
      { path: '[3].mood', reasons: ['is too high'] },
      { path: '[3]._', reasons: ['is too low'] },
    ])
  })

  test.for([
    ['value', 'value'],
    ['$[12].value', '$[12].value'],
    ['1234.value', '1234.value'],
    ['12345.value', ''],
    ['value is', ''],
    ['-value', ''],
    ['value-', ''],
    ['x'.repeat(100), '_'],
    ['x'.repeat(101), ''],
    ['value.hidden', ''],
    [undefined, ''],
  ])('the path %j is reported as %j', ([origin, path]) => {
    const body = JSON.stringify({ errors: [{ origin, errors: 'is too high' }] })
    const { details } = scrubbedDetails(body, { secrets: ['', 'hidden'] })

    expect(details).toEqual([{ path, reasons: ['is too high'] }])
  })

  test('of a long refusal the first two hundred errors stay, and of each the first twenty reasons', () => {
    const errors = Array.from({ length: 201 }, () => ({ origin: 'value', errors: Array(21).fill('is too high') }))
    const { details } = scrubbedDetails(JSON.stringify({ errors }), { secrets: [] })

    expect(details).toHaveLength(200)
    expect(new Set(details.map(({ reasons }) => reasons.length))).toEqual(new Set([20]))
  })

  const names = Array.from(
    { length: 100 },
    (_, at) => `b${String.fromCharCode(97 + Math.floor(at / 26), 97 + (at % 26))}`,
  )
  const withNames = (some: readonly string[]) => JSON.stringify(Object.fromEntries(some.map((name) => [name, 1])))
  const firstTen = names.slice(0, 10).join(', ')
  test.for([
    ['{"reason": "x", "code": 7}', 'code, reason'],
    [withNames(names.slice(0, 11)), firstTen],
    [withNames([...names, 'aa']), firstTen],
    [`{${' '.repeat(19_989)}"code": 7}`, 'code'],
    [`{${' '.repeat(19_990)}"code": 7}`, undefined],
    ['[1]', undefined],
    ['', undefined],
    ['no JSON', undefined],
  ])('the names of an error of another form are reported: %#', ([body, expected]) => {
    expect(oddErrorNamesOf(Buffer.from(body ?? ''))).toBe(expected)
  })

  test('a scrubbed text leaves nothing of a secret, however upstream wraps it, and stays short', () => {
    fc.assert(
      fc.property(fc.string(), fc.uuid(), fc.string(), (before, secret, after) => {
        const clean = scrub(`${before}${secret}${after}`, { secrets: [] })
        expect(clean).not.toContain(secret)
        expect(clean.length).toBeLessThanOrEqual(200)
      }),
    )
  })
})
