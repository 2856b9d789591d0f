import fc from 'fast-check'
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
  body: z.strictObject({ mass: z.number(), sites: z.array(z.string()).optional() }).optional(),
  levels: z.array(z.enum(['low', 'high'])).optional(),
  times: z.array(z.iso.datetime({ offset: true })).optional(),
  rows: z.array(z.array(z.number())).optional(),
  sites: z.array(z.strictObject({ name: z.string() }).nullable()).optional(),
  marks: z.array(z.enum(['a']).nullable()).optional(),
  goal: z.union([z.number(), z.literal('none')]).optional(),
  any: z.unknown().optional(),
  mood: z.enum(['good', 'bad']).nullable().optional(),
  site: z.strictObject({ name: z.string() }).nullable().optional(),
  loose: z.union([z.number(), z.unknown()]).optional(),
})
const kinds = [
  { path: '', field: 'type', units: { weight: 'kg', mood: '' } },
  { path: 'parts[]', field: 'name', units: { fat: 'kg' } },
]
const record = { type: 'weight', state: 'low', value: 71, unit: 'kg', at: '2026-03-01T08:00:00.123+01:00' }

const found = (fields: object, known: ConstructorParameters<typeof RecordExaminer>[0] = { schema, kinds }) =>
  new RecordExaminer(known).examine({ ...fields }).map(({ what, path, detail }) => `${what} ${path} ${detail}`.trim())

