import type { Queryable } from './service-pool.ts'

export type StoredDay = { localDay: string; facts: string; outcome: string | null }

/** Stored facts of the days from `firstDay` to `lastDay`, and of the last day before them with a measured height. */
export async function readDayFacts(
  tx: Queryable,
  { profileId, firstDay, lastDay }: { profileId: string; firstDay: string; lastDay: string },
): Promise<StoredDay[]> {
  const { rows } = await tx.query<StoredDay>({
    name: 'day-facts',
    text: `(select local_day::text as "localDay", facts, outcome from service.day_facts
            where profile_id = $1 and has_height and local_day < $2 order by local_day desc limit 1)
           union all
           select local_day::text, facts, outcome from service.day_facts
           where profile_id = $1 and local_day between $2 and $3`,
    values: [profileId, firstDay, lastDay],
  })
  return rows
}

type DayToStore = { localDay: string; facts: string; outcome: string | null; hasHeight: boolean }

export async function storeDays(tx: Queryable, profileId: string, days: readonly DayToStore[]): Promise<void> {
  if (days.length === 0) return
  await tx.query({
    name: 'store-days',
    text: `insert into service.day_facts (profile_id, local_day, facts, outcome, has_height)
           select $1, * from unnest($2::date[], $3::text[], $4::text[], $5::boolean[])
           on conflict (profile_id, local_day) do update
             set facts = excluded.facts, outcome = excluded.outcome, has_height = excluded.has_height`,
    values: [
      profileId,
      days.map(({ localDay }) => localDay),
      days.map(({ facts }) => facts),
      days.map(({ outcome }) => outcome),
      days.map(({ hasHeight }) => hasHeight),
    ],
  })
}

export async function deleteDays(tx: Queryable, profileId: string, localDays: readonly string[]): Promise<void> {
  if (localDays.length === 0) return
  await tx.query({
    name: 'delete-days',
    text: 'delete from service.day_facts where profile_id = $1 and local_day = any($2::date[])',
    values: [profileId, localDays],
  })
}

export type RecentDay = { localDay: string; offsetMinutes: number; nightOffsetMinutes: number | null }

/** Days from `firstDay` on, with the UTC offsets at which the days and their nights end, to compute when they are over. */
export async function readRecentDays(
  tx: Queryable,
  { profileId, firstDay }: { profileId: string; firstDay: string },
): Promise<RecentDay[]> {
  const { rows } = await tx.query<RecentDay>({
    name: 'recent-days',
    text: `select local_day::text as "localDay", (facts::json ->> 'offset')::int as "offsetMinutes",
             (facts::json -> 'night' ->> 'offset')::int as "nightOffsetMinutes"
           from service.day_facts where profile_id = $1 and local_day >= $2 order by local_day`,
    values: [profileId, firstDay],
  })
  return rows
}
