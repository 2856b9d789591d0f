import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { evidenceOfLog } from '../../../../src/base/contract/log-evidence.ts'
import { DAY, HOUR, MINUTE } from '../../../../src/base/time/units.ts'
import type { OutboxItem } from '../../../../src/pipeline/transfer/parcel.ts'
import { setCohorts } from '../../../../src/pipeline/warehouse/profiles/stored-profiles.ts'
import { listAdherence } from '../../../../src/pipeline/warehouse/silence/list-adherence.ts'
import { createSeededRandom } from '../../../../src/service/sandbox/people/seeded-random.ts'
import { test } from '../../../support/test-warehouse.ts'

const firstMs = Date.parse('2026-03-02T00:00:00Z') // a Monday
const instant = (ms: number) => new Date(ms).toISOString().replace('.000Z', '+00:00')

function log(profileId: string, fields: { dataType: string; logType: string }, [fromMs, toMs]: [number, number]) {
  const dates = { startDateTime: instant(fromMs), endDateTime: instant(toMs) }
  const evidence = evidenceOfLog({ ...fields, ...dates, value: 60, deviceType: 'watch', periodicity: null })
  const itemKey = `${fields.dataType} ${fromMs}`
  return { profileId, stream: 'data-logs', itemKey, body: itemKey, startAtMs: fromMs, endAtMs: toMs, evidence }
}

/**
 * A worn watch takes the heart rate every five minutes, fails now and then, and counts some steps. The wear begins and ends at
 * any minute.
 */
function dayOfLogs(profileId: string, number: number) {
  const random = createSeededRandom('wear', profileId, number)
  const startMs = firstMs + number * DAY + random.integer(5 * 60, 9 * 60) * MINUTE
  const wornMinutes = random.integer(0, 14 * 60)
  const logs: OutboxItem[] = []
  for (let atMs = startMs; atMs < startMs + wornMinutes * MINUTE; atMs += 5 * MINUTE) {
    if (!random.chance(0.03)) logs.push(log(profileId, { dataType: 'heart_rate', logType: 'heart' }, [atMs, atMs]))
    if (random.chance(0.1))
      logs.push(log(profileId, { dataType: 'steps', logType: 'activity' }, [atMs, atMs + 5 * MINUTE]))
  }
  return { wornMinutes, logs }
}

test('wear differs from the planned wear by five percent at most, in the median', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const days = Array.from({ length: 60 }, (_, number) => dayOfLogs(ada, number))
  await warehouse.outbox.add(days.flatMap(({ logs }) => logs))

  const wear = await warehouse.rows(
    `select local_date - date '2026-03-02' as number, worn_minutes, heart_minutes, method from warehouse.wear order by 1`,
  )

  const errors = wear.map(({ number, worn_minutes }) => {
    const planned = days[Number(number)]?.wornMinutes ?? 0
    return Math.abs(Number(worn_minutes) - planned) / planned
  })
  const worn = days.filter(({ wornMinutes }) => wornMinutes > 60)
  expect(wear.length).toBeGreaterThanOrEqual(worn.length)
  expect(errors.toSorted((a, b) => a - b)[Math.floor(errors.length / 2)]).toBeLessThanOrEqual(0.05)
  expect(wear.filter(({ method }) => method === 'heart+steps').length).toBeGreaterThan(40)
  expect(wear.filter((day) => Number(day['heart_minutes']) > Number(day['worn_minutes']))).toEqual([])
})

