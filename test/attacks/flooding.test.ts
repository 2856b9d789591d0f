import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/base/time/units.ts'
import { startRecompute } from '../../src/service/recompute/start-recompute.ts'
import { createServicePool } from '../../src/service/store/service-pool.ts'
import { quiet } from '../service/recompute/recompute-world.ts'
import {
  accountAuth,
  call,
  registerProfile,
  type ServiceWorld,
  stepsLog,
  withService,
} from '../service/service-world.ts'
import { test } from '../support/fixtures.ts'

const uploadPath = '/api/v1/profile/data/log'
const dayStartMs = (daysAgo: number) => Math.floor(Date.now() / DAY) * DAY - daysAgo * DAY

async function upload(world: ServiceWorld, auth: string, logs: Array<Record<string, unknown>>): Promise<void> {
  const answer = await call(world, uploadPath, { method: 'POST', auth, body: logs })
  expect(answer.status).toBe(200)
}

const logAt = (startMs: number, lengthMs: number, more: Record<string, unknown> = {}) =>
  stepsLog({
    id: randomUUID(),
    startDateTime: new Date(startMs).toISOString(),
    endDateTime: new Date(startMs + lengthMs).toISOString(),
    ...more,
  })

/** Sixty days of walks, nights and pulses. */
const sixtyDays = () =>
  Array.from({ length: 60 }, (_, place) => {
    const startMs = dayStartMs(place + 2)
    return [
      logAt(startMs + 8 * HOUR, HOUR),
      logAt(startMs + 17 * HOUR, HOUR),
      logAt(startMs + 20 * MINUTE, 7 * HOUR, { logType: 'sleep', dataType: 'sleep_stage_sleeping', value: 1 }),
      logAt(startMs + 7 * HOUR, 0, { logType: 'heart', dataType: 'resting_heart_rate', value: 55 }),
    ]
  }).flat()

const marksOf = async (world: ServiceWorld, externalIds: readonly string[]) => {
  const { rows } = (await world.inside?.sql.query<{ marks: number }>(
    `select count(*)::int as marks from service.dirty_days join service.profiles using (profile_id)
     where external_id = any($1)`,
    [externalIds],
  )) ?? { rows: [] }
  return rows[0]?.marks ?? -1
}

test('logs that span a year mark no day, and those of a day mark those they touch', async ({ serviceUrl }) => {
  await withService(serviceUrl, {}, async (world) => {
    const flood = await registerProfile(world)
    for (let number = 0; number < 3; number += 1) {
      const years = Array.from({ length: 1000 }, (_, at) => logAt(dayStartMs(366 * (at + 1)), 366 * DAY - HOUR))
      await upload(world, flood.auth, years.slice(0, 120))
    }
    expect(await marksOf(world, [flood.externalId])).toBe(0)

    const days = Array.from({ length: 1000 }, (_, at) => logAt(dayStartMs(3 * at), 25 * HOUR))
    await upload(world, flood.auth, days)
    expect(await marksOf(world, [flood.externalId])).toBeLessThanOrEqual(3000)
  })
})

test('beside an account that floods, the days of another are derived while most of the flood waits', async ({
  serviceUrl,
}) => {
  await withService(serviceUrl, {}, async (world) => {
    const account = await accountAuth(world)
    const crowd: string[] = []
    for (let number = 0; number < 12; number += 1) {
      const person = await registerProfile(world, { account })
      await upload(world, person.auth, sixtyDays())
      crowd.push(person.externalId)
    }
    const neighbour = await registerProfile(world, { account: await accountAuth(world, world.other) })
    await upload(world, neighbour.auth, sixtyDays())
    const marked = await marksOf(world, crowd)
    expect(marked).toBeGreaterThan(600)

    const pool = createServicePool({
      databaseUrl: serviceUrl,
      log: quiet,
      connectionsMax: 4,
      statementTimeoutMs: 60_000,
    })
    const recompute = await startRecompute({ pool, databaseUrl: serviceUrl, log: quiet, clock: Date.now, everyMs: 50 })
    try {
      await expect.poll(() => marksOf(world, [neighbour.externalId]), { timeout: 240_000, interval: 20 }).toBe(0)
      expect((await marksOf(world, crowd)) / marked).toBeGreaterThan(0.5)
    } finally {
      await recompute.close()
      await pool.end()
    }
  })
})

test('the pages of a search list each profile once, while others are registered and deleted', async ({
  serviceUrl,
}) => {
  await withService(serviceUrl, {}, async (world) => {
    const auth = await accountAuth(world)
    const [account] =
      (await world.inside?.sql.query(`select account_id from service.accounts where name = 'first'`))?.rows ?? []
    const add = (from: number, to: number, prefix: string) =>
      world.inside?.sql.query(
        `insert into service.profiles (profile_id, account_id, external_id, created_at, search_text)
         select gen_random_uuid(), $1, id, now(), id
         from (select $4 || to_char(n, 'FM0000') as id from generate_series($2::int, $3::int) n) i`,
        [account.account_id, from, to, prefix],
      )
    await add(1, 400, 'm')
    const page = async (number: number) => {
      const path = `/api/v1/account/profile/search?pageSize=100&currentPage=${number}`
      const { json } = await call(world, path, { auth })
      return { names: json.items.map((item: { externalId: string }) => item.externalId), count: json.totalCount }
    }

    const seen = [...(await page(1)).names, ...(await page(2)).names]
    await add(1, 30, 'a')
    await world.inside?.sql.query(`delete from service.profiles where external_id between 'm0001' and 'm0060'`)
    const third = await page(3)
    seen.push(...third.names, ...(await page(4)).names)

    expect(seen).toEqual(Array.from({ length: 400 }, (_, at) => `m${String(at + 1).padStart(4, '0')}`))
    expect(third.count).toBe(400)
    // From the beginning it is as it is now.
    expect((await page(1)).names.slice(0, 31)).toEqual([
      ...Array.from({ length: 30 }, (_, at) => `a${String(at + 1).padStart(4, '0')}`),
      'm0061',
    ])
    expect((await page(1)).count).toBe(370)
  })
})
