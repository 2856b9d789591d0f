import { MANY_RECORDS } from '../../ledger/suspicion.ts'
import { keyColumns, type PulledStream } from '../../transfer/stream.ts'
import { binaryColumn, type ColumnType, type ColumnValue } from '../postgres/binary-format.ts'
import { epochMsSql } from '../postgres/sql-time.ts'
import type { AdmittedReading, IncomingRecord } from './record-rows.ts'
import { arrayType, keyNames, keyTypes, recordColumn } from './record-statements.ts'

/**
 * Compares the incoming records with the stored records by keys and digests alone: most records that are read again have not
 * changed, and then their text need not be sent. Returns the numbers of the incoming records that are new and of the records that
 * have changed, and the keys of stored records that a complete reading lacks: they are gone. If a reading is
 * missing suspiciously many records, nothing is marked gone; their key hashes are returned instead, by the number of the reading.
 *
 * The stored records are read once for each reading, between its first and its last record, and then looked up in memory. The
 * statement uses `in`, which Postgres hashes whatever the planner believes of the size of an array. It has planned joins and
 * `not exists` as nested loops.
 */
export function compareStatement(stream: PulledStream): string {
  const keys = keyNames(stream)
  const types = [...keyTypes(stream), 'int8']
  const p = (offset: number) => `$${types.length + offset}`
  const keyList = (row: string) => keys.map((key) => `${row}.${key}`).join(', ')
  return `
with input as materialized (
  select * from unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})
    with ordinality as i(${keys.join(', ')}, digest, n)
), held as materialized (
  select ${[...keyNames(stream), ...endColumns(stream)].map((name) => `t.${name}`).join(', ')}, t.digest, w.reading_n, w.sent_at,
    t.gone_at is null as is_live, t.read_at < w.sent_at as is_older, w.is_complete and ${mustHaveHeldSql(stream)} as must_be_there
  from unnest(${p(1)}::int8[], ${p(2)}::timestamptz[], ${p(3)}::timestamptz[], ${p(4)}::timestamptz[], ${p(5)}::timestamptz[],
      ${p(6)}::timestamptz[], ${p(7)}::timestamptz[], ${p(8)}::bool[]) with ordinality
      as w(profile_id, from_at, to_at, sent_at, back_to, first_at, last_at, is_complete, reading_n)
    join vitalsync.${stream.table} t on t.profile_id = w.profile_id and ${isReadSql(stream)}
  where t.profile_id = any(${p(1)}::int8[])
), lost as materialized (
  select t.* from held t
  where t.must_be_there and t.is_live and t.is_older and (${keyList('t')}) not in (select ${keyList('i')} from input i)
    and (t.profile_id, ${recordKeyHashSql(stream)}) not in (select * from unnest(${p(9)}::int8[], ${p(10)}::int8[]))
), weighed as (
  select l.reading_n, count(*) as lost,
    (select count(*) from held t where t.reading_n = l.reading_n and t.must_be_there and t.is_live) as held
  from lost l group by l.reading_n
), suspicious as materialized (
  select reading_n from weighed
  where ${p(11)}::float8 < 1 and (lost = held or (held >= ${MANY_RECORDS} and lost > held * ${p(11)}::float8))
), fresh as materialized (
  select i.n, (${keyList('i')}) in (select ${keyList('t')} from held t) as known from input i
  where (${keyList('i')}, i.digest) not in (select ${keyList('t')}, t.digest from held t where t.is_live)
    and (${keyList('i')}) not in (select ${keyList('t')} from held t where not t.is_older)
)
select (select array_agg(n::int4) from fresh where not known) as added,
  (select array_agg(n::int4) from fresh where known) as changed,
  (select json_agg(json_build_array(${keys.map((key) => `t.${key}::text`).join(', ')}, t.sent_at::text, ${endMsSql(stream)}))
    from lost t where t.reading_n not in (select reading_n from suspicious)) as vanished,
  (select json_object_agg(d.reading_n, (select json_agg(${recordKeyHashSql(stream)}) from lost t
    where t.reading_n = d.reading_n)) from suspicious d) as suspicious`
}

/** The column of a record's end, if it is no part of the key. */
const endColumns = ({ endColumn, columns }: PulledStream): string[] =>
  columns.flatMap(({ name, key }) => (name === endColumn && !key ? [name] : []))

/**
 * Whether a stored record lies where the records of a reading begin, or where it must have held some. A stream whose key lacks the
 * start is read whole: its records may have begun elsewhere before.
 */
function isReadSql({ startColumn, columns }: PulledStream): string {
  const isKey = columns.some(({ name, key }) => key && name === startColumn)
  return isKey ? `t.${startColumn} >= w.first_at and t.${startColumn} <= w.last_at` : 'true'
}

/** The parameters of `compareStatement`, as binary arrays, in its order. */
export function compareParameters(
  stream: PulledStream,
  incoming: readonly IncomingRecord[],
  { readings, goneShareMax }: { readings: readonly AdmittedReading[]; goneShareMax: number },
): Array<Buffer | number> {
  const column = recordColumn(incoming)
  const keys = stream.columns.flatMap(({ key, type }, index) => (key ? [{ index, type: arrayType[type] }] : []))
  const heldByNewer = readings.flatMap((reading) =>
    reading.complete ? reading.heldByNewer.map((keyHash) => ({ profileId: reading.profileId, keyHash })) : [],
  )
  const readingColumn = (type: ColumnType, cell: (reading: AdmittedReading) => ColumnValue) =>
    binaryColumn(type, readings, cell)
  return [
    column('int8', ({ reading }) => reading.profileId),
    ...keys.map(({ index, type }) => column(type, ({ row }) => row.cells[index] ?? null)),
    column('digest', ({ row }) => row.digest),
    readingColumn('int8', ({ profileId }) => profileId),
    readingColumn('timestamptz', ({ window }) => window.startMs * 1000),
    readingColumn('timestamptz', ({ window }) => window.endMs * 1000),
    readingColumn('timestamptz', ({ sentAtMs }) => sentAtMs * 1000),
    readingColumn('timestamptz', ({ reachBackToMs }) => reachBackToMs * 1000),
    readingColumn('timestamptz', (reading) => furthestStart(reading, reading.reachBackToMs * 1000, Math.min)),
    readingColumn('timestamptz', (reading) => furthestStart(reading, reading.window.endMs * 1000, Math.max)),
    readingColumn('bool', ({ complete }) => complete),
    binaryColumn('int8', heldByNewer, ({ profileId }) => profileId),
    binaryColumn('int8', heldByNewer, ({ keyHash }) => keyHash),
    goneShareMax,
  ]
}

/** Where the records of a reading begin first or last, or the edge, in microseconds. Upstream may give records beyond the window. */
const furthestStart = ({ rows }: AdmittedReading, edgeMicros: number, pick: (a: number, b: number) => number): number =>
  rows.reduce(
    (furthest, { startMicros }) => (startMicros === null ? furthest : pick(furthest, startMicros)),
    edgeMicros,
  )

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
