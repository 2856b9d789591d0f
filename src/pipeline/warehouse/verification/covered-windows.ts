import type { Span } from '../../../base/time/spans.ts'
import type { BucketHashes } from '../../fleet/profile-buckets.ts'
import type { ProfilePage } from '../../transfer/planned-profile.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { isNodeOutage } from '../postgres/sql-errors.ts'
import { epochMsSql } from '../postgres/sql-time.ts'
import { inHashesSql, type Pool } from '../postgres/warehouse-pool.ts'

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
  readonly bucket?: BucketHashes | undefined
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
const coveredWindowsSql = ({ bucket }: Source) => `
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
  where l.covered <> '{}' and ($3::int8[] is null or l.profile_id = any($3)) and l.profile_id > $5 and l.profile_id <= $6
    ${inHashesSql('l.profile_id', bucket)}`

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
async function* profileRanges(source: Source, from: string): AsyncGenerator<ProfileRange> {
  const { pool, bucket } = source
  for (let afterId = from; ; ) {
    const { rows } = await pool.query<{ id: string | null }>(
      `select max(id) as id from (
         select id from vitalsync.profiles where id > $1 ${inHashesSql('id', bucket)} order by id limit ${PROFILES_PER_STATEMENT}) page`,
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

/** The windows with the lowest draws, these among them. In memory are twice `count` windows at most, here as in Postgres. */
async function lowestDraws(
  source: Source,
  chance: Chance,
  { count, among = [] }: { readonly count: number; readonly among?: readonly WindowRow[] },
): Promise<readonly WindowRow[]> {
  let lowest = among
  // A few profiles that are named need no pass over the others.
  for await (const range of chance.ids ? [everyProfile] : profileRanges(source, '0')) {
    const { rows } = await source.pool.query<WindowRow>(
      `select ${windowColumns} from (${coveredWindowsSql(source)}) w order by w.draw, profile_id, stream limit $7`,
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

type Drawn = {
  readonly draw: WindowDraw | undefined
  /** How many were asked, and how many did not answer. */
  readonly buckets: number
  readonly away: number
}

/**
 * The draw that holds `count` covered windows, or all when there are fewer; none when nothing is covered.
 *
 * In a divided warehouse each bucket is asked alone. The buckets of a node that is away are left out, and as much smaller is the
 * share of `count` that the others give: so their people, once they can be read, have the same chance as everybody, and all together
 * have `count` windows or nearly so. Fails when no bucket can be asked.
 */
export async function drawCoveredWindows(
  source: Pick<Source, 'pool' | 'streams'>,
  { count, seed }: { count: number; seed: string },
): Promise<Drawn> {
  const parts = partsOf(source)
  let lowest: readonly WindowRow[] = []
  let away = 0
  for (const part of parts) {
    try {
      lowest = await lowestDraws(part, { seed, ids: undefined }, { count, among: lowest })
    } catch (error) {
      away += 1
      if (away === parts.length || !isNodeOutage(error)) throw error
    }
  }
  const last = lowest.slice(0, Math.ceil((count * (parts.length - away)) / parts.length)).at(-1)
  return { draw: last && { seed, upTo: last.draw }, buckets: parts.length, away }
}

/** Each bucket, at the node that has it; all profiles together where no bucket can be asked alone. */
function partsOf(source: Pick<Source, 'pool' | 'streams'>): Source[] {
  const { pool, streams } = source
  const parts = Array.from({ length: pool.buckets.count }, (_, index) => {
    const bucket = pool.buckets.hashesOf(index)
    const shard = pool.shardOf(bucket)
    return shard ? { pool: shard, streams } : { pool, streams, bucket }
  })
  return parts.some((part) => part.pool !== pool) ? parts : [source]
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
      `select distinct profile_id as id from (${coveredWindowsSql(source)}) w where draw <= $7::int8 order by 1 limit $8`,
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
    `select ${windowColumns} from (${coveredWindowsSql(source)}) w where w.draw <= $7::int8 order by w.draw
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
