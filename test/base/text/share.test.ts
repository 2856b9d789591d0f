import { expect, test } from 'vitest'
import { formatShare } from '../../../src/base/text/readable.ts'

test.for([
  [1, '100.0 %'],
  [0.9999, '99.9 %'],
  [0.5, '50.0 %'],
  [0, '0.0 %'],
] as const)('a share of %d is %s: 100 %% means all', ([share, text]) => {
  expect(formatShare(share)).toBe(text)
})
