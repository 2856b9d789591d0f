import { describe, expect, test } from 'vitest'
import { discoverProfiles } from '../../jobs/discover-profiles.ts'
import { eraseProfile } from '../../jobs/erase-profile.ts'
import { registerProfile } from '../../jobs/register-profile.ts'
import { NotThere, Rejected, RetryLater, Unanswered } from '../../src/base/errors.ts'
import { DAY } from '../../src/base/time/units.ts'
import { endOf, fails, nowMs, openJobWorld as open, profileId } from '../support/job-world.ts'

describe('a registration', () => {
  test.for(['active', 'gone', undefined] as const)('of a profile in state %s sends nothing upstream', async (state) => {
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

  test('that is refused, of a profile that upstream does not know, fails with the last answer', async () => {
    const unknown = new NotThere('not known')
    const refused = { register: fails(new Rejected('no', { status: 400 })), profile: fails(unknown) }
    const { acts, context } = open({ state: 'new', upstream: refused })

    expect(await endOf(registerProfile.run({ profileId }, context))).toBe(unknown)
    expect(acts).not.toContain('set active')
  })

  test('of a profile that was erased meanwhile is undone, and then ended', async () => {
    const { acts, context, options, plans } = open({ state: 'new', profiles: { setState: async () => false } })
    await registerProfile.run({ profileId }, context)

    expect(plans).toEqual([{ profileId, nowMs, streams: [] }])
    expect(options).toEqual(Array(2).fill({ lane: 'manual', signal: context.signal }))

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
    const { acts, context, options, plans } = open({ state: 'active' })
    const counts = await eraseProfile.run({ profileId }, context)

    expect(plans).toEqual([{ profileId, nowMs, streams: [] }])
    expect(options).toEqual([{ lane: 'manual', signal: context.signal }])

    expect(acts).toEqual(['plan', 'set gone', 'delete ada upstream', 'forget token of 7', 'forget jobs', 'erase'])
    expect(counts).toMatchObject({ requests: 1, rowsWritten: 7 })
  })

  test('waits for a registration that is under way, as long as it may last', async () => {
    // A registration that begins before the mark is seen after it.
    const registrationLeftMs = async (): Promise<number> => (acts.includes('set gone') ? 1 : 0)
    const { acts, context } = open({ state: 'active', profiles: { registrationLeftMs } })

    expect(await endOf(eraseProfile.run({ profileId }, context))).toMatchObject({
      name: 'RetryLater',
      message: 'erase profile: a registration of this profile is under way',
      waitMs: 1,
    })
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
  expect(asked).toStrictEqual([
    [
      { pageSize: 100, searchParameter: 'a' },
      { lane: 'manual', signal },
    ],
    [{ pageSize: 100 }, { lane: 'manual', signal }],
  ])
  expect(counts).toMatchObject({ requests: 2, rowsRead: 3, rowsWritten: 2 })
})
