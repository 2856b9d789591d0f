import { type Span, subtract, totalMs } from '../../../base/time/spans.ts'
import { requestHashOf, taggedSpanOf } from '../../transfer/tagged-window.ts'
import { epochMsSql } from '../postgres/sql-time.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import type { CoveredWindow } from './covered-windows.ts'

/** A window that was read before, with upstream's tag of that reading. */
type HeldTag = { readonly window: Span; readonly tag: string }

/** More requests than this are not worth the proof. */
const WINDOWS_MAX = 4

/**
 * The newest tags whose windows together hold the whole window; undefined when the ledger has none, or too many would be
 * needed. If upstream calls each of these windows unchanged, nothing has changed upstream since they were read.
 */
export async function findTagsAround(pool: Pool, covered: CoveredWindow): Promise<HeldTag[] | undefined> {
  const { profileId, stream } = covered
  const window = taggedSpanOf(stream, covered.window)
  const { rows } = await pool.query<{ startMs: number; endMs: number; tag: string; requestHash: number }>(
    `select ${epochMsSql('t.from_at')} as "startMs", ${epochMsSql('t.to_at')} as "endMs", t.tag,
       t.request_hash as "requestHash"
     from vitalsync.reading_tags t join vitalsync.ledger l using (profile_id, stream)
     where t.profile_id = $1 and t.stream = $2 and l.tagged and t.from_at <= to_timestamp($4::float8 / 1000)
       and t.to_at >= to_timestamp($3::float8 / 1000) order by t.read_at desc`,
    [profileId, stream.name, window.startMs, window.endMs],
  )
  const chosen: HeldTag[] = []
  let left: readonly Span[] = [window]
  for (const { startMs, endMs, tag, requestHash } of rows) {
    const span = { startMs, endMs }
    const rest = subtract(left, [span])
    const holdsMore = stream.kind === 'snapshot' || totalMs(rest) < totalMs(left)
    if (!holdsMore || requestHash !== requestHashOf(stream, span)) continue
    chosen.push({ window: stream.kind === 'snapshot' ? covered.window : span, tag })
    left = stream.kind === 'snapshot' ? [] : rest
    if (left.length === 0 || chosen.length === WINDOWS_MAX) break
  }
  return left.length === 0 && chosen.length > 0 ? chosen : undefined
}

/** Notes that a tag of a stream came with two different answers: its tags do not count until `falseTagsSql` forgets it. */
export async function distrustTags(pool: Pool, { stream }: Pick<CoveredWindow, 'stream'>): Promise<void> {
  await pool.query(
    `insert into vitalsync.false_tags (stream, found_at) values ($1, clock_timestamp())
     on conflict (stream) do update set found_at = excluded.found_at`,
    [stream.name],
  )
}