/** A name or word of its own for each number: digits may be data. */
const letters = (n: number) => [...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('')

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
  [
    { body: { mass: '71', sites: [1], age: 2 } },
    ['type body.mass string', 'extra body.age', 'type body.sites[] number'],
  ],
  [{ body: {} }, ['missing body.mass']],
  [{ body: [] }, ['type body list']],
  [{ levels: ['low', 'LOW', 'lowest', 1] }, ['case levels[] LOW', 'word levels[] lowest', 'type levels[] number']],
  [{ times: ['2026-03-01T08:00:00.123Z', '2026-03-01T08:00:00.1239Z'] }, ['precision times[]']],
  [
    { rows: [[1], ['1'], 1, { length: 1, 0: 'x' }] },
    ['type rows[][] string', 'type rows[] number', 'type rows[] object'],
  ],
  [{ sites: [null, { name: 'a' }], marks: ['a', null] }, []],
  [{ sites: [{}], marks: ['b'] }, ['missing sites[].name', 'word marks[] b']],
  [{ mood: null, site: null, loose: 'x' }, []],
  [{ mood: 'Good', site: { name: 1 } }, ['case mood Good', 'type site.name number']],
  [{ at: '2026-03-01T08:00:00.123Z' }, []],
  [{ ends: '2026-03-01T08:00:00.1234Z' }, ['precision ends']],
  [{ goal: 'none' }, []],
  [{ goal: 'no' }, ['word goal no']],
  [{ goal: true }, ['type goal boolean']],
  [{ any: [{}] }, []],
  [{ type: 7, unit: 'lb' }, ['type type number']],
  [{ unit: 7 }, ['type unit number']],
  [{ at: '2026-03-01T08:00:00.123999999Z' }, ['precision at']],
  [{ at: '2026-03-01T08:00:00.123456Z' }, ['precision at']],
  [{ at: '2026-03-01T08:00:00.1230000+01' }, ['precision at']],
  [{ at: '2026-03-01T08:00:00,1234567Z' }, []],
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

test('a kind is looked up alone, and a closed list of kinds shows a word', () => {
  const examiner = new RecordExaminer({ schema, kinds })
  const whats = (fields: object) => examiner.kindMisfitOf({ ...record, ...fields })?.what

  expect(examiner.typeField).toBe('type')
  expect([whats({}), whats({ unit: 'lb', value: 'x' }), whats({ type: 'new' })]).toEqual([undefined, 'unit', 'kind'])

  const plain = new RecordExaminer({ schema })
  expect([plain.typeField, plain.kindMisfitOf({ ...record, type: 'new' })]).toEqual([undefined, undefined])

  const closed = { schema, kinds: [{ path: '', field: 'state', units: { low: '' } }] }
  expect(found({ ...record, state: 'lowest' }, closed)).toEqual(['word state lowest'])
})

test('without kinds no word is shown', () => {
  expect(found({ ...record, state: 'lowest' }, { schema })).toEqual(['word state'])
})

test('what a schema leaves open is no misfit', () => {
  expect(found({}, { schema: z.strictObject({ a: z.string().optional() }) })).toEqual([])
  expect(found({ ...record, more: 1 }, { schema: z.looseObject({ type: z.string() }) })).toEqual([])
})

test('a misfit is one object, and endless new names cost neither memory nor an error', () => {
  const examiner = new RecordExaminer({ schema, kinds })
  const [first] = examiner.examine({ ...record, confidence: 1 })
  expect(examiner.examine({ ...record, confidence: 2, note: 'x' })[0]).toBe(first)
  expect(examiner.examine(record)).toEqual([])
  const all = new Set<unknown>()
  for (let n = 0; n < 2000; n += 1)
    for (const misfit of examiner.examine({ ...record, [letters(n)]: 1 })) all.add(misfit)
  expect(all.size).toBeLessThanOrEqual(401)
  expect(examiner.examine({ ...record, confidence: 3 })[0]).toBe(first)
})

test('further misfits share one object for each kind of misfit, without their words', () => {
  const examiner = new RecordExaminer({ schema: z.strictObject({ state: z.enum(['low']) }), kinds: [] })
  const all = Array.from({ length: 420 }, (_, n) => examiner.examine({ state: letters(n) })[0])

  expect(all[399]).toEqual({ what: 'word', path: 'state', detail: letters(399) })
  expect(all[400]).toEqual({ what: 'word', path: '*', detail: '' })
  expect(all[419]).toBe(all[400])
  expect(examiner.examine({ state: 'low', [letters(1)]: 1 })).toEqual([{ what: 'extra', path: '*', detail: '' }])
})

test('of a record two hundred names are looked at, and of a list fifty elements', () => {
  const many = Object.fromEntries(Array.from({ length: 230 }, (_, n) => [`extra_${n}`, n]))
  const levels = (wrongAt: number) => Array.from({ length: 60 }, (_, n) => (n === wrongAt ? 'wrong' : 'low'))

  expect(found({ ...record, ...many })).toHaveLength(195)
  expect([found({ ...record, levels: levels(49) }), found({ ...record, levels: levels(50) })]).toEqual([
    ['word levels[] wrong'],
    [],
  ])
})

/** How often the names of a record are listed while it is examined: once for each remembered shape that it is compared with. */
function listingsOf(examiner: RecordExaminer, names: readonly string[]): number {
  let listings = 0
  const counted = new Proxy(Object.fromEntries(names.map((name) => [name, 1])), {
    ownKeys(target) {
      listings += 1
      return Reflect.ownKeys(target)
    },
  })
  examiner.examine(counted)
  return listings
}

test('a record of a remembered shape is only compared: of forty shapes, with at most two hundred names', () => {
  const shape = (n: number) => [`field_${n}`]
  const known = { schema: z.looseObject({}) }
  const examiner = new RecordExaminer(known)
  for (let n = 0; n < 60; n += 1) listingsOf(examiner, shape(n))

  const listings = listingsOf(new RecordExaminer(known), shape(0))
  expect(listings).toBeGreaterThan(1)
  expect([0, 39].map((n) => listingsOf(examiner, shape(n)))).toEqual([1, 40])
  expect([40, 59].map((n) => listingsOf(examiner, shape(n)))).toEqual([40 + listings, 40 + listings])

  const names = (count: number) => Array.from({ length: count }, (_, n) => `field_${n}`)
  const again = [200, 201].map((count) => {
    const other = new RecordExaminer(known)
    listingsOf(other, names(count))
    return listingsOf(other, names(count))
  })
  expect(again).toEqual([1, listings])
})

const value = fc.oneof(
  fc.constantFrom<unknown>(null, true, 71, '71', 'low', 'HIGH', 'kg', 'fat', '2026-03-01T08:00:00.1234Z'),
  fc.constantFrom<unknown>([], ['low'], [1], [[1]], [null], {}, { mass: 1 }, { name: 'fat', unit: 'g' }, [{ name: 1 }]),
)
/** Few lists of names, so that records of one shape, and of one that differs in a single type, come often. */
const names = fc.constantFrom(
  ['note'],
  ['note', 'state'],
  ['state', 'note'],
  ['type', 'unit', 'at', 'value'],
  ['body', 'parts'],
  ['extra'],
)
const records = fc.array(
  names.chain((some) =>
    fc
      .array(value, { minLength: some.length, maxLength: some.length })
      .map((values) => Object.fromEntries(some.map((name, index) => [name, values[index]]))),
  ),
  { minLength: 1, maxLength: 30 },
)

test('what is found in a record does not hang on the records before it', () =>
  fc.assert(
    fc.property(records, (all) => {
      const examiner = new RecordExaminer({ schema, kinds })
      for (const one of [...all, ...all]) {
        const alone = new RecordExaminer({ schema, kinds }).examine(one)
        expect(examiner.examine(one)).toEqual(alone)
      }
    }),
    { numRuns: 100, seed: 114 },
  ))
