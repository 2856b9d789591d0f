import { expect, test } from 'vitest'
import { backfill } from '../../jobs/backfill.ts'
import { nightly } from '../../jobs/nightly.ts'
import { sentinel } from '../../jobs/sentinel.ts'
import { sweep } from '../../jobs/sweep.ts'
import { sync } from '../../jobs/sync.ts'
import type { ProfileLists } from '../../src/pipeline/warehouse/profiles/profile-lists.ts'
import type { Run } from '../../src/pipeline/warehouse/runs/stored-runs.ts'
import type { Producer } from '../../src/pipeline/work/producer.ts'

const startedAt = new Date('2026-03-03T03:00:00Z')
const draw = { seed: 's', upTo: '9' }
const profileIds = ['4', '5']

/** The call by which a producer asks for the page after profile 41. */
async function askedBy(producer: Producer, params: object): Promise<unknown[]> {
  const asked: unknown[] = []
  const list =
    (name: string) =>
    (...given: unknown[]) => {
      asked.push(name, ...given)
      return Promise.resolve({ ids: [], lastId: '41' })
    }
  const lists: ProfileLists = {
    listUnfinishedSince: list('unfinished since'),
    listDue: list('due'),
    list: list('all'),
    listDrawn: list('drawn'),
  }
  const run = { startedAt } as Run
  await producer.page({ run, params: producer.params.parse(params), afterId: '41', limit: 3 }, lists)
  return asked
}

test.for<[string, Producer, object, string, unknown[]]>([
  ['a nightly', nightly, {}, 'nightly', ['unfinished since', startedAt, '41', 3]],
  ['a sweep', sweep, {}, 'manual', ['due', '41', 3]],
  ['a sync of all', sync, {}, 'manual', ['all', '41', 3, undefined]],
  ['a sync of some', sync, { profileIds }, 'manual', ['all', '41', 3, profileIds]],
  ['a back-fill of all', backfill, { from: 1, to: 2 }, 'backfill', ['all', '41', 3, undefined]],
  ['a back-fill of some', backfill, { from: 1, to: 2, profileIds }, 'backfill', ['all', '41', 3, profileIds]],
  ['a sentinel', sentinel, draw, 'backfill', ['drawn', draw, { afterId: '41', limit: 3 }]],
])('%s pages through its own list, in its lane', async ([, producer, params, lane, asked]) => {
  expect(await askedBy(producer, params)).toEqual(asked)
  expect(producer.lane).toBe(lane)
})

const streams = ['scores']
test.for<[Producer, object, object]>([
  [sentinel, { ...draw, slotAt: 'x' }, draw],
  [backfill, { from: 1, to: 2, profileIds, again: false }, { from: 1, to: 2 }],
  [backfill, { from: 1, to: 2, streams, again: true }, { from: 1, to: 2, streams, again: true }],
  [sync, { profileIds }, {}],
  [sync, { streams }, { streams }],
  [nightly, { slotAt: 'x' }, {}],
  [sweep, { slotAt: 'x' }, {}],
])('%o hands from %o to each of its jobs %o', ([producer, params, ofJob]) => {
  expect(producer.jobParams(producer.params.parse(params))).toEqual(ofJob)
})
