import { type BucketHashes, isEverybody } from '../../fleet/profile-buckets.ts'
import type { ProfilePage } from '../../transfer/planned-profile.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { inHashesSql, type Pool } from '../postgres/warehouse-pool.ts'
import { listDrawnProfiles, type WindowDraw } from '../verification/covered-windows.ts'

/** Profiles in pages by id: of everybody, or of one bucket. A page shorter than `limit` is the last one. */
export type ProfileLists = {
  /** All profiles that no nightly has finished since `slotAt`. */
  listUnfinishedSince(slotAt: Date, afterId: string, limit: number): Promise<ProfilePage>
  /** All profiles that are due. */
  listDue(afterId: string, limit: number): Promise<ProfilePage>
  /** All profiles, or these. */
  list(afterId: string, limit: number, profileIds?: readonly string[]): Promise<ProfilePage>
  /** The profiles that have covered windows in a draw. */
  listDrawn(draw: WindowDraw, page: { afterId: string; limit: number }): Promise<ProfilePage>
}

/** Where profiles are looked for. `bucket`: the pool meets others too. */
type ProfileSource = { readonly pool: Pool; readonly bucket: BucketHashes | undefined }

export const createProfileLists = (pool: Pool, streams: readonly PulledStream[]): ProfileLists =>
  listsOf({ pool, bucket: undefined }, streams)

/**
 * The lists of a bucket. Where the bucket is a shard its node is asked, and no other: a query of the whole warehouse would need
 * all of them. A bucket of another division, as of a run that began before the warehouse was divided, is asked of the whole.
 */
export function createBucketLists(pool: Pool, streams: readonly PulledStream[], bucket: BucketHashes): ProfileLists {
  const shard = isEverybody(bucket) ? undefined : pool.shardOf(bucket)
  return listsOf(shard ? { pool: shard, bucket: undefined } : { pool, bucket }, streams)
}

function listsOf(source: ProfileSource, streams: readonly PulledStream[]): ProfileLists {
  const page = (condition: string, values: unknown[]) => readPage(source, condition, values)
  return {
    listUnfinishedSince: (slotAt, afterId, limit) =>
      page(`p.state <> 'gone' and (p.finished_at is null or p.finished_at < $3)`, [afterId, limit, slotAt]),
    listDue: (afterId, limit) => page(`p.state <> 'gone' and p.due_at <= statement_timestamp()`, [afterId, limit]),
    list: (afterId, limit, ids) =>
      page(`p.state <> 'gone' and ($3::int8[] is null or p.id = any($3))`, [afterId, limit, ids ?? null]),
    listDrawn: (draw, drawn) => listDrawnProfiles({ ...source, streams }, draw, drawn),
  }
}

async function readPage({ pool, bucket }: ProfileSource, condition: string, values: unknown[]): Promise<ProfilePage> {
  const { rows } = await pool.query<{ id: string }>(
    `select p.id from vitalsync.profiles p where p.id > $1 and ${condition} ${inHashesSql('p.id', bucket)} order by p.id limit $2`,
    values,
  )
  const ids = rows.map((row) => row.id)
  return { ids, lastId: ids.at(-1) ?? String(values[0]) }
}
