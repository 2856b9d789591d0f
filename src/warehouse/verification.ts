import { keyColumns, type PulledStream } from '../stream.ts'
import { binaryArray } from './binary-arrays.ts'
import type { Pool } from './pool.ts'
import { type SourceRecord, toRows } from './rows.ts'

/** A covered window chosen by chance. */
export type CoveredWindow = {
  readonly profileId: string
  readonly externalId: string
  readonly stream: PulledStream
  readonly from: number
  readonly to: number
}

export type Comparison = {
  records: number
  /** Upstream has them, we do not. */
  missingHere: number
  /** Both have them, and they differ. */
  differing: number
  /** We have them, upstream does not. */
  missingUpstream: number
}

/** Chooses covered windows, each stream and profile as likely as any other, none twice. */
export async function sampleCovered(
  { pool, streams }: { pool: Pool; streams: readonly PulledStream[] },
  { count, ids }: { count: number; ids: readonly string[] | undefined },
): Promise<CoveredWindow[]> {
  const { rows } = await pool.query(
    `with size as (
       select greatest(1, least(100, 100.0 * $2 * 20 / greatest(1, (select reltuples from pg_class
         where oid = 'vitalsync.ledger'::regclass)))) as share
     ), chosen as (
       select l.profile_id, l.stream, l.covered from vitalsync.ledger l, size
       where l.stream = any($1) and l.covered <> '{}' and ($3::int8[] is null or l.profile_id = any($3))
         and random() * 100 < size.share
       order by random() limit $2
     )
     select c.profile_id as "profileId", p.external_id as "externalId", c.stream, s.from, s.to
     from chosen c join vitalsync.profiles p on p.id = c.profile_id and p.state <> 'gone',
     lateral (select (extract(epoch from lower(r)) * 1000)::float8 as from, (extract(epoch from upper(r)) * 1000)::float8 as to
       from unnest(c.covered) r order by random() limit 1) s`,
    [streams.map(({ name }) => name), count, ids ?? null],
  )
  const byName = new Map<string, PulledStream>(streams.map((stream) => [stream.name, stream]))
  return rows.flatMap((row) => {
    const stream = byName.get(row.stream)
    return stream ? [{ ...row, stream }] : []
  })
}

/** Holds what upstream says of a window against what is stored, record by record. Writes nothing. */
export async function compareWindow(
  pool: Pool,
  window: CoveredWindow,
  records: readonly SourceRecord[],
): Promise<Comparison & { unreadable: number }> {
  const { stream } = window
  const { rows, odd } = toRows(stream, records)
  const keys = keyColumns(stream)
  const names = keys.map(({ name }) => name)
  const types = keys.map(({ type }) => (type === 'instant' ? 'timestamptz' : 'text'))
  const cells = keys.map((key, index) => {
    const at = stream.columns.indexOf(key)
    return binaryArray(
      types[index] === 'timestamptz' ? 'timestamptz' : 'text',
      rows.map((row) => row.cells[at] ?? null),
    )
  })
  const digests = binaryArray(
    'digest',
    rows.map((row) => row.digest),
  )
  const same = names.map((name) => `t.${name} = i.${name}`).join(' and ') || 'true'
  const own = names.length
  const text = `
    with input as (
      select * from unnest(${types.map((type, index) => `$${index + 2}::${type}[], `).join('')}$${own + 2}::int8[])
        as i(${[...names, 'digest'].join(', ')})
    )
    select (select count(*) from input)::int as records,
      (select count(*) from input i where not exists
        (select from vitalsync.${stream.table} t where t.profile_id = $1 and t.gone_at is null and ${same}))::int as "missingHere",
      (select count(*) from input i join vitalsync.${stream.table} t
        on t.profile_id = $1 and t.gone_at is null and ${same} where t.digest <> i.digest)::int as differing,
      (select count(*) from vitalsync.${stream.table} t where t.profile_id = $1 and t.gone_at is null
        and ${insideOf(stream, own)} and not exists (select from input i where ${same}))::int as "missingUpstream"`
  const bounds = stream.startColumn ? [new Date(window.from), new Date(window.to)] : []
  const found = await pool.query(text, [window.profileId, ...cells, digests, ...bounds])
  return { ...found.rows[0], unreadable: odd.length }
}

/** Only records that lie wholly inside: whatever upstream means by a window, those it must have sent. */
function insideOf(stream: PulledStream, own: number): string {
  const { startColumn: start } = stream
  if (!start) return 'true'
  const end = stream.endColumn ? `coalesce(t.${stream.endColumn}, t.${start})` : `t.${start}`
  return `t.${start} >= $${own + 3}::timestamptz and t.${start} < $${own + 4}::timestamptz and ${end} < $${own + 4}::timestamptz`
}
