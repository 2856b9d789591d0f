import { expect, test } from 'vitest'
import { sentenceOf } from '../../src/dashboard/read-now.ts'

const profiles = { new: 0, active: 3, gone: 0 }
const counts = { value: { profiles, failures: [], quarantine: [] } }
const quick = { halted: null, workers: 1, troubles: [], runs: [], slots: [], due: 0 }
const calm = {
  isWarehouseAway: false,
  upstream: { value: { isReached: true } },
  counts,
  quick,
}

test('all is well only where people are known and were counted', () => {
  expect(sentenceOf(calm)).toEqual({ tone: 'well', text: 'All is well: everything that is due was read.' })
  expect(sentenceOf({ ...calm, counts: null }).tone).toBe('unknown')
  const nobody = { value: { ...counts.value, profiles: { new: 0, active: 0, gone: 0 } } }
  expect(sentenceOf({ ...calm, counts: nobody })).toEqual({
    tone: 'unknown',
    text: 'Nobody is known yet, so nothing is read.',
  })
})

test('a warehouse that is silent comes before everything that was known before', () => {
  expect(sentenceOf({ ...calm, isWarehouseAway: true })).toEqual({
    tone: 'bad',
    text: 'The warehouse does not answer.',
  })
})

test('the sentence names the first of: no worker, upstream away, trouble, work, failures', () => {
  const told = [
    { ...calm, quick: { ...quick, workers: 0, due: 1 } },
    { ...calm, upstream: { value: { isReached: false } } },
    { ...calm, quick: { ...quick, troubles: ['the queue stands still'] } },
    { ...calm, quick: { ...quick, runs: [{ kind: 'sync', left: 2 }] } },
    { ...calm, counts: { value: { ...counts.value, failures: [{ count: 1 }], quarantine: [{ count: 2 }] } } },
  ].map(sentenceOf)
  expect(told).toEqual([
    { tone: 'bad', text: 'No worker is alive, and 1 profile waits.' },
    { tone: 'bad', text: 'Upstream does not answer.' },
    { tone: 'odd', text: 'The queue stands still.' },
    { tone: 'busy', text: 'Sync under way: 2 profiles left.' },
    { tone: 'odd', text: '1 failure and 2 records in quarantine; all else is well.' },
  ])
})
