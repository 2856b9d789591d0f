import type { Column, PulledStream } from '../stream.ts'
import { keyColumns } from '../stream.ts'
import { binaryArray, type Cell, type ColumnType } from './binary-arrays.ts'
import type { Row } from './rows.ts'

const sqlType = { text: 'text', instant: 'timestamptz', number: 'float8', boolean: 'bool' } as const

/** A reading's share of a group: who, which window, when asked, what came. */
export type GroupedReading = {
  readonly profileId: string
  readonly fromMs: number
  readonly toMs: number
  readonly sentAtMs: number
  readonly rows: readonly Row[]
  /** Whether what is missing within the window is gone. */
  readonly complete: boolean
}

/**
 * One statement that stores the rows of many readings of one stream. It writes only what is new or changed, keeps the
 * former self of what changed, and marks gone what a complete reading no longer holds.
 * Its caller holds the ledger rows of all these readings, so that nobody else writes the same records meanwhile.
 */
export function storeStatement(stream: PulledStream): string {
  const own = stream.columns.map((column) => column.name)
  const keys = ['profile_id', ...keyColumns(stream).map((column) => column.name)]
  const dated = stream.kind === 'windowed' ? ['local_date'] : []
  const columns = ['profile_id', ...own, ...dated, 'raw', 'digest', 'read_at']
  const types = [
    'int8',
    ...stream.columns.map((column) => sqlType[column.type]),
    ...dated.map(() => 'date'),
    'text',
    'int8',
    'timestamptz',
  ]
  const table = `vitalsync.${stream.table}`
  const same = (a: string, b: string) => keys.map((key) => `${a}.${key} = ${b}.${key}`).join(' and ')
  const recordKey = `jsonb_build_object(${keyColumns(stream).flatMap((column) => [`'${column.name}'`, `t.${column.name}`])})`
  const changed = [...own.filter((name) => !keys.includes(name)), ...dated, 'raw', 'digest', 'read_at']
  const next = types.length

  return `
with input as materialized (
  select * from unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')}) as i(${columns.join(', ')})
), fresh as materialized (
  select i.*, t.revision as former_revision, t.raw as former_raw, t.changed_at as former_at, t.gone_at as former_gone_at
  from input i left join ${table} t on ${same('t', 'i')}
  where t.profile_id is null or (t.read_at < i.read_at and (t.digest <> i.digest or t.gone_at is not null))
), lost as materialized (
  select t.*, w.sent_at
  from unnest($${next + 1}::int8[], $${next + 2}::timestamptz[], $${next + 3}::timestamptz[], $${next + 4}::timestamptz[])
    as w(profile_id, from_at, to_at, sent_at)
  join ${table} t on t.profile_id = w.profile_id and ${insideWindow(stream)}
  where t.gone_at is null and t.read_at < w.sent_at and not exists (select from input i where ${same('i', 't')})
), kept as (
  insert into vitalsync.history (profile_id, stream, record_key, revision, raw, recorded, gone_at)
  select t.profile_id, '${stream.name}', ${recordKey}, t.former_revision, t.former_raw, tstzrange(t.former_at, t.read_at), t.former_gone_at
  from fresh t where t.former_revision is not null
  union all
  select t.profile_id, '${stream.name}', ${recordKey}, t.revision, t.raw, tstzrange(t.changed_at, t.sent_at), t.gone_at from lost t
  on conflict do nothing
), vanished as (
  update ${table} t set gone_at = g.sent_at, changed_at = g.sent_at, read_at = g.sent_at, revision = t.revision + 1
  from lost g where ${same('t', 'g')} returning t.profile_id
), stored as (
  insert into ${table} (${columns.join(', ')}, first_seen_at, changed_at)
  select ${columns.map((name) => (name === 'raw' ? 'raw::jsonb' : name)).join(', ')}, read_at, read_at
  from fresh order by ${keys.join(', ')}
  on conflict (${keys.join(', ')}) do update set ${changed.map((name) => `${name} = excluded.${name}`).join(', ')},
    changed_at = excluded.read_at, gone_at = null, revision = ${stream.table}.revision + 1
  returning profile_id
)
select profile_id, count(*)::int as written
from (select profile_id from stored union all select profile_id from vanished) touched group by profile_id`
}

/** The same as `isInside` of the planner, in SQL: of these records a reading that lacks them says that they are gone. */
function insideWindow(stream: PulledStream): string {
  if (!stream.startColumn) return 'true'
  const end = stream.endColumn ? `coalesce(t.${stream.endColumn}, t.${stream.startColumn})` : `t.${stream.startColumn}`
  return `t.${stream.startColumn} >= w.from_at and t.${stream.startColumn} < w.to_at and ${end} <= w.to_at`
}

const arrayType: Record<Column['type'], ColumnType> = {
  text: 'text',
  instant: 'timestamptz',
  number: 'float8',
  boolean: 'bool',
}

/** The parameters of `storeStatement`, as binary arrays, in its order. */
export function storeParameters(stream: PulledStream, readings: readonly GroupedReading[]): Buffer[] {
  const pairs = readings.flatMap((reading) => reading.rows.map((row) => ({ row, reading })))
  const column = (type: ColumnType, cell: (pair: { row: Row; reading: GroupedReading }) => Cell) =>
    binaryArray(type, pairs.map(cell))
  const complete = readings.filter((reading) => reading.complete)
  const window = (type: ColumnType, cell: (reading: GroupedReading) => Cell) => binaryArray(type, complete.map(cell))
  return [
    column('int8', (pair) => pair.reading.profileId),
    ...stream.columns.map(({ type }, index) => column(arrayType[type], (pair) => pair.row.cells[index] ?? null)),
    ...(stream.kind === 'windowed' ? [column('date', (pair) => pair.row.localDateMs)] : []),
    column('text', (pair) => pair.row.raw),
    column('digest', (pair) => pair.row.digest),
    column('timestamptz', (pair) => pair.reading.sentAtMs * 1000),
    window('int8', (reading) => reading.profileId),
    window('timestamptz', (reading) => reading.fromMs * 1000),
    window('timestamptz', (reading) => reading.toMs * 1000),
    window('timestamptz', (reading) => reading.sentAtMs * 1000),
  ]
}
