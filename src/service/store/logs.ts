import type pg from 'pg'
import type { DataLogInput, UploadAnswer } from '../../contract/data-log.ts'
import { type Instant, localDay, parseInstant } from '../../contract/instant.ts'
import { namedUuid } from '../../named-uuid.ts'
import { arrayText } from './array-text.ts'
import { withTransaction } from './pool.ts'

const logNamespace = '5b0a35ff-7ff0-5a9c-9f0c-0c1c3d1b7a52'

/** A log with its date-times, read once: of all that storing a log costs here, reading them costs most. */
type Row = { log: DataLogInput; start: Instant; end: Instant }

/** The columns of an upload in the order in which `unnest` takes them: name, type, and how a log gives its value. */
const columns = [
  ['id', 'uuid', ({ log }) => idOf(log)],
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
  ['start_day', 'date', ({ start }) => localDay(start)],
  ['end_day', 'date', (row) => lastDay(row)],
  ['additional_properties', 'jsonb', ({ log }) => log.additionalProperties && JSON.stringify(log.additionalProperties)],
  ['posted_at', 'timestamptz', ({ log }) => log.postDateTime && isoOf(log.postDateTime)],
  ['modified_at', 'timestamptz', ({ log }) => log.modifiedDateTime && isoOf(log.modifiedDateTime)],
] as const satisfies ReadonlyArray<readonly [string, string, (row: Row) => string | number | null | undefined]>

const names = columns.map(([name]) => name)
const changing = names.filter((name) => name !== 'id')
const content = changing.filter((name) => name !== 'posted_at')

/**
 * One statement for any number of logs: stores them, marks every local day that is touched by what a log now says or
 * said before, and counts. The newer modifiedDateTime of one id wins; where neither says, the later arrival.
 */
const uploadSql = `
with input as (
  select * from unnest(${columns.map(([, type], index) => `$${index + 3}::${type}[]`).join(', ')}) as i(${names.join(', ')})
), former as (
  select l.id, l.start_day, l.end_day from service.logs l join input i on i.id = l.id where l.profile_id = $1
), written as (
  insert into service.logs as l (profile_id, received_at, ${names.join(', ')})
  select $1::uuid, $2::timestamptz, ${names.map((name) => `i.${name}`).join(', ')} from input i
  on conflict (profile_id, id) do update set received_at = excluded.received_at,
    ${changing.map((name) => `${name} = excluded.${name}`).join(', ')}
  where coalesce(excluded.modified_at, '-infinity') > coalesce(l.modified_at, '-infinity')
     or (coalesce(excluded.modified_at, '-infinity') = coalesce(l.modified_at, '-infinity')
         and (${content.map((name) => `excluded.${name}`).join(', ')})
             is distinct from (${content.map((name) => `l.${name}`).join(', ')}))
  returning l.id, l.start_day, l.end_day, l.source, l.device_type, (l.xmax = 0) as inserted
), touched as (
  select start_day, end_day from written
  union select former.start_day, former.end_day from former join written using (id)
), marked as (
  insert into service.dirty_days (profile_id, local_day, marked_at)
  select distinct $1::uuid, start_day + n, $2::timestamptz
  from touched cross join lateral generate_series(0, end_day - start_day) n
  on conflict (profile_id, local_day) do update set mark = excluded.mark
), sources as (
  insert into service.data_sources (profile_id, source_name, device_type)
  select distinct $1::uuid, source, device_type from written on conflict do nothing
)
select count(*) filter (where inserted)::int as accepted, count(*) filter (where not inserted)::int as updated
from written`

/**
 * Stores a profile's logs, all or nothing; undefined when the profile is gone. Sending the same again changes nothing.
 * Uploads of one profile go one after another: each sees what the one before it stored, so no day goes unmarked.
 */
export async function storeLogs(
  pool: pg.Pool,
  upload: { profileId: string; logs: readonly DataLogInput[]; now: Date },
): Promise<UploadAnswer | undefined> {
  const logs = newestOfEach(upload.logs).map(rowOf)
  return withTransaction(pool, async (tx) => {
    const { rowCount } = await tx.query({
      name: 'touch-profile',
      text: 'update service.profiles set data_last_received_at = $2 where profile_id = $1',
      values: [upload.profileId, upload.now],
    })
    if (rowCount === 0) return undefined
    const { rows } = await tx.query<{ accepted: number; updated: number }>({
      name: 'store-logs',
      text: uploadSql,
      values: [
        upload.profileId,
        upload.now,
        ...columns.map(([, type, read]) =>
          arrayText(
            type,
            logs.map((row) => read(row)),
          ),
        ),
      ],
    })
    const { accepted, updated } = rows[0] ?? { accepted: 0, updated: 0 }
    return { received: upload.logs.length, accepted, updated, duplicates: upload.logs.length - accepted - updated }
  })
}

/** Takes logs away as if they had never been sent; their days become due again. Returns how many there were. */
export async function deleteLogs(
  pool: pg.Pool,
  erasure: { profileId: string; ids: readonly string[]; now: Date },
): Promise<number> {
  return withTransaction(pool, async (tx) => {
    await tx.query('select from service.profiles where profile_id = $1 for no key update', [erasure.profileId])
    const { rowCount } = await tx.query(
      `with gone as (
         delete from service.logs where profile_id = $1 and id = any($2::uuid[]) returning start_day, end_day
       ), marked as (
         insert into service.dirty_days (profile_id, local_day, marked_at)
         select distinct $1::uuid, start_day + n, $3::timestamptz
         from gone cross join lateral generate_series(0, end_day - start_day) n
         on conflict (profile_id, local_day) do update set mark = excluded.mark
       )
       select from gone`,
      [erasure.profileId, erasure.ids, erasure.now],
    )
    return rowCount ?? 0
  })
}

function rowOf(log: DataLogInput): Row {
  return { log, start: instantOf(log.startDateTime), end: instantOf(log.endDateTime) }
}

/** One id may stand in an upload twice, but a statement cannot write one row twice: the same rule decides beforehand. */
function newestOfEach(logs: readonly DataLogInput[]): DataLogInput[] {
  const newest = new Map<string, DataLogInput>()
  for (const log of logs) {
    const id = idOf(log)
    const other = newest.get(id)
    if (!other || modifiedMs(log) >= modifiedMs(other)) newest.set(id, log)
  }
  return [...newest.values()]
}

function modifiedMs(log: DataLogInput): number {
  return log.modifiedDateTime ? instantOf(log.modifiedDateTime).epochMs : Number.NEGATIVE_INFINITY
}

/** A log without an id is known by what it measures, where it comes from, and when. */
function idOf(log: DataLogInput): string {
  if (log.id) return log.id.toLowerCase()
  return namedUuid(logNamespace, [
    log.logType,
    log.dataType,
    log.source,
    isoOf(log.startDateTime),
    isoOf(log.endDateTime),
  ])
}

/** Never before the first day, even where a journey across the date line ends on an earlier date than it began. */
function lastDay(row: Row): string {
  const [start, end] = [localDay(row.start), localDay(row.end)]
  return end < start ? start : end
}

function isoOf(text: string): string {
  return new Date(instantOf(text).epochMs).toISOString()
}

function instantOf(text: string): Instant {
  const instant = parseInstant(text)
  if (!instant) throw new RangeError('store log: its date-time was not checked before')
  return instant
}
