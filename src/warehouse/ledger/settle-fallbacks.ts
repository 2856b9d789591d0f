import type { PulledStream } from '../../transfer/stream.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

/** Writes the settle times of the catalogue to where the views and reports look them up. */
export async function storeSettleFallbacks(pool: Pool, streams: readonly PulledStream[]): Promise<void> {
  await pool.query(
    `update vitalsync.day_streams d set settle_ms = u.settle_ms
     from unnest($1::text[], $2::float8[]) as u(stream, settle_ms) where d.stream = u.stream and d.settle_ms <> u.settle_ms`,
    [streams.map(({ name }) => name), streams.map(({ settleMs }) => settleMs)],
  )
}
