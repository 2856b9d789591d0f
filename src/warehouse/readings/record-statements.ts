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
import { inBucketSql, type Tx } from '../postgres/warehouse-pool.ts'
import type { AdmittedReading } from './prepared-reading.ts'
import type { RecordRow } from './record-rows.ts'

const sqlType = { text: 'text', instant: 'timestamptz', number: 'float8', boolean: 'bool' } as const

/** One record and the reading that it came with. */
export type IncomingRecord = { readonly row: RecordRow; readonly reading: AdmittedReading }

/*
 * The statements that store the readings of one stream: compare, add, replace, and mark gone. The caller has locked the ledger
 * rows of these readings, so no other transaction writes the same records meanwhile. Each table of a person is asked for the
 * profiles of the readings by `any`, beside the join, which names one bucket to a warehouse on several nodes.
 */

const sameKeySql = (stream: PulledStream, a: string, b: string) =>
  keyNames(stream)
    .map((key) => `${a}.${key} = ${b}.${key}`)
    .join(' and ')

const keyNames = (stream: PulledStream) => ['profile_id', ...keyColumns(stream).map((column) => column.name)]

const recordKeySql = (stream: PulledStream) =>
  `jsonb_build_object(${keyColumns(stream).flatMap((column) => [`'${column.name}'`, `t.${column.name}`])})`

/** Keeps the former selves of stored records in the history. `until`: the instant at which `i` ended them. */
const keepSql = (tx: Tx, stream: PulledStream, { from, until, ids }: { from: string; until: string; ids: string }) => `
  insert into vitalsync.history (profile_id, stream, record_key, revision, body, recorded, gone_at)
  select t.profile_id, '${stream.name}', ${recordKeySql(stream)}, t.revision, t.body, tstzrange(t.changed_at, ${until}), t.gone_at
  from ${from} join vitalsync.${stream.table} t on ${sameKeySql(stream, 't', 'i')}
  where ${inBucketSql(tx, 't.profile_id', ids)}
  on conflict do nothing`

const keyTypes = (stream: PulledStream) => ['int8', ...keyColumns(stream).map((column) => sqlType[column.type])]

const unnestSql = (types: readonly string[], columns: readonly string[]) =>
  `unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')}) as i(${columns.join(', ')})`

/**
 * Compares the incoming records with the stored records by keys and digests alone: most records that are read again have not
 * changed, and then their text need not be sent. Returns the numbers of the incoming records that are new and of the records that
 * have changed, and the keys of stored records that a complete reading lacks: they are gone. Unless the reading lacks more than
 * one reading may: then nothing is gone, and the key hashes of what it lacks are returned by the number of the reading.
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
), doubtful as materialized (
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
    from lost t where t.reading_n not in (select reading_n from doubtful)) as vanished,
  (select json_object_agg(d.reading_n, (select json_agg(${recordKeyHashSql(stream)}) from lost t
    where t.reading_n = d.reading_n)) from doubtful d) as doubtful`
}

/** The column of a record's end, if it is no part of the key. */
const endColumns = ({ endColumn, columns }: PulledStream): string[] =>
  columns.flatMap(({ name, key }) => (name === endColumn && !key ? [name] : []))

/** Whether a stored record lies where the records of a reading begin, or where it must have held some. */
const isReadSql = ({ startColumn }: PulledStream): string =>
  startColumn ? `t.${startColumn} >= w.first_at and t.${startColumn} <= w.last_at` : 'true'

/** The parameters of `compareStatement`, as binary arrays, in its order. */
export function compareParameters(
  stream: PulledStream,
  incoming: readonly IncomingRecord[],
  { readings, goneShareMax }: { readings: readonly AdmittedReading[]; goneShareMax: number },
): Array<Buffer | number> {
  const column = recordColumn(incoming)
  const keys = stream.columns.flatMap((one, index) => (one.key ? [{ index, type: arrayType[one.type] }] : []))
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

/** A record that is gone as `compareStatement` tells it: the texts of its key, beginning with the profile, and of the instant; then its end. */
export type VanishedKey = readonly [...string[], string, number | null]

/** Two statements: the records that are gone go to the history as they were, and are marked. */
export function vanishStatements(tx: Tx, stream: PulledStream): { keep: string; mark: string } {
  const columns = [...keyNames(stream), 'sent_at']
  const from = unnestSql([...keyTypes(stream), 'timestamptz'], columns)
  return {
    keep: keepSql(tx, stream, { from, until: 'i.sent_at', ids: '$1' }),
    mark: `update vitalsync.${stream.table} t
      set gone_at = i.sent_at, changed_at = i.sent_at, read_at = i.sent_at, revision = t.revision + 1
      from ${from} where ${sameKeySql(stream, 't', 'i')} and ${inBucketSql(tx, 't.profile_id', '$1')}`,
  }
}

/** The parameters of both `vanishStatements`: the columns of the keys, and the instants. */
export const vanishParameters = (vanished: readonly VanishedKey[]): unknown[][] =>
  (vanished[0] ?? []).slice(0, -1).map((_, column) => vanished.map((key) => key[column]))

/** Each profile once: the array is searched for every stored record. */
const idColumn = (readings: readonly Pick<AdmittedReading, 'profileId'>[]): Buffer =>
  binaryColumn('int8', [...new Set(readings.map(({ profileId }) => profileId))], (id) => id)

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

/** Two statements: the former selves of records that have changed, or came back, go to the history; then the records are stored. */
export function replaceStatements(tx: Tx, stream: PulledStream): { keep: string; replace: string } {
  const { columns, types } = tableColumns(stream)
  const keys = keyNames(stream)
  const changed = columns.filter((name) => !keys.includes(name))
  const kept = [...keyTypes(stream), 'timestamptz']
  return {
    keep: keepSql(tx, stream, {
      from: unnestSql(kept, [...keys, 'read_at']),
      until: 'i.read_at',
      ids: `$${kept.length + 1}`,
    }),
    replace: `update vitalsync.${stream.table} t set ${changed.map((name) => `${name} = i.${name}`).join(', ')},
      changed_at = i.read_at, gone_at = null, revision = t.revision + 1
      from ${unnestSql(types, columns)}
      where ${sameKeySql(stream, 't', 'i')} and ${inBucketSql(tx, 't.profile_id', `$${types.length + 1}`)}`,
  }
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

/** The parameters of `replaceStatements`, as binary arrays, in their order. */
export function replaceParameters(
  stream: PulledStream,
  incoming: readonly IncomingRecord[],
): { keep: Buffer[]; replace: Buffer[] } {
  const column = recordColumn(incoming)
  const cells = (columns: readonly Column[]) =>
    stream.columns.flatMap((one, index) =>
      columns.includes(one) ? [column(arrayType[one.type], ({ row }) => row.cells[index] ?? null)] : [],
    )
  const profileIds = column('int8', ({ reading }) => reading.profileId)
  const readAt = column('timestamptz', ({ reading }) => reading.sentAtMs * 1000)
  const ids = idColumn(incoming.map(({ reading }) => reading))
  return {
    keep: [profileIds, ...cells(keyColumns(stream)), readAt, ids],
    replace: [
      profileIds,
      ...cells(stream.columns),
      ...dayColumns(stream).map(({ cell }) => column('date', cell)),
      column('text', ({ row }) => row.raw),
      column('digest', ({ row }) => row.digest),
      readAt,
      ids,
    ],
  }
}
