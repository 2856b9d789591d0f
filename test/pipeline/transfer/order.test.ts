import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addCounts,
  type JobCounts,
  noCounts,
  paramsText,
  parseParamsText,
} from '../../../src/pipeline/transfer/order.ts'

test('a job without params has the empty text as its params', () => {
  expect(paramsText({})).toBe('')
  expect(parseParamsText('')).toEqual({})
  expect(parseParamsText('[]')).toEqual({})
})

test('the text of open orders and old failures: entries in order of their names, as JSON', () => {
  expect(paramsText({ to: 2, from: 1, streams: ['scores', 'trends'], again: true })).toBe(
    '[["again",true],["from",1],["streams",["scores","trends"]],["to",2]]',
  )
})

const params = fc.dictionary(
  fc.string(),
  fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value))),
  {
    noNullPrototype: true,
  },
)

test('params that are equal have one text, whatever the order of their names, and come back from it', () => {
  fc.assert(
    fc.property(params, (orderParams) => {
      const reversed = Object.fromEntries(Object.entries(orderParams).reverse())
      expect(paramsText(reversed)).toBe(paramsText(orderParams))
      expect(parseParamsText(paramsText(orderParams))).toEqual(orderParams)
    }),
  )
})

const figure = fc.nat(1_000)
const counts: fc.Arbitrary<JobCounts> = fc.record({
  requests: figure,
  unchanged: figure,
  rowsRead: figure,
  rowsWritten: figure,
  itemsPushed: figure,
  refused: figure,
})

test('each figure of two jobs adds up separately, and a job that did nothing adds nothing', () => {
  fc.assert(
    fc.property(counts, counts, (a, b) => {
      const names = Object.keys(a) as (keyof JobCounts)[]
      const sum = Object.fromEntries(names.map((name) => [name, a[name] + b[name]]))

      expect(addCounts(a, b)).toEqual(sum)
      expect(addCounts(a, noCounts)).toEqual(a)
    }),
  )
})
