import { expect } from 'vitest'
import type { DataLogInput } from '../../../src/base/contract/data-log.ts'
import { DAY, HOUR } from '../../../src/base/time/units.ts'
import { recomputeProfile } from '../../../src/service/recompute/recompute-profile.ts'
import { startRecompute } from '../../../src/service/recompute/start-recompute.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { deleteMarks, readMarks, tryLockProfile } from '../../../src/service/store/derivation-queue.ts'
import { writeDemographics } from '../../../src/service/store/profile-metadata.ts'
import { withTransaction } from '../../../src/service/store/service-pool.ts'
import { test } from '../../support/fixtures.ts'
import { inputOf, log, unknownDemographics } from '../derive/made-logs.ts'
import {
  createProfile,
  quiet,
  recordsAtOnce,
  remove,
  rowsOf,
  servedRecords,
  upload,
  withRecompute,
} from './recompute-world.ts'

const at = '2026-11-18T15:00:00Z'
const now = Date.parse(at)
const [worker] = samplePeople('recompute', 8)
if (!worker) throw new Error('the sample people are gone')
const lived = (days: number) => logsOf(worker, { startMs: now - days * DAY, endMs: now })
const five = lived(35)
const dayOf = (log: DataLogInput) => log.startDateTime.slice(0, 10)

test('a profile whose logs are all deleted has no records left', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const profileId = await createProfile(world.pool)
    await upload(world, profileId, five)
    await world.recompute.idle()

    await remove(world, profileId, five)
    await world.recompute.idle()

    expect(await rowsOf(world, profileId)).toEqual([])
    const { rows } = await world.pool.query('select from service.day_facts where profile_id = $1', [profileId])
    expect(rows).toHaveLength(0)
  })
})

test('a mark that is renewed while its day is derived stays', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const profileId = await createProfile(world.pool)
    const [first, second] = five
    if (!first || !second) throw new Error('no logs')
    await upload(world, profileId, [first])

    await withTransaction(world.pool, async (tx) => {
      const seen = await readMarks(tx, profileId, 10)
      await upload(world, profileId, [second])
      await deleteMarks(tx, profileId, seen)
    })

    expect((await readMarks(world.pool, profileId, 10)).map(({ localDay }) => localDay)).toEqual([dayOf(second)])
  })
})

test('changed demographics derive every day again', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const profileId = await createProfile(world.pool)
    await upload(world, profileId, five)
    await world.recompute.idle()

    await writeDemographics(world.pool, {
      profileId,
      fields: { age: 70, gender: 'Female' },
      mode: 'replace',
      nowAt: new Date(now),
    })
    await world.recompute.idle()

    const goals = (await rowsOf(world, profileId)).flatMap(({ body }) =>
      body['type'] === 'sleep'
        ? (body['factors'] as { name: string; goal: number }[]).filter(({ name }) => name === 'sleep_duration')
        : [],
    )
    expect(goals.length).toBeGreaterThan(20)
    expect(new Set(goals.map(({ goal }) => goal))).toEqual(new Set([450]))
  })
})

test.for(['read-change', 'read-marks', 'derivation-inputs', 'count-logs'])(
  'demographics that change before a derivation sends %s are those of all records in the end',
  async (statement, { serviceUrl }) => {
    await withRecompute(serviceUrl, at, async ({ pool, ...world }) => {
      const profileId = await createProfile(pool)
      const night = inputOf(log('sleep_stage_light', '2026-11-12T22:00:00-08:00', [30, 30]))
      await upload({ pool, ...world }, profileId, [night])
      const person = { birthDate: '1969-04-01' }
      let isChanged = false
      const change = async (asked: unknown) => {
        if (isChanged || Object(asked).name !== statement) return
        isChanged = true
        await writeDemographics(pool, { profileId, fields: person, mode: 'replace', nowAt: new Date(now) })
      }
      const connect = async () => {
        const client = await pool.connect()
        const query = async (...asked: Parameters<typeof client.query>) => {
          await change(asked[0])
          return client.query(...asked)
        }
        return Object.assign(Object.create(client), { query })
      }
      const task = { profileId, nowAt: new Date(now), cohortOf: async () => null }

      await recomputeProfile(Object.assign(Object.create(pool), { connect }), task)
      expect(isChanged).toBe(true)
      await world.recompute.idle()

      expect(await servedRecords({ pool, ...world }, profileId)).toEqual(
        recordsAtOnce(profileId, [night], now, { ...unknownDemographics, ...person }),
      )
    })
  },
)

