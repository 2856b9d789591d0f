import { describe, expect, test } from 'vitest'
import { backfillProfile } from '../../jobs/backfill-profile.ts'
import { discoverProfiles } from '../../jobs/discover-profiles.ts'
import { eraseProfile } from '../../jobs/erase-profile.ts'
import { registerProfile } from '../../jobs/register-profile.ts'
import { syncProfile } from '../../jobs/sync-profile.ts'
import { NotThere, Rejected, RetryLater, Unanswered } from '../../src/errors.ts'
import { DAY } from '../../src/time/units.ts'
import type { Parcel } from '../../src/transfer/parcel.ts'
import type { PlannedProfile, ProfileState } from '../../src/transfer/planned-profile.ts'
import type { JobContext } from '../../src/work/job.ts'
import { adaPlanned, contextWith, dueDays, partOf, readingOf } from '../support/job-context.ts'
import { dataLogs } from '../support/stream-by-name.ts'

const nowMs = 100 * DAY
const profileId = '7'

type World = {
  /** Undefined: the warehouse knows no such profile. */
  state?: ProfileState | undefined
  waiting?: PlannedProfile['waiting']
  upstream?: Partial<JobContext['upstream']>
  profiles?: Partial<JobContext['profiles']>
  signal?: AbortSignal
}

/** A job context that notes what is done, in order. Two windows are due. */
function open({ state, waiting = [], ...given }: World) {
  const acts: string[] = []
  const plans: object[] = []
  const act = <T>(words: string, value: T) => {
    acts.push(words)
    return value
  }
  const context = contextWith({
    ...(given.signal ? { signal: given.signal } : {}),
    ledger: partOf<JobContext['ledger']>({
      async plan(asked) {
        plans.push(asked)
        acts.push('plan')
        const due = asked.streams?.length === 0 ? [] : dueDays(2, { generation: plans.length })
        return state && { profile: { ...adaPlanned, state, waiting }, due }
      },
    }),
    outbox: partOf<JobContext['outbox']>({
      readWaiting: async () => ({ parcels: [parcel], more: false }),
      markSent: async () => act('mark sent', undefined),
    }),
    writer: {
      store: async ({ generation }) =>
        act(`store of plan ${generation}`, { outcome: 'stored', read: 3, written: 2, invalid: 0 }),
    },
    upstream: partOf<JobContext['upstream']>({
      read: async () => readingOf(),
      pushItems: async () => act('push', undefined),
      register: async () => act('register', undefined),
      profile: async (externalId) => act('ask for it', { externalId }),
      deleteProfiles: async (ids) => act(`delete ${ids} upstream`, undefined),
      forgetToken: async (id) => act(`forget token of ${id}`, undefined),
      ...given.upstream,
    }),
    profiles: partOf<JobContext['profiles']>({
      setState: async (_, to) => act(`set ${to}`, true),
      beginRegistration: async () => act('begin registration', true),
      endRegistration: async () => act('end registration', undefined),
      registrationLeftMs: async () => 0,
      erase: async () =>
        act('erase', [
          { table: 'scores', rows: 4 },
          { table: 'tags', rows: 3 },
        ] as never),
      ...given.profiles,
    }),
    forgetJobs: async () => act('forget jobs', 1),
  })
  return { acts, plans, context }
}

const parcel: Parcel = {
  id: 'p',
  body: '1',
  bytes: 1,
  sizes: '1',
  takenOut: [],
  waiting: 1,
  mode: 'patch',
  startAtMs: 0,
  endAtMs: 1,
}

const fails = (error: Error) => () => Promise.reject(error)
const endOf = (job: Promise<unknown>) => job.catch((error: unknown) => error)

