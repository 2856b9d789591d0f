import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import pg from 'pg'
import { expect, onTestFinished } from 'vitest'
import { DAY } from '../../../src/base/time/units.ts'
import { startRecompute } from '../../../src/service/recompute/start-recompute.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { soon, test } from '../../support/fixtures.ts'
import { countLockWaiters, rowsFrom } from '../../support/lock-waiters.ts'
import { createProfile, quiet, recordsAtOnce, rowsOf, servedRecords, upload, withRecompute } from './recompute-world.ts'

const at = '2026-11-18T15:00:00Z'
const now = Date.parse(at)
const people = samplePeople('many-threads', 4).map((person) => logsOf(person, { startMs: now - 4 * DAY, endMs: now }))

/** The profiles that each thread of this process begins with, by thread. */
function beginnings(): Map<Worker, string[]> {
  const byThread = new Map<Worker, string[]>()
  const listen = (worker: Worker) =>
    void worker.on('message', (message: unknown) => {
      const { did, profileId } = Object(message)
      if (did === 'begin') byThread.set(worker, [...(byThread.get(worker) ?? []), String(profileId)])
    })
  process.on('worker', listen)
  onTestFinished(() => void process.off('worker', listen))
  return byThread
}

test('threads of two services share the marks: every record is derived once, and as by one thread', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const profiles = await Promise.all(Array.from({ length: 12 }, () => createProfile(world.pool)))
    for (const [index, profileId] of profiles.entries()) await upload(world, profileId, people[index % 4] ?? [])
    const threads = beginnings()
    const { pool, databaseUrl, clock } = world
    const options = { pool, databaseUrl, log: quiet, clock: () => clock.now, everyMs: 3_600_000, threads: 2 }
    const services = await Promise.all([startRecompute(options), startRecompute(options)])

    await Promise.all(services.map((service) => service.idle()))
    await Promise.all(services.map((service) => service.close()))

    expect([...threads.values()].filter((begun) => begun.length > 0).length).toBeGreaterThan(1)
    for (const [index, profileId] of profiles.entries()) {
      expect(await servedRecords(world, profileId)).toEqual(recordsAtOnce(profileId, people[index % 4] ?? [], now))
      expect((await rowsOf(world, profileId)).every(({ version }) => version === 1)).toBe(true)
    }
  })
})

test('a profile that another process derives is left to it, and the thread goes on with the next', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const profiles = await Promise.all(Array.from({ length: 5 }, () => createProfile(world.pool)))
    for (const profileId of profiles) await upload(world, profileId, people[0] ?? [])
    const [held = '', ...others] = profiles
    const other = await world.pool.connect()
    await other.query('begin')
    await other.query(`select pg_advisory_xact_lock(hashtextextended('derive ' || $1::text, 0))`, [held])

    await world.recompute.idle()

    for (const profileId of others) expect((await rowsOf(world, profileId)).length).toBeGreaterThan(10)
    expect(await rowsOf(world, held)).toEqual([])
    await other.query('commit')
    other.release()
    await world.recompute.idle()
    expect((await rowsOf(world, held)).length).toBeGreaterThan(10)
  })
})

const script = fileURLToPath(new URL('./recompute-process.ts', import.meta.url))

test('of two processes with two threads each, one derives a profile and the other goes on with the rest', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const { pool } = world
    const profiles = await Promise.all(Array.from({ length: 6 }, () => createProfile(pool)))
    for (const [index, profileId] of profiles.entries()) await upload(world, profileId, people[index % 4] ?? [])
    const [held = '', ...others] = profiles
    // The thread that derives this profile waits here with all but the writing done.
    const other = new pg.Client(serviceUrl)
    other.on('error', () => undefined) // the database goes before the end of a test that failed
    await other.connect()
    onTestFinished(() => other.end())
    await other.query('begin')
    await other.query('select from service.profiles where profile_id = $1 for update', [held])
    const processes = [1, 2].map(() =>
      spawn(process.execPath, [script, serviceUrl, at, '2'], { stdio: ['ignore', 'ignore', 'inherit'] }),
    )
    onTestFinished(() => {
      for (const child of processes) child.kill('SIGKILL')
    })
    const ends = Promise.all(processes.map(async (child) => (await once(child, 'exit'))[0]))
    const ended = () => processes.filter(({ exitCode }) => exitCode === 0).length

    await expect.poll(async () => [ended(), await countLockWaiters(rowsFrom(pool))], soon).toEqual([1, 1])
    // The process that is left may be deriving with its other thread.
    for (const profileId of others)
      await expect.poll(async () => (await rowsOf(world, profileId)).length, soon).toBeGreaterThan(10)
    await other.query('commit')
    await other.end()

    expect(await ends).toEqual([0, 0])
    for (const [index, profileId] of profiles.entries())
      expect(await servedRecords(world, profileId)).toEqual(
        recordsAtOnce(profileId, people[index % 4] ?? [], world.clock.now),
      )
  })
})
