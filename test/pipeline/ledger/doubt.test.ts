import { expect, test } from 'vitest'
import { type DoubtedReading, judgeDoubts, type TestedReading } from '../../../src/pipeline/ledger/doubt.ts'

const belief = { goneShareMax: 0.5, spacingMs: 10 }
const window = { startMs: 0, endMs: 100 }
const tested = (more: Partial<TestedReading>): TestedReading => ({
  window,
  sentAtMs: 1000,
  heldHashes: new Set(),
  complete: true,
  lackedHashes: [],
  ...more,
})
const doubt = (sentAtMs: number, ...lackedHashes: number[]): DoubtedReading => ({ ...window, sentAtMs, lackedHashes })

test('a reading that lacks too much is doubted, and remembered', () => {
  expect(judgeDoubts(tested({ lackedHashes: [1, 2] }), [], belief)).toEqual({
    isDoubted: true,
    doubts: [doubt(1000, 1, 2)],
  })
})

test('it is believed when an earlier reading lacked the same, asked for long enough before', () => {
  const second = tested({ lackedHashes: [1, 2] })

  expect(judgeDoubts(second, [doubt(990, 1, 2, 3)], belief)).toEqual({ isDoubted: false, doubts: [] })
  expect(judgeDoubts(second, [doubt(900, 1), doubt(980, 2)], belief)).toEqual({ isDoubted: false, doubts: [] })
  expect(judgeDoubts(second, [doubt(991, 1, 2)], belief)).toEqual({ isDoubted: true, doubts: [doubt(991, 1, 2)] })
})

test('a record that the earlier reading held must be lacked twice itself', () => {
  expect(judgeDoubts(tested({ lackedHashes: [1, 2] }), [doubt(900, 1)], belief)).toEqual({
    isDoubted: true,
    doubts: [doubt(900, 1), doubt(1000, 2)],
  })
})

test('a record that comes back is doubted no more, unless the reading that holds it is the older one', () => {
  const held = tested({ heldHashes: new Set([1, 2]), complete: false })

  expect(judgeDoubts(held, [doubt(900, 1, 2, 3)], belief).doubts).toEqual([doubt(900, 3)])
  expect(judgeDoubts(held, [doubt(1001, 1, 2, 3)], belief).doubts).toEqual([doubt(1001, 1, 2, 3)])
  expect(judgeDoubts(tested({ heldHashes: new Set([1]), lackedHashes: [2] }), [doubt(900, 1, 2)], belief)).toEqual({
    isDoubted: false,
    doubts: [],
  })
})

test('a later reading of the whole window that is believed ends its doubts, and one of a part of it does not', () => {
  expect(judgeDoubts(tested({}), [doubt(900, 1)], belief).doubts).toEqual([])
  expect(judgeDoubts(tested({ window: { startMs: 1, endMs: 100 } }), [doubt(900, 1)], belief).doubts).toHaveLength(1)
  expect(judgeDoubts(tested({ complete: false }), [doubt(900, 1)], belief).doubts).toHaveLength(1)
})
