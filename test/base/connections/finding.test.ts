import { expect, test } from 'vitest'
import { clockFinding, note } from '../../../src/base/connections/finding.ts'
import { SECOND } from '../../../src/base/time/units.ts'

test.for([
  [0, 'its clock is 0.0 s ahead of this machine’s', 'well'],
  [1_450, 'its clock is 1.4 s ahead of this machine’s', 'well'],
  [-2_000, 'its clock is 2.0 s behind this machine’s', 'well'],
  [30 * SECOND, 'its clock is 30.0 s ahead of this machine’s', 'well'],
  [-30 * SECOND, 'its clock is 30.0 s behind this machine’s', 'well'],
  [30 * SECOND + 1, 'its clock is 30.0 s ahead of this machine’s', 'wrong'],
  [-30 * SECOND - 1, 'its clock is 30.0 s behind this machine’s', 'wrong'],
] as const)('a clock that is %i ms ahead: %s (%s)', ([aheadMs, text, state]) => {
  expect(clockFinding('the database', aheadMs)).toMatchObject({
    subject: 'the database',
    state,
    text: text.replace('’', "'"),
  })
})

test('a clock that is too far off says what to do, a clock that is right says nothing', () => {
  expect(clockFinding('the database', 31 * SECOND).hint).toBe('Set both clocks by NTP: up to 30 s are borne.')
  expect(clockFinding('the database', 0)).not.toHaveProperty('hint')
})

test('a note says what to know and what to do', () => {
  const [subject, text, hint] = ['the queue', 'it is old', 'Update it.'] as const
  expect(note(subject, text, hint)).toEqual({ subject, state: 'note', text, hint })
})
