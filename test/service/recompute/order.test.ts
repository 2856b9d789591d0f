import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { DataLogInput } from '../../../src/base/contract/data-log.ts'
import { namedUuid } from '../../../src/base/text/digest.ts'
import { createRoundMemory, runRecomputeRound } from '../../../src/service/recompute/recompute-round.ts'
import {
  deleteMarks,
  markSingleDays,
  readMarks,
  recordDerivation,
} from '../../../src/service/store/derivation-queue.ts'
import { type Queryable, type ServicePool, withTransaction } from '../../../src/service/store/service-pool.ts'
import {
  beforeAllAccounts,
  endWaiting,
  listWaitingProfiles,
  markOlderModelsDue,
  readChange,
  recordDerivationFailure,
  type WaitingProfile,
  wakeProfiles,
} from '../../../src/service/store/waiting-profiles.ts'
import { test } from '../../support/fixtures.ts'
import { daysFrom } from '../derive/made-logs.ts'
import { createProfile, quiet, type RecomputeWorld, upload, withRecompute } from './recompute-world.ts'

const at = '2026-11-18T15:00:00Z'
const month = daysFrom('2026-10-15', 30)
const today = ['2026-11-18']

/** A log of a kind that nothing is derived from: only the order of profiles matters here. */
const oneADay = (days: readonly string[]): DataLogInput[] =>
  days.map((day) => ({
    id: namedUuid('2c1bb5a1-5c0e-5a0b-8d5f-6a7f2f9f0a12', [day]),
    logType: 'activity',
    dataType: 'mindfulness',
    value: 1,
    unit: 'minute',
    source: 'app',
    recordingMethod: 'automatically_recorded',
    deviceType: 'watch',
    startDateTime: `${day}T08:00:00Z`,
    endDateTime: `${day}T08:01:00Z`,
  }))

/** A new profile that uploads these days, a second after the upload before. */
async function arrive(world: RecomputeWorld, days: readonly string[], accountId?: string): Promise<string> {
  const profileId = await createProfile(world.pool, accountId)
  world.clock.now += 1000
  await upload(world, profileId, oneADay(days))
  return profileId
}

/** The profiles that a round derives, in order. */
async function served({ pool, clock }: RecomputeWorld, profilesMax = 4): Promise<string[]> {
  const turns: string[] = []
  await runRecomputeRound({
    pool,
    log: quiet,
    nowAt: new Date(clock.now),
    profilesMax,
    place: { index: 0, count: 1 },
    memory: createRoundMemory(),
    begin: (profileId) => turns.push(profileId),
    cohortOf: async () => null,
  })
  return turns
}

test('a fresh upload does not wait behind a crowd, and the crowd does not wait for it', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const crowd: string[] = []
    for (let place = 0; place < 12; place += 1) crowd.push(await arrive(world, month))
    const fresh = await arrive(world, today)

    expect(await served(world)).toEqual([crowd[0], fresh, crowd[1], crowd[2]])
  })
})

test('the profile that has been due longest is served next, whatever arrives later', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const crowd = [await arrive(world, month), await arrive(world, month), await arrive(world, month)]
    const [early] = [await arrive(world, today)]
    const turns: string[] = []
    for (let round = 0; round < 4; round += 1) {
      // More profiles with few marked days than a round can derive: they alone would fill every round for ever.
      for (let more = 0; more < 4; more += 1) await arrive(world, today)
      turns.push(...(await served(world, 2)))
    }

    expect(turns.filter((_, place) => place % 2 === 0)).toEqual([...crowd, early])
  })
})

test('among profiles with few marked days the least recently derived goes first', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const again = (profileId: string) => upload(world, profileId, oneADay(today.concat('2026-11-17')))
    const patient = await arrive(world, today)
    expect(await served(world)).toEqual([patient])
    const restless = await arrive(world, today)
    expect(await served(world)).toEqual([restless])
    const crowd = [await arrive(world, month), await arrive(world, month)]
    world.clock.now += 1000
    await again(patient)
    // Otherwise the profile with the last upload would always be the freshest.
    world.clock.now += 1000
    await again(restless)

    expect(await served(world, 2)).toEqual([crowd[0], patient])
  })
})

test('a mark that is renewed again and again keeps its place in the queue', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const restless = await arrive(world, month)
    const others = [await arrive(world, month), await arrive(world, month)]
    world.clock.now += 60_000
    await upload(
      world,
      restless,
      oneADay(month).map((log) => ({ ...log, value: 2 })),
    )

    expect(await served(world, 1)).toEqual([restless])
    expect(await served(world, 2)).toEqual(others)
  })
})

test('a profile whose day has ended does not wait for ever behind uploads', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const ended = await createProfile(world.pool)
    const steps = oneADay(today).map((log) => ({ ...log, dataType: 'steps', value: 900 }))
    await upload(world, ended, steps)
    expect(await served(world)).toEqual([ended])
    // 18:00 and midnight pass; then a crowd comes.
    world.clock.now = Date.parse('2026-11-19T06:00:00Z')
    const crowd: string[] = []
    for (let place = 0; place < 6; place += 1) crowd.push(await arrive(world, month))

    expect((await served(world, 2))[0]).toBe(ended)
  })
})

