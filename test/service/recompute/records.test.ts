import { describe, expect } from 'vitest'
import type { DataLogInput } from '../../../src/base/contract/data-log.ts'
import { DAY } from '../../../src/base/time/units.ts'
import { recomputeProfile } from '../../../src/service/recompute/recompute-profile.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { readMarks } from '../../../src/service/store/derivation-queue.ts'
import { test } from '../../support/fixtures.ts'
import { createProfile, rowsOf, upload, withRecompute } from './recompute-world.ts'

const at = '2026-11-18T15:00:00Z'
const now = Date.parse(at)
const [worker] = samplePeople('recompute', 8)
if (!worker) throw new Error('the sample people are gone')
const five = logsOf(worker, { startMs: now - 35 * DAY, endMs: now })
const dayOf = (log: DataLogInput) => log.startDateTime.slice(0, 10)

describe('a record is written only when its content changes', () => {
  test('a lower-ranked copy changes no row, and its marks are deleted', async ({ serviceUrl }) => {
    const copy = five
      .filter((log) => dayOf(log) === '2026-11-10' && log.dataType === 'steps')
      .map((log, place) => ({
        ...log,
        id: `7b1d3a54-0f5e-4d2c-9d7a-${String(place).padStart(12, '0')}`,
        deviceType: 'unknown',
        source: 'copy',
      }))
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, five)
      await world.recompute.idle()
      const before = await rowsOf(world, profileId)
      world.clock.now += 60_000

      await upload(world, profileId, copy)
      await world.recompute.idle()

      expect(copy.length).toBeGreaterThan(10)
      expect(await rowsOf(world, profileId)).toEqual(before)
      expect(await readMarks(world.pool, profileId, 100)).toEqual([])
    })
  })

  test('a changed record keeps its id and createdAt and counts its version up; its neighbours stay unchanged', async ({
    serviceUrl,
  }) => {
    const more = {
      ...five[0],
      id: '7b1d3a54-0f5e-4d2c-9d7a-2f8f3f1c0004',
      logType: 'body',
      dataType: 'waist_circumference',
      unit: 'm',
      value: 0.9,
      startDateTime: '2026-11-10T08:00:00+00:00',
      endDateTime: '2026-11-10T08:00:00+00:00',
    } as DataLogInput
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, [...five, more])
      await world.recompute.idle()
      const before = new Map((await rowsOf(world, profileId)).map((row) => [row.id, row]))
      world.clock.now += 60_000

      await upload(world, profileId, [{ ...more, value: 0.8 }])
      await world.recompute.idle()

      const after = await rowsOf(world, profileId)
      const changed = after.filter((row) => row.changed_at.getTime() !== before.get(row.id)?.changed_at.getTime())
      // Known from the 10th to the 18th, nine days; and of the week of the 9th, the only one that is over.
      expect(new Set(changed.map(({ body }) => body['type']))).toEqual(new Set(['waist_circumference']))
      expect(changed).toHaveLength(9 + 1)
      for (const row of changed) {
        expect(row.version).toBe(2)
        expect(row.created_at).toEqual(before.get(row.id)?.created_at)
      }
      expect(after.map(({ id }) => id)).toEqual([...before.keys()])
    })
  })

  test('a score carries its version and createdAt', async ({ serviceUrl }) => {
    const walk = {
      ...five[0],
      id: '7b1d3a54-0f5e-4d2c-9d7a-2f8f3f1c0005',
      logType: 'activity',
      dataType: 'steps',
      unit: 'count',
      value: 20000,
      startDateTime: '2026-11-10T12:00:00+00:00',
      endDateTime: '2026-11-10T13:00:00+00:00',
      deviceType: 'watch',
    } as DataLogInput
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, [
        walk,
        ...five.filter((log) => dayOf(log) === '2026-11-10' && log.dataType === 'heart_rate'),
      ])
      await world.recompute.idle()
      world.clock.now += 60_000
      await upload(world, profileId, [{ ...walk, value: 4000 }])
      await world.recompute.idle()

      const [score] = (await rowsOf(world, profileId)).filter(({ kind }) => kind === 'score')
      expect(score?.version).toBe(2)
      expect(score?.body).toMatchObject({ version: 2, createdAt: '2026-11-18T15:00:00.000Z' })
    })
  })
})

test('more logs than fit are read in parts, and a day that does not fit fails with a hint', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const [whole, pieces] = [await createProfile(world.pool), await createProfile(world.pool)]
    await upload(world, whole, five)
    await upload(world, pieces, five)
    const task = { nowAt: new Date(now), cohortOf: async () => null }
    await recomputeProfile(world.pool, { ...task, profileId: whole })

    let portions = 0
    const inParts = async (limits: { logsMax: number; budgetMs: number }) => {
      for (; (await readMarks(world.pool, pieces, 1)).length > 0; portions += 1)
        await recomputeProfile(world.pool, { ...task, profileId: pieces, ...limits })
    }

    await expect(inParts({ logsMax: 1000, budgetMs: 20 })).rejects.toThrow('more than 1000 logs')
    await inParts({ logsMax: 20_000, budgetMs: 60 })

    expect(portions).toBeGreaterThan(4)
    // Ids depend on the profile, and versions on the portions; everything else is equal.
    const said = async (profileId: string) =>
      (await rowsOf(world, profileId))
        .map(({ body }) => JSON.stringify(body).replaceAll(/"id":"[^"]+"|"version":\d+/g, ''))
        .toSorted()
    expect(await said(pieces)).toEqual(await said(whole))
  })
})