test('days with enough wear are valid, weeks with enough days, and adherence is that of the cohort', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob', 'carl')
  await setCohorts(warehouse.pool, [
    { externalId: 'ada', cohort: 'b' },
    { externalId: 'bob', cohort: 'a' },
    { externalId: 'carl', cohort: 'c' },
  ])
  const rowOfBob = () => warehouse.rows('select xmin::text, ctid::text from vitalsync.profiles where id = $1', [bob])
  const before = await rowOfBob()
  await setCohorts(warehouse.pool, [
    { externalId: 'ada', cohort: 'a' },
    { externalId: 'bob', cohort: 'b' },
    { externalId: 'bob', cohort: 'a' },
    { externalId: 'carl' },
    { externalId: 'nobody', cohort: 'a' },
  ])
  expect(await rowOfBob()).toEqual(before)
  await warehouse.rows("update vitalsync.profiles set wanted_from = '2026-03-02'")
  const wornFor = (profileId: string, day: number, minutes: number) =>
    log(profileId, { dataType: 'oxygen_saturation', logType: 'oxygen' }, [
      firstMs + day * DAY + 8 * HOUR,
      firstMs + day * DAY + 8 * HOUR + minutes * MINUTE,
    ])
  await warehouse.outbox.add([
    ...[0, 1, 2, 6].map((day) => wornFor(ada, day, 600)),
    ...[0, 1, 2].map((day) => wornFor(bob, day, 600)),
    wornFor(bob, 3, 599),
  ])

  const weeks = await warehouse.rows(
    `select external_id, cohort, valid_days, days, valid from warehouse.valid_weeks
     where measure = 'activity' and week = '2026-03-02' order by 1`,
  )
  expect(weeks).toEqual([
    { external_id: 'ada', cohort: 'a', valid_days: 4, days: 7, valid: true },
    { external_id: 'bob', cohort: 'a', valid_days: 3, days: 7, valid: false },
    { external_id: 'carl', cohort: 'c', valid_days: 0, days: 7, valid: false },
  ])
  const [adherence] = await warehouse.rows(
    `select people, people_valid, days, valid_days, adherence from warehouse.adherence
     where measure = 'activity' and week = '2026-03-02' and cohort = 'a'`,
  )
  expect(adherence).toEqual({ people: 2, people_valid: 1, days: 14, valid_days: 7, adherence: 0.5 })
  await warehouse.rows("update vitalsync.wear_measures set minutes_min = 599 where measure = 'activity'")
  const [row] = await warehouse.rows(
    `select worn_minutes, needed_minutes, valid from warehouse.valid_days
     where external_id = 'bob' and measure = 'activity' and local_date = '2026-03-05'`,
  )
  expect(row).toEqual({ worn_minutes: 599, needed_minutes: 599, valid: true })
})

test('of many cohorts the five largest are listed, for twelve weeks, and of 2,000 people at most', async ({
  warehouse,
}) => {
  const addCohort = (cohort: string, from: number, to: number) =>
    warehouse.rows(
      `insert into vitalsync.profiles (id, external_id, state, wanted_from, cohort)
       select n, n, 'active', now() - interval '200 days', $1 from generate_series($2::int, $3) n`,
      [cohort, from, to],
    )
  for (const size of [1, 2, 3, 4, 5, 6]) await addCohort(`of-${size}`, size * 10 + 1, size * 11)
  await warehouse.rows(
    `insert into vitalsync.log_days (profile_id, local_date, kind, minutes, first_at, last_at, first_parcel, last_parcel, device, revised)
     select 21, (now() at time zone 'UTC')::date - n, 'sleep', ~b'0'::bit(1440), now(), now(), 1, 1, '', false from generate_series(1, 100) n`,
  )

  const found = await listAdherence(warehouse.pool, 'sleep')

  expect(found.measures).toEqual(['activity', 'heart', 'sleep'])
  expect(found.cohorts.map(({ name }) => name)).toEqual(['of-6', 'of-5', 'of-4', 'of-3', 'of-2'])
  expect(found.weeks).toHaveLength(12)
  expect(found.cohorts.map(({ values }) => values.slice(0, 11))).toEqual(
    [0, 0, 0, 0, 0.5].map((share) => Array.from({ length: 11 }, () => share)),
  )
  await addCohort('large', 1000, 2982)
  expect(await listAdherence(warehouse.pool, 'sleep')).toMatchObject({ isTooLarge: true, cohorts: [] })
  await warehouse.rows('delete from vitalsync.profiles where id = 2982')
  expect(await listAdherence(warehouse.pool, 'sleep')).toMatchObject({ isTooLarge: false })
})

test('the documents have the measures as they are', async ({ warehouse }) => {
  const page = readFileSync('docs/reference/wear.md', 'utf8')
  const rows = await warehouse.rows('select * from vitalsync.wear_measures order by measure')
  const lines = rows.map(
    ({ measure, kinds, minutes_min, days_min, source }) =>
      `| \`${measure}\` | ${String(kinds).replaceAll(',', ', ')} | ${minutes_min} | ${days_min} | ${source} |`,
  )
  expect(page.match(/^\| `\w+` .*/gm)?.toSorted()).toEqual(lines)
})
