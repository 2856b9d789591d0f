import type { Log } from '../derive/log.ts'
import { arrayText } from './array-text.ts'
import type { Queryable } from './pool.ts'

type Days = { profileId: string; from: string; to: string }

/** `extract` counts in numerics, which costs more than all else of reading a log; what is stored has whole milliseconds. */
const epochMs = (column: string) => `round(date_part('epoch', ${column}) * 1000)`

const columns = `id::text, parent_id::text, data_type, value, unit, source, recording_method, device_type, device_id, periodicity,
  ${epochMs('start_at')}, ${epochMs('end_at')},
  start_offset_minutes::int, end_offset_minutes::int, ${epochMs('modified_at')}`

type LogRow = [
  id: string,
  parentId: string | null,
  dataType: string,
  value: number,
  unit: string,
  source: string,
  recordingMethod: string,
  deviceType: string,
  deviceId: string | null,
  periodicity: 'hourly' | 'daily' | null,
  startAt: number,
  endAt: number,
  startOffset: number,
  endOffset: number,
  modifiedAt: number | null,
]

/** Logs that start on local days from `from` to `to`, both included; so many at most. */
export async function readLogs(
  tx: Queryable,
  { profileId, from, to, countMax }: Days & { countMax: number },
): Promise<Log[]> {
  const { rows } = await tx.query<LogRow>({
    name: 'logs-of-days',
    text: `select ${columns} from service.logs where profile_id = $1 and start_day between $2 and $3 limit $4`,
    values: [profileId, from, to, countMax],
    rowMode: 'array',
  })
  return rows.map(logOf)
}

function logOf(row: LogRow): Log {
  const [id, parentId, dataType, value, unit, source, recordingMethod, deviceType, deviceId, periodicity] = row
  const [startAt, endAt, startOffset, endOffset, modifiedAt] = [row[10], row[11], row[12], row[13], row[14]]
  return {
    id,
    parentId,
    dataType,
    value,
    unit,
    source,
    recordingMethod,
    deviceType,
    deviceId,
    periodicity,
    startAt,
    endAt,
    startOffset,
    endOffset,
    modifiedAt,
  }
}

/** When the first log that lies in the future begins; null when none does. */
export async function nextLogAt(
  tx: Queryable,
  { profileId, now }: { profileId: string; now: Date },
): Promise<number | null> {
  const { rows } = await tx.query<{ at: number | null }>({
    name: 'next-log',
    text: `select (extract(epoch from min(start_at)) * 1000)::float8 as at from service.logs
           where profile_id = $1 and start_day >= ($2::timestamptz - interval '15 hours')::date and start_at > $2`,
    values: [profileId, now],
  })
  return rows[0]?.at ?? null
}

export type StoredDay = { localDay: string; facts: string; outcome: string | null }

/** What is kept of the days of a stretch, and of the last day before it on which a height was measured. */
export async function readDays(tx: Queryable, { profileId, from, to }: Days): Promise<StoredDay[]> {
  const { rows } = await tx.query<{ local_day: string; facts: string; outcome: string | null }>({
    name: 'day-facts',
    text: `(select local_day::text, facts, outcome from service.day_facts
            where profile_id = $1 and has_height and local_day < $2 order by local_day desc limit 1)
           union all
           select local_day::text, facts, outcome from service.day_facts
           where profile_id = $1 and local_day between $2 and $3`,
    values: [profileId, from, to],
  })
  return rows.map((row) => ({ localDay: row.local_day, facts: row.facts, outcome: row.outcome }))
}

export type DayToKeep = { localDay: string; facts: string; outcome: string | null; hasHeight: boolean }

