import type { DifferenceContext, RecordDifference } from '../../ledger/difference-cause.ts'
import type { SourceRecord } from '../../transfer/reading.ts'
import { keyColumns, type PulledStream } from '../../transfer/stream.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import { epochMsSql } from '../postgres/sql-time.ts'
import { digestOf } from '../postgres/text-digest.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import { type RecordRow, toRecordRows } from '../readings/record-rows.ts'
import type { CoveredWindow } from './covered-windows.ts'

/** Upstream's records of a window, compared with the stored records. */
export type WindowComparison = {
  /** Records that upstream gives. */
  readonly records: number
  readonly unreadable: number
  readonly differences: readonly RecordDifference[]
  readonly readSinceMs: DifferenceContext['readSinceMs']
}

type DifferenceRow =
  | { kind: 'missing-here'; n: number; isMarkedGone: boolean; isInHistory: boolean }
  | { kind: 'differing'; body: string; digest: string }
  | { kind: 'missing-upstream' }

/** Compares the records that upstream gives for a window with the stored records, one by one. Writes nothing. */
export async function compareWithStored(
  pool: Pool,
  { profileId, stream, window }: CoveredWindow,
  records: readonly SourceRecord[],
): Promise<WindowComparison> {
  const input = toRecordRows(stream, records)
  const bounds = stream.startColumn ? [new Date(window.startMs), new Date(window.endMs)] : []
  const values = [profileId, ...inputParameters(stream, input.rows), ...bounds]
  const { rows } = await pool.query<DifferenceRow>(comparisonStatement(stream), values)
  const counts = { records: input.rows.length, unreadable: input.invalid.length }
  if (rows.length === 0) return { ...counts, differences: [], readSinceMs: window.endMs }
  return {
    ...counts,
    differences: rows.map((row) => toDifference(stream, input.rows, row)),
    readSinceMs: Math.max(window.endMs, await newestReadingOf(pool, { profileId, stream }, bounds)),
  }
}

function toDifference(stream: PulledStream, rows: readonly RecordRow[], row: DifferenceRow): RecordDifference {
  if (row.kind === 'missing-upstream') return { kind: row.kind }
  if (row.kind === 'differing') {
    return { kind: row.kind, isDamaged: String(digestOf(row.body).readBigInt64BE(0)) !== row.digest }
  }
  const { kind, isMarkedGone, isInHistory } = row
  return { kind, isMarkedGone, isInHistory, madeAtMs: madeAtMsOf(stream, rows[row.n - 1]) }
}

/** When upstream made a record, in streams whose records say so. */
function madeAtMsOf(stream: PulledStream, row: RecordRow | undefined): number | undefined {
  const index = stream.columns.findIndex(({ name, key }) => name === MADE_AT_COLUMN && !key)
  const micros = index < 0 ? null : row?.cells[index]
  return typeof micros === 'number' ? micros / 1000 : undefined
}

const MADE_AT_COLUMN = 'created_at'

/**
 * An instant at which the window was read, or before: the newest reading that brought one of its records. A reading that
 * found nothing new leaves no trace in the records, so the window may have been read later than that.
 */
async function newestReadingOf(
  pool: Pool,
  { profileId, stream }: Pick<CoveredWindow, 'profileId' | 'stream'>,
  bounds: readonly Date[],
): Promise<number> {
  const { rows } = await pool.query<{ ms: number | null }>(
    `select ${epochMsSql('max(t.read_at)')} as ms from vitalsync.${stream.table} t
     where t.profile_id = $1 and ${isInsideSql(stream, 2)}`,
    [profileId, ...bounds],
  )
  return rows[0]?.ms ?? Number.NEGATIVE_INFINITY
}

/** The keys and the digests of the records, as binary arrays. */
function inputParameters(stream: PulledStream, rows: readonly RecordRow[]): Buffer[] {
  const keys = stream.columns.flatMap((column, index) => (column.key ? [{ column, index }] : []))
  return [
    ...keys.map(({ column, index }) =>
      binaryColumn(column.type === 'instant' ? 'timestamptz' : 'text', rows, ({ cells }) => cells[index] ?? null),
    ),
    binaryColumn('digest', rows, ({ digest }) => digest),
  ]
}

/**
 * One row for each record that differs. Parameters: the profile, the keys and digests of what upstream gives, and the
 * window's bounds if the stream has any.
 */
function comparisonStatement(stream: PulledStream): string {
  const keys = keyColumns(stream)
  const names = keys.map(({ name }) => name)
  const types = [...keys.map(({ type }) => (type === 'instant' ? 'timestamptz' : 'text')), 'int8']
  const isSame = names.map((name) => `t.${name} = i.${name}`).join(' and ') || 'true'
  const table = `vitalsync.${stream.table}`
  const keyObject = `jsonb_build_object(${names.flatMap((name) => [`'${name}'`, `i.${name}`]).join(', ')})`
  return `
    with input as materialized (
      select * from unnest(${types.map((type, index) => `$${index + 2}::${type}[]`).join(', ')})
        with ordinality as i(${[...names, 'digest', 'n'].join(', ')})
    )
    select 'missing-here' as kind, i.n::int as n, null as body, null as digest, t.profile_id is not null as "isMarkedGone",
      exists (select from vitalsync.history h
        where h.profile_id = $1 and h.stream = '${stream.name}' and h.record_key = ${keyObject}) as "isInHistory"
    from input i left join ${table} t on t.profile_id = $1 and ${isSame}
    where t.profile_id is null or t.gone_at is not null
    union all
    select 'differing', i.n::int, t.body, t.digest::text, null, null
    from input i join ${table} t on t.profile_id = $1 and ${isSame} where t.gone_at is null and t.digest <> i.digest
    union all
    select 'missing-upstream', null, null, null, null, null
    from ${table} t where t.profile_id = $1 and t.gone_at is null and ${isInsideSql(stream, types.length + 2)}
      and not exists (select from input i where ${isSame})`
}

/**
 * Whether a stored record lies wholly inside the window: upstream must have sent it, whatever upstream means by a window.
 * Stricter than \`mustHaveHeld\`, which counts a record that ends just where the window ends: a difference that is none would
 * look like a broken promise, and the neighbouring window holds that record too.
 */
function isInsideSql({ startColumn, endColumn }: PulledStream, firstBound: number): string {
  if (!startColumn) return 'true'
  const [startAt, endAt] = [`$${firstBound}::timestamptz`, `$${firstBound + 1}::timestamptz`]
  const start = `t.${startColumn}`
  const end = endColumn ? `coalesce(t.${endColumn}, ${start})` : start
  return `${start} >= ${startAt} and ${start} < ${endAt} and ${end} < ${endAt}`
}
