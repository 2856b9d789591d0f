import { expect } from 'vitest'
import { logsOf, peopleOf } from '../../src/service/sandbox/people/people.ts'
import { test } from '../support/fixtures.ts'
import { createProfile, saidAtOnce, saidOf, upload, withRecompute } from './profiles.ts'

const day = 86_400_000
const now = Date.parse('2026-11-18T15:00:00Z')
const [worker, , traveller] = peopleOf('recompute', 8)
if (!worker || !traveller) throw new Error('the sample people are gone')
const weeks = (person: typeof worker, count: number) => logsOf(person, { startMs: now - count * 7 * day, endMs: now })

test('what is served equals the pure derivation of all logs', async ({ serviceUrl }) => {
  const logs = weeks(worker, 9)
  await withRecompute(serviceUrl, new Date(now).toISOString(), async (world) => {
    const profileId = await createProfile(world.pool)
    await upload(world, profileId, logs)

    await world.recompute.idle()

    const said = await saidOf(world, profileId)
    expect(said.size).toBeGreaterThan(2000)
    expect(said).toEqual(saidAtOnce(profileId, logs, now))
  })
})
