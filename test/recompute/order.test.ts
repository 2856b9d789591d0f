import { expect, vi } from 'vitest'
import type { DataLogInput } from '../../src/contract/data-log.ts'
import { namedUuid } from '../../src/named-uuid.ts'
import { runRound } from '../../src/service/recompute/round.ts'
import { withTransaction } from '../../src/service/store/pool.ts'
import { dueProfiles, eatMarks, noteFailure, readMarks } from '../../src/service/store/recompute.ts'
import { daysFrom } from '../derive/logs.ts'
import { test } from '../support/fixtures.ts'
import { createProfile, quiet, upload, type World, withRecompute } from './profiles.ts'

vi.setConfig({ testTimeout: 60_000 })

const at = '2026-11-18T15:00:00Z'
const month = daysFrom('2026-10-15', 30)
const today = ['2026-11-18']

/** One log of no kind that anything is derived of: what matters here is whose turn it is. */
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

/** Somebody who uploads these days now, a second after whoever came before. */
async function arrive(world: World, days: readonly string[]): Promise<string> {
  const profileId = await createProfile(world.pool)
  world.clock.now += 1000
  await upload(world, profileId, oneADay(days))
  return profileId
}

/** Whom a round derives, in order. */
async function served({ pool, clock }: World, profilesMax = 4): Promise<string[]> {
  const turns: string[] = []
  const now = new Date(clock.now)
  await runRound({
    pool,
    log: quiet,
    now,
    profilesMax,
    begin: (profileId) => turns.push(profileId),
    cohortOf: async () => null,
  })
  return turns
}

test('what was just uploaded does not wait behind a crowd, and the crowd does not wait for it', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const crowd: string[] = []
    for (let place = 0; place < 12; place += 1) crowd.push(await arrive(world, month))
    const fresh = await arrive(world, today)

    expect(await served(world)).toEqual([crowd[0], fresh, crowd[1], crowd[2]])
  })
})

test('however much comes in afterwards, whoever waits longest is served next', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const crowd = [await arrive(world, month), await arrive(world, month), await arrive(world, month)]
    const [early] = [await arrive(world, today)]
    const turns: string[] = []
    for (let round = 0; round < 4; round += 1) {
      // More of those who have little to do than a round can serve: they alone would fill every round for ever.
      for (let more = 0; more < 4; more += 1) await arrive(world, today)
      turns.push(...(await served(world, 2)))
    }

    expect(turns.filter((_, place) => place % 2 === 0)).toEqual([...crowd, early])
  })
})

test('of those who have little to do, who was served longest ago goes first', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const again = (profileId: string) => upload(world, profileId, oneADay(today.concat('2026-11-17')))
    const patient = await arrive(world, today)
    expect(await served(world)).toEqual([patient])
    const restless = await arrive(world, today)
    expect(await served(world)).toEqual([restless])
    const crowd = [await arrive(world, month), await arrive(world, month)]
    world.clock.now += 1000
    await again(patient)
    // Whoever uploads last would else always be the freshest.
    world.clock.now += 1000
    await again(restless)

    expect(await served(world, 2)).toEqual([crowd[0], patient])
  })
})

test('a mark that is renewed again and again does not lose its place', async ({ serviceUrl }) => {
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

test('whose day has ended does not wait for ever behind uploads', async ({ serviceUrl }) => {
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

test('who was put off takes nobody’s place', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const broken = [await arrive(world, month), await arrive(world, month)]
    const sound = [await arrive(world, month), await arrive(world, month)]
    for (const profileId of broken) await noteFailure(world.pool, { profileId, now: new Date(world.clock.now) })

    expect(await served(world)).toEqual(sound)
    world.clock.now += 2500
    expect(await served(world)).toEqual(broken)
  })
})

test('what a mark costs does not grow with the marks of others, however little Postgres knows of them', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, at, async ({ pool }) => {
    const profileId = await createProfile(pool)
    await pool.query(
      `insert into service.profiles (profile_id, account_id, external_id, created_at)
       select gen_random_uuid(), account_id, 'other ' || n, now() from service.accounts, generate_series(1, 500) n`,
    )
    const mark = () =>
      pool.query(
        `insert into service.dirty_days (profile_id, local_day, marked_at)
         select profile_id, date '2026-01-01' + n, now() from service.profiles, generate_series(1, 120) n`,
      )
    await mark()
    await pool.query('delete from service.dirty_days')
    // A queue is looked at when it is empty: from here on Postgres believes that it always is.
    await pool.query('vacuum (analyze, truncate false) service.dirty_days')
    await pool.query('alter table service.dirty_days set (autovacuum_enabled = off)')
    await mark()

    await withTransaction(pool, async (tx) => {
      await tx.query("set local statement_timeout = '1s'")
      const marks = await readMarks(tx, profileId, 120)
      expect(marks).toHaveLength(120)
      await eatMarks(tx, profileId, marks)
      expect(await readMarks(tx, profileId, 120)).toHaveLength(0)
      expect(await dueProfiles(tx, { now: new Date(), countMax: 4 })).not.toHaveLength(0)
    })
  })
})
