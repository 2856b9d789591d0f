import type pg from 'pg'
import type { DataLogInput, UploadAnswer } from '../../base/contract/data-log.ts'
import { namedUuid } from '../../base/text/digest.ts'
import { checkedInstant, type Instant, localDateOf } from '../../base/time/instant.ts'
import { wearRules } from '../derive/model/model.ts'
import { columnArrays, type UnnestColumn, unnestParameters } from './array-literal.ts'
import { withTransaction } from './service-pool.ts'

const logNamespace = '5b0a35ff-7ff0-5a9c-9f0c-0c1c3d1b7a52'

/** A log with its parsed date-times: parsing them is the largest cost of storing a log here, so it is done once. */
type DatedLog = { log: DataLogInput; start: Instant; end: Instant }

/** The columns of an upload, in the order of the parameters of `unnest`. */
const uploadColumns = [
  ['id', 'uuid', ({ log }) => logIdOf(log)],
  ['parent_id', 'uuid', ({ log }) => log.parentId],
  ['log_type', 'text', ({ log }) => log.logType],
  ['data_type', 'text', ({ log }) => log.dataType],
  ['value', 'float8', ({ log }) => log.value],
  ['unit', 'text', ({ log }) => log.unit],
  ['source', 'text', ({ log }) => log.source],
  ['recording_method', 'text', ({ log }) => log.recordingMethod],
  ['device_type', 'text', ({ log }) => log.deviceType],
  ['device_id', 'text', ({ log }) => log.deviceId],
  ['source_id', 'text', ({ log }) => log.sourceId],
  ['periodicity', 'text', ({ log }) => log.periodicity],
  ['aggregation', 'text', ({ log }) => log.aggregation],
  ['start_at', 'timestamptz', ({ start }) => new Date(start.epochMs).toISOString()],
  ['end_at', 'timestamptz', ({ end }) => new Date(end.epochMs).toISOString()],
  ['start_offset_minutes', 'int2', ({ start }) => start.offsetMinutes],
  ['end_offset_minutes', 'int2', ({ end }) => end.offsetMinutes],
  ['start_day', 'date', ({ start }) => localDateOf(start)],
  ['end_day', 'date', (row) => lastLocalDay(row)],
  ['additional_properties', 'jsonb', ({ log }) => log.additionalProperties && JSON.stringify(log.additionalProperties)],
  ['posted_at', 'timestamptz', ({ log }) => log.postDateTime && isoOf(log.postDateTime)],
  ['modified_at', 'timestamptz', ({ log }) => log.modifiedDateTime && isoOf(log.modifiedDateTime)],
] as const satisfies ReadonlyArray<UnnestColumn<DatedLog>>

const columnNames = uploadColumns.map(([name]) => name)
const updatedColumns = columnNames.filter((name) => name !== 'id')
const comparedColumns = updatedColumns.filter((name) => name !== 'posted_at')

/** A log that is longer, also by the clock on the wall, belongs to no day, so no day is derived because of it. */
const isUsable = `l.end_at - l.start_at + least(0, l.end_offset_minutes - l.start_offset_minutes) * interval '1 minute'
  <= interval '${wearRules.logHoursMax} hours'`

/**
 * One statement for any number of logs: stores them, marks every local day that a log touches now, and counts; a trigger marks the
 * days that a replaced log touched before. Between two logs with one id the newer modifiedDateTime wins; where both have the same
 * or none, the later arrival.
 */
