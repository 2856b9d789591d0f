import { SECOND } from '../../../base/time/units.ts'
import type { LaneTrouble } from '../../fleet/lane-troubles.ts'
import { JOB_FORM } from '../../transfer/order.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

/** How long a worker counts after its last heartbeat. */
export const WORKER_SILENT_MS = 15 * SECOND
export const WORKER_HEARTBEAT_MS = 5 * SECOND

/** The workers that show life, by the database's clock. */
export function createLiveWorkers({ pool }: { pool: Pool }) {
  return {
    async heartbeat(workerId: string, queueId: string, troubles: readonly LaneTrouble[]) {
      await pool.query(heartbeatStatement, [workerId, queueId, JSON.stringify(troubles)])
    },
    async remove(workerId: string) {
      await pool.query('delete from vitalsync.workers where id = $1', [workerId])
    },
    /** How many workers of this queue that read the jobs of this version showed life within WORKER_SILENT_MS. */
    async count(queueId: string) {
      const { rows } = await pool.query<{ n: number }>(countQuery, [queueId, WORKER_SILENT_MS])
      return rows[0]?.n ?? 0
    },
    /** The troubles that keep the workers of a queue, or of any, from their work, the longest first. */
    async listTroubles(queueId?: string) {
      const { rows } = await pool.query<{ trouble: LaneTrouble }>(troublesQuery, [queueId ?? null, WORKER_SILENT_MS])
      return rows.map(({ trouble }) => trouble)
    },
  }
}

const heartbeatStatement = `
  insert into vitalsync.workers (id, queue, form, seen_at, troubles) values ($1, $2, ${JOB_FORM}, clock_timestamp(), $3)
  on conflict (id) do update set queue = excluded.queue, seen_at = excluded.seen_at, troubles = excluded.troubles`

const countQuery = `
  select count(*)::int as n from vitalsync.workers
  where queue = $1 and form >= ${JOB_FORM} and seen_at > clock_timestamp() - $2::float8 * interval '1 ms'`

const troublesQuery = `
  select t as trouble from vitalsync.workers w, jsonb_array_elements(w.troubles) t
  where ($1::text is null or w.queue = $1) and w.seen_at > clock_timestamp() - $2::float8 * interval '1 ms'
  order by t ->> 'sinceAt', t ->> 'lane'`
