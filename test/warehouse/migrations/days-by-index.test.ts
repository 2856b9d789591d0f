import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../src/time/units.ts'
import { fillCountedDays } from '../../../src/warehouse/readings/fill-counted-days.ts'
import { isDistributed } from '../../support/distributed-warehouse.ts'
import type { StreamName } from '../../support/stream-by-name.ts'
import { streamByName } from '../../support/stream-by-name.ts'
import { connect, scoresReading, test, type Warehouse } from '../../support/test-warehouse.ts'

const migration = (name: string) =>
  readFile(new URL(`../../../src/warehouse/migrations/${name}.sql`, import.meta.url), 'utf8')

/** The views as they were before days were found by an index: `former.days`, `former.person_days`, `former.seven_day_means`. */
async function defineFormerViews({ rows }: Warehouse): Promise<void> {
  const ofDays = await migration('0065-days')
  const others = await migration('0080-analysis-that-scales')
  const former = (text: string) =>
    text.replaceAll('warehouse.', 'former.').replace(/vitalsync\.(define_days|day_streams)/g, 'former.$1')
  const view = (name: string) =>
    former(new RegExp(`create or replace view warehouse\\.${name} as[^;]*;`).exec(others)?.[0] ?? '')
  await rows('create schema former; create table former.day_streams as table vitalsync.day_streams')
  await rows(
    `update former.day_streams set longest = '1 day',
       first_day = $$case when r.periodicity = 'daily' then vitalsync.lived_on(r.local_date, r.body) else r.local_date end$$
     where stream = 'biomarkers'`,
  )
  await rows(former(/create function vitalsync\.define_days[\s\S]*?\$define\$;/.exec(ofDays)?.[0] ?? ''))
  await rows(`select former.define_days(); ${view('person_days')} ${view('seven_day_means')}`)
  await rows(`update vitalsync.day_streams set settle_ms = ${72 * HOUR}`) // it stood in the view, for snapshots too
}

/** A sequence of whole numbers below a bound, the same in each run. */
function sequence(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

const offsets = [0, 60, 120, 330, 345, 720, 780, 840, -60, -210, -480, -600, -720]

/** An instant in the writing of a place that is so many minutes ahead of UTC. */
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
        periodicity: draw(5) === 0 ? 'weekly' : 'daily',
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

const counts = async ({ rows }: Warehouse, view: string) =>
  rows(
    `select count(*)::int as n, count(*) filter (where f)::int as former_only, count(*) filter (where w)::int as only from (
       select true as f, false as w from (table former.${view} except all table warehouse.${view}) x
       union all select false, true from (table warehouse.${view} except all table former.${view}) x
       union all select false, false from warehouse.${view}) a`,
  )

test('the views give what they gave before, of records of any zone and hour, filled in or not', async ({
  warehouse,
  skip,
}) => {
  skip(isDistributed, 'the views as they were before there were divided warehouses cannot be read on one')
  const { rows, pool } = warehouse
  await defineFormerViews(warehouse)
  await fillPeople(warehouse)
  const differences = async () => {
    for (const view of ['days', 'person_days', 'seven_day_means']) {
      const [found] = await counts(warehouse, view)
      expect(found, view).toMatchObject({ former_only: 0, only: 0 })
      expect(found?.['n'], view).toBeGreaterThan(50)
    }
  }
  const wrong = () =>
    rows(`select local_date, counts_for, body from vitalsync.biomarkers
      where counts_for is distinct from vitalsync.day_in_text(local_date, periodicity, body)`)
  expect(await wrong()).toEqual([])
  const [moved] = await rows('select count(*)::int as n from vitalsync.biomarkers where counts_for > local_date')
  expect(moved?.['n']).toBeGreaterThan(20)
  await differences()

  await rows('update vitalsync.biomarkers set counts_for = null where profile_id % 2 = 0')
  await differences()

  await fillCountedDays(pool, expect.unreachable)
  expect(await wrong()).toEqual([])
  await differences()
})

test('days are filled in by portions, without those that somebody else holds', async ({
  warehouse,
  warehouseUrl,
  onTestFinished,
}) => {
  const { rows, pool } = warehouse
  const people = await warehouse.addProfiles('ada', 'bob')
  await rows(
    `insert into vitalsync.biomarkers (profile_id, start_date_time, type, category, periodicity, aggregation, end_date_time,
       local_date, digest, read_at, first_seen_at, changed_at, body)
     select p.id, now() - n * interval '1 hour', 'steps', '', 'daily', '', now(), case when n > 1 then date '2026-03-02' end, 1, now(),
       now(), now(), '{"startDateTime":"2026-03-02T18:00:00Z"}' from vitalsync.profiles p, generate_series(1, 1300) n`,
  )
  const holder = await connect(warehouseUrl)
  onTestFinished(() => holder.end())
  await holder.query('begin')
  const hold = `select 1 from vitalsync.biomarkers
    where profile_id = $1 and start_date_time < now() - interval '1299.5 hours' for update`
  for (const profileId of people) await holder.query(hold, [profileId])
  const days = () =>
    rows('select counts_for::text as day, count(*)::int as n from vitalsync.biomarkers group by 1 order by 1')

  let told = 0
  await fillCountedDays(pool, () => (told += 1))
  expect(told).toBe(1)
  expect(await days()).toEqual([
    { day: '2026-03-03', n: 2596 },
    { day: null, n: 4 },
  ])
  await holder.query('rollback')
  await fillCountedDays(pool, () => (told += 1))
  expect(told).toBe(1)
  expect(await days()).toEqual([
    { day: '2026-03-03', n: 2598 },
    { day: null, n: 2 },
  ])
})
