import type { Column, PulledStream } from '../stream.ts'
import { keyColumns } from '../stream.ts'
import {
  binaryColumn,
  binaryRows,
  type Cell,
  type ColumnType,
  type CopyColumn,
  type LentBytes,
} from './binary-arrays.ts'
import type { Row } from './rows.ts'

const sqlType = { text: 'text', instant: 'timestamptz', number: 'float8', boolean: 'bool' } as const

/** A reading's share of a group: who, which window, when asked, what came. */
export type GroupedReading = {
  readonly profileId: string
  readonly fromMs: number
  readonly toMs: number
  /** Records that began since then and end within the window must have been held. Before the window's start, or it. */
  readonly backToMs: number
  /** Short names of what newer readings of neighbouring windows held: of that this one says nothing. */
  readonly heldByNewer: readonly number[]
  readonly sentAtMs: number
  readonly rows: readonly Row[]
  /** Whether what is missing within the window is gone. */
  readonly complete: boolean
}

/** One record on its way into its table, and the reading it came with. */
export type Arriving = { readonly row: Row; readonly reading: GroupedReading }

/*
 * Three statements store the readings of one stream. All of them rely on their caller: it holds the ledger rows of these
 * readings, so that nobody else writes the same records meanwhile.
 */

const same = (stream: PulledStream, a: string, b: string) =>
  namesOfKey(stream)
    .map((key) => `${a}.${key} = ${b}.${key}`)
    .join(' and ')

const namesOfKey = (stream: PulledStream) => ['profile_id', ...keyColumns(stream).map((column) => column.name)]

const recordKey = (stream: PulledStream) =>
  `jsonb_build_object(${keyColumns(stream).flatMap((column) => [`'${column.name}'`, `t.${column.name}`])})`

const unnest = (types: readonly string[], columns: readonly string[]) =>
  `unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')}) as i(${columns.join(', ')})`

/**
 * Holds what came against what is there, by names and digests alone: most of what is read again has not changed, and its
 * text then need not travel. Says which of the input, by number, are new and which have changed. What a complete reading
 * no longer holds is marked gone, its former self kept.
 *
 * `not in`, for those are hashed whatever the planner believes of the size of an array; of `not exists` it has made a
 * loop in a loop.
 */
export function compareStatement(stream: PulledStream): string {
  const keys = namesOfKey(stream)
  const types = ['int8', ...keyColumns(stream).map((column) => sqlType[column.type]), 'int8', 'timestamptz']
  const next = types.length
  const table = `vitalsync.${stream.table}`
  return `
with input as materialized (
  select * from unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})
    with ordinality as i(${keys.join(', ')}, digest, read_at, n)
), fresh as materialized (
  select i.n, t.profile_id is not null as known
  from input i left join ${table} t on ${same(stream, 't', 'i')}
  where t.profile_id is null or (t.read_at < i.read_at and (t.digest <> i.digest or t.gone_at is not null))
), lost as materialized (
  select t.*, w.sent_at
  from unnest($${next + 1}::int8[], $${next + 2}::timestamptz[], $${next + 3}::timestamptz[], $${next + 4}::timestamptz[],
    $${next + 5}::timestamptz[]) as w(profile_id, from_at, to_at, sent_at, back_to)
  join ${table} t on t.profile_id = w.profile_id and ${belongsToWindow(stream)}
  where t.gone_at is null and t.read_at < w.sent_at
    and (${keys.map((key) => `t.${key}`).join(', ')}) not in (select ${keys.join(', ')} from input)
    and (t.profile_id, ${shortName(stream)}) not in (select * from unnest($${next + 6}::int8[], $${next + 7}::int8[]))
), kept as (
  insert into vitalsync.history (profile_id, stream, record_key, revision, body, recorded, gone_at)
  select t.profile_id, '${stream.name}', ${recordKey(stream)}, t.revision, t.body, tstzrange(t.changed_at, t.sent_at), t.gone_at from lost t
  on conflict do nothing
), vanished as (
  update ${table} t set gone_at = g.sent_at, changed_at = g.sent_at, read_at = g.sent_at, revision = t.revision + 1
  from lost g where ${same(stream, 't', 'g')} returning t.profile_id
)
select (select array_agg(n::int4) from fresh where not known) as added,
  (select array_agg(n::int4) from fresh where known) as changed,
  (select array_agg(profile_id::text) from vanished) as vanished`
}

