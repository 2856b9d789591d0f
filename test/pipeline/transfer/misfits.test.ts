import { expect, test } from 'vitest'
import { foldedName, foldedPath, foldedWord } from '../../../src/pipeline/transfer/misfits.ts'

test.for([
  ['heart_rate2', 'heart_rate2'],
  ['_a', '_a'],
  ['a b', '*'],
  ['2a', '*'],
  ['', '*'],
  [`a${'g'.repeat(39)}`, `a${'g'.repeat(39)}`],
  [`a${'g'.repeat(40)}`, '*'],
  ['on_2026', '*'],
  ['a_0123456789ab', '*'],
  ['x_0123456789a', '*'],
  ['x_abcdefabcde', 'x_abcdefabcde'],
  ['x_ABCDEFabcdef', '*'],
] as const)('the name %s is shown as %s', ([name, shown]) => {
  expect(foldedName(name)).toBe(shown)
})

test.for([
  ['stage 2', 'stage 2'],
  ['kg/m²', 'kg/m²'],
  ['%', '%'],
  ['level-12', 'level-12'],
  ['level 123', '*'],
  ['7 days', '*'],
  ['ada@example.org', '*'],
  ['', '*'],
] as const)('the word %s is shown as %s', ([word, shown]) => {
  expect(foldedWord(word)).toBe(shown)
})

test.for<[readonly PropertyKey[], string]>([
  [[], ''],
  [['factors', 3, 'unit'], 'factors[].unit'],
  [[0, 'unit'], '[].unit'],
  [['rows', 0, 1], 'rows[]'],
  [['on_2026', 'a'], '*.a'],
])('the path %j is shown as %s', ([path, shown]) => {
  expect(foldedPath(path)).toBe(shown)
})
