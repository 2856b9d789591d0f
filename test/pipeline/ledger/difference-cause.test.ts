import { expect, test } from 'vitest'
import {
  contradictsTag,
  type DifferenceCause,
  differenceCauseOf,
  differenceCauses,
  type RecordDifference,
} from '../../../src/pipeline/ledger/difference-cause.ts'

const readSinceMs = 1_000
const missing = { kind: 'missing-here', isMarkedGone: false, isInHistory: false, readSinceMs } as const

type Case = { what: string; difference: RecordDifference; cause: DifferenceCause; contradicts: boolean }

const cases: readonly Case[] = [
  {
    what: 'a record that upstream no longer gives',
    difference: { kind: 'missing-upstream' },
    cause: 'changed-upstream',
    contradicts: true,
  },
  {
    what: 'another content, and the stored text is whole',
    difference: { kind: 'differing', isDamaged: false },
    cause: 'changed-upstream',
    contradicts: true,
  },
  {
    what: 'another content, and the stored text is damaged',
    difference: { kind: 'differing', isDamaged: true },
    cause: 'lost-here',
    contradicts: false,
  },
  {
    what: 'a record that a reading lacked',
    difference: { ...missing, isMarkedGone: true, isInHistory: true, madeAtMs: readSinceMs - 1 },
    cause: 'changed-upstream',
    contradicts: false,
  },
  {
    what: 'a record that was stored once',
    difference: { ...missing, isInHistory: true, madeAtMs: undefined },
    cause: 'lost-here',
    contradicts: false,
  },
  {
    what: 'a record made at the instant of a reading that had to hold it',
    difference: { ...missing, madeAtMs: readSinceMs },
    cause: 'lost-here',
    contradicts: false,
  },
  {
    what: 'a record made after every reading that had to hold it',
    difference: { ...missing, madeAtMs: readSinceMs + 1 },
    cause: 'late-upstream',
    contradicts: false,
  },
  {
    what: 'a record of which upstream does not say when it was made',
    difference: { ...missing, madeAtMs: undefined },
    cause: 'late-upstream',
    contradicts: false,
  },
]

test.for(cases)('the cause of a difference is $cause: $what', ({ difference, cause, contradicts }) => {
  expect(differenceCauseOf(difference, { unchangedUpstream: false })).toBe(cause)
  expect(contradictsTag(difference)).toBe(contradicts)
})

test.for(cases)('$what, while upstream’s tag says that nothing has changed: it was lost here', ({ difference }) => {
  expect(differenceCauseOf(difference, { unchangedUpstream: true })).toBe('lost-here')
})

test('the causes are those that the warehouse counts', () => {
  expect(differenceCauses).toEqual(['lost-here', 'changed-upstream', 'late-upstream'])
})
