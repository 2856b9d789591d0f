import { describe, expect, vi } from 'vitest'
import type { DataLogInput } from '../../src/contract/data-log.ts'
import { startRecompute } from '../../src/service/recompute/recompute.ts'
import { logsOf, peopleOf } from '../../src/service/sandbox/people/people.ts'
import { writeDemographics } from '../../src/service/store/metadata.ts'
import { withTransaction } from '../../src/service/store/pool.ts'
import { eatMarks, lockProfile, readMarks } from '../../src/service/store/recompute.ts'
import { test } from '../support/fixtures.ts'
import {
  createProfile,
  quiet,
  remove,
  rowsOf,
  saidAtOnce,
  saidOf,
  upload,
  type World,
  withRecompute,
} from './profiles.ts'

vi.setConfig({ testTimeout: 90_000 })

const day = 86_400_000
const at = '2026-11-18T15:00:00Z'
const now = Date.parse(at)
const [worker, , traveller] = peopleOf('recompute', 8)
if (!worker || !traveller) throw new Error('the sample people are gone')
const lived = (person: typeof worker, days: number) => logsOf(person, { startMs: now - days * day, endMs: now })

const five = lived(worker, 35)
const dayOf = (log: DataLogInput) => log.startDateTime.slice(0, 10)

async function served(world: World, profileId: string, logs: readonly DataLogInput[]): Promise<void> {
  const said = await saidOf(world, profileId)
  expect(said.size).toBeGreaterThan(500)
  expect(said).toEqual(saidAtOnce(profileId, logs, world.clock.now))
}

describe('what is served is what all logs at once would give', () => {
  test('when they come at once, of a traveller', async ({ serviceUrl }) => {
    const logs = lived(traveller, 63)
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, logs)

      await world.recompute.idle()

      await served(world, profileId, logs)
    })
  })

  test('when they come in any order, derived in between', async ({ serviceUrl }) => {
    const parts = [0, 1, 2, 3].map((part) => five.filter((_, place) => (place * 7919) % 4 === part))
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      for (const part of parts.toReversed()) {
        await upload(world, profileId, part)
        await world.recompute.idle()
      }

      await served(world, profileId, five)
    })
  })

  test('when days come late, are corrected and are taken back', async ({ serviceUrl }) => {
    const late = five.filter((log) => dayOf(log) === '2026-10-28')
    const wrong = five.filter((log) => dayOf(log) === '2026-11-04' && log.dataType === 'steps')
    const extra = {
      ...five[0],
      id: '7b1d3a54-0f5e-4d2c-9d7a-2f8f3f1c0001',
      dataType: 'steps',
      value: 9000,
    } as DataLogInput & { id: string }
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      const first = five
        .filter((log) => !late.includes(log))
        .map((log) => (wrong.includes(log) ? { ...log, value: log.value * 3 } : log))
      await upload(world, profileId, [...first, extra])
      await world.recompute.idle()

      await upload(world, profileId, late)
      await world.recompute.idle()
      await upload(
        world,
        profileId,
        wrong.map((log) => ({ ...log, modifiedDateTime: '2026-11-17T00:00:00Z' })),
      )
      await remove(world, profileId, [extra])
      await world.recompute.idle()

      await served(world, profileId, five)
    })
  })

  test('when a figure that no other day looks at is corrected, three weeks after', async ({ serviceUrl }) => {
    // Floors: only the trends of the weeks that follow know of that day.
    const floors = five.filter((log) => dayOf(log) === '2026-10-27' && log.dataType === 'floors_climbed')
    const corrected = five.map((log) => (floors.includes(log) ? { ...log, value: log.value + 5 } : log))
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, five)
      await world.recompute.idle()
      await upload(world, profileId, corrected)

      await world.recompute.idle()

      expect(floors.length).toBeGreaterThan(0)
      await served(world, profileId, corrected)
    })
  })

  test('when time goes by, day for day, with nothing uploaded', async ({ serviceUrl }) => {
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, five)
      await world.recompute.idle()
      const intraday = (rows: Awaited<ReturnType<typeof rowsOf>>) =>
        rows.filter(({ body }) => body['periodicity'] === 'intraday').length
      expect(intraday(await rowsOf(world, profileId))).toBeGreaterThan(0)

      for (let passed = 1; passed <= 14; passed += 1) {
        world.clock.now = now + passed * day
        await world.recompute.idle()
      }

      expect(intraday(await rowsOf(world, profileId))).toBe(0)
      await served(world, profileId, five)
    })
  })

  test('when the clock is set back', async ({ serviceUrl }) => {
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, five)
      world.clock.now = now + 3 * day
      await world.recompute.idle()
      world.clock.now = now
      await upload(world, profileId, [
        { ...five.at(-1), id: '7b1d3a54-0f5e-4d2c-9d7a-2f8f3f1c0002', dataType: 'mindfulness' } as DataLogInput,
      ])

      await world.recompute.idle()

      await served(world, profileId, five)
    })
  })

  test('when a height of long ago becomes known', async ({ serviceUrl }) => {
    const height = {
      ...five[0],
      id: '7b1d3a54-0f5e-4d2c-9d7a-2f8f3f1c0003',
      logType: 'body',
      dataType: 'height',
      value: 1.8,
      unit: 'm',
      startDateTime: '2024-05-01T08:00:00Z',
      endDateTime: '2024-05-01T08:00:00Z',
    } as DataLogInput
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, five)
      await world.recompute.idle()
      await upload(world, profileId, [height])

      await world.recompute.idle()

      await served(world, profileId, [...five, height])
    })
  })
})

test('nothing is left of a profile whose logs are all taken back', async ({ serviceUrl }) => {
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
      await eatMarks(tx, profileId, seen)
    })

    expect((await readMarks(world.pool, profileId, 10)).map(({ localDay }) => localDay)).toEqual([dayOf(second)])
  })
})

test('who the person is matters: every day is derived again', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const profileId = await createProfile(world.pool)
    await upload(world, profileId, five)
    await world.recompute.idle()

    await writeDemographics(world.pool, {
      profileId,
      fields: { age: 70, gender: 'Female' },
      mode: 'replace',
      now: new Date(now),
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

test('a profile that cannot be derived stops no other, and is tried again later', async ({ serviceUrl }) => {
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
    world.clock.now += 2500
    await world.recompute.idle()
    expect((await rowsOf(world, broken)).length).toBe((await rowsOf(world, sound)).length)
  })
})

test('two at once on one database share the work and do none of it twice', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const profiles = await Promise.all(Array.from({ length: 6 }, () => createProfile(world.pool)))
    const some = lived(worker, 4)
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

test('who holds a profile holds off nobody’s upload', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const profileId = await createProfile(world.pool)
    await withTransaction(world.pool, async (tx) => {
      expect(await lockProfile(tx, profileId)).toBe(true)
      await upload(world, profileId, five.slice(0, 100))
    })
    expect((await readMarks(world.pool, profileId, 10)).length).toBeGreaterThan(0)
  })
})

test('fresh data is served within five seconds of its upload', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const { pool, databaseUrl, clock } = world
    const ticking = await startRecompute({ pool, databaseUrl, log: quiet, clock: () => clock.now })
    try {
      const profileId = await createProfile(pool)
      await upload(world, profileId, lived(worker, 2))
      await vi.waitFor(async () => expect((await rowsOf(world, profileId)).length).toBeGreaterThan(20), {
        timeout: 5000,
        interval: 50,
      })
    } finally {
      await ticking.close()
    }
  })
})
