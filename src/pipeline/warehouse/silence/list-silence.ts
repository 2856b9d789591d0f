import { type SilenceState, type SilenceSubject, silenceStates } from '../../ledger/silence.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

export type SilentPerson = {
  readonly profileId: string
  readonly externalId: string
  readonly kind: SilenceSubject
  readonly state: SilenceState
  readonly lastAt: Date
  readonly lastDay: string | null
  /** The kinds of logs that came last, and the kind of device. */
  readonly lastKinds: readonly string[]
  readonly device: string | null
  readonly silentHours: number
  readonly usualHours: number | null
  readonly longHours: number | null
  readonly unusual: number | null
}

export type SilenceFilter = {
  /** Only people who are silent for at least this long. */
  readonly sinceHours?: number | undefined
  /** Only silences that are longer than this share of the person's own intervals. */
  readonly unusual?: number | undefined
  readonly state?: SilenceState | undefined
  readonly limit: number
}

/** Lists silences, the most unusual first; of several longer than ever before, the longest beside its habit. */
export async function listSilent(
  pool: Pool,
  { sinceHours = 0, unusual, state, limit }: SilenceFilter,
): Promise<SilentPerson[]> {
  const { rows } = await pool.query<SilentPerson>(
    `with silent as materialized (
       select s.*, date_part('epoch', case when s.subject in ('all', 'upstream') then now() else a.last_at end - s.last_at) / 3600 as hours
       from vitalsync.silence s left join vitalsync.silence a on s.subject not in ('all', 'upstream') and a.profile_id = s.profile_id and a.subject = 'all'
       where s.state is not null and ($1::text is null or s.state = $1)
     ), judged as (
       select s.*, vitalsync.unusual_share(s.intervals, s.long_hours, s.hours) as unusual from silent s where s.hours >= $2
     ), shown as (
       select row_number() over (order by j.unusual desc nulls last, j.hours / j.long_hours desc nulls last, j.last_at, j.profile_id, j.subject) as place,
         j.*, p.external_id
       from judged j join vitalsync.profiles p on p.id = j.profile_id and p.state <> 'gone'
       where $3::float8 is null or j.unusual >= $3 order by place limit $4
     )
     select profile_id::text as "profileId", external_id as "externalId", subject as kind, state, last_at as "lastAt", last_day::text as "lastDay",
       array(select k.subject from vitalsync.silence k where k.profile_id = shown.profile_id and k.subject not in ('all', 'upstream')
         and k.last_at = (select a.last_at from vitalsync.silence a where a.profile_id = shown.profile_id and a.subject = 'all')
         order by k.subject) as "lastKinds",
       device, floor(hours)::float8 as "silentHours", usual_hours as "usualHours",
       long_hours as "longHours", unusual
     from shown order by place`,
    [state ?? null, sinceHours, unusual ?? null, limit],
  )
  return rows
}

export const silenceGroupings = ['day', 'device', 'model', 'app'] as const
export type SilenceGroup = {
  readonly by: (typeof silenceGroupings)[number]
  readonly name: string
  readonly people: number
  readonly silent: number
  readonly since: Date | null
}

/** Groups with silent people, the largest share first; days in their order, the newest first. */
export async function listSilenceGroups(pool: Pool): Promise<SilenceGroup[]> {
  const { rows } = await pool.query<SilenceGroup>(
    `select grouped_by as by, name, people, silent, since from warehouse.silence_groups where silent > 0
     order by array_position($1::text[], grouped_by), case when grouped_by = 'day' then name end desc, silent::float8 / people desc, silent desc, name`,
    [silenceGroupings],
  )
  return rows
}

export type SilenceCount = { readonly kind: string; readonly count: number }

/** How many people are silent, by each kind of silence: a figure that appears for the first time has risen from 0. */
export async function countSilent(pool: Pool): Promise<SilenceCount[]> {
  const { rows } = await pool.query<SilenceCount>(
    `select k.kind, count(distinct p.id)::int as count from unnest($1::text[]) with ordinality as k(kind, place)
     left join vitalsync.silence s on s.state = k.kind left join vitalsync.profiles p on p.id = s.profile_id and p.state <> 'gone'
     group by k.kind, k.place order by k.place`,
    [silenceStates],
  )
  return rows
}

/** When somebody last fell silent, or was heard of again. */
export async function lastSilenceEventAt(pool: Pool): Promise<Date | null> {
  const { rows } = await pool.query<{ at: Date | null }>('select max(at) as at from vitalsync.silence_events')
  return rows[0]?.at ?? null
}

export type SilenceEvent = {
  readonly externalId: string
  readonly kind: SilenceSubject
  readonly at: Date
  readonly from: SilenceState | null
  readonly to: SilenceState | null
}

/** Lists the changes of the last `sinceMs`, oldest first. */
export async function listSilenceEvents(pool: Pool, sinceMs: number): Promise<SilenceEvent[]> {
  const { rows } = await pool.query<SilenceEvent>(
    `select external_id as "externalId", kind, at, from_state as "from", to_state as "to"
     from warehouse.silence_events where at >= now() - $1 * interval '1 ms' order by at, external_id, kind`,
    [sinceMs],
  )
  return rows
}
