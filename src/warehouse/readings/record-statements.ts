import { MANY_RECORDS } from '../../ledger/doubt.ts'
import type { Column, PulledStream } from '../../transfer/stream.ts'
import { keyColumns } from '../../transfer/stream.ts'
import {
  binaryColumn,
  binaryRows,
  type ColumnType,
  type ColumnValue,
  type CopyColumn,
  type PooledBytes,
} from '../postgres/binary-format.ts'
import { epochMsSql } from '../postgres/sql-time.ts'
import type { AdmittedReading } from './prepared-reading.ts'
import type { RecordRow } from './record-rows.ts'

const sqlType = { text: 'text', instant: 'timestamptz', number: 'float8', boolean: 'bool' } as const

/** One record and the reading that it came with. */
export type IncomingRecord = { readonly row: RecordRow; readonly reading: AdmittedReading }

/*
 * Three statements store the readings of one stream: compare, add, replace. The caller has locked the ledger rows of these
 * readings, so no other transaction writes the same records meanwhile.
 */

const sameKeySql = (stream: PulledStream, a: string, b: string) =>
  keyNames(stream)
    .map((key) => `${a}.${key} = ${b}.${key}`)
    .join(' and ')

const keyNames = (stream: PulledStream) => ['profile_id', ...keyColumns(stream).map((column) => column.name)]

const recordKeySql = (stream: PulledStream) =>
  `jsonb_build_object(${keyColumns(stream).flatMap((column) => [`'${column.name}'`, `t.${column.name}`])})`

const unnestSql = (types: readonly string[], columns: readonly string[]) =>
  `unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')}) as i(${columns.join(', ')})`

/**
 * Compares the incoming records with the stored records by keys and digests alone: most records that are read again have not
 * changed, and then their text need not be sent. Returns the numbers of the incoming records that are new and of the records that
 * have changed. A stored record that a complete reading lacks is marked gone, and its former version goes to the history;
 * unless the reading lacks more than one reading may: then it marks nothing, and the key hashes of what it lacks are
 * returned by its number among the complete readings.
 *
 * The statement uses `not in`, which Postgres hashes whatever the planner believes of the size of an array. It has planned
 * `not exists` as a nested loop.
 */
export function compareStatement(stream: PulledStream): string {
  const keys = keyNames(stream)
  const types = ['int8', ...keyColumns(stream).map((column) => sqlType[column.type]), 'int8', 'timestamptz']
  const next = types.length
  const table = `vitalsync.${stream.table}`
  const readings = `unnest($${next + 1}::int8[], $${next + 2}::timestamptz[], $${next + 3}::timestamptz[],
    $${next + 4}::timestamptz[], $${next + 5}::timestamptz[]) with ordinality
    as w(profile_id, from_at, to_at, sent_at, back_to, reading_n)`
  return `
with input as materialized (
  select * from unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})
    with ordinality as i(${keys.join(', ')}, digest, read_at, n)
), fresh as materialized (
  select i.n, t.profile_id is not null as known
  from input i left join ${table} t on ${sameKeySql(stream, 't', 'i')}
  where t.profile_id is null or (t.read_at < i.read_at and (t.digest <> i.digest or t.gone_at is not null))
), lost as materialized (
  select t.*, w.sent_at, w.reading_n
  from ${readings} join ${table} t on t.profile_id = w.profile_id and ${mustHaveHeldSql(stream)}
  where t.gone_at is null and t.read_at < w.sent_at
    and (${keys.map((key) => `t.${key}`).join(', ')}) not in (select ${keys.join(', ')} from input)
    and (t.profile_id, ${recordKeyHashSql(stream)}) not in (select * from unnest($${next + 6}::int8[], $${next + 7}::int8[]))
), weighed as (
  select l.reading_n, count(*) as lost, (select count(*) from ${readings} join ${table} t
    on t.profile_id = w.profile_id and ${mustHaveHeldSql(stream)} where w.reading_n = l.reading_n and t.gone_at is null) as held
  from lost l group by l.reading_n
), doubtful as materialized (
  select reading_n from weighed
  where $${next + 8}::float8 < 1 and (lost = held or (held >= ${MANY_RECORDS} and lost > held * $${next + 8}::float8))
), kept as (
  insert into vitalsync.history (profile_id, stream, record_key, revision, body, recorded, gone_at)
  select t.profile_id, '${stream.name}', ${recordKeySql(stream)}, t.revision, t.body, tstzrange(t.changed_at, t.sent_at), t.gone_at
  from lost t where t.reading_n not in (select reading_n from doubtful)
  on conflict do nothing
), vanished as (
  update ${table} t set gone_at = g.sent_at, changed_at = g.sent_at, read_at = g.sent_at, revision = t.revision + 1
  from lost g where ${sameKeySql(stream, 't', 'g')} and g.reading_n not in (select reading_n from doubtful)
  returning t.profile_id, ${endMsSql(stream)} as end_ms
)
select (select array_agg(n::int4) from fresh where not known) as added,
  (select array_agg(n::int4) from fresh where known) as changed,
  (select json_agg(json_build_array(profile_id::text, end_ms)) from vanished) as vanished,
  (select json_object_agg(d.reading_n, (select json_agg(${recordKeyHashSql(stream)}) from lost t
    where t.reading_n = d.reading_n)) from doubtful d) as doubtful`
}

