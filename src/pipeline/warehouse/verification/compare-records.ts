import { digestOf } from '../../../base/text/digest.ts'
import type { Span } from '../../../base/time/spans.ts'
import type { RecordDifference } from '../../ledger/difference-cause.ts'
import type { InvalidRecord, Reading } from '../../transfer/reading.ts'
import { keyColumns, type PulledStream } from '../../transfer/stream.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import { epochMsSql } from '../postgres/sql-time.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import { latestStartMsOf, type RecordRow, recordPeriod, toRecordRows } from '../readings/record-rows.ts'
import type { CoveredWindow } from './covered-windows.ts'

/** Upstream's records of a window, compared with the stored records. */
export type WindowComparison = {
  /** Records that upstream gives and that can be read. */
  readonly records: number
  /** Records of the answer that do not fit, those in the quarantine included. */
  readonly unreadable: number
  readonly differences: readonly RecordDifference[]
}

type DifferenceRow =
  | { kind: 'missing-here'; n: number; isMarkedGone: boolean; isInHistory: boolean }
  | { kind: 'differing'; body: string; digest: string }
  | { kind: 'missing-upstream' }

/**
 * Compares the records that upstream gives for a window with the stored records, one by one. Writes nothing. A record that
 * cannot be read differs, unless it is in the quarantine; it may be any of the stored records that the answer lacks.
 */
export async function compareWithStored(
  pool: Pool,
  { profileId, stream, window }: CoveredWindow,
  { records, invalid, sentAtMs }: Pick<Reading, 'records' | 'invalid' | 'sentAtMs'>,
): Promise<WindowComparison> {
  const input = toRecordRows(stream, records, latestStartMsOf({ window, sentAtMs }))
  const unreadable = [...invalid, ...input.invalid]
  const bounds = stream.startColumn ? [new Date(window.startMs), new Date(window.endMs)] : []
  const values = [profileId, ...inputParameters(stream, input.rows), ...bounds]
  const { rows: all } = await pool.query<DifferenceRow>(comparisonStatement(stream), values)
  const rows = unreadable.length > 0 ? all.filter(({ kind }) => kind !== 'missing-upstream') : all
  const counts = { records: input.rows.length, unreadable: unreadable.length }
  const unknown = await countUnknown(pool, { profileId, stream }, unreadable)
  const unreadableHere = Array.from({ length: unknown }, () => ({ kind: 'differing', isDamaged: false }) as const)
  if (rows.length === 0) return { ...counts, differences: unreadableHere }
  const read = await newestReadingsOf(pool, { profileId, stream }, bounds)
  const readSinceMs = (row: RecordRow | undefined) =>
    Math.max(window.endMs, ...sidesOf(row, window).map((side) => read[side] ?? Number.NEGATIVE_INFINITY))
  const differences = rows.map((row) => toDifference(row, { stream, rows: input.rows, readSinceMs }))
  return { ...counts, differences: [...differences, ...unreadableHere] }
}

/** How many of the records that cannot be read are not in the quarantine. */
async function countUnknown(
  pool: Pool,
  { profileId, stream }: Pick<CoveredWindow, 'profileId' | 'stream'>,
  unreadable: readonly InvalidRecord[],
): Promise<number> {
  if (unreadable.length === 0) return 0
  const { rows } = await pool.query<{ n: number }>(
    `select count(*)::int as n from (select distinct unnest($3::bytea[]) as digest) i
     where not exists (select from vitalsync.quarantine q where q.profile_id = $1 and q.stream = $2
       and q.direction = 'pull' and q.digest = i.digest)`,
    [profileId, stream.name, unreadable.map(({ raw }) => digestOf(raw))],
  )
  return rows[0]?.n ?? 0
}

type Read = {
  readonly stream: PulledStream
  readonly rows: readonly RecordRow[]
  readSinceMs(row: RecordRow | undefined): number
}

function toDifference(row: DifferenceRow, { stream, rows, readSinceMs }: Read): RecordDifference {
  if (row.kind === 'missing-upstream') return { kind: row.kind }
  if (row.kind === 'differing') {
    return { kind: row.kind, isDamaged: String(digestOf(row.body).readBigInt64BE(0)) !== row.digest }
  }
  const { kind, isMarkedGone, isInHistory } = row
  const missing = rows[row.n - 1]
  return {
    kind,
    isMarkedGone,
    isInHistory,
    madeAtMs: madeAtMsOf(stream, missing),
    readSinceMs: readSinceMs(missing),
  }
}

/** When upstream made a record, in streams whose records say so. */
function madeAtMsOf(stream: PulledStream, row: RecordRow | undefined): number | undefined {
  const index = stream.columns.findIndex(({ name, key }) => name === MADE_AT_COLUMN && !key)
  const micros = index < 0 ? null : row?.cells[index]
  return typeof micros === 'number' ? micros / 1000 : undefined
}

const MADE_AT_COLUMN = 'created_at'

/** Where a record lies in a window: the neighbouring window's readings hold a record at a border as well. */
type Side = 'inside' | 'atStart' | 'atEnd'

function sidesOf(row: RecordRow | undefined, window: Span): Side[] {
  if (row === undefined) return ['inside']
  const { startMs, endMs } = recordPeriod(row)
  const [atStart, atEnd] = [startMs < window.startMs, endMs >= window.endMs]
  return ['inside', ...(atStart ? ['atStart' as const] : []), ...(atEnd ? ['atEnd' as const] : [])]
}

/**
 * Instants at which the window was read, or before: the newest readings that brought a record inside, at the start and at the
 * end of the window. A reading that found nothing new leaves no trace in the records, so the window may have been read later.
 */
async function newestReadingsOf(
  pool: Pool,
  { profileId, stream }: Pick<CoveredWindow, 'profileId' | 'stream'>,
  bounds: readonly Date[],
): Promise<Record<Side, number | null>> {
  const { rows } = await pool.query<Record<Side, number | null>>(newestReadingsSql(stream), [profileId, ...bounds])
  return rows[0] ?? { inside: null, atStart: null, atEnd: null }
}

function newestReadingsSql(stream: PulledStream): string {
  const newest = (filter: string) => epochMsSql(`max(t.read_at) ${filter}`)
  const from = `from vitalsync.${stream.table} t where t.profile_id = $1`
  if (!stream.startColumn) return `select ${newest('')} as inside, null as "atStart", null as "atEnd" ${from}`
  const { startAt, endAt, start, end } = periodSql(stream, 2)
  return `select ${newest(`filter (where ${isInsideSql(stream, 2)})`)} as inside,
      ${newest(`filter (where ${start} < ${startAt} and ${end} < ${endAt})`)} as "atStart",
      ${newest(`filter (where ${start} >= ${startAt} and ${end} >= ${endAt})`)} as "atEnd"
    ${from} and ${start} <= ${endAt} and ${end} >= ${startAt}`
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
function isInsideSql(stream: PulledStream, firstBound: number): string {
  if (!stream.startColumn) return 'true'
  const { startAt, endAt, start, end } = periodSql(stream, firstBound)
  return `${start} >= ${startAt} and ${start} < ${endAt} and ${end} < ${endAt}`
}

/** The bounds of the window, and the period of a stored record. */
function periodSql({ startColumn, endColumn }: PulledStream, firstBound: number) {
  const start = `t.${startColumn}`
  return {
    startAt: `$${firstBound}::timestamptz`,
    endAt: `$${firstBound + 1}::timestamptz`,
    start,
    end: endColumn ? `coalesce(t.${endColumn}, ${start})` : start,
  }
}
