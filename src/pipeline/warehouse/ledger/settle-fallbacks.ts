import type { PulledStream } from '../../transfer/stream.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

/**
 * Writes the settle times of the catalogue to where the views and reports look them up. Nothing is written where they are equal: each
 * node of a divided warehouse has a copy, and a write needs all nodes.
 */
export async function storeSettleFallbacks(pool: Pool, streams: readonly PulledStream[]): Promise<void> {
  const values = [streams.map(({ name }) => name), streams.map(({ settleMs }) => settleMs)]
  const others = `unnest($1::text[], $2::float8[]) as u(stream, settle_ms) where d.stream = u.stream and d.settle_ms <> u.settle_ms`
  const { rowCount } = await pool.query(`select from vitalsync.day_streams d, ${others} limit 1`, values)
  if (rowCount === 0) return
  await pool.query(`update vitalsync.day_streams d set settle_ms = u.settle_ms from ${others}`, values)
}