/** The parameters of `compareStatement`, as binary arrays, in its order. */
export function compareParameters(
  stream: PulledStream,
  incoming: readonly IncomingRecord[],
  { readings, goneShareMax }: { readings: readonly AdmittedReading[]; goneShareMax: number },
): Array<Buffer | number> {
  const column = recordColumn(incoming)
  const keys = stream.columns.flatMap((one, index) => (one.key ? [{ index, type: arrayType[one.type] }] : []))
  const complete = completeReadingsOf(readings)
  const held = complete.flatMap(({ profileId, heldByNewer }) => heldByNewer.map((keyHash) => ({ profileId, keyHash })))
  const readingColumn = (type: ColumnType, cell: (reading: AdmittedReading) => ColumnValue) =>
    binaryColumn(type, complete, cell)
  return [
    column('int8', ({ reading }) => reading.profileId),
    ...keys.map(({ index, type }) => column(type, ({ row }) => row.cells[index] ?? null)),
    column('digest', ({ row }) => row.digest),
    column('timestamptz', ({ reading }) => reading.sentAtMs * 1000),
    readingColumn('int8', (reading) => reading.profileId),
    readingColumn('timestamptz', ({ window }) => window.startMs * 1000),
    readingColumn('timestamptz', ({ window }) => window.endMs * 1000),
    readingColumn('timestamptz', (reading) => reading.sentAtMs * 1000),
    readingColumn('timestamptz', (reading) => reading.reachBackToMs * 1000),
    binaryColumn('int8', held, ({ profileId }) => profileId),
    binaryColumn('int8', held, ({ keyHash }) => keyHash),
    goneShareMax,
  ]
}

/** The readings that may mark records gone, as `compareStatement` numbers them. */
export const completeReadingsOf = (readings: readonly AdmittedReading[]): AdmittedReading[] =>
  readings.filter((reading) => reading.complete)

/** Adds records that are not stored yet. A record that is stored all the same would break a promise, and fails the statement. */
export function addStatement(stream: PulledStream): string {
  const { columns } = tableColumns(stream)
  return `copy vitalsync.${stream.table} (${columns.join(', ')}, first_seen_at, changed_at) from stdin (format binary)`
}

/** The rows that `addStatement` takes. */
export function addRows(stream: PulledStream, incoming: readonly IncomingRecord[]): PooledBytes {
  const readAt: CopyColumn<IncomingRecord> = { type: 'timestamptz', cell: ({ reading }) => reading.sentAtMs * 1000 }
  return binaryRows(incoming, [
    { type: 'int8', cell: ({ reading }) => reading.profileId },
    ...stream.columns.map((column, index) => ({
      type: arrayType[column.type],
      cell: ({ row }: IncomingRecord) => row.cells[index] ?? null,
    })),
    ...dayColumns(stream).map(({ cell }) => ({ type: 'date' as const, cell })),
    { type: 'text', cell: ({ row }) => row.raw },
    { type: 'digest', cell: ({ row }) => row.digest },
    readAt,
    readAt,
    readAt,
  ])
}