test('a profile that backs off takes no place in a round', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const broken = [await arrive(world, month), await arrive(world, month)]
    const sound = [await arrive(world, month), await arrive(world, month)]
    for (const profileId of broken)
      await recordDerivationFailure(world.pool, { profileId, nowAt: new Date(world.clock.now) })

    expect(await served(world)).toEqual(sound)
    world.clock.now += 2500
    expect((await served(world)).toSorted()).toEqual(broken.toSorted())
  })
})

test('a derivation that fails again and again waits twice as long each time, up to an hour', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async ({ pool }) => {
    const profileId = await createProfile(pool)
    const nowAt = new Date(at)
    const waits: Array<[number, number]> = []
    for (let failures = 1; failures <= 14; failures += 1) {
      await recordDerivationFailure(pool, { profileId, nowAt })
      const { rows } = await pool.query('select retry_at, wake_at from service.derivations where profile_id = $1', [
        profileId,
      ])
      waits.push([rows[0].retry_at - nowAt.getTime(), rows[0].wake_at - nowAt.getTime()])
    }

    const seconds = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600, 3600]
    expect(waits).toEqual(seconds.map((wait) => [1000 * wait, 1000 * wait]))
  })
})

/** The listings of all accounts one after another, at most three. */
async function listings({ pool, clock }: RecomputeWorld, among: readonly string[] | null = null) {
  const pages: WaitingProfile[][] = []
  let afterAccountId = beforeAllAccounts
  do {
    const page = await listWaitingProfiles(pool, { nowAt: new Date(clock.now), among, afterAccountId })
    pages.push(page.waiting.filter(({ isFresh }) => !isFresh))
    afterAccountId = page.nextAfterAccountId
  } while (afterAccountId !== beforeAllAccounts && pages.length < 3)
  return pages
}

test('each of many accounts is listed once, also behind a hundred of whom nobody may be derived', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const profiles: string[] = []
    for (let place = 0; place < 101; place += 1) profiles.push(await arrive(world, today))

    const listed = await listings(world)
    expect(listed.map((page) => page.length)).toEqual([100, 1])
    expect(
      listed
        .flat()
        .map(({ profileId }) => profileId)
        .toSorted(),
    ).toEqual(profiles.toSorted())
    const last = listed[1]?.[0]?.profileId ?? ''
    expect((await listings(world, [last])).map((page) => page.length)).toEqual([0, 1])
  })
})

test('of each account those are listed that wait longest, and of the latest those with at most three marked days', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const [large, small] = [randomUUID(), randomUUID()]
    const alone = await arrive(world, today, small)
    const crowd: string[] = []
    for (let place = 0; place < 22; place += 1) {
      const days = { 20: month.slice(0, 3), 21: month.slice(0, 4) }[place] ?? today
      crowd.push(await arrive(world, days, large))
    }
    const [nowAt, laterAt] = [new Date(world.clock.now + 2000), new Date(world.clock.now + 2001)]
    const retry = 'insert into service.derivations (profile_id, model_version, as_of, retry_at) values ($1, $2, $3, $3)'
    for (const place of [3, 18]) await world.pool.query(retry, [crowd[place], '', laterAt])
    for (const place of [4, 17]) await world.pool.query(retry, [crowd[place], '', nowAt])
    const listedOf = async (among: string[] | null) => {
      const options = { nowAt, among, afterAccountId: beforeAllAccounts }
      const { waiting } = await listWaitingProfiles(world.pool, options)
      const places = (accountId: string, fresh: boolean) =>
        waiting
          .filter((profile) => profile.accountId === accountId && profile.isFresh === fresh)
          .map(({ profileId }) => [alone, ...crowd].indexOf(profileId) - 1)
          .toSorted((a, b) => a - b)
      return [places(small, false), places(small, true), places(large, false), places(large, true)]
    }
    const but = (places: readonly number[], first: number, last: number) =>
      crowd.map((_, place) => place).filter((place) => place >= first && place <= last && !places.includes(place))

    expect(await listedOf(null)).toEqual([[-1], [-1], but([3, 18], 0, 16), but([3, 18, 21], 5, 20)])
    expect(await listedOf([crowd[5] ?? ''])).toEqual([[], [], [5], [5]])
  })
})

/** Profiles that were derived, each due again this long after. */
async function derived(pool: ServicePool, ...dueMs: readonly number[]): Promise<string[]> {
  const profiles = dueMs.map(async (ms) => {
    const profileId = await createProfile(pool)
    const dueAt = new Date(Date.parse(at) + ms)
    await recordDerivation(pool, { profileId, asOfAt: new Date(at), dueAt, sourcePriority: [] })
    return profileId
  })
  return Promise.all(profiles)
}

/** The profiles that wait, in the order in which their rows were written. */
async function waitingOf(pool: ServicePool): Promise<string[]> {
  const { rows } = await pool.query('select profile_id from service.waiting_profiles order by ctid')
  return rows.map((row) => row.profile_id)
}

