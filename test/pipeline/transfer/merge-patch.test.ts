import fc from 'fast-check'
import { expect, test } from 'vitest'
import { composeUpdates, patchBetween, type SnapshotUpdate } from '../../../src/pipeline/transfer/merge-patch.ts'

test.for([
  ['a field that differs', { a: 1, b: 2 }, { a: 1, b: 3 }, { b: 2 }],
  ['a field that is new', { a: 1 }, {}, { a: 1 }],
  ['null for a field that is known', { a: null }, { a: 1 }, { a: null }],
  ['null for a field that is not known', { a: null }, {}, undefined],
  ['a field that is not named', {}, { a: 1 }, undefined],
  ['a number written as text', { a: 35 }, { a: '35' }, undefined],
  ['a truth written as text', { a: 'true' }, { a: true }, undefined],
  ['an equal object', { a: { b: [1, 2] } }, { a: { b: [1, 2] } }, undefined],
  ['an object that differs', { a: { b: [1, 2] } }, { a: { b: [2, 1] } }, { a: { b: [1, 2] } }],
  ['an object and its text', { a: {} }, { a: '[object Object]' }, { a: {} }],
  ['a list and the text that it would have', { a: '1,2' }, { a: [1, 2] }, { a: '1,2' }],
] as const)('the update for %s', ([, wanted, known, patch]) => {
  expect(patchBetween(wanted, known)).toEqual(patch)
})

const fields = fc.dictionary(
  fc.constantFrom('a', 'b', 'c', 'd'),
  fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 3 }), fc.constantFrom('x', 'y'), fc.boolean()),
  { noNullPrototype: true },
)

/** The object upstream after an update, as RFC 7396 says. */
function applied(known: Record<string, unknown>, { body, mode = 'patch' }: SnapshotUpdate): Record<string, unknown> {
  const merged = mode === 'put' ? JSON.parse(body) : { ...known, ...JSON.parse(body) }
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null))
}

const withoutNulls = (object: Record<string, unknown>) => applied({}, { body: JSON.stringify(object) })

test('the update turns the known object into the wanted one, and is absent when nothing differs', () => {
  fc.assert(
    fc.property(fields, fields, (wanted, known) => {
      const patch = patchBetween(wanted, withoutNulls(known))
      const after = applied(withoutNulls(known), { body: JSON.stringify(patch ?? {}) })

      expect(after).toEqual(applied(withoutNulls(known), { body: JSON.stringify(wanted) }))
      expect(patch === undefined).toBe(patchBetween(wanted, after) === undefined && isEqualTo(after, known))
    }),
  )
})

const isEqualTo = (after: Record<string, unknown>, known: Record<string, unknown>) =>
  JSON.stringify(sorted(after)) === JSON.stringify(sorted(withoutNulls(known)))

const sorted = (object: Record<string, unknown>) => Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))

const update = fc
  .tuple(fields, fc.constantFrom('patch' as const, 'put' as const, undefined))
  .map(([body, mode]): SnapshotUpdate => ({ body: JSON.stringify(body), ...(mode ? { mode } : {}) }))

test('two updates sent as one do what they would have done one after the other', () => {
  fc.assert(
    fc.property(fields, update, update, (known, earlier, later) => {
      const composed = composeUpdates(earlier, later)

      expect(applied(withoutNulls(known), composed)).toEqual(applied(applied(withoutNulls(known), earlier), later))
      expect(composed.mode).toBe(later.mode === 'put' ? 'put' : (earlier.mode ?? 'patch'))
    }),
  )
})

test('an update with nothing before it is sent as it is, as a partial one unless it says otherwise', () => {
  expect(composeUpdates(undefined, { body: '{"a":1}' })).toEqual({ body: '{"a":1}', mode: 'patch' })
  expect(composeUpdates(undefined, { body: '{"a":1}', mode: 'put' })).toEqual({ body: '{"a":1}', mode: 'put' })
})
