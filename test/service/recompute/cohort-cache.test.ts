import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { createCohortCache } from '../../../src/service/recompute/cohort-cache.ts'
import { readProfileMeans } from '../../../src/service/store/stored-cohorts.ts'
import { test } from '../../support/fixtures.ts'
import { type RecomputeWorld, withRecompute } from './recompute-world.ts'

const at = '2026-11-18T15:00:00Z'
const now = new Date(at)

/**
 * An account with this many people, who slept 400, 401, 402 … minutes in the mean of two nights of the last 30 days; all but the first are
 * women of 34 to 36. A minute stands wherever a cohort does not look: in earlier nights, in weeks and in comparisons.
 */
async function account({ pool }: RecomputeWorld, people: number): Promise<string> {
  const accountId = randomUUID()
  await pool.query('insert into service.accounts values ($1, $2, now())', [accountId, accountId])
  await pool.query(
    `with people as (
       insert into service.profiles (profile_id, account_id, external_id, search_text, created_at)
       select gen_random_uuid(), $1, n::text, n::text, now() from generate_series(0, $2 - 1) n
       returning profile_id, external_id::int as n
     ), about as (
       insert into service.demographics
       select profile_id, jsonb_build_object('gender', 'Female', 'age', 34 + n % 3), now() from people where n > 0
     )
     insert into service.derived (profile_id, id, kind, name, category, periodicity, period_start, period_end, created_at, changed_at, body)
     select profile_id, gen_random_uuid(), kind, 'sleep_duration', 'sleep', periodicity, day, day, now(), now(),
            json_build_object('value', (case when more is null then 1 else 400 + n + more end)::text)
     from people, (values
       ('biomarker', 'daily', '2026-11-17T00:00Z'::timestamptz, -10), ('biomarker', 'daily', '2026-10-19T15:00Z', 10),
       ('biomarker', 'daily', '2026-10-19T14:59Z', null), ('biomarker', 'daily', '2026-09-02T00:00Z', null),
       ('biomarker', 'weekly', '2026-11-16T00:00Z', null), ('comparison', 'daily', '2026-11-17T00:00Z', null)
     ) records (kind, periodicity, day, more)`,
    [accountId, people],
  )
  return accountId
}

test('fifty people make a cohort: one mean a person, of the last month', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const cohorts = createCohortCache({ pool: world.pool, maxAgeMs: 3_600_000 })

    const cohort = await cohorts.of(await account(world, 50), now)

    // 400 to 449: the median is 424.5, the 5th percentile 402.45.
    expect(cohort?.all['sleep_duration']).toMatchObject({
      n: 50,
      values: expect.arrayContaining([400, 402.45, 424.5, 449]),
    })
    expect(cohort?.cells['Female 30']?.['sleep_duration']?.n).toBe(49)
  })
})

test('each account has a cohort of its own people', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const open = () => createCohortCache({ pool: world.pool, maxAgeMs: 3_600_000 })
    const accountIds = [await account(world, 60), await account(world, 50)]
    const sizes = async () => {
      const cohorts = []
      for (const accountId of accountIds) cohorts.push(await open().of(accountId, now))
      return cohorts.map((cohort) => cohort?.all['sleep_duration']?.n)
    }

    expect(await sizes()).toEqual([60, 50])
    expect(await sizes()).toEqual([60, 50])
  })
})

test('a cohort of an account with more people than are read is of the same people each time', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const { pool } = world
    const accountId = await account(world, 20)
    const { rows } = await pool.query(
      'select 400 + external_id::int as mean from service.profiles where account_id = $1 order by profile_id limit 5',
      [accountId],
    )

    const means = await readProfileMeans(pool, { accountId, sinceAt: new Date('2026-10-19T15:00Z'), profilesMax: 5 })

    expect(means.map(({ mean }) => mean).toSorted()).toEqual(rows.map(({ mean }) => mean).toSorted())
  })
})

test('forty-nine people make none, and nothing about them is stored', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const accountId = await account(world, 49)

    const cohort = await createCohortCache({ pool: world.pool, maxAgeMs: 3_600_000 }).of(accountId, now)

    expect(cohort).toEqual({ all: {}, cells: { 'Female 30': {} } })
    const { rows } = await world.pool.query('select body from service.cohorts where account_id = $1', [accountId])
    expect(JSON.parse(rows[0]?.body)).toEqual(cohort)
  })
})

test('a cohort is computed once an hour at most, whichever process asks', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const accountId = await account(world, 50)
    const open = () => createCohortCache({ pool: world.pool, maxAgeMs: 3_600_000 })
    const after = (ms: number) => open().of(accountId, new Date(now.getTime() + ms))
    const first = await after(0)
    expect(first?.all['sleep_duration']?.values[0]).toBe(400)

    expect(await after(3_599_999)).toEqual(first)
    // The first night is now longer ago than the 30 days.
    const second = await after(3_600_000)
    expect(second?.all['sleep_duration']?.values[0]).toBe(390)
    await world.pool.query('delete from service.derived')

    expect(await after(7_199_999)).toEqual(second)
    expect((await after(7_200_000))?.all).toEqual({})
  })
})
