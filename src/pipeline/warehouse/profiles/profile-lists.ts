import type { ProfilePage } from '../../transfer/planned-profile.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import { listDrawnProfiles, type WindowDraw } from '../verification/covered-windows.ts'

/** Profiles in pages by id. A page shorter than `limit` is the last one. */
export type ProfileLists = ReturnType<typeof createProfileLists>

export function createProfileLists(pool: Pool, streams: readonly PulledStream[]) {
  const page = (condition: string, values: unknown[]) => readPage(pool, condition, values)
  return {
    /** All profiles that no nightly has finished since `slotAt`. */
    listUnfinishedSince: (slotAt: Date, afterId: string, limit: number) =>
      page(`p.state <> 'gone' and (p.finished_at is null or p.finished_at < $3)`, [afterId, limit, slotAt]),
    /** All profiles that are due. */
    listDue: (afterId: string, limit: number) =>
      page(`p.state <> 'gone' and p.due_at <= statement_timestamp()`, [afterId, limit]),
    /** All profiles, or these. */
    list: (afterId: string, limit: number, ids?: readonly string[]) =>
      ids
        ? page(`p.state <> 'gone' and p.id = any($3)`, [afterId, limit, ids])
        : page(`p.state <> 'gone'`, [afterId, limit]),
    /** The profiles that have covered windows in a draw. */
    listDrawn: (draw: WindowDraw, drawn: { afterId: string; limit: number }) =>
      listDrawnProfiles({ pool, streams }, draw, drawn),
  }
}

async function readPage(pool: Pool, condition: string, values: unknown[]): Promise<ProfilePage> {
  const { rows } = await pool.query<{ id: string }>(
    `select p.id from vitalsync.profiles p where p.id > $1 and ${condition} order by p.id limit $2`,
    values,
  )
  const ids = rows.map((row) => row.id)
  return { ids, lastId: ids.at(-1) ?? String(values[0]) }
}