test('profiles begin to wait when they are due and not before, in one order in all processes', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, at, async ({ pool }) => {
    const [later = '', ...due] = await derived(pool, 1, 0, 0, 0)

    await wakeProfiles(pool, new Date(at))
    expect(await waitingOf(pool)).toEqual(due.toSorted())
    await wakeProfiles(pool, new Date(Date.parse(at) + 1))
    expect(await waitingOf(pool)).toEqual([...due.toSorted(), later])
  })
})

test('of more profiles than one call wakes those are woken that have been due longest', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async ({ pool }) => {
    const [shortest] = await derived(pool, 0)
    await pool.query(
      `insert into service.profiles (profile_id, account_id, external_id, search_text, created_at)
       select gen_random_uuid(), account_id, n, n, now() from service.accounts, generate_series(1, 500) n`,
    )
    await pool.query(
      `insert into service.derivations (profile_id, model_version, as_of, wake_at)
       select profile_id, '', $1, $1::timestamptz - interval '1 minute' from service.profiles where profile_id <> $2`,
      [at, shortest],
    )

    await wakeProfiles(pool, new Date(at))

    expect(await waitingOf(pool)).toHaveLength(500)
    expect(await waitingOf(pool)).not.toContain(shortest)
  })
})

/** Fails where it waits for what another transaction holds. */
const withoutWaiting = (pool: ServicePool, work: (tx: Queryable) => Promise<void>) =>
  withTransaction(pool, async (tx) => {
    await tx.query("set local lock_timeout = '1s'")
    await work(tx)
  })

test('others are woken without waiting for a profile that is being derived', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async ({ pool }) => {
    const [profileId = '', other] = await derived(pool, 0, 0)

    await withTransaction(pool, async (tx) => {
      await recordDerivation(tx, { profileId, asOfAt: new Date(at), dueAt: null, sourcePriority: [] })
      await withoutWaiting(pool, (waking) => wakeProfiles(waking, new Date(at)))
    })

    expect(await waitingOf(pool)).toEqual([other])
  })
})

test('a derivation ends without waiting for an upload, whose mark keeps the profile waiting', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const { pool } = world
    const profileId = await arrive(world, today)
    const change = await readChange(pool, profileId)
    await deleteMarks(pool, profileId, await readMarks(pool, profileId, 10))

    await withTransaction(pool, async (tx) => {
      await markSingleDays(tx, { profileId, localDays: today, nowAt: new Date(at) })
      await withoutWaiting(pool, (ending) => endWaiting(ending, profileId, change))
    })
    expect(await waitingOf(pool)).toEqual([profileId])

    // Without its mark the profile waits all the same: the mark came after the change that was read.
    await deleteMarks(pool, profileId, await readMarks(pool, profileId, 10))
    await endWaiting(pool, profileId, change)
    expect(await waitingOf(pool)).toEqual([profileId])
    await endWaiting(pool, profileId, await readChange(pool, profileId))
    expect(await waitingOf(pool)).toEqual([])
  })
})

test('profiles that another model derived are due at once, and those of this model when they were', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, at, async ({ pool }) => {
    const [older, ours] = await derived(pool, 1, 1)
    await pool.query("update service.derivations set model_version = 'older' where profile_id = $1", [older])

    await markOlderModelsDue(pool)

    await wakeProfiles(pool, new Date(at))
    expect(await waitingOf(pool)).toEqual([older])
    await wakeProfiles(pool, new Date(Date.parse(at) + 1))
    expect(await waitingOf(pool)).toEqual([older, ours])
  })
})

test('the cost of a mark does not grow with the marks of others, even with outdated statistics of Postgres', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, at, async ({ pool }) => {
    const profileId = await createProfile(pool)
    await pool.query(
      `insert into service.profiles (profile_id, account_id, external_id, search_text, created_at)
       select gen_random_uuid(), account_id, 'other ' || n, 'other ' || n, now() from service.accounts, generate_series(1, 500) n`,
    )
    const mark = () =>
      pool.query(
        `insert into service.dirty_days (profile_id, local_day, marked_at)
         select profile_id, date '2026-01-01' + n, now() from service.profiles, generate_series(1, 120) n`,
      )
    await mark()
    await pool.query('delete from service.dirty_days')
    // Postgres analyzes the queue while it is empty, and then plans as if it were always empty.
    await pool.query('vacuum (analyze, truncate false) service.dirty_days')
    await pool.query('alter table service.dirty_days set (autovacuum_enabled = off)')
    await mark()

    await withTransaction(pool, async (tx) => {
      await tx.query("set local statement_timeout = '1s'")
      const marks = await readMarks(tx, profileId, 120)
      expect(marks).toHaveLength(120)
      await deleteMarks(tx, profileId, marks)
      expect(await readMarks(tx, profileId, 120)).toHaveLength(0)
      const { waiting } = await listWaitingProfiles(tx, {
        nowAt: new Date(),
        among: null,
        afterAccountId: beforeAllAccounts,
      })
      expect(waiting).not.toHaveLength(0)
    })
  })
})