test('changed demographics derive a day again whose only log began on the evening before', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const profileId = await createProfile(world.pool)
    const night = inputOf(log('sleep_stage_light', '2026-11-12T22:00:00-08:00', [30, 30]))
    await upload(world, profileId, [night])
    await world.recompute.idle()
    const person = { birthDate: '1969-04-01' }
    await writeDemographics(world.pool, { profileId, fields: person, mode: 'replace', nowAt: new Date(now) })
    await world.recompute.idle()

    const served = await servedRecords(world, profileId)
    expect(served).toEqual(recordsAtOnce(profileId, [night], now, { ...unknownDemographics, ...person }))
    expect([...served.values()].map(({ type }) => type)).toContain('age')
  })
})

test('a night that was sent before it began counts once it has begun, though it belongs to the next day', async ({
  serviceUrl,
}) => {
  const begunMs = Date.parse('2026-11-12T22:00:00+13:00')
  await withRecompute(serviceUrl, new Date(begunMs - HOUR).toISOString(), async (world) => {
    const profileId = await createProfile(world.pool)
    const night = inputOf(log('sleep_stage_light', '2026-11-12T22:00:00+13:00', [30, 30]))
    await upload(world, profileId, [night])
    await world.recompute.idle()
    expect(await servedRecords(world, profileId)).toEqual(new Map())

    world.clock.now = begunMs + HOUR / 4
    await world.recompute.idle()

    const served = await servedRecords(world, profileId)
    expect(served).toEqual(recordsAtOnce(profileId, [night], world.clock.now))
    expect(served.size).toBeGreaterThan(0)
  })
})

test('a profile that fails stops no other profile, and is retried later', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const [broken, sound] = [await createProfile(world.pool), await createProfile(world.pool)]
    const some = five.slice(-800)
    await upload(world, broken, some)
    await upload(world, sound, some)
    await world.pool.query(`insert into service.day_facts values ($1, '2026-11-01', 'not json', null, false)`, [broken])

    await world.recompute.idle()

    expect((await rowsOf(world, sound)).length).toBeGreaterThan(20)
    expect(await rowsOf(world, broken)).toEqual([])
    expect((await readMarks(world.pool, broken, 10)).length).toBeGreaterThan(0)

    await world.pool.query('delete from service.day_facts where profile_id = $1', [broken])
    world.clock.now += 60_000 // the retry is reckoned from the moment of the failure
    await world.recompute.idle()
    expect((await rowsOf(world, broken)).length).toBe((await rowsOf(world, sound)).length)
  })
})

test('two recomputations on one database share the work and repeat none of it', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const profiles = await Promise.all(Array.from({ length: 6 }, () => createProfile(world.pool)))
    const some = lived(4)
    for (const profileId of profiles) await upload(world, profileId, some)
    const { pool, databaseUrl, clock } = world
    const second = await startRecompute({ pool, databaseUrl, log: quiet, clock: () => clock.now, everyMs: 3_600_000 })

    await Promise.all([world.recompute.idle(), second.idle()])
    await second.close()

    for (const profileId of profiles) {
      const rows = await rowsOf(world, profileId)
      expect(rows.length).toBeGreaterThan(50)
      expect(rows.every(({ version }) => version === 1)).toBe(true)
    }
  })
})

test('a locked profile is not derived by others, but takes uploads', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const profileId = await createProfile(world.pool)
    await withTransaction(world.pool, async (tx) => {
      expect(await tryLockProfile(tx, profileId)).toBe(true)
      expect(await withTransaction(world.pool, (other) => tryLockProfile(other, profileId))).toBe(false)
      await upload(world, profileId, five.slice(0, 100))
    })
    expect((await readMarks(world.pool, profileId, 10)).length).toBeGreaterThan(0)
  })
})

test('fresh data is served within five seconds of its upload', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const { pool, databaseUrl, clock } = world
    await upload(world, await createProfile(pool), lived(2))
    const options = { pool, databaseUrl, log: quiet, clock: () => clock.now }
    const derivingFrom = performance.now()
    const first = await startRecompute({ ...options, everyMs: 3_600_000 })
    await first.idle()
    const derivingMs = performance.now() - derivingFrom // a thread's start too, as fast as this machine is just now
    await first.close()
    const ticking = await startRecompute(options)
    try {
      const profileId = await createProfile(pool)
      await upload(world, profileId, lived(2))
      const uploadedAt = performance.now()
      await expect.poll(async () => (await rowsOf(world, profileId)).length).toBeGreaterThan(20)
      expect(performance.now() - uploadedAt).toBeLessThan(5000 + 3 * derivingMs)
    } finally {
      await ticking.close()
    }
  })
})