/** Stores records that have changed, or came back, and keeps their former selves. */
export function replaceStatement(stream: PulledStream): string {
  const { columns, types } = tableColumns(stream)
  const keys = keyNames(stream)
  const table = `vitalsync.${stream.table}`
  const changed = columns.filter((name) => !keys.includes(name))
  return `
with input as materialized (
  select * from ${unnestSql(types, columns)}
), kept as (
  insert into vitalsync.history (profile_id, stream, record_key, revision, body, recorded, gone_at)
  select t.profile_id, '${stream.name}', ${recordKeySql(stream)}, t.revision, t.body, tstzrange(t.changed_at, i.read_at), t.gone_at
  from input i join ${table} t on ${sameKeySql(stream, 't', 'i')}
  on conflict do nothing
)
update ${table} t set ${changed.map((name) => `${name} = i.${name}`).join(', ')},
  changed_at = i.read_at, gone_at = null, revision = t.revision + 1
from input i where ${sameKeySql(stream, 't', 'i')}`
}

function tableColumns(stream: PulledStream): { columns: string[]; types: string[] } {
  const days = dayColumns(stream)
  const own = stream.columns.map((column) => column.name)
  return {
    columns: ['profile_id', ...own, ...days.map(({ name }) => name), 'body', 'digest', 'read_at'],
    types: [
      'int8',
      ...stream.columns.map((column) => sqlType[column.type]),
      ...days.map(() => 'date'),
      'text',
      'int8',
      'timestamptz',
    ],
  }
}

type DayColumn = { readonly name: string; readonly cell: (one: IncomingRecord) => number | null }

/** The columns that hold days of a record. */
function dayColumns(stream: PulledStream): DayColumn[] {
  if (stream.kind === 'snapshot') return []
  const localDate: DayColumn = { name: 'local_date', cell: ({ row }) => row.localDateMs }
  if (stream.livedPeriodicity === undefined) return [localDate]
  return [localDate, { name: 'counts_for', cell: ({ row }) => row.countsForMs }]
}

/** The end of a stored record in milliseconds since 1970; null in snapshots. */
function endMsSql({ startColumn, endColumn }: PulledStream): string {
  if (!startColumn) return 'null'
  return epochMsSql(endColumn ? `coalesce(t.${endColumn}, t.${startColumn})` : `t.${startColumn}`)
}

/** The same as `mustHaveHeld` of the judge, in SQL: a record for which this holds, and that a complete reading lacks, is gone. */
function mustHaveHeldSql(stream: PulledStream): string {
  if (!stream.startColumn) return 'true'
  const start = `t.${stream.startColumn}`
  const end = stream.endColumn ? `coalesce(t.${stream.endColumn}, ${start})` : start
  return `${start} >= w.back_to and ${start} < w.to_at and ${end} <= w.to_at and (${start} >= w.from_at or ${end} > w.from_at)`
}

/** The same as `recordKeyHash`, of a stored record: instants as microseconds and texts are written alike in both. */
function recordKeyHashSql(stream: PulledStream): string {
  const parts = keyColumns(stream).map(({ name, type }) =>
    type === 'instant' ? `(extract(epoch from t.${name}) * 1000000)::int8` : `t.${name}`,
  )
  return `('x' || left(md5(concat_ws(e'\\x1f', ${[...parts, "''"].join(', ')})), 8))::bit(32)::int4::int8`
}

const arrayType: Record<Column['type'], ColumnType> = {
  text: 'text',
  instant: 'timestamptz',
  number: 'float8',
  boolean: 'bool',
}

const recordColumn =
  (incoming: readonly IncomingRecord[]) => (type: ColumnType, cell: (one: IncomingRecord) => ColumnValue) =>
    binaryColumn(type, incoming, cell)

/** The parameters of `replaceStatement`, as binary arrays, in its order. */
export function replaceParameters(stream: PulledStream, incoming: readonly IncomingRecord[]): Buffer[] {
  const column = recordColumn(incoming)
  return [
    column('int8', ({ reading }) => reading.profileId),
    ...stream.columns.map(({ type }, index) => column(arrayType[type], ({ row }) => row.cells[index] ?? null)),
    ...dayColumns(stream).map(({ cell }) => column('date', cell)),
    column('text', ({ row }) => row.raw),
    column('digest', ({ row }) => row.digest),
    column('timestamptz', ({ reading }) => reading.sentAtMs * 1000),
  ]
}
