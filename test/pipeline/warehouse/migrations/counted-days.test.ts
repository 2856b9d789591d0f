import { expect } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../../src/base/time/units.ts'
import { type StreamName, streamByName } from '../../../support/stream-by-name.ts'
import { scoresReading, test, type Warehouse } from '../../../support/test-warehouse.ts'

/** A sequence of whole numbers below a bound, the same in each run. */
function sequence(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

const offsets = [0, 60, 120, 330, 345, 720, 780, 840, -60, -210, -480, -600, -720]

/** An instant in the writing of a place that is this many minutes ahead of UTC. */
function written(atMs: number, offsetMin: number): string {
  const size = Math.abs(offsetMin)
  const two = (n: number) => String(n).padStart(2, '0')
  const zone = `${offsetMin < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
  return new Date(atMs + offsetMin * MINUTE).toISOString().slice(0, 19) + zone
}

/** Records of a person who travels and whose clock changes, at any hour of the day, some in a text with spaces. */
function recordsOf(stream: StreamName, seed: number, firstMs: number) {
  const draw = sequence(seed)
  return Array.from({ length: 60 }, (_, n) => {
    const offset = offsets[draw(offsets.length)] ?? 0
    const startMs = firstMs + draw(30) * DAY + (draw(3) === 0 ? draw(1440) * MINUTE : -offset * MINUTE)
    const lengthMs = [DAY, 7 * DAY, 6 * HOUR, 36 * HOUR, 60 * HOUR][draw(5)] ?? DAY
    const [startDateTime, endDateTime] = [written(startMs, offset), written(startMs + lengthMs, offset)]
    const common = {
      startDateTime,
      endDateTime,
      name: `n${n}`,
      category: 'c',
      source: 's',
      value: String(draw(900) / 10),
    }
    const kinds = {
      scores: { type: ['sleep', 'activity'][draw(2)], scoreDateTime: startDateTime, value: draw(100) / 100 },
      biomarkers: {
        ...common,
        type: ['steps', 'sleep_duration', 'unheard_of', 'weight'][draw(4)],
        periodicity: ['weekly', 'intraday', 'daily', 'daily', 'daily'][draw(5)],
        aggregation: 'total',
        value: draw(9) === 0 ? 'many' : common.value,
      },
      archetypes: { ...common, periodicity: 'weekly' },
      trends: { ...common, trendStartDateTime: startDateTime, trendEndDateTime: endDateTime, periodicity: 'weekly' },
      comparisons: { ...common, periodicity: 'daily' },
      tags: { ...common, type: 'event' },
    }
    const fields = Object.entries(kinds).find(([name]) => name === stream)?.[1] ?? {}
    return { raw: draw(4) === 0 ? JSON.stringify(fields, null, 1) : JSON.stringify(fields), fields }
  })
}

const streams = ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons', 'tags'] as const

async function fillPeople(warehouse: Warehouse): Promise<void> {
  const { writer, rows, startedAtMs } = warehouse
  const firstMs = startedAtMs - (startedAtMs % DAY) - 35 * DAY
  const names = ["o'neil", 'a "quoted" name', 'ünï', 'dan', 'without anything']
  const ids = await warehouse.addProfiles(...names)
  await rows(`update vitalsync.profiles set wanted_from = $1`, [new Date(firstMs - 3 * DAY)])
  for (const [person, profileId] of ids.slice(0, 4).entries()) {
    for (const [n, stream] of streams.entries()) {
      const records = recordsOf(stream, 1 + person * 100 + n, firstMs)
      const reading = scoresReading({ profileId, sentAtMs: startedAtMs, records: [], stream: streamByName(stream) })
      await writer.store({ ...reading, window: { startMs: firstMs - DAY, endMs: startedAtMs }, records })
    }
  }
  for (const table of streams) await rows(`update vitalsync.${table} set gone_at = now() where hashtext(body) % 7 = 0`)
}

/** The expected rows of `warehouse.person_days`. */
const personDaysSql = `
  select p.external_id, d.day as local_date, max(d.score) filter (where d.type = 'sleep') as sleep,
    max(d.score) filter (where d.type = 'activity') as activity, max(d.number) filter (where d.type = 'steps') as steps,
    max(d.number) filter (where d.type = 'sleep_duration') as sleep_duration, max(d.number) filter (where d.type = 'weight') as weight
  from (
    select profile_id, local_date as day, type, value as score, null::float8 as number from vitalsync.scores where gone_at is null
    union all
    select profile_id, local_date, type, null, case when value ~ '^[0-9.]+$' then value::float8 end
    from vitalsync.biomarkers where gone_at is null and periodicity = 'daily') d
  join vitalsync.profiles p on p.id = d.profile_id group by 1, 2`

const daysOf = (stream: string, firstDay: string, lastDay = firstDay) => `
  select profile_id, '${stream}' as stream, generate_series(${firstDay}, ${lastDay}, '1 day')::date as day
  from vitalsync.${stream} where gone_at is null`

const daysOfPeriods = (stream: string, column: (end: string) => string) =>
  daysOf(
    stream,
    'local_date',
    `local_date + greatest(round(extract(epoch from ${column('end')} - ${column('start')}) / 86400)::int, 1) - 1`,
  )

const plain = (end: string) => `${end}_date_time`

/** The expected counts of `warehouse.days`: each record counts for each of its days. */
const daysSql = `
  select p.external_id, d.stream, d.day as local_date, count(*)::int as rows from (
    ${[
      daysOf('scores', 'local_date'),
      daysOf('biomarkers', 'local_date'),
      daysOf('comparisons', 'local_date'),
      daysOfPeriods('archetypes', plain),
      daysOfPeriods('trends', (end) => `trend_${end}_date_time`),
      daysOfPeriods('tags', plain),
    ].join(' union all ')}) d
  join vitalsync.profiles p on p.id = d.profile_id
  where d.day between (p.wanted_from at time zone 'UTC')::date and (now() at time zone 'UTC')::date + 1 group by 1, 2, 3`

/** The number of rows that only one of the two queries gives, and of all expected rows. */
async function compare(
  { rows }: Warehouse,
  expected: string,
  given: string,
): Promise<{ differing: number; all: number }> {
  const differing = `select 1 from ((${expected}) except all (${given})) x union all select 1 from ((${given}) except all (${expected})) y`
  const [found] = await rows(
    `select (select count(*) from (${differing}) d)::int as differing, (select count(*) from (${expected}) a)::int as all`,
  )
  return { differing: Number(found?.['differing']), all: Number(found?.['all']) }
}

test('the views count each record for the day that its text shows, in any zone and at any hour', async ({
  warehouse,
}) => {
  await fillPeople(warehouse)
  const { rows } = warehouse
  const startDate = `left(body::json ->> 'startDateTime', 10)::date`
  const isNight = `periodicity in ('daily', 'intraday') and substr(body::json ->> 'startDateTime', 12, 2) >= '12'`

  const wrong = await rows(
    `select local_date, body from vitalsync.biomarkers
     where local_date is distinct from ${startDate} + case when ${isNight} then 1 else 0 end`,
  )
  expect(wrong).toEqual([])
  const nights = `select periodicity, count(*)::int as n from vitalsync.biomarkers where local_date > ${startDate} group by 1 order by 1`
  expect((await rows(nights)).map(({ periodicity }) => periodicity)).toEqual(['daily', 'intraday'])

  const personDays = `select external_id, local_date, sleep, activity, steps, sleep_duration, weight from warehouse.person_days`
  const persons = await compare(warehouse, personDaysSql, personDays)
  expect(persons.differing).toBe(0)
  expect(persons.all).toBeGreaterThan(50)
  const days = await compare(
    warehouse,
    daysSql,
    'select external_id, stream, local_date, rows from warehouse.days where rows > 0',
  )
  expect(days.differing).toBe(0)
  expect(days.all).toBeGreaterThan(50)
})
