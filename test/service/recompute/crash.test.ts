import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, vi } from 'vitest'
import { DAY } from '../../../src/base/time/units.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { test } from '../../support/fixtures.ts'
import { createProfile, recordsAtOnce, servedRecords, upload, withRecompute } from './recompute-world.ts'

const at = '2026-11-18T15:00:00Z'
const script = fileURLToPath(new URL('./recompute-process.ts', import.meta.url))

test('killed at any moment, repeatedly, a recomputation loses no day and writes none twice', async ({ serviceUrl }) => {
  const [person] = samplePeople('killed', 1)
  if (!person) throw new Error('nobody is there')
  const logs = logsOf(person, { startMs: Date.parse(at) - 10 * DAY, endMs: Date.parse(at) })
  await withRecompute(serviceUrl, at, async (world) => {
    const profiles = await Promise.all(Array.from({ length: 8 }, () => createProfile(world.pool)))
    for (const profileId of profiles) await upload(world, profileId, logs)
    const count = async (sql: string) => Number((await world.pool.query(sql)).rows[0]?.count)
    const done = () => count('select count(*) from service.derivations')

    for (const target of [1, 3, 5]) {
      const child = spawn(process.execPath, [script, serviceUrl, at], { stdio: ['ignore', 'pipe', 'inherit'] })
      await vi.waitFor(async () => expect(await done()).toBeGreaterThanOrEqual(target), {
        timeout: 120_000,
        interval: 5,
      })
      child.kill('SIGKILL')
      await once(child, 'exit')
      // A killed transaction is undone as a whole: a profile recorded as derived has no marks, any other has all marks.
      const halves = `select count(*) from service.derivations where profile_id in (select profile_id from service.dirty_days)`
      expect(await count(halves)).toBe(0)
    }
    expect(await count('select count(distinct profile_id) from service.dirty_days')).toBeGreaterThan(0)

    await world.recompute.idle()

    expect(await count('select count(*) from service.dirty_days')).toBe(0)
    for (const profileId of profiles) {
      expect(await servedRecords(world, profileId)).toEqual(recordsAtOnce(profileId, logs, world.clock.now))
    }
    expect(await count('select count(*) from service.derived where version <> 1')).toBe(0)
  })
})
