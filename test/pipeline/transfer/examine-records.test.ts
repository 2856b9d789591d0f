import { expect, test } from 'vitest'
import { z } from 'zod'
import { RecordExaminer } from '../../../src/pipeline/transfer/examine-records.ts'

const schema = z.strictObject({
  type: z.string(),
  state: z.enum(['low', 'high']),
  value: z.number(),
  unit: z.string(),
  at: z.iso.datetime({ offset: true }),
  note: z.string().optional(),
  ends: z.iso.datetime({ offset: true }).nullable().optional(),
  parts: z.array(z.strictObject({ name: z.string(), unit: z.string() })).optional(),
  more: z.record(z.string(), z.string()).optional(),
})
const kinds = [
  { path: '', field: 'type', units: { weight: 'kg', mood: '' } },
  { path: 'parts[]', field: 'name', units: { fat: 'kg' } },
]
const record = { type: 'weight', state: 'low', value: 71, unit: 'kg', at: '2026-03-01T08:00:00.123+01:00' }

const found = (fields: object, known: ConstructorParameters<typeof RecordExaminer>[0] = { schema, kinds }) =>
  new RecordExaminer(known).examine({ ...fields }).map(({ what, path, detail }) => `${what} ${path} ${detail}`.trim())

test('a record as it is known has no misfit, with and without what it may lack, and in any order', () => {
  expect(found(record)).toEqual([])
  expect(found({ ends: null, ...record, note: '', parts: [{ name: 'fat', unit: 'kg' }], more: { a: 'b' } })).toEqual([])
  expect(found({ ...record, type: 'mood', unit: 'anything' })).toEqual([])
})

test.for<[object, readonly string[]]>([
  [{ confidence: 0.9 }, ['extra confidence']],
  [{ '2026-03-01': 1, '0123456789abcdef': 2 }, ['extra *']],
  [{ value: undefined, unit: undefined }, ['type value undefined', 'type unit undefined']],
  [{ note: null }, ['null note']],
  [{ value: '71' }, ['type value string']],
  [{ state: 'HIGH' }, ['case state HIGH']],
  [{ state: 'lowest' }, ['word state lowest']],
  [{ state: 'ada.lovelace@example.org' }, ['word state *']],
  [{ at: '2026-03-01T08:00:00.0000000Z' }, ['precision at']],
  [{ unit: 'lb' }, ['unit unit weight in lb, not kg']],
  [{ type: 'recovery' }, ['kind type recovery in kg']],
  [
    {
      parts: [
        { name: 'fat', unit: 'g' },
        { name: 'bone', unit: 'kg' },
      ],
    },
    ['unit parts[].unit fat in g, not kg', 'kind parts[].name bone in kg'],
  ],
  [
    { parts: [null, 'fat', { name: 'fat', unit: 'kg', age: 1 }] },
    ['null parts[] null', 'type parts[] string', 'extra parts[].age'],
  ],
])('%j', ([change, misfits]) => {
  expect(found({ ...record, ...change })).toEqual(misfits)
})

test('a field that is not there is missing', () => {
  const { value: _, ...rest } = record
  expect(found(rest)).toEqual(['missing value'])
})

test('a kind that is not known is one also where records of the stream have no unit', () => {
  const known = {
    schema: z.strictObject({ name: z.string() }),
    kinds: [{ path: '', field: 'name', units: { chronotype: '' } }],
  }

  expect(found({ name: 'chronotype' }, known)).toEqual([])
  expect(found({ name: 'new habit' }, known)).toEqual(['kind name new habit'])
})

test('without kinds no word is shown', () => {
  expect(found({ ...record, state: 'lowest' }, { schema })).toEqual(['word state'])
})

test('what a schema leaves open is no misfit', () => {
  expect(found({ ...record, more: 1 }, { schema: z.looseObject({ type: z.string() }) })).toEqual([])
})

test('a misfit is one object, and endless new names cost neither memory nor an error', () => {
  const examiner = new RecordExaminer({ schema, kinds })
  const [first] = examiner.examine({ ...record, confidence: 1 })
  expect(examiner.examine({ ...record, confidence: 2, note: 'x' })[0]).toBe(first)
  expect(examiner.examine(record)).toEqual([])
  const all = new Set<unknown>()
  const letters = (n: number) => [...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('')
  for (let n = 0; n < 2000; n += 1)
    for (const misfit of examiner.examine({ ...record, [letters(n)]: 1 })) all.add(misfit)
  expect(all.size).toBeLessThanOrEqual(401)
  expect(examiner.examine({ ...record, confidence: 3 })[0]).toBe(first)
})