export async function keepDays(tx: Queryable, profileId: string, days: readonly DayToKeep[]): Promise<void> {
  if (days.length === 0) return
  await tx.query({
    name: 'keep-days',
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

export async function dropDays(tx: Queryable, profileId: string, localDays: readonly string[]): Promise<void> {
  if (localDays.length === 0) return
  await tx.query({
    name: 'drop-days',
    text: 'delete from service.day_facts where profile_id = $1 and local_day = any($2::date[])',
    values: [profileId, localDays],
  })
}

export type StoredRecord = { id: string; version: number; createdAt: string; content: string }

/** The records that some units gave so far, by id. */
export async function readRecords(
  tx: Queryable,
  { profileId, units }: { profileId: string; units: readonly string[] },
): Promise<Map<string, StoredRecord>> {
  const { rows } = await tx.query<{ id: string; version: number; created_at: Date; content: string }>({
    name: 'records-of-units',
    text: 'select id::text, version, created_at, content from service.derived where profile_id = $1 and unit = any($2)',
    values: [profileId, units],
  })
  return new Map(
    rows.map(({ id, version, created_at, content }) => [
      id,
      { id, version, createdAt: created_at.toISOString(), content },
    ]),
  )
}

export type RecordToWrite = {
  id: string
  kind: string
  name: string
  category: string | null
  periodicity: string | null
  unit: string
  startAt: number
  endAt: number
  version: number
  createdAt: string
  content: string
  body: string
}

const written = [
  ['id', 'uuid', (row) => row.id],
  ['kind', 'text', (row) => row.kind],
  ['name', 'text', (row) => row.name],
  ['category', 'text', (row) => row.category],
  ['periodicity', 'text', (row) => row.periodicity],
  ['unit', 'text', (row) => row.unit],
  ['period_start', 'timestamptz', (row) => new Date(row.startAt).toISOString()],
  ['period_end', 'timestamptz', (row) => new Date(row.endAt).toISOString()],
  ['version', 'int', (row) => row.version],
  ['created_at', 'timestamptz', (row) => row.createdAt],
  ['content', 'text', (row) => row.content],
  ['body', 'text', (row) => row.body],
] as const satisfies ReadonlyArray<readonly [string, string, (row: RecordToWrite) => string | number | null]>

const writtenNames = written.map(([name]) => name)
const rowsPerStatement = 2000

export async function writeRecords(
  tx: Queryable,
  { profileId, now, records }: { profileId: string; now: Date; records: readonly RecordToWrite[] },
): Promise<void> {
  for (let from = 0; from < records.length; from += rowsPerStatement) {
    const rows = records.slice(from, from + rowsPerStatement)
    await tx.query({
      name: 'write-records',
      text: `insert into service.derived (profile_id, changed_at, ${writtenNames.join(', ')})
             select $1, $2, * from unnest(${written.map(([, type], place) => `$${place + 3}::${type}[]`).join(', ')})
             on conflict (profile_id, id) do update set changed_at = excluded.changed_at,
               ${writtenNames
                 .filter((name) => name !== 'id' && name !== 'created_at')
                 .map((name) => `${name} = excluded.${name}`)
                 .join(', ')}`,
      values: [
        profileId,
        now,
        ...written.map(([, type, read]) =>
          arrayText(
            type,
            rows.map((row) => read(row)),
          ),
        ),
      ],
    })
  }
}

export async function dropRecords(tx: Queryable, profileId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await tx.query({
    name: 'drop-records',
    text: 'delete from service.derived where profile_id = $1 and id = any($2::uuid[])',
    values: [profileId, ids],
  })
}

export type RecentDay = { localDay: string; offset: number; nightOffset: number | null }

/** Days since `from` with the offsets they and their nights end in: what is needed to know when they are over. */
export async function recentDays(
  tx: Queryable,
  { profileId, from }: { profileId: string; from: string },
): Promise<RecentDay[]> {
  const { rows } = await tx.query<{ local_day: string; night_offset: number | null; offset: number }>({
    name: 'recent-days',
    text: `select local_day::text, (facts::json ->> 'offset')::int as offset, (facts::json -> 'night' ->> 'offset')::int as night_offset
           from service.day_facts where profile_id = $1 and local_day >= $2 order by local_day`,
    values: [profileId, from],
  })
  return rows.map((row) => ({ localDay: row.local_day, offset: row.offset, nightOffset: row.night_offset }))
}
