import type { Worker } from 'node:worker_threads'
import { expect, onTestFinished } from 'vitest'
import { DAY } from '../../../src/base/time/units.ts'
import { startRecompute } from '../../../src/service/recompute/start-recompute.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { test } from '../../support/fixtures.ts'
import { createProfile, quiet, rowsOf, upload, withRecompute } from './recompute-world.ts'

const at = '2026-11-18T15:00:00Z'
const now = Date.parse(at)
const [person] = samplePeople('threads', 1)
if (!person) throw new Error('nobody is there')
const lived = logsOf(person, { startMs: now - 3 * DAY, endMs: now })

/** Listens to every thread that this process starts from now on. */
function onThread(heard: (worker: Worker, message: unknown) => void): void {
  const listen = (worker: Worker) => void worker.on('message', (message: unknown) => heard(worker, message))
  process.on('worker', listen)
  onTestFinished(() => void process.off('worker', listen))
}

const isBeginning = (message: unknown): message is { profileId: string } => Object(message).did === 'begin'

test('a thread that ends in the middle of a round delays its profile and no other', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const profiles = await Promise.all(Array.from({ length: 5 }, () => createProfile(world.pool)))
    for (const profileId of profiles) await upload(world, profileId, lived)
    const begun: string[] = []
    onThread((worker, message) => {
      if (!isBeginning(message)) return
      begun.push(message.profileId)
      if (begun.length === 2) void worker.terminate()
    })
    const { pool, databaseUrl, clock } = world
    const mortal = await startRecompute({ pool, databaseUrl, log: quiet, clock: () => clock.now, everyMs: 3_600_000 })
    const rowsBy = async () =>
      new Map(
        await Promise.all(profiles.map(async (profile) => [profile, (await rowsOf(world, profile)).length] as const)),
      )

    await mortal.idle()

    const killed = begun[1] ?? ''
    const rows = await rowsBy()
    for (const profileId of profiles) {
      if (profileId === killed) expect(rows.get(profileId)).toBe(0)
      else expect(rows.get(profileId)).toBeGreaterThan(20)
    }
    clock.now += 60_000
    await mortal.idle()
    expect(new Set((await rowsBy()).values()).size).toBe(1)
    await mortal.close()
  })
})

test('threads that end before they begin with a profile are not restarted at once for ever', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const profileId = await createProfile(world.pool)
    await upload(world, profileId, lived)
    let [started, dying] = [0, true]
    const end = (worker: Worker) => {
      started += 1
      if (dying) void worker.terminate()
    }
    process.on('worker', end)
    onTestFinished(() => void process.off('worker', end))
    const { pool, databaseUrl, clock } = world
    const mortal = await startRecompute({ pool, databaseUrl, log: quiet, clock: () => clock.now, everyMs: 3_600_000 })

    await mortal.idle()
    expect(started).toBeLessThan(6)
    expect(await rowsOf(world, profileId)).toEqual([])

    dying = false
    await mortal.idle()
    expect((await rowsOf(world, profileId)).length).toBeGreaterThan(20)
    await mortal.close()
  })
})