/** The parameters of `compareStatement`, as binary arrays, in its order. */
export function compareParameters(
  stream: PulledStream,
  arriving: readonly Arriving[],
  readings: readonly GroupedReading[],
): Buffer[] {
  const column = columnOf(arriving)
  const keys = stream.columns.flatMap((one, index) => (one.key ? [{ index, type: arrayType[one.type] }] : []))
  const complete = readings.filter((reading) => reading.complete)
  const held = complete.flatMap(({ profileId, heldByNewer }) => heldByNewer.map((name) => ({ profileId, name })))
  const window = (type: ColumnType, cell: (reading: GroupedReading) => Cell) => binaryColumn(type, complete, cell)
  return [
    column('int8', ({ reading }) => reading.profileId),
    ...keys.map(({ index, type }) => column(type, ({ row }) => row.cells[index] ?? null)),
    column('digest', ({ row }) => row.digest),
    column('timestamptz', ({ reading }) => reading.sentAtMs * 1000),
    window('int8', (reading) => reading.profileId),
    window('timestamptz', (reading) => reading.fromMs * 1000),
    window('timestamptz', (reading) => reading.toMs * 1000),
    window('timestamptz', (reading) => reading.sentAtMs * 1000),
    window('timestamptz', (reading) => reading.backToMs * 1000),
    binaryColumn('int8', held, ({ profileId }) => profileId),
    binaryColumn('int8', held, ({ name }) => name),
  ]
}

/** Stores records that are not there yet. One that is there all the same would be a broken promise, and an error. */
export function addStatement(stream: PulledStream): string {
  const { columns } = shapeOf(stream)
  return `copy vitalsync.${stream.table} (${columns.join(', ')}, first_seen_at, changed_at) from stdin (format binary)`
}

/** The rows that `addStatement` takes. */
export function addRows(stream: PulledStream, arriving: readonly Arriving[]): LentBytes {
  const readAt: CopyColumn<Arriving> = { type: 'timestamptz', cell: ({ reading }) => reading.sentAtMs * 1000 }
  return binaryRows(arriving, [
    { type: 'int8', cell: ({ reading }) => reading.profileId },
    ...stream.columns.map((column, index) => ({
      type: arrayType[column.type],
      cell: ({ row }: Arriving) => row.cells[index] ?? null,
    })),
    ...(stream.kind === 'windowed' ? [{ type: 'date' as const, cell: ({ row }: Arriving) => row.localDateMs }] : []),
    { type: 'text', cell: ({ row }) => row.raw },
    { type: 'digest', cell: ({ row }) => row.digest },
    readAt,
    readAt,
    readAt,
  ])
}

/** Stores records that have changed, or came back, and keeps their former selves. */
export function replaceStatement(stream: PulledStream): string {
  const { columns, types } = shapeOf(stream)
  const keys = namesOfKey(stream)
  const table = `vitalsync.${stream.table}`
  const changed = columns.filter((name) => !keys.includes(name))
  return `
with input as materialized (
  select * from ${unnest(types, columns)}
), kept as (
  insert into vitalsync.history (profile_id, stream, record_key, revision, body, recorded, gone_at)
  select t.profile_id, '${stream.name}', ${recordKey(stream)}, t.revision, t.body, tstzrange(t.changed_at, i.read_at), t.gone_at
  from input i join ${table} t on ${same(stream, 't', 'i')}
  on conflict do nothing
)
update ${table} t set ${changed.map((name) => `${name} = i.${name}`).join(', ')},
  changed_at = i.read_at, gone_at = null, revision = t.revision + 1
from input i where ${same(stream, 't', 'i')}`
}

function shapeOf(stream: PulledStream): { columns: string[]; types: string[] } {
  const dated = stream.kind === 'windowed'
  const own = stream.columns.map((column) => column.name)
  return {
    columns: ['profile_id', ...own, ...(dated ? ['local_date'] : []), 'body', 'digest', 'read_at'],
    types: [
      'int8',
      ...stream.columns.map((column) => sqlType[column.type]),
      ...(dated ? ['date'] : []),
      'text',
      'int8',
      'timestamptz',
    ],
  }
}

/** The same as `mustHaveHeld` of the planner, in SQL: of these records a reading that lacks them says that they are gone. */
function belongsToWindow(stream: PulledStream): string {
  if (!stream.startColumn) return 'true'
  const start = `t.${stream.startColumn}`
  const end = stream.endColumn ? `coalesce(t.${stream.endColumn}, ${start})` : start
  return `${start} >= w.back_to and ${start} < w.to_at and ${end} <= w.to_at and (${start} >= w.from_at or ${end} > w.from_at)`
}

/** The same as `shortNameOf`, of a stored record. Instants and texts are the same words there and here. */
function shortName(stream: PulledStream): string {
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

const columnOf = (arriving: readonly Arriving[]) => (type: ColumnType, cell: (one: Arriving) => Cell) =>
  binaryColumn(type, arriving, cell)

/** The parameters of `replaceStatement`, as binary arrays, in its order. */
export function storeParameters(stream: PulledStream, arriving: readonly Arriving[]): Buffer[] {
  const column = columnOf(arriving)
  return [
    column('int8', ({ reading }) => reading.profileId),
    ...stream.columns.map(({ type }, index) => column(arrayType[type], ({ row }) => row.cells[index] ?? null)),
    ...(stream.kind === 'windowed' ? [column('date', ({ row }) => row.localDateMs)] : []),
    column('text', ({ row }) => row.raw),
    column('digest', ({ row }) => row.digest),
    column('timestamptz', ({ reading }) => reading.sentAtMs * 1000),
  ]
}
