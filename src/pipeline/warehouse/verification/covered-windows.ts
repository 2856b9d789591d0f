import type { Span } from '../../../base/time/spans.ts'
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

type Source = {
  readonly pool: Pool
  readonly streams: readonly PulledStream[]
}

/** All covered windows whose draw is at most `upTo`: the same seed draws the same windows. */
export type WindowDraw = { readonly seed: string; readonly upTo: string }

/**
 * Every covered window of some profiles. A covered span is cut at whole multiples of its stream's window size since 1970, so
 * each covered day lies in one window, and windows that are drawn with equal chance give each covered day the same chance. A
 * snapshot describes the present: its stream has one window.
 *
 * `draw` is a hash of the window under a seed: chance that can be repeated, and a draw without a table of all windows.
 * Parameters: the streams' names, their window sizes in milliseconds (null: a snapshot), the profiles (null: all), the seed,
 * and the ids between which the profiles lie.
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
  where l.covered <> '{}' and ($3::int8[] is null or l.profile_id = any($3)) and l.profile_id > $5 and l.profile_id <= $6`

/** Profiles of one statement: it takes a second or two, however large the warehouse. */
const PROFILES_PER_STATEMENT = 20_000

type ProfileRange = { readonly afterId: string; readonly lastId: string }
type Chance = { readonly seed: string; readonly ids: readonly string[] | undefined }

const parametersOf = ({ streams }: Source, { seed, ids }: Chance, { afterId, lastId }: ProfileRange) => [
  streams.map(({ name }) => name),
  streams.map(({ kind, windowMs }) => (kind === 'snapshot' ? null : windowMs)),
  ids ?? null,
  seed,
  afterId,
  lastId,
]

const everyProfile: ProfileRange = { afterId: '0', lastId: String(2n ** 63n - 1n) }

/** Neighbouring ranges that hold all profiles after `from`. */
async function* profileRanges({ pool }: Source, from: string): AsyncGenerator<ProfileRange> {
  for (let afterId = from; ; ) {
    const { rows } = await pool.query<{ id: string | null }>(
      `select max(id) as id from (
         select id from vitalsync.profiles where id > $1 order by id limit ${PROFILES_PER_STATEMENT}) page`,
      [afterId],
    )
    const lastId = rows[0]?.id
    if (!lastId) return
    yield { afterId, lastId }
    afterId = lastId
  }
}

type WindowRow = {
  profileId: string
  externalId: string
  stream: string
  generation: number
  startMs: number
  endMs: number
  draw: string
}

const windowColumns = `profile_id as "profileId", external_id as "externalId", stream, generation::float8 as generation,
  ${epochMsSql('from_at')} as "startMs", ${epochMsSql('to_at')} as "endMs", draw::text as draw`

/** The windows with the lowest draws. In memory are twice `count` windows at most, here as in Postgres. */
async function lowestDraws(
  source: Source,
  chance: Chance,
  { count }: { readonly count: number },
): Promise<readonly WindowRow[]> {
  let lowest: readonly WindowRow[] = []
  // A few profiles that are named need no pass over the others.
  for await (const range of chance.ids ? [everyProfile] : profileRanges(source, '0')) {
    const { rows } = await source.pool.query<WindowRow>(
      `select ${windowColumns} from (${coveredWindowsSql}) w order by w.draw, profile_id, stream limit $7`,
      [...parametersOf(source, chance, range), count],
    )
    lowest = [...lowest, ...rows].sort(byDraw).slice(0, count)
  }
  return lowest
}

const byDraw = (a: WindowRow, b: WindowRow): number => {
  const [left, right] = [BigInt(a.draw), BigInt(b.draw)]
  return left < right ? -1 : left > right ? 1 : 0
}

/**
 * Draws covered windows: each is as likely as any other, and none comes twice. Fewer than `count` means that there are no
 * more.
 */
export async function sampleCoveredWindows(
  source: Source,
  { count, seed, ids }: { count: number; seed: string; ids: readonly string[] | undefined },
): Promise<CoveredWindow[]> {
  return toCoveredWindows(source, await lowestDraws(source, { seed, ids }, { count }))
}

/** The draw that holds `count` covered windows, or all when there are fewer; undefined when nothing is covered. */
export async function drawCoveredWindows(
  source: Source,
  { count, seed }: { count: number; seed: string },
): Promise<WindowDraw | undefined> {
  const last = (await lowestDraws(source, { seed, ids: undefined }, { count })).at(-1)
  return last && { seed, upTo: last.draw }
}

/** The profiles that have windows in a draw, in pages by id. */
export async function listDrawnProfiles(
  source: Source,
  { seed, upTo }: WindowDraw,
  { afterId, limit }: { afterId: string; limit: number },
): Promise<ProfilePage> {
  const ids: string[] = []
  for await (const range of profileRanges(source, afterId)) {
    const { rows } = await source.pool.query<{ id: string }>(
      `select distinct profile_id as id from (${coveredWindowsSql}) w where draw <= $7::int8 order by 1 limit $8`,
      [...parametersOf(source, { seed, ids: undefined }, range), upTo, limit - ids.length],
    )
    ids.push(...rows.map(({ id }) => id))
    if (ids.length >= limit) break
  }
  return { ids, lastId: ids.at(-1) ?? afterId }
}

/** The windows of one profile that a draw holds. */
export async function listDrawnWindows(
  source: Source,
  { seed, upTo }: WindowDraw,
  profileId: string,
): Promise<CoveredWindow[]> {
  const range = { afterId: String(BigInt(profileId) - 1n), lastId: profileId }
  const { rows } = await source.pool.query<WindowRow>(
    `select ${windowColumns} from (${coveredWindowsSql}) w where w.draw <= $7::int8 order by w.draw
     limit ${WINDOWS_PER_PROFILE_MAX}`,
    [...parametersOf(source, { seed, ids: undefined }, range), upTo],
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
