import { SECOND } from '../../../base/time/units.ts'
import type { Pool } from './warehouse-pool.ts'

/** In the middle of a statement, how long a session may send nothing while another session waits for its locks. */
const SILENT_SESSION_MS = 10 * SECOND

/**
 * Ends the sessions that hold a lock which another session waits for, and whose process has stopped in the middle of a
 * COPY or of a long parameter. No timeout of Postgres reaches them: it waits for the rest of the statement, while keepalive
 * is answered by a host whose process is frozen. Returns how many it ended.
 */
export async function endSilentSessions(pool: Pick<Pool, 'query' | 'division'>): Promise<number> {
  const { rowCount } = await pool.query({
    name: 'end silent sessions',
    text: `select pg_terminate_backend(holder.pid)
      from pg_stat_activity holder
      where holder.usename = current_user and holder.datname = current_database()
        and holder.state = 'active' and holder.wait_event = 'ClientRead'
        and holder.query_start < clock_timestamp() - $1::float8 * interval '1 millisecond'
        and ${pool.division.count > 1 ? othersWait : locksOthersOut}`,
    values: [SILENT_SESSION_MS],
  })
  return rowCount ?? 0
}

const locksOthersOut = `holder.pid in (select unnest(pg_blocking_pids(waiting.pid)) from pg_stat_activity waiting
  where waiting.datname = current_database() and waiting.wait_event_type = 'Lock')`

/** In a divided warehouse the locks are held elsewhere: here is only to be seen that others wait as long. */
const othersWait = `exists (select from pg_stat_activity waiting
  where waiting.datname = current_database() and waiting.state = 'active' and waiting.backend_type = 'client backend'
    and waiting.wait_event is distinct from 'ClientRead'
    and waiting.query_start < clock_timestamp() - $1::float8 * interval '1 millisecond')`
