import type { Span } from '../../time/spans.ts'
import type { ProfilePage } from '../../transfer/planned-profile.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { epochMsSql } from '../postgres/sql-time.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

/** A covered window of a profile's stream, at most as long as one request asks for. */
export type CoveredWindow = {
  readonly profileId: string
  readonly externalId: string
  readonly stream: PulledStream
  readonly window: Span
  /** The ledger's generation when the window was chosen: see `DueWindow`. */
  readonly generation: number
}

type Source = { readonly pool: Pool; readonly streams: readonly PulledStream[] }

/** All covered windows whose draw is at most `upTo`: the same seed draws the same windows. */
export type WindowDraw = { readonly seed: string; readonly upTo: string }

/**
 * Every covered window. A covered span is cut at whole multiples of its stream's window size since 1970, so each covered
 * day lies in one window, and windows that are drawn with equal chance give each covered day the same chance. A snapshot
 * speaks of now: its stream has one window.
 *
 * `draw` is a hash of the window under a seed: chance that can be repeated, and a draw without a table of all windows.
 * Parameters: the streams' names, their window sizes in milliseconds (null: a snapshot), the profiles (null: all), the seed.
 */
const coveredWindowsSql = `
  select l.profile_id, p.external_id, l.stream, l.generation,
    case when s.size_ms is null then lower(r) else greatest(lower(r), to_timestamp(k * s.size_ms / 1000)) end as from_at,
    case when s.size_ms is null then upper(r) else least(upper(r), to_timestamp((k + 1) * s.size_ms / 1000)) end as to_at,
    hashtextextended(concat_ws(' ', l.profile_id, l.stream, k, extract(epoch from lower(r))), $4::int8) as draw
  from vitalsync.ledger l
  join vitalsync.profiles p on p.id = l.profile_id and p.state <> 'gone'
  join unnest($1::text[], $2::float8[]) s(name, size_ms) on s.name = l.stream
  cross join unnest(case when s.size_ms is null then multirange(range_merge(l.covered)) else l.covered end) r
  cross join generate_series(
    case when s.size_ms is null then 0 else floor(${epochMsSql('lower(r)')} / s.size_ms)::int8 end,
    case when s.size_ms is null then 0 else ceil(${epochMsSql('upper(r)')} / s.size_ms)::int8 - 1 end) k
  where l.covered <> '{}' and ($3::int8[] is null or l.profile_id = any($3))`

const parametersOf = ({ streams }: Source, { seed, ids }: { seed: string; ids: readonly string[] | undefined }) => [
  streams.map(({ name }) => name),
  streams.map(({ kind, windowMs }) => (kind === 'snapshot' ? null : windowMs)),
  ids ?? null,
  seed,
]

type WindowRow = {
  profileId: string
  externalId: string
  stream: string
  generation: number
  startMs: number
  endMs: number
}

const windowColumns = `profile_id as "profileId", external_id as "externalId", stream, generation::float8 as generation,
  ${epochMsSql('from_at')} as "startMs", ${epochMsSql('to_at')} as "endMs"`

/**
 * Draws covered windows: each is as likely as any other, and none comes twice. Fewer than `count` means that there are no
 * more. One pass over the ledger; Postgres keeps only the `count` lowest draws in memory.
 */
export async function sampleCoveredWindows(
  source: Source,
  { count, seed, ids }: { count: number; seed: string; ids: readonly string[] | undefined },
): Promise<CoveredWindow[]> {
  const { rows } = await source.pool.query<WindowRow>(
    `select ${windowColumns} from (${coveredWindowsSql}) w order by draw, profile_id, stream limit $5`,
    [...parametersOf(source, { seed, ids }), count],
  )
  return toCoveredWindows(source, rows)
}

/** The draw that holds `count` covered windows, or all when there are fewer; undefined when nothing is covered. */
export async function drawCoveredWindows(
  source: Source,
  { count, seed }: { count: number; seed: string },
): Promise<WindowDraw | undefined> {
  const { rows } = await source.pool.query<{ upTo: string | null }>(
    `select max(draw)::text as "upTo" from (select draw from (${coveredWindowsSql}) w order by draw limit $5) lowest`,
    [...parametersOf(source, { seed, ids: undefined }), count],
  )
  const upTo = rows[0]?.upTo
  return upTo ? { seed, upTo } : undefined
}

/** The profiles of which a draw holds windows, in pages by id. */
export async function listDrawnProfiles(
  source: Source,
  { seed, upTo }: WindowDraw,
  { afterId, limit }: { afterId: string; limit: number },
): Promise<ProfilePage> {
  const { rows } = await source.pool.query<{ id: string }>(
    `select distinct profile_id as id from (${coveredWindowsSql}) w where draw <= $5::int8 and profile_id > $6
     order by 1 limit $7`,
    [...parametersOf(source, { seed, ids: undefined }), upTo, afterId, limit],
  )
  const ids = rows.map(({ id }) => id)
  return { ids, lastId: ids.at(-1) ?? afterId }
}

/** The windows of one profile that a draw holds. */
export async function listDrawnWindows(
  source: Source,
  { seed, upTo }: WindowDraw,
  profileId: string,
): Promise<CoveredWindow[]> {
  const { rows } = await source.pool.query<WindowRow>(
    `select ${windowColumns} from (${coveredWindowsSql}) w where draw <= $5::int8 order by draw limit ${WINDOWS_PER_PROFILE_MAX}`,
    [...parametersOf(source, { seed, ids: [profileId] }), upTo],
  )
  return toCoveredWindows(source, rows)
}

const WINDOWS_PER_PROFILE_MAX = 500

function toCoveredWindows({ streams }: Source, rows: readonly WindowRow[]): CoveredWindow[] {
  const byName = new Map(streams.map((stream) => [stream.name, stream]))
  return rows.flatMap(({ profileId, externalId, generation, startMs, endMs, ...row }) => {
    const stream = byName.get(row.stream)
    return stream ? [{ profileId, externalId, stream, generation, window: { startMs, endMs } }] : []
  })
}
