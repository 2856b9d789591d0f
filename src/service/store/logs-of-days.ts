import type { Span } from '../../base/time/spans.ts'
import type { DataLog } from '../derive/day/parsed-log.ts'
import type { Queryable } from './service-pool.ts'

/** `extract` computes in numerics, which costs more than the rest of reading a log; stored instants have whole milliseconds. */
const epochMsSql = (column: string) => `round(date_part('epoch', ${column}) * 1000)`

const logColumns = `id::text, parent_id::text as "parentId", data_type as "dataType", value, unit, source,
  recording_method as "recordingMethod", device_type as "deviceType", device_id as "deviceId", periodicity,
  ${epochMsSql('start_at')} as "startMs", ${epochMsSql('end_at')} as "endMs",
  start_offset_minutes::int as "startOffset", end_offset_minutes::int as "endOffset",
  ${epochMsSql('modified_at')} as "modifiedMs"`

/** Logs that start on local days from `firstDay` to `lastDay`, both included; at most `countMax`. */
export async function readLogsOfDays(
  tx: Queryable,
  {
    profileId,
    firstDay,
    lastDay,
    countMax,
  }: { profileId: string; firstDay: string; lastDay: string; countMax: number },
): Promise<DataLog[]> {
  const { rows } = await tx.query<DataLog>({
    name: 'logs-of-days',
    text: `select ${logColumns} from service.logs where profile_id = $1 and start_day between $2 and $3 limit $4`,
    values: [profileId, firstDay, lastDay, countMax],
  })
  return rows
}

/** How many logs start on each of some local days; a day without logs is absent. */
export async function countLogsByDay(
  tx: Queryable,
  { profileId, localDays }: { profileId: string; localDays: readonly string[] },
): Promise<Map<string, number>> {
  const { rows } = await tx.query<[localDay: string, count: number]>({
    name: 'count-logs',
    text: `select start_day::text, count(*)::int from service.logs
           where profile_id = $1 and start_day = any($2::date[]) group by start_day`,
    values: [profileId, localDays],
    rowMode: 'array',
  })
  return new Map(rows)
}

/** The first and the last local day on which a log starts after one instant and not after another. */
export async function readDaysOfStarts(
  tx: Queryable,
  { profileId, span }: { profileId: string; span: Span },
): Promise<{ firstDay: string; lastDay: string } | undefined> {
  const { rows } = await tx.query<{ firstDay: string | null; lastDay: string | null }>({
    name: 'days-of-starts',
    text: `select min(start_day)::text as "firstDay", max(start_day)::text as "lastDay" from service.logs
           where profile_id = $1 and start_at > $2 and start_at <= $3
             and start_day between ($2::timestamptz - interval '15 hours')::date and ($3::timestamptz + interval '15 hours')::date`,
    values: [profileId, new Date(span.startMs), new Date(span.endMs)],
  })
  const { firstDay = null, lastDay = null } = rows[0] ?? {}
  return firstDay === null || lastDay === null ? undefined : { firstDay, lastDay }
}

/** The start of the first log that lies in the future; null when none does. */
export async function nextLogStartMs(
  tx: Queryable,
  { profileId, nowAt }: { profileId: string; nowAt: Date },
): Promise<number | null> {
  const { rows } = await tx.query<{ start_ms: number | null }>({
    name: 'next-log',
    text: `select (extract(epoch from min(start_at)) * 1000)::float8 as start_ms from service.logs
           where profile_id = $1 and start_day >= ($2::timestamptz - interval '15 hours')::date and start_at > $2`,
    values: [profileId, nowAt],
  })
  return rows[0]?.start_ms ?? null
}
