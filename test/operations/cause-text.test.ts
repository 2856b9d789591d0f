import { expect, test } from 'vitest'
import { causeSentence, causeStep } from '../../src/operations/cause-text.ts'

test('a cause is said in one sentence with its evidence, and with the step that helps', () => {
  expect(causeSentence('nothing_sent', { before: '2026-03-01', after: '2026-03-04' })).toBe(
    'no log of any kind touches the day; the last day with logs before it is 2026-03-01; the next is 2026-03-04',
  )
  expect(causeSentence('nothing_sent', {})).toBe('no log of any kind touches the day')
  expect(causeSentence('sent_late_expected', { usualDelayHours: 96, expectedAt: '2026-03-09T12:00:00.000Z' })).toBe(
    'no log yet; logs of this person usually come 96 hours after the day, and are expected until 2026-03-09 12:00 UTC',
  )
  expect(causeSentence('not_worn', { kinds: ['energy', 'heart'], wornMinutes: 60, wornHours: 1 })).toBe(
    'logs were sent (energy, heart), and only 60 minutes in 1 hour of the day prove that a device was worn',
  )
  expect(causeSentence('partly_sent', { kinds: ['heart'], missing: [{ kind: 'sleep', last: '2026-03-01' }] })).toBe(
    'logs were sent (heart) and the device was worn, and sleep, which came last on 2026-03-01, did not come',
  )
  expect(causeStep('sent_not_derived', { parcels: [7, 9] })).toBe(
    'ask upstream, with the logs of the parcels: vitalsync.items where parcel_id between 7 and 9',
  )
})

test('an unknown cause says what keeps it from being known', () => {
  expect(causeSentence('unknown', { kinds: ['steps'], waiting: true })).toMatch('some wait to be pushed')
  expect(causeSentence('unknown', { kinds: ['steps'], refused: true })).toMatch('upstream refused some')
  expect(causeSentence('unknown', { kinds: ['steps'] })).toMatch('do not say why nothing came of them')
  expect(causeSentence('unknown', {})).toBe('what was handed in does not say why')
  expect(causeStep('unknown', { refused: true })).toMatch('quarantine list')
  expect(causeStep('unknown', {})).toBeUndefined()
})