const uploadSql = `
with input as (
  select * from unnest(${unnestParameters(uploadColumns, 3)}) as i(${columnNames.join(', ')})
), written as (
  insert into service.logs as l (profile_id, received_at, ${columnNames.join(', ')})
  select $1::uuid, $2::timestamptz, ${columnNames.map((name) => `i.${name}`).join(', ')} from input i
  on conflict (profile_id, id) do update set received_at = excluded.received_at,
    ${updatedColumns.map((name) => `${name} = excluded.${name}`).join(', ')}
  where coalesce(excluded.modified_at, '-infinity') > coalesce(l.modified_at, '-infinity')
     or (coalesce(excluded.modified_at, '-infinity') = coalesce(l.modified_at, '-infinity')
         and (${comparedColumns.map((name) => `excluded.${name}`).join(', ')})
             is distinct from (${comparedColumns.map((name) => `l.${name}`).join(', ')}))
  returning l.start_day, l.end_day, ${isUsable} as usable, l.source, l.device_type, (l.xmax = 0) as inserted
), marked as (
  insert into service.dirty_days (profile_id, local_day, marked_at)
  select distinct $1::uuid, start_day + n, $2::timestamptz
  from written cross join lateral generate_series(0, end_day - start_day) n where usable
  on conflict (profile_id, local_day) do update set mark = excluded.mark, is_single = false
), sources as (
  insert into service.data_sources (profile_id, source_name, device_type)
  select distinct $1::uuid, source, device_type from written on conflict do nothing
)
select count(*) filter (where inserted)::int as accepted, count(*) filter (where not inserted)::int as updated
from written`

/**
 * Stores a profile's logs, all or nothing; undefined when the profile is gone. Storing the same logs again changes
 * nothing. The update of the profile's row serializes the uploads of one profile: each upload sees the rows that the
 * upload before it stored, so no day stays unmarked.
 */
export async function storeDataLogs(
  pool: pg.Pool,
  upload: { profileId: string; logs: readonly DataLogInput[]; nowAt: Date },
): Promise<UploadAnswer | undefined> {
  const logs = newestOfEach(upload.logs).map(datedLog)
  return withTransaction(pool, async (tx) => {
    const { rowCount } = await tx.query({
      name: 'touch-profile',
      text: 'update service.profiles set data_last_received_at = $2 where profile_id = $1',
      values: [upload.profileId, upload.nowAt],
    })
    if (rowCount === 0) return undefined
    const { rows } = await tx.query<{ accepted: number; updated: number }>({
      name: 'store-logs',
      text: uploadSql,
      values: [upload.profileId, upload.nowAt, ...columnArrays(uploadColumns, logs)],
    })
    const { accepted, updated } = rows[0] ?? { accepted: 0, updated: 0 }
    return { received: upload.logs.length, accepted, updated, duplicates: upload.logs.length - accepted - updated }
  })
}

function datedLog(log: DataLogInput): DatedLog {
  return { log, start: checkedInstant(log.startDateTime), end: checkedInstant(log.endDateTime) }
}

/**
 * One id may occur twice in an upload, but a statement cannot write one row twice, so the rule of the statement is applied
 * before it.
 */
function newestOfEach(logs: readonly DataLogInput[]): DataLogInput[] {
  const newest = new Map<string, DataLogInput>()
  for (const log of logs) {
    const id = logIdOf(log)
    const other = newest.get(id)
    if (!other || modifiedMs(log) >= modifiedMs(other)) newest.set(id, log)
  }
  return [...newest.values()]
}

function modifiedMs(log: DataLogInput): number {
  return log.modifiedDateTime ? checkedInstant(log.modifiedDateTime).epochMs : Number.NEGATIVE_INFINITY
}

/** A log without an id is identified by its log type, data type, source, start and end. */
function logIdOf(log: DataLogInput): string {
  if (log.id) return log.id.toLowerCase()
  return namedUuid(logNamespace, [
    log.logType,
    log.dataType,
    log.source,
    isoOf(log.startDateTime),
    isoOf(log.endDateTime),
  ])
}

/** Never before the first day: a flight across the date line can end on an earlier local date than it began. */
function lastLocalDay(row: DatedLog): string {
  const [start, end] = [localDateOf(row.start), localDateOf(row.end)]
  return end < start ? start : end
}

function isoOf(text: string): string {
  return new Date(checkedInstant(text).epochMs).toISOString()
}
