import { describe, expect, test } from 'vitest'
import { backfillProfile } from '../../jobs/backfill-profile.ts'
import { syncProfile } from '../../jobs/sync-profile.ts'
import { NotThere, Rejected } from '../../src/base/errors.ts'
import { DAY } from '../../src/base/time/units.ts'
import { endOf, fails, nowMs, openJobWorld as open, profileId } from '../support/job-world.ts'
import { dataLogs } from '../support/stream-by-name.ts'

describe('a sync', () => {
  test('of a new profile registers it, pushes what waits, plans again, and pulls by the new plan', async () => {
    const { acts, plans, context } = open({ state: 'new', waiting: [dataLogs] })
    const counts = await syncProfile.run({ profileId }, context)

    expect(acts).toEqual([
      ...['plan', 'plan', 'begin registration', 'register', 'set active'],
      ...['push', 'mark sent', 'plan', 'store of plan 3', 'store of plan 3'],
    ])
    expect(counts).toMatchObject({ requests: 3, itemsPushed: 1, rowsRead: 6, rowsWritten: 4 })
    expect(plans).toEqual([
      { profileId, nowMs, streams: undefined },
      { profileId, nowMs, streams: [] },
      { profileId, nowMs, streams: undefined },
    ])
  })

  test('that pushed nothing pulls by the plan that it has', async () => {
    const { acts } = await (async () => {
      const world = open({ state: 'active' })
      await syncProfile.run({ profileId, streams: ['scores'] }, world.context)
      return world
    })()

    expect(acts).toEqual(['plan', 'store of plan 1', 'store of plan 1'])
  })

  test('of a profile that was erased while its items were pushed ends with the pushed items', async () => {
    const { acts, context } = open({ state: 'active', waiting: [dataLogs], erasedAfterPlans: 1 })

    expect(await syncProfile.run({ profileId }, context)).toMatchObject({ requests: 1, itemsPushed: 1, rowsRead: 0 })
    expect(acts).toEqual(['plan', 'push', 'mark sent', 'plan'])
  })

  test.for([undefined, 'gone'] as const)('of a profile that is %s does nothing', async (state) => {
    const { acts, context } = open({ state })

    expect(await syncProfile.run({ profileId }, context)).toMatchObject({ requests: 0 })
    expect(acts).toEqual(['plan'])
  })

  test.for<[string, Error, 'gone' | 'thrown']>([
    ['removed', new NotThere('removed', { removed: true }), 'gone'],
    ['not known', new NotThere('not known'), 'thrown'],
    ['refused', new Rejected('no', { status: 410 }), 'thrown'],
  ])('of a profile that upstream calls %s', async ([, error, expected]) => {
    const { acts, context } = open({ state: 'active', waiting: [dataLogs], upstream: { pushItems: fails(error) } })
    const ended = await endOf(syncProfile.run({ profileId }, context))

    expect(acts.includes('set gone')).toBe(expected === 'gone')
    if (expected === 'thrown') expect(ended).toBe(error)
    else expect(ended).toMatchObject({ requests: 0 })
  })
})

describe('a back-fill', () => {
  test.for<[number, number, number | undefined]>([
    [10 * DAY, 20 * DAY, 20 * DAY],
    [10 * DAY, nowMs, nowMs],
    [10 * DAY, nowMs + DAY, nowMs],
    [nowMs - 1, nowMs + DAY, nowMs],
    [nowMs, nowMs + DAY, undefined],
    [nowMs + 1, nowMs + DAY, undefined],
    [20 * DAY, 20 * DAY, undefined],
    [20 * DAY, 10 * DAY, undefined],
  ])('from %i to %i asks for nothing beyond now: up to %s', async ([from, to, endMs]) => {
    const { plans, context } = open({ state: 'active' })
    await backfillProfile.run({ profileId, from, to, streams: ['scores'], again: true }, context)

    const asked = { profileId, nowMs, streams: ['scores'], again: true, range: { startMs: from, endMs } }
    expect(plans).toEqual(endMs === undefined ? [] : [asked])
  })

  test('registers a new profile first, and leaves one alone that is gone', async () => {
    const young = open({ state: 'new' })
    await backfillProfile.run({ profileId, from: 0, to: DAY }, young.context)
    expect(young.acts).toEqual([
      ...['plan', 'plan', 'begin registration', 'register', 'set active'],
      ...['store of plan 1', 'store of plan 1'],
    ])
    for (const state of ['gone', undefined] as const) {
      const left = open({ state })
      expect(await backfillProfile.run({ profileId, from: 0, to: DAY }, left.context)).toMatchObject({ requests: 0 })
      expect(left.acts).toEqual(['plan'])
    }
  })
})
