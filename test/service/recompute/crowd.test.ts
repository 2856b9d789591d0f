import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect } from 'vitest'
import type { DataLogInput } from '../../../src/base/contract/data-log.ts'
import { namedUuid } from '../../../src/base/text/digest.ts'
import { startRecompute } from '../../../src/service/recompute/start-recompute.ts'
import { createDerivedReader } from '../../../src/service/store/derived-reader.ts'
import { test } from '../../support/fixtures.ts'
import { daysFrom } from '../derive/made-logs.ts'
import { createProfile, quiet, recordsAtOnce, servedRecords, upload, withRecompute } from './recompute-world.ts'

const crowd = 24
const at = '2026-11-18T15:00:00Z'
const days = daysFrom('2026-10-19', 30)

/** Thirty days of a person; the persons differ in their steps. */
function lived(person: number): DataLogInput[] {
  const make = (
    kind: readonly [logType: 'activity' | 'sleep' | 'heart', dataType: string],
    start: string,
    [minutes, value]: readonly [number, number],
  ): DataLogInput => ({
    id: namedUuid('2c1bb5a1-5c0e-5a0b-8d5f-6a7f2f9f0a11', [String(person), kind[1], start]),
    logType: kind[0],
    dataType: kind[1],
    value,
    unit: 'count',
    source: 'app',
    recordingMethod: 'automatically_recorded',
    deviceType: 'watch',
    startDateTime: start,
    endDateTime: new Date(Date.parse(start) + minutes * 60_000).toISOString(),
  })
  return days.flatMap((day, place) => [
    make(['sleep', 'sleep_stage_sleeping'], `${day}T00:30:00Z`, [400 + ((person + place) % 60), 1]),
    make(['activity', 'steps'], `${day}T08:00:00Z`, [60, 1000 + person]),
    make(['activity', 'steps'], `${day}T17:00:00Z`, [60, 3000 + 10 * place]),
    make(['heart', 'resting_heart_rate'], `${day}T07:00:00Z`, [0, 50 + (place % 7)]),
  ])
}

/** Reads as long as it is wanted: how many reads, their median, and the delay of the event loop meanwhile, its 99th percentile. */
async function timesOf(read: (turn: number) => Promise<unknown>, isWanted: (turn: number) => boolean) {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const times: number[] = []
  for (let turn = 0; isWanted(turn); turn += 1) {
    const startedAt = performance.now()
    await read(turn)
    times.push(performance.now() - startedAt)
  }
  delay.disable()
  const medianMs = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
  return { reads: times.length, medianMs, delayMs: delay.percentile(99) / 1e6 }
}

test('a crowd that uploads a month at once loses no day and delays no read', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const { pool, databaseUrl, clock } = world
    const ticking = await startRecompute({ pool, databaseUrl, log: quiet, clock: () => clock.now, everyMs: 50 })
    const people = await Promise.all(
      Array.from({ length: crowd }, async (_, person) => ({ person, profileId: await createProfile(pool) })),
    )
    const reader = createDerivedReader(pool, 0)
    const read = (turn: number) =>
      reader.read({ profile: { profileId: people[turn % crowd]?.profileId ?? '' }, kind: 'score', filter: {} })

    await Promise.all(people.map(({ person, profileId }) => upload(world, profileId, lived(person))))
    let done = false
    const deriving = ticking.idle().then(() => {
      done = true
    })
    const meanwhile = await timesOf(read, () => !done)
    await deriving
    // A busy machine makes everything slow: the same reads when nothing is derived say how slow.
    const afterwards = await timesOf(read, (turn) => turn < 10 * crowd)
    await ticking.close()

    expect(meanwhile.reads).toBeGreaterThan(crowd)
    expect(meanwhile.medianMs).toBeLessThan(Math.max(100, 5 * afterwards.medianMs))
    // Deriving runs in its own thread: it never blocks this thread for long.
    expect(meanwhile.delayMs).toBeLessThan(Math.max(250, 5 * afterwards.delayMs))
    for (const { person, profileId } of people) {
      const said = await servedRecords(world, profileId)
      expect(said.size).toBeGreaterThan(400)
      if (person % 10 === 0) expect(said).toEqual(recordsAtOnce(profileId, lived(person), clock.now))
    }
    const { rows } = await pool.query('select count(*)::int as left from service.dirty_days')
    expect(rows[0]?.left).toBe(0)
  })
})
