import { expect, test } from 'vitest'
import { judgeSuspicions, type Suspicion } from '../../../src/pipeline/ledger/suspicion.ts'

type Tested = Parameters<typeof judgeSuspicions>[0]

const belief = { goneShareMax: 0.5, spacingMs: 10 }
const window = { startMs: 0, endMs: 100 }
const tested = (more: Partial<Tested>): Tested => ({
  window,
  sentAtMs: 1000,
  heldHashes: new Set(),
  complete: true,
  lackedHashes: [],
  ...more,
})
const suspicion = (sentAtMs: number, ...lackedHashes: number[]): Suspicion => ({ ...window, sentAtMs, lackedHashes })

test('a reading that lacks too much is suspicious, and remembered', () => {
  expect(judgeSuspicions(tested({ lackedHashes: [1, 2] }), [], belief)).toEqual({
    isSuspicious: true,
    suspicions: [suspicion(1000, 1, 2)],
  })
})

test('it is believed when an earlier reading lacked the same, asked for long enough before', () => {
  const second = tested({ lackedHashes: [1, 2] })

  expect(judgeSuspicions(second, [suspicion(990, 1, 2, 3)], belief)).toEqual({ isSuspicious: false, suspicions: [] })
  expect(judgeSuspicions(second, [suspicion(900, 1), suspicion(980, 2)], belief)).toEqual({
    isSuspicious: false,
    suspicions: [],
  })
  expect(judgeSuspicions(second, [suspicion(991, 1, 2)], belief)).toEqual({
    isSuspicious: true,
    suspicions: [suspicion(991, 1, 2)],
  })
})

test('a record that the earlier reading held must be lacked twice itself', () => {
  expect(judgeSuspicions(tested({ lackedHashes: [1, 2] }), [suspicion(900, 1)], belief)).toEqual({
    isSuspicious: true,
    suspicions: [suspicion(900, 1), suspicion(1000, 2)],
  })
})

test('a record that comes back is suspicious no more, unless the reading that holds it is the older one', () => {
  const held = tested({ heldHashes: new Set([1, 2]), complete: false })

  expect(judgeSuspicions(held, [suspicion(900, 1, 2, 3)], belief).suspicions).toEqual([suspicion(900, 3)])
  expect(judgeSuspicions(held, [suspicion(1001, 1, 2, 3)], belief).suspicions).toEqual([suspicion(1001, 1, 2, 3)])
  expect(
    judgeSuspicions(tested({ heldHashes: new Set([1]), lackedHashes: [2] }), [suspicion(900, 1, 2)], belief),
  ).toEqual({
    isSuspicious: false,
    suspicions: [],
  })
})

test('a later reading of the whole window that is believed ends its suspicions, and one of a part of it does not', () => {
  expect(judgeSuspicions(tested({}), [suspicion(900, 1)], belief).suspicions).toEqual([])
  expect(
    judgeSuspicions(tested({ window: { startMs: 1, endMs: 100 } }), [suspicion(900, 1)], belief).suspicions,
  ).toHaveLength(1)
  expect(judgeSuspicions(tested({ complete: false }), [suspicion(900, 1)], belief).suspicions).toHaveLength(1)
})