describe('a sync', () => {
  test('of a new profile registers it, pushes what waits, plans again, and pulls by the new plan', async () => {
    const { acts, context } = open({ state: 'new', waiting: [dataLogs] })
    const counts = await syncProfile.run({ profileId }, context)

    expect(acts).toEqual([
      ...['plan', 'plan', 'begin registration', 'register', 'set active'],
      ...['push', 'mark sent', 'plan', 'store of plan 3', 'store of plan 3'],
    ])
    expect(counts).toMatchObject({ requests: 3, itemsPushed: 1, rowsRead: 6, rowsWritten: 4 })
  })

  test('that pushed nothing pulls by the plan that it has', async () => {
    const { acts } = await (async () => {
      const world = open({ state: 'active' })
      await syncProfile.run({ profileId, streams: ['scores'] }, world.context)
      return world
    })()

    expect(acts).toEqual(['plan', 'store of plan 1', 'store of plan 1'])
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

describe('a registration', () => {
  test.for(['active', 'gone', undefined] as const)('of a profile that is %s is none', async (state) => {
    const { acts, context } = open({ state })
    await registerProfile.run({ profileId }, context)

    expect(acts).toEqual(['plan'])
  })

  test('that another job has under way is left to that job', async () => {
    const { acts, context } = open({ state: 'new', profiles: { beginRegistration: async () => false } })

    expect(await registerProfile.run({ profileId }, context)).toMatchObject({ requests: 0 })
    expect(acts).toEqual(['plan'])
  })

  const removed = new NotThere('removed', { removed: true })
  test.for<[string, Error, readonly string[]]>([
    ['known already: it is asked for', new Rejected('no', { status: 400 }), ['ask for it', 'set active']],
    ['erased here meanwhile', removed, ['set active']],
    ['not known: a failure', new NotThere('no'), []],
    ['unanswered: a failure', new Unanswered('lost'), []],
    ['busy: a failure', new RetryLater('busy', { waitMs: 1 }), []],
  ])('of a profile that is %s', async ([, error, acts]) => {
    const world = open({ state: 'new', upstream: { register: fails(error) } })
    const ended = await endOf(registerProfile.run({ profileId }, world.context))

    expect(world.acts).toEqual(['plan', 'begin registration', ...acts])
    if (acts.length === 0) expect(ended).toBe(error)
    else expect(ended).toMatchObject({ requests: 1 })
  })

  test('that is refused, of a profile that upstream does not know, fails by what was asked last', async () => {
    const unknown = new NotThere('not known')
    const refused = { register: fails(new Rejected('no', { status: 400 })), profile: fails(unknown) }
    const { acts, context } = open({ state: 'new', upstream: refused })

    expect(await endOf(registerProfile.run({ profileId }, context))).toBe(unknown)
    expect(acts).not.toContain('set active')
  })

  test('of a profile that was erased meanwhile is undone, and then ended', async () => {
    const { acts, context } = open({ state: 'new', profiles: { setState: async () => false } })
    await registerProfile.run({ profileId }, context)

    expect(acts).toEqual(['plan', 'begin registration', 'register', 'delete ada upstream', 'end registration'])
  })

  test('that cannot be undone is not ended: an erasure waits for it', async () => {
    const lost = new Unanswered('lost')
    const { acts, context } = open({
      state: 'new',
      profiles: { setState: async () => false },
      upstream: { deleteProfiles: fails(lost) },
    })

    expect(await endOf(registerProfile.run({ profileId }, context))).toBe(lost)
    expect(acts).not.toContain('end registration')
  })
})

describe('an erasure', () => {
  test('marks the profile gone, erases it upstream, forgets token and jobs, and erases it here last', async () => {
    const { acts, context } = open({ state: 'active' })
    const counts = await eraseProfile.run({ profileId }, context)

    expect(acts).toEqual(['plan', 'set gone', 'delete ada upstream', 'forget token of 7', 'forget jobs', 'erase'])
    expect(counts).toMatchObject({ requests: 1, rowsWritten: 7 })
  })

  test('waits for a registration that is under way, as long as it may last', async () => {
    const { acts, context } = open({ state: 'active', profiles: { registrationLeftMs: async () => 1 } })

    expect(await endOf(eraseProfile.run({ profileId }, context))).toMatchObject({ name: 'RetryLater', waitMs: 1 })
    expect(acts).toEqual(['plan', 'set gone'])
  })

  test('that upstream does not confirm erases nothing here', async () => {
    const { acts, context } = open({ state: 'gone', upstream: { deleteProfiles: fails(new Unanswered('lost')) } })

    expect(await endOf(eraseProfile.run({ profileId }, context))).toBeInstanceOf(Unanswered)
    expect(acts).toEqual(['plan', 'set gone'])
  })

  test('of an unknown profile has nothing to do', async () => {
    const { acts, context } = open({ state: undefined })
    await eraseProfile.run({ profileId }, context)

    expect(acts).toEqual(['plan'])
  })
})

test('a discovery adds page after page as far back as history is wanted, by lane and signal, and its figures add up', async () => {
  const { signal } = new AbortController()
  const asked: unknown[] = []
  const added: unknown[] = []
  const { context } = open({
    signal,
    upstream: {
      async *searchProfiles(...how) {
        asked.push(how)
        yield [{ externalId: 'ada' }, { externalId: 'bob' }]
        yield [{ externalId: 'eve' }]
      },
    },
    profiles: {
      async add(...how) {
        added.push(how)
        return { added: 1, known: 0, erased: 0 }
      },
    },
  })
  const counts = await discoverProfiles.run({ search: 'a' }, context)
  await discoverProfiles.run({}, context)

  const options = { wantedFrom: new Date(nowMs - 30 * DAY), state: 'active' }
  expect(added.slice(0, 2)).toEqual([
    [['ada', 'bob'], options],
    [['eve'], options],
  ])
  expect(asked).toEqual([
    [
      { pageSize: 100, searchParameter: 'a' },
      { lane: 'manual', signal },
    ],
    [{ pageSize: 100 }, { lane: 'manual', signal }],
  ])
  expect(counts).toMatchObject({ requests: 2, rowsRead: 3, rowsWritten: 2 })
})
