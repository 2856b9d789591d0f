import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { createCohortCache } from '../../../src/service/recompute/cohort-cache.ts'
import { test } from '../../support/fixtures.ts'
import { type RecomputeWorld, withRecompute } from './recompute-world.ts'

const at = '2026-11-18T15:00:00Z'
const now = new Date(at)

/** An account with this many women of 34 to 36, who slept 400, 401, 402 … minutes for two nights, and two nights over a month ago. */
async function account({ pool }: RecomputeWorld, people: number): Promise<string> {
  const accountId = randomUUID()
  await pool.query('insert into service.accounts values ($1, $2, now())', [accountId, accountId])
  await pool.query(
    `with people as (
       insert into service.profiles (profile_id, account_id, external_id, search_text, created_at)
       select gen_random_uuid(), $1, n::text, n::text, now() from generate_series(0, $2 - 1) n
       returning profile_id, external_id::int as n
     ), about as (
       insert into service.demographics select profile_id, jsonb_build_object('gender', 'Female', 'age', 34 + n % 3), now() from people
     )
     insert into service.derived (profile_id, id, kind, name, category, periodicity, period_start, period_end, created_at, changed_at, body)
     select profile_id, gen_random_uuid(), 'biomarker', 'sleep_duration', 'sleep', 'daily', day, day, now(), now(),
            json_build_object('value', (case when day > '2026-11-01' then 400 + n else 1 end)::text)
     from people, unnest('{2026-11-16,2026-11-17,2026-09-01,2026-09-02}'::timestamptz[]) day`,
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
    expect(cohort?.cells['Female 30']?.['sleep_duration']?.n).toBe(50)
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
    const first = await open().of(accountId, now)
    await world.pool.query('delete from service.derived')

    expect(await open().of(accountId, new Date(now.getTime() + 3_599_999))).toEqual(first)
    expect((await open().of(accountId, new Date(now.getTime() + 3_600_000)))?.all).toEqual({})
  })
})
