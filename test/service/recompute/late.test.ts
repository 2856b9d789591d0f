import { describe, expect } from 'vitest'
import type { DataLogInput } from '../../../src/base/contract/data-log.ts'
import { DAY, HOUR } from '../../../src/base/time/units.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { test } from '../../support/fixtures.ts'
import {
  createProfile,
  type RecomputeWorld,
  recordsAtOnce,
  remove,
  rowsOf,
  servedRecords,
  upload,
  withRecompute,
} from './recompute-world.ts'

const at = '2026-11-18T15:00:00Z'
const now = Date.parse(at)
const [worker, , traveller] = samplePeople('recompute', 8)
if (!worker || !traveller) throw new Error('the sample people are gone')
const lived = (person: typeof worker, days: number) => logsOf(person, { startMs: now - days * DAY, endMs: now })

const five = lived(worker, 35)
const dayOf = (log: DataLogInput) => log.startDateTime.slice(0, 10)

async function served(world: RecomputeWorld, profileId: string, logs: readonly DataLogInput[]): Promise<void> {
  const said = await servedRecords(world, profileId)
  expect(said.size).toBeGreaterThan(500)
  expect(said).toEqual(recordsAtOnce(profileId, logs, world.clock.now))
}

describe('the served records are the records that all logs at once would give', () => {
  test('when the logs of a traveller come at once', async ({ serviceUrl }) => {
    const logs = lived(traveller, 63)
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, logs)

      await world.recompute.idle()

      await served(world, profileId, logs)
    })
  })

  test('when logs come in any order and are derived in between', async ({ serviceUrl }) => {
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

  test('when days come late, are corrected and are deleted', async ({ serviceUrl }) => {
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

  test('when a figure that no other day depends on is corrected three weeks later', async ({ serviceUrl }) => {
    // Floors: only the trends of the following weeks depend on that day.
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

  test('when the only session of weeks is deleted and changes no figure of later days', async ({ serviceUrl }) => {
    const steady = five.filter((log) => !log.dataType.startsWith('exercise_session_'))
    const yoga: DataLogInput & { id: string } = {
      id: '7b1d3a54-0f5e-4d2c-9d7a-2f8f3f1c0002',
      logType: 'exercise',
      dataType: 'exercise_session_yoga',
      unit: 'minute',
      value: 60,
      source: 'mat',
      recordingMethod: 'automatically_recorded',
      deviceType: 'watch',
      startDateTime: '2026-10-28T18:00:00Z',
      endDateTime: '2026-10-28T19:00:00Z',
    }
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, [...steady, yoga])
      await world.recompute.idle()
      await served(world, profileId, [...steady, yoga])

      await remove(world, profileId, [yoga])
      await world.recompute.idle()

      await served(world, profileId, steady)
    })
  })

  test('when a late log of one day belongs to the evening before', async ({ serviceUrl }) => {
    const base = {
      logType: 'sleep',
      unit: 'minute',
      source: 'phone',
      recordingMethod: 'automatically_recorded',
      deviceType: 'phone',
      value: 1,
    } as const
    const make = (
      place: number,
      log: Pick<DataLogInput, 'dataType' | 'startDateTime' | 'endDateTime'> & Partial<DataLogInput>,
    ): DataLogInput => ({
      ...base,
      id: `7b1d3a54-0f5e-4d2c-9d7b-${String(place).padStart(12, '0')}`,
      ...log,
    })
    const pulse = Array.from({ length: 288 }, (_, place) => {
      const instant = new Date(Date.parse('2026-11-10T00:00:00Z') + place * 300_000).toISOString()
      return make(place, {
        logType: 'heart',
        dataType: 'heart_rate',
        startDateTime: instant,
        endDateTime: instant,
        value: 60,
      })
    })
    const walk = make(300, {
      logType: 'activity',
      dataType: 'steps',
      startDateTime: '2026-11-10T12:00:00Z',
      endDateTime: '2026-11-10T12:05:00Z',
      value: 75,
    })
    const phone = make(301, {
      dataType: 'sleep_stage_sleeping',
      startDateTime: '2026-11-10T21:00:00Z',
      endDateTime: '2026-11-11T06:00:00Z',
    })
    // The watch has stages, so it counts: the person was not in bed before half past midnight.
    const watch = make(302, {
      dataType: 'sleep_stage_light',
      startDateTime: '2026-11-11T00:30:00Z',
      endDateTime: '2026-11-11T06:00:00Z',
      deviceType: 'watch',
      source: 'watch',
    })
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, [...pulse, walk, phone])
      await world.recompute.idle()
      const before = await servedRecords(world, profileId)

      await upload(world, profileId, [watch])
      await world.recompute.idle()

      const after = await servedRecords(world, profileId)
      expect(after).toEqual(recordsAtOnce(profileId, [...pulse, walk, phone, watch], now))
      const sedentary = (said: typeof after) =>
        [...said.values()].find((record) => record['type'] === 'activity_sedentary_duration')?.['value']
      // Awake until 21:00; afterwards no time in bed is known on that day, and 07:00 to 23:00 is used.
      expect([sedentary(before), sedentary(after)]).toEqual(['1260', '960'])
    })
  })

  test('when days pass without an upload', async ({ serviceUrl }) => {
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, five)
      await world.recompute.idle()
      const intraday = (rows: Awaited<ReturnType<typeof rowsOf>>) =>
        rows.filter(({ body }) => body['periodicity'] === 'intraday').length
      expect(intraday(await rowsOf(world, profileId))).toBeGreaterThan(0)

      for (let passed = 1; passed <= 14; passed += 1) {
        world.clock.now = now + passed * DAY
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
      world.clock.now = now + 3 * DAY
      await world.recompute.idle()
      world.clock.now = now
      await upload(world, profileId, [
        { ...five.at(-1), id: '7b1d3a54-0f5e-4d2c-9d7a-2f8f3f1c0002', dataType: 'mindfulness' } as DataLogInput,
      ])

      await world.recompute.idle()

      await served(world, profileId, five)
    })
  })

  test.for(['-11:00', '+14:00'])('when time passes over the days of a person at %s', async (offset, { serviceUrl }) => {
    const offsetOf = (text: string) => /(Z|[+-]\d\d:\d\d)$/.exec(text)?.[0] ?? ''
    const there = five.flatMap(({ startDateTime, endDateTime, ...log }) => {
      const former = offsetOf(startDateTime)
      if (offsetOf(endDateTime) !== former) return []
      const moved = (text: string) => text.replace(former, offset)
      return [{ ...log, startDateTime: moved(startDateTime), endDateTime: moved(endDateTime) }]
    })
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, there)
      for (const passed of [0, 14, 22]) {
        world.clock.now = now + passed * HOUR
        await world.recompute.idle()
        await served(world, profileId, there)
      }
    })
  })

  test('when a late log comes two days before a day whose offset the next day decides', async ({ serviceUrl }) => {
    const last = five.at(-1)
    const day = (back: number) => new Date(now - back * DAY).toISOString().slice(0, 10)
    const heart = (index: number, start: string) =>
      ({
        ...last,
        id: `7b1d3a54-0f5e-4d2c-9d7a-2f8f3f1c01${String(index).padStart(2, '0')}`,
        ...{ logType: 'heart', dataType: 'heart_rate', value: 60, unit: 'bpm' },
        ...{ startDateTime: start, endDateTime: start },
      }) as DataLogInput
    const change = [
      ...Array.from({ length: 40 }, (_, index) => heart(index, `${day(12)}T08:${index + 10}:00+02:00`)),
      heart(50, `${day(12)}T23:30:00+01:00`),
      heart(51, `${day(11)}T09:00:00+01:00`),
    ]
    const before = five.filter((log) => dayOf(log) < day(13) || dayOf(log) > day(10))
    const late = heart(52, `${day(14)}T10:00:00+02:00`)
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, [...before, ...change])
      await world.recompute.idle()
      await upload(world, profileId, [late])

      await world.recompute.idle()

      await served(world, profileId, [...before, ...change, late])
    })
  })

  test('when a height becomes known, and is deleted', async ({ serviceUrl }) => {
    const heightId = '7b1d3a54-0f5e-4d2c-9d7a-2f8f3f1c0003'
    const height = {
      ...five[0],
      id: heightId,
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
      await remove(world, profileId, [{ id: heightId }])
      await world.recompute.idle()
      await served(world, profileId, five)
    })
  })
})
