import fc from 'fast-check'
import { expect, test } from 'vitest'
import { paramsText, parseParamsText } from '../../src/transfer/order.ts'

test('no params are the empty text', () => {
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
    fc.property(params, (one) => {
      const reversed = Object.fromEntries(Object.entries(one).reverse())
      expect(paramsText(reversed)).toBe(paramsText(one))
      expect(parseParamsText(paramsText(one))).toEqual(one)
    }),
  )
})
