import { expect, test } from 'vitest'
import { closestWord } from '../../../src/base/text/closest-word.ts'

const known = ['PORT', 'CONCURRENCY', 'LOG_LEVEL']

test.each([
  ['a letter is missing', 'PRT', 'PORT'],
  ['a letter is added', 'PORTS', 'PORT'],
  ['a letter is wrong', 'PORK', 'PORT'],
  ['two letters of a short word are swapped', 'PROT', 'PORT'],
  ['two letters of a long word are wrong', 'CONCURENCI', 'CONCURRENCY'],
  ['letters are swapped and one is wrong', 'LOG_LEVLE', 'LOG_LEVEL'],
])('a word is recognised when %s', (_, word, meant) => {
  expect(closestWord(word, known)).toBe(meant)
})

test.each([['PGPORT'], ['PAST'], ['CONCURANZY'], ['PORT']])('%s is no mistyped word', (word) => {
  expect(closestWord(word, known)).toBeUndefined()
})

test('the nearest of several words is meant', () => {
  expect(closestWord('valeu', ['values', 'value'])).toBe('value')
})
