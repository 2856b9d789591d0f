import type { SettleBasis } from '../../ledger/settle-time.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

/** The settle time of a stream as it was last computed, and its evidence. */
export type SettleTimeReport = {
  stream: string
  settleMs: number
  basis: SettleBasis
  fallbackMs: number
  /** Days of the last 60 on which readings were counted. */
  days: number
  /** Records that were watched at the age of the settle time, and how many of them changed later. */
  watched: number
  changedLater: number
  computedAt: Date
}

/** One row per stream whose settle time was ever computed; of several accounts, the account that was read last. */
export async function readSettleTimes(pool: Pool): Promise<SettleTimeReport[]> {
  const { rows } = await pool.query<SettleTimeReport>(
    `select distinct on (stream) stream, settle_ms as "settleMs", basis, fallback_ms as "fallbackMs", days,
       watched::float8 as watched, changed_later::float8 as "changedLater", computed_at as "computedAt"
     from vitalsync.settle_times order by stream, computed_at desc`,
  )
  return rows
}

type SilentCount = { stream: string; records: number; profiles: number; newestAt: Date }

/** Silent differences of the last 30 days, by stream. */
export async function countSilentDifferences(pool: Pool): Promise<SilentCount[]> {
  const { rows } = await pool.query<SilentCount>(
    `select stream, sum(records)::int as records, count(distinct profile_id)::int as profiles, max(found_at) as "newestAt"
     from vitalsync.silent_differences where found_at > clock_timestamp() - interval '30 days' group by stream order by stream`,
  )
  return rows
}
