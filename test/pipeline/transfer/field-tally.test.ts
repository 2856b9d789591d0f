import { expect, test } from 'vitest'
import { FieldTally } from '../../../src/pipeline/transfer/field-tally.ts'
import type { Fields } from '../../../src/pipeline/transfer/stream.ts'

const answer = (...records: Fields[]) => records.map((fields) => ({ raw: JSON.stringify(fields), fields }))
const many = (count: number, fields: Fields) => answer(...Array.from({ length: count }, () => fields))
const usual = (...names: string[]) => names.map((name) => ({ name, isUsual: true }))

test('of an answer every 32nd record is counted, and at least one', () => {
  const tally = new FieldTally(['id'])
  tally.addAnswer(many(320, { id: 'a', estimated: true }), 5)
  tally.addAnswer(many(3, { id: 'a', method: 'x' }), 7)
  tally.addAnswer([], 9)
  expect(tally.take()).toEqual([
    { name: 'estimated', records: 11, present: 10, seenAtMs: 5 },
    { name: 'method', records: 11, present: 1, seenAtMs: 7 },
  ])
  expect(tally.take()).toEqual([])
  tally.addAnswer(many(3, { id: 'a', method: 'x' }), 6)
  expect(tally.take()).toEqual([
    { name: 'estimated', records: 1, present: 0, seenAtMs: 0 },
    { name: 'method', records: 1, present: 1, seenAtMs: 6 },
  ])
})

test('the newest answer says when a field was seen, whichever comes last', () => {
  const tally = new FieldTally([])
  tally.learn(usual('goal'))
  const rare = [...many(31, { method: 1 }), ...answer({ goal: 1 })]
  for (const sentAtMs of [7, 5]) expect(tally.addAnswer(rare, sentAtMs)).toEqual([])
  for (const sentAtMs of [9, 8]) tally.addAnswer(answer({ method: 1 }), sentAtMs)
  expect(tally.take().map(({ name, seenAtMs }) => [name, seenAtMs])).toEqual([
    ['goal', 7],
    ['method', 9],
  ])
})

test('of 33 records one is counted, whichever it is', () => {
  const tally = new FieldTally([])
  tally.addAnswer(many(33, { a: 1 }), 1)
  expect(tally.take()).toEqual([{ name: 'a', records: 1, present: 1, seenAtMs: 1 }])
})

test('each record of short answers is counted in its turn', () => {
  const tally = new FieldTally([])
  for (let times = 0; times < 40; times += 1) tally.addAnswer(answer({ a: 1 }, { b: 1 }, { b: 1 }, { b: 1 }), 1)
  expect(tally.take().map(({ present }) => present)).toEqual([30, 10])
})

test('names that may be data, and more than a hundred names, are not counted', () => {
  const tally = new FieldTally([])
  const names = Array.from({ length: 200 }, (_, index) => [`field_${index}`, 1])
  tally.addAnswer(answer({ '2026-03-01': 1, 'a b': 2 }), 1)
  expect(tally.take()).toEqual([])
  tally.addAnswer(answer(Object.fromEntries(names)), 1)
  expect(tally.take()).toHaveLength(100)
  tally.addAnswer(answer({ field_0: 1, field_199: 1 }), 1)
  expect(tally.take().flatMap(({ name, present }) => (present > 0 ? name : []))).toEqual(['field_0'])
})

test('no field is usual, and none has stopped, before that is learned', () => {
  expect(new FieldTally([]).addAnswer(answer({ a: 1 }), 5)).toEqual([])
})

test('counts that could not be written are part of the next ones', () => {
  const tally = new FieldTally([])
  tally.addAnswer(answer({ a: 1 }), 7)
  tally.addAnswer(answer({ b: 1 }), 6)
  const taken = tally.take()
  tally.putBack(taken)
  tally.addAnswer(answer({ b: 1 }), 9)

  expect(tally.take()).toEqual([
    { name: 'a', records: 3, present: 1, seenAtMs: 7 },
    { name: 'b', records: 3, present: 2, seenAtMs: 9 },
  ])
  tally.putBack([{ name: 'b', records: 2, present: 1, seenAtMs: 8 }])
  expect(tally.take()).toEqual([{ name: 'b', records: 2, present: 1, seenAtMs: 8 }])
})

test('a usual field has stopped in an answer none of whose records has a value of it', () => {
  const tally = new FieldTally([])
  tally.learn([...usual('goal', 'method'), { name: 'estimated', isUsual: false }])
  expect(tally.addAnswer(answer({ goal: null, method: 1 }, { method: null }), 5)).toEqual(['goal'])
  expect(tally.addAnswer(many(90, { method: 1 }), 6)).toEqual(['goal'])
  // The one record that has it is not among those that are picked.
  expect(tally.addAnswer([...many(31, { method: 1 }), ...answer({ goal: 1, method: 1 })], 7)).toEqual([])
  expect(tally.addAnswer([], 8)).toEqual([])
})

test('answers that all lack a usual field do not make it less usual, and others do', () => {
  const tally = new FieldTally(['id'])
  tally.learn([...usual('goal'), { name: 'method', isUsual: false }])
  tally.addAnswer(answer({ id: 'a' }), 5)
  expect(tally.take()).toEqual([{ name: 'method', records: 1, present: 0, seenAtMs: 0 }])
  tally.addAnswer(answer({ id: 'a' }), 6)
  tally.addAnswer(answer({ goal: 3 }), 7)
  expect(tally.take()).toContainEqual({ name: 'goal', records: 2, present: 1, seenAtMs: 7 })
})
