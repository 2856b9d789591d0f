import { expect } from 'vitest'
import { DAY } from '../../../src/base/time/units.ts'
import { recomputeProfile } from '../../../src/service/recompute/recompute-profile.ts'
import { startRecompute } from '../../../src/service/recompute/start-recompute.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { readMarks } from '../../../src/service/store/derivation-queue.ts'
import { deleteProfiles } from '../../../src/service/store/service-profiles.ts'
import { soon, test } from '../../support/fixtures.ts'
import { createProfile, quiet, type RecomputeWorld, upload, withRecompute } from './recompute-world.ts'

const at = '2026-11-18T15:00:00Z'
const now = Date.parse(at)
const [person] = samplePeople('heavy', 1)
if (!person) throw new Error('nobody is there')
const lived = logsOf(person, { startMs: now - 3 * DAY, endMs: now })

/** Four days of heart rate at one in six seconds, written by SQL; five such days cost more than one transaction may. */
async function heavyProfile({ pool }: RecomputeWorld): Promise<string> {
  const profileId = await createProfile(pool)
  await pool.query(
    `insert into service.logs (profile_id, id, log_type, data_type, value, unit, source, recording_method, device_type,
       start_at, end_at, start_offset_minutes, end_offset_minutes, start_day, end_day, received_at)
     select $1, gen_random_uuid(), 'heart', 'heart_rate', 55 + n % 60, 'bpm', 'app', 'automatically_recorded', 'watch',
       at, at, 0, 0, at::date, at::date, at
     from generate_series(0, 4 * 14400 - 1) n, lateral (select timestamptz '2026-11-14T00:00:00Z' + n * interval '6 seconds' as at) t`,
    [profileId],
  )
  await pool.query(
    `insert into service.dirty_days (profile_id, local_day, marked_at)
     select $1, date '2026-11-14' + n, $2 from generate_series(0, 3) n`,
    [profileId, new Date(now)],
  )
  return profileId
}

test('a heavy profile is derived in portions, its neighbours come first, and an erasure overtakes it', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const { pool, databaseUrl, clock } = world
    const [heavy, erased] = [await heavyProfile(world), await heavyProfile(world)]
    const marks = async (profileId: string) => (await readMarks(pool, profileId, 100)).length
    const working = await startRecompute({ pool, databaseUrl, log: quiet, clock: () => clock.now, everyMs: 50 })
    try {
      // The four days are split into eight single days; some of them are derived.
      await expect.poll(() => marks(heavy), soon).toBeGreaterThan(4)
      const neighbour = await createProfile(pool)
      await upload(world, neighbour, lived)
      await expect.poll(() => marks(neighbour), soon).toBe(0)
      expect(await marks(heavy)).toBeGreaterThan(0)

      const { rows } = await pool.query('select account_id, external_id from service.profiles where profile_id = $1', [
        erased,
      ])
      await deleteProfiles(pool, { accountId: rows[0]?.account_id, externalIds: [rows[0]?.external_id] })
      for (const table of ['logs', 'derived', 'day_facts', 'dirty_days', 'derivations']) {
        const left = await pool.query(`select from service.${table} where profile_id = $1`, [erased])
        expect(left.rowCount, table).toBe(0)
      }

      await expect.poll(() => marks(heavy), soon).toBe(0)
    } finally {
      await working.close()
    }
  })
})

test('an erasure waits for no derivation that reads or computes', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async ({ pool, clock, ...world }) => {
    const profileId = await createProfile(pool)
    await upload({ pool, clock, ...world }, profileId, lived)
    const reached = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<null>()
    // The cohort is asked for when the marks, the inputs and the counts of logs have been read.
    const cohortOf = () => {
      reached.resolve()
      return goOn.promise
    }
    const deriving = recomputeProfile(pool, { profileId, nowAt: new Date(clock.now), cohortOf })
    await reached.promise

    await pool.query(`set statement_timeout = '5s'`)
    const { rows } = await pool.query('select account_id from service.profiles where profile_id = $1', [profileId])
    await deleteProfiles(pool, { accountId: rows[0]?.account_id, externalIds: [profileId] })
    goOn.resolve(null)

    expect(await deriving).toBe('gone')
    for (const table of ['logs', 'derived', 'day_facts', 'dirty_days', 'derivations', 'waiting_profiles']) {
      const left = await pool.query(`select from service.${table} where profile_id = $1`, [profileId])
      expect(left.rowCount, table).toBe(0)
    }
  })
})
