import { type Column, keyColumns, type PulledStream } from '../../transfer/stream.ts'
import {
  binaryColumn,
  binaryRows,
  type ColumnType,
  type ColumnValue,
  type CopyColumn,
  type PooledBytes,
} from '../postgres/binary-format.ts'
import { namedSql, type Tx } from '../postgres/warehouse-pool.ts'
import type { AdmittedReading, IncomingRecord } from './record-rows.ts'

/*
 * The statements that store what a comparison found: add, replace, and mark gone. The caller has locked the ledger
 * rows of these readings, so no other transaction writes the same records meanwhile. Each table of a person is asked for the
 * profiles of the readings by `any`, beside the join: see `namedSql`.
 */

const sqlType = { text: 'text', instant: 'timestamptz', number: 'float8', boolean: 'bool' } as const

export const arrayType: Record<Column['type'], ColumnType> = {
  text: 'text',
  instant: 'timestamptz',
  number: 'float8',
  boolean: 'bool',
}

/** The key of a stream's table: no two records have the same. */
export const keyNames = (stream: PulledStream) => ['profile_id', ...keyColumns(stream).map((column) => column.name)]

export const keyTypes = (stream: PulledStream) => ['int8', ...keyColumns(stream).map((column) => sqlType[column.type])]

const sameKeySql = (stream: PulledStream, a: string, b: string) =>
  keyNames(stream)
    .map((key) => `${a}.${key} = ${b}.${key}`)
    .join(' and ')

const unnestSql = (types: readonly string[], columns: readonly string[]) =>
  `unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')}) as i(${columns.join(', ')})`

export const recordColumn =
  (incoming: readonly IncomingRecord[]) => (type: ColumnType, cell: (record: IncomingRecord) => ColumnValue) =>
    binaryColumn(type, incoming, cell)

const recordKeySql = (stream: PulledStream) =>
  `jsonb_build_object(${keyColumns(stream).flatMap((column) => [`'${column.name}'`, `t.${column.name}`])})`

/** Keeps the former selves of stored records in the history. `until`: the instant at which `i` ended them. */
const keepSql = (tx: Tx, stream: PulledStream, { from, until, ids }: { from: string; until: string; ids: string }) => `
  insert into vitalsync.history (profile_id, stream, record_key, revision, body, recorded, gone_at)
  select t.profile_id, '${stream.name}', ${recordKeySql(stream)}, t.revision, t.body, tstzrange(t.changed_at, ${until}), t.gone_at
  from ${from} join vitalsync.${stream.table} t on ${sameKeySql(stream, 't', 'i')}
  where ${namedSql(tx, 't.profile_id', ids)}
  on conflict do nothing`

/** A record that is gone as `compareStatement` returns it: the texts of its key, beginning with the profile, and of the instant; then its end. */
export type VanishedKey = readonly [...string[], string, number | null]

/** Two statements: the records that are gone go to the history as they were, and are marked. */
export function vanishStatements(tx: Tx, stream: PulledStream): { keep: string; mark: string } {
  const columns = [...keyNames(stream), 'sent_at']
  const from = unnestSql([...keyTypes(stream), 'timestamptz'], columns)
  return {
    keep: keepSql(tx, stream, { from, until: 'i.sent_at', ids: '$1' }),
    mark: `update vitalsync.${stream.table} t
      set gone_at = i.sent_at, changed_at = i.sent_at, read_at = i.sent_at, revision = t.revision + 1
      from ${from} where ${sameKeySql(stream, 't', 'i')} and ${namedSql(tx, 't.profile_id', '$1')}`,
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
    ...dayColumns(stream).map(() => ({ type: 'date' as const, cell: ({ row }: IncomingRecord) => row.localDateMs })),
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
      where ${sameKeySql(stream, 't', 'i')} and ${namedSql(tx, 't.profile_id', `$${types.length + 1}`)}`,
  }
}

function tableColumns(stream: PulledStream): { columns: string[]; types: string[] } {
  const days = dayColumns(stream)
  return {
    columns: ['profile_id', ...stream.columns.map(({ name }) => name), ...days, 'body', 'digest', 'read_at'],
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

/** The column of the day to which a record belongs; a snapshot belongs to every day. */
const dayColumns = (stream: PulledStream) => (stream.kind === 'snapshot' ? [] : ['local_date'])

/** The parameters of `replaceStatements`, as binary arrays, in their order. */
export function replaceParameters(
  stream: PulledStream,
  incoming: readonly IncomingRecord[],
): { keep: Buffer[]; replace: Buffer[] } {
  const column = recordColumn(incoming)
  const cells = (columns: readonly Column[]) =>
    stream.columns.flatMap((cell, index) =>
      columns.includes(cell) ? [column(arrayType[cell.type], ({ row }) => row.cells[index] ?? null)] : [],
    )
  const profileIds = column('int8', ({ reading }) => reading.profileId)
  const readAt = column('timestamptz', ({ reading }) => reading.sentAtMs * 1000)
  const ids = idColumn(incoming.map(({ reading }) => reading))
  return {
    keep: [profileIds, ...cells(keyColumns(stream)), readAt, ids],
    replace: [
      profileIds,
      ...cells(stream.columns),
      ...dayColumns(stream).map(() => column('date', ({ row }) => row.localDateMs)),
      column('text', ({ row }) => row.raw),
      column('digest', ({ row }) => row.digest),
      readAt,
      ids,
    ],
  }
}
