import type { Span } from '../../time/spans.ts'
import type { SourceRecord } from '../../transfer/reading.ts'
import { keyColumns, type PulledStream } from '../../transfer/stream.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import { epochMsSql } from '../postgres/sql-time.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import { type RecordRow, toRecordRows } from '../readings/record-rows.ts'

/** A covered span of a profile's stream, chosen by chance. */
export type CoveredWindow = {
  readonly profileId: string
  readonly externalId: string
  readonly stream: PulledStream
  readonly window: Span
}

type SampleRow = { profileId: string; externalId: string; stream: string; startMs: number; endMs: number }

export type WindowComparison = {
  /** Records that upstream gives. */
  readonly records: number
  /** Records that upstream gives and the warehouse lacks. */
  readonly missingHere: number
  /** Records that both have, and that differ. */
  readonly differing: number
  /** Records that the warehouse has and upstream does not give. */
  readonly missingUpstream: number
}

/** Chooses covered spans by chance: every stream of every profile is as likely as any other, and none comes twice. */
export async function sampleCoveredWindows(
  { pool, streams }: { pool: Pool; streams: readonly PulledStream[] },
  { count, ids }: { count: number; ids: readonly string[] | undefined },
): Promise<CoveredWindow[]> {
  const { rows } = await pool.query<SampleRow>(
    `with size as (
       select greatest(1, least(100, 100.0 * $2 * 20 / greatest(1, (select reltuples from pg_class
         where oid = 'vitalsync.ledger'::regclass)))) as share
     ), chosen as (
       select l.profile_id, l.stream, l.covered from vitalsync.ledger l, size
       where l.stream = any($1) and l.covered <> '{}' and ($3::int8[] is null or l.profile_id = any($3))
         and random() * 100 < size.share
       order by random() limit $2
     )
     select c.profile_id as "profileId", p.external_id as "externalId", c.stream, s."startMs", s."endMs"
     from chosen c join vitalsync.profiles p on p.id = c.profile_id and p.state <> 'gone',
     lateral (select ${epochMsSql('lower(r)')} as "startMs", ${epochMsSql('upper(r)')} as "endMs"
       from unnest(c.covered) r order by random() limit 1) s`,
    [streams.map(({ name }) => name), count, ids ?? null],
  )
  const byName = new Map<string, PulledStream>(streams.map((stream) => [stream.name, stream]))
  return rows.flatMap(({ profileId, externalId, startMs, endMs, ...row }) => {
    const stream = byName.get(row.stream)
    return stream ? [{ profileId, externalId, stream, window: { startMs, endMs } }] : []
  })
}

/** Compares the records that upstream gives for a window with the stored records, one by one. Writes nothing. */
export async function compareWithStored(
  pool: Pool,
  { profileId, stream, window }: CoveredWindow,
  records: readonly SourceRecord[],
): Promise<WindowComparison & { unreadable: number }> {
  const input = toRecordRows(stream, records)
  const bounds = stream.startColumn ? [new Date(window.startMs), new Date(window.endMs)] : []
  const { rows } = await pool.query<WindowComparison>(comparisonStatement(stream), [
    profileId,
    ...inputParameters(stream, input.rows),
    ...bounds,
  ])
  const nothing = { records: 0, missingHere: 0, differing: 0, missingUpstream: 0 }
  return { ...nothing, ...rows[0], unreadable: input.invalid.length }
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

/** Parameters: the profile, the keys and digests of what upstream gives, and the window's bounds if the stream has any. */
function comparisonStatement(stream: PulledStream): string {
  const keys = keyColumns(stream)
  const names = keys.map(({ name }) => name)
  const types = [...keys.map(({ type }) => (type === 'instant' ? 'timestamptz' : 'text')), 'int8']
  const isSame = names.map((name) => `t.${name} = i.${name}`).join(' and ') || 'true'
  const stored = `vitalsync.${stream.table} t where t.profile_id = $1 and t.gone_at is null`
  return `
    with input as (
      select * from unnest(${types.map((type, index) => `$${index + 2}::${type}[]`).join(', ')})
        as i(${[...names, 'digest'].join(', ')})
    )
    select (select count(*) from input)::int as records,
      (select count(*) from input i where not exists (select from ${stored} and ${isSame}))::int as "missingHere",
      (select count(*) from input i join vitalsync.${stream.table} t
        on t.profile_id = $1 and t.gone_at is null and ${isSame} where t.digest <> i.digest)::int as differing,
      (select count(*) from ${stored} and ${isInsideSql(stream, types.length + 2)}
        and not exists (select from input i where ${isSame}))::int as "missingUpstream"`
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
